/**
 * The trees of the wallets of a period, up to their last entry in it: later proofs grow from there, without the archived entries. Each is
 * compared with the sealed tree of the wallet, so that what is archived is what was sealed.
 */
import { addJoined, rootOf, type Peaks } from '../../proof/merkle.ts'
import { hashBytes } from '../../proof/sha256.ts'
import { ArchiveRefused } from '../../store/closing/archive/archive-file.ts'
import { createCarriedEntries, insertCarriedEntries } from '../../store/closing/archive/carry-entries.ts'
import { listCarriedWallets, type CarriedWallet } from '../../store/closing/archive/carry-entries.ts'
import type { Queryable } from '../../store/connection/open-client.ts'
import { hashFoundEntries } from '../../store/proofs/entry-leaves.ts'
import { namedTree } from './seal-books.ts'

const walletsPerPage = 500

type Options = {
  readonly currency: string
  readonly entries: number
  readonly onProgress?: (what: string, done: number, of: number) => void
  readonly signal?: AbortSignal
}

export async function carryTrees(
  client: Queryable,
  period: number,
  { currency, entries, onProgress, signal }: Options,
): Promise<void> {
  await createCarriedEntries(client, period)
  let done = 0
  for (let after: string | null = null; ;) {
    signal?.throwIfAborted()
    const wallets: CarriedWallet[] = await listCarriedWallets(client, period, after, walletsPerPage)
    const grown = await growTrees(client, wallets, currency)
    await insertCarriedEntries(client, period, grown)
    done += wallets.reduce((sum, { until, archived }) => sum + until - archived.size, 0)
    onProgress?.('trees', done, entries)
    if (wallets.length < walletsPerPage) return
    after = wallets.at(-1)!.walletId
  }
}

async function growTrees(client: Queryable, wallets: readonly CarriedWallet[], currency: string) {
  const sealed = wallets.map((wallet) => ({ ...wallet, sealed: sealedTree(wallet) }))
  const ranges = sealed.map(({ walletId, archived, sealed: { salt, peaks } }) => ({
    ...namedTree({ walletId, salt }),
    after: archived.size,
    until: peaks.size,
  }))
  const found = await hashFoundEntries(client, ranges, currency)
  return sealed.map(({ walletId, archived, until, sealed: { peaks } }, i) => {
    const at = (until - archived.size) * hashBytes
    const carried = addJoined(archived, found[i]!.subarray(0, at))
    const whole = addJoined(carried, found[i]!.subarray(at))
    if (whole.size !== peaks.size || Buffer.compare(rootOf(whole), rootOf(peaks)) !== 0)
      throw new ArchiveRefused(
        `The entries of wallet ${walletId} are not those that were sealed: run npx billfold verify.`,
      )
    return { walletId, peaks: carried }
  })
}

function sealedTree({ walletId, until, sealed }: CarriedWallet): { salt: Uint8Array; peaks: Peaks } {
  if (!sealed || sealed.peaks.size < until)
    throw new ArchiveRefused(
      `The entries of wallet ${walletId} are not all sealed yet. The service seals them every ten minutes: try again then.`,
    )
  return sealed
}
