import { afterAll, afterEach, beforeAll, beforeEach, expect, test } from 'bun:test'
import { expectBalancedBooks } from '../../../test/books.ts'
import { newApp, newUser, openTestService, operator, type TestService } from '../../../test/service.ts'
import { findWallet } from '../../store/wallets.ts'
import { freezeWallet, unfreezeWallet } from './manage-wallets.ts'
import { postForService } from './post.ts'

let opened: TestService
let walletId: string

beforeAll(async () => {
  opened = await openTestService()
  await opened.service.db.pool.query(`create function refuse_record() returns trigger language plpgsql as $$
    begin raise exception 'the audit log takes nothing'; end $$`)
})
beforeEach(async () => {
  walletId = (await newUser(opened.service, await newApp(opened.service))).userId
})
afterEach(async () => {
  await opened.service.db.pool.query('drop trigger if exists refuse_record on audit')
  await expectBalancedBooks(opened.service)
})
afterAll(() => opened.close())

/** Makes the audit log refuse all records, as if the process had died there. */
async function refuseRecords(): Promise<void> {
  await opened.service.db.pool.query(`create trigger refuse_record before insert on audit for each row
    execute function refuse_record()`)
}

const faultOf = (work: Promise<unknown>) =>
  work.then(
    () => 'none',
    (error: Error) => error.message,
  )
async function recorded(): Promise<string[]> {
  const { rows } = await opened.service.db.pool.query<{ action: string }>(
    'select action from audit where subject = $1 order by at, id',
    [`wallet:${walletId}`],
  )
  return rows.map((row) => row.action)
}

test('a wallet is neither frozen nor thawed without a record of it', async () => {
  await freezeWallet(opened.service, operator, walletId, 'a look at it')
  await refuseRecords()
  expect(await faultOf(unfreezeWallet(opened.service, operator, walletId, 'fine'))).toBe('the audit log takes nothing')
  const { userId } = await newUser(opened.service, { clientId: (await opened.service.apps.list())[0]!.clientId })
  expect(await faultOf(freezeWallet(opened.service, operator, userId, 'hm'))).toBe('the audit log takes nothing')
  const frozen = [walletId, userId].map(async (id) => (await findWallet(opened.service.db.pool, id))!.frozenFor)
  expect(await Promise.all(frozen)).toEqual(['operator', null])
})

test('a wallet in debt that an operator froze as well stays frozen for its debt when the operator unfreezes it', async () => {
  const post = (amountMinor: bigint, referenceId: string) =>
    postForService(opened.service, {
      walletId,
      counterAccount: 'cards',
      amountMinor,
      isReversal: amountMinor < 0n,
      referenceType: 'TEST',
      referenceId: `${walletId} ${referenceId}`,
      description: null,
    })
  const frozenFor = async () => (await findWallet(opened.service.db.pool, walletId))!.frozenFor
  await post(-500n, 'charge-back')
  expect(await freezeWallet(opened.service, operator, walletId, 'fraud?')).toBe('done')
  expect(await frozenFor()).toBe('operator')
  expect(await unfreezeWallet(opened.service, operator, walletId, 'no fraud')).toBe('in-debt')
  expect(await frozenFor()).toBe('debt')
  expect(await unfreezeWallet(opened.service, operator, walletId, 'again')).toBe('in-debt')
  expect(await recorded()).toEqual(['wallet.frozen', 'wallet.unfrozen'])
  await post(500n, 'repaid')
  expect(await frozenFor()).toBeNull()
})
