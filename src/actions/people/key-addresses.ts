/** Converts the hashes of addresses that older releases stored without a key, and that their processes store during an upgrade. */
import { locks, runInSteps } from '../../store/locks.ts'
import { replacePlainAddresses } from '../../store/people/addresses.ts'
import type { Service } from '../service.ts'

const batchSize = 500

export async function keyPlainAddresses({ db, secrets }: Pick<Service, 'db' | 'secrets'>): Promise<number> {
  const toKeyed = async (plain: Buffer) => (await secrets.hashes('address', plain))[0]
  return await runInSteps(
    db,
    locks.keyAddresses,
    async (tx) =>
      (await replacePlainAddresses(tx, 'user', batchSize, toKeyed)) +
      (await replacePlainAddresses(tx, 'operator', batchSize, toKeyed)),
  )
}
