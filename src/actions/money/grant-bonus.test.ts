import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, setDefaultTimeout, test } from 'bun:test'
import { expectBalancedBooks } from '../../../test/books.ts'
import { newApp, newUser, openTestService, type TestService } from '../../../test/service.ts'
import type { Correction } from '../../store/corrections.ts'
import { findWallet } from '../../store/wallets.ts'
import { postBonus } from '../../work/post-bonus.ts'
import { runDue } from '../../work/runner.ts'
import { recordAudit, type Actor } from '../audit.ts'
import { newId } from '../tokens.ts'
import {
  approveCorrection,
  askCorrection,
  declineCorrection,
  readAllowance,
  withdrawCorrection,
} from './correct-wallet.ts'
import { askBonus, grantBonus, type Bonus } from './grant-bonus.ts'
import { postForService } from './post.ts'

setDefaultTimeout(180_000)

let opened: TestService
let walletId: string
let otherWalletId: string
/** Another person in every test, because the limit counts what a person moved in all wallets. */
let ada: Actor
const bob: Actor = { name: 'operator:bob', address: null, role: 'finance' }

beforeAll(async () => {
  opened = await openTestService({ CORRECTION_APPROVAL_ABOVE: '100' })
  await opened.service.db.pool.query(`create function refuse_record() returns trigger language plpgsql as $$
    begin raise exception 'the audit log takes nothing'; end $$`)
})
beforeEach(async () => {
  const shop = await newApp(opened.service)
  walletId = (await newUser(opened.service, shop)).userId
  otherWalletId = (await newUser(opened.service, shop)).userId
  ada = { name: `operator:${newId()}`, address: null, role: 'finance' }
})
afterEach(async () => {
  await opened.service.db.pool.query('drop trigger if exists refuse_record on audit')
  await expectBalancedBooks(opened.service)
})
afterAll(() => opened.close())

/** Makes the audit log refuse records of that action, or all records, as if the process had died there. */
async function refuseRecords(action = ''): Promise<void> {
  await opened.service.db.pool.query(`create trigger refuse_record before insert on audit for each row
    when (new.action = '${action}' or '${action}' = '') execute function refuse_record()`)
}

const bonusOf = (changes: Partial<Bonus> = {}): Bonus => {
  return { walletId, amountMinor: 5_00n, referenceId: newId(), reason: 'Sorry', ...changes }
}
const faultOf = (work: Promise<unknown>) =>
  work.then(
    () => 'none',
    (error: Error) => error.message,
  )
const balance = async (id = walletId) => (await findWallet(opened.service.db.pool, id))!.balanceMinor
const allowance = async (by = ada) => (await readAllowance(opened.service, opened.service.db.pool, by)).leftMinor

async function recorded(): Promise<string[]> {
  const { rows } = await opened.service.db.pool.query<{ action: string }>(
    'select action from audit where subject = $1 order by at, id',
    [`wallet:${walletId}`],
  )
  return rows.map((row) => row.action)
}

async function runLater(): Promise<void> {
  await opened.service.db.pool.query(`update work set due_at = now() where kind = 'post-bonus'`)
  await runDue(opened.service, postBonus)
}

describe('on record', () => {
  test('a bonus is ordered once and granted once, however often it is sent', async () => {
    const bonus = bonusOf()
    for (let time = 0; time < 3; time++)
      expect(await grantBonus(opened.service, ada, bonus)).toMatchObject({ kind: 'outcome' })
    expect([await balance(), await recorded()]).toEqual([5_00n, ['wallet.bonus-ordered', 'wallet.bonus-granted']])
  })

  test('a bonus that cannot be put on record moves no money, and its reference stays free', async () => {
    const bonus = bonusOf()
    await refuseRecords()
    expect(await faultOf(grantBonus(opened.service, ada, bonus))).toBe('the audit log takes nothing')
    expect([await balance(), await recorded()]).toEqual([0n, []])
    await opened.service.db.pool.query('drop trigger refuse_record on audit')
    expect(await grantBonus(opened.service, ada, { ...bonus, amountMinor: 6_00n })).toMatchObject({ kind: 'outcome' })
    expect(await balance()).toBe(6_00n)
  })

  test('a process that ends as soon as the money moved leaves the rest of the record to the queue', async () => {
    const bonus = bonusOf()
    await refuseRecords('wallet.bonus-granted')
    expect(await faultOf(grantBonus(opened.service, ada, bonus))).toBe('the audit log takes nothing')
    expect([await balance(), await recorded()]).toEqual([5_00n, ['wallet.bonus-ordered']])
    await opened.service.db.pool.query('drop trigger refuse_record on audit')
    await runLater()
    await runLater()
    expect([await balance(), await recorded()]).toEqual([5_00n, ['wallet.bonus-ordered', 'wallet.bonus-granted']])
  })
})

const others = (): Partial<Bonus>[] => [
  { amountMinor: 70_000_00n },
  { amountMinor: 1n },
  { reason: 'Another reason' },
  { walletId: otherWalletId },
]
const expectReused = async (bonus: Bonus) => {
  for (const other of others())
    expect(await askBonus(opened.service, bob, { ...bonus, ...other })).toMatchObject({ kind: 'reused' })
}

describe('a reference binds its content', () => {
  test('of a granted bonus: other content is refused, moves nothing and is not audited as ordered', async () => {
    const bonus = bonusOf()
    await askBonus(opened.service, ada, bonus)
    await expectReused(bonus)
    expect([await balance(), await balance(otherWalletId)]).toEqual([5_00n, 0n])
    expect(await recorded()).toEqual(['wallet.bonus-ordered', 'wallet.bonus-granted'])
    expect(await askBonus(opened.service, ada, bonus)).toMatchObject({ kind: 'outcome', replay: { mismatch: [] } })
  })

  test.each(['waiting', 'done', 'declined', 'withdrawn'] as const)('of a bonus that is %s', async (state) => {
    const bonus = bonusOf({ amountMinor: 200_00n })
    const asked = await askBonus(opened.service, ada, bonus)
    const { id } = (asked as { correction: Correction }).correction
    if (state === 'done') await approveCorrection(opened.service, bob, id)
    if (state === 'declined') await declineCorrection(opened.service, bob, id, 'no')
    if (state === 'withdrawn') await withdrawCorrection(opened.service, ada, id)
    await expectReused(bonus)
    expect(await askBonus(opened.service, ada, bonus)).toMatchObject({ kind: 'correction', correction: { id, state } })
    expect(await balance()).toBe(state === 'done' ? 200_00n : 0n)
  })

  test('of a bonus that is ordered and not posted yet: the queue posts what was ordered', async () => {
    const bonus = bonusOf()
    // As if the process had died after the decision.
    await opened.service.db.pool.query(
      'create trigger refuse_transfer before insert on transfers for each row execute function refuse_record()',
    )
    expect(await faultOf(askBonus(opened.service, ada, bonus))).not.toBe('none')
    await opened.service.db.pool.query('drop trigger refuse_transfer on transfers')
    await expectReused(bonus)
    expect(await balance()).toBe(0n)
    await runLater()
    expect([await balance(), await recorded()]).toEqual([5_00n, ['wallet.bonus-ordered', 'wallet.bonus-granted']])
  })

  test('of a bonus that an older version granted: the same is answered with its outcome, other content is refused', async () => {
    const bonus = bonusOf()
    const { reason: description, ...rest } = bonus
    await postForService(opened.service, { ...rest, counterAccount: 'bonus', referenceType: 'BONUS', description })
    await expectReused(bonus)
    expect(await askBonus(opened.service, ada, bonus)).toMatchObject({
      kind: 'outcome',
      outcome: { amountMinor: 5_00n },
    })
    expect([await balance(), await recorded()]).toEqual([5_00n, []])
  })

  test('a bonus for an unknown wallet leaves the reference free', async () => {
    const bonus = bonusOf()
    expect(await askBonus(opened.service, ada, { ...bonus, walletId: newId() })).toEqual({ kind: 'unknown-user' })
    expect(await askBonus(opened.service, ada, bonus)).toMatchObject({ kind: 'outcome' })
  })
})

const correction = (amountMinor: bigint, by = ada) =>
  askCorrection(opened.service, by, {
    id: newId(),
    walletId: otherWalletId,
    amountMinor,
    counterAccount: 'adjustments',
    reason: 'Sorry',
    corrects: null,
  })

describe('the limit is on the person', () => {
  test('bonuses and corrections of all wallets add up, and what waits does not count', async () => {
    expect(await allowance()).toBe(100_00n)
    expect(await askBonus(opened.service, ada, bonusOf({ amountMinor: 60_00n }))).toMatchObject({ kind: 'outcome' })
    expect(await allowance()).toBe(40_00n)
    expect(await correction(40_01n)).toMatchObject({ state: 'waiting' })
    expect(await askBonus(opened.service, ada, bonusOf({ amountMinor: 40_01n }))).toMatchObject({ kind: 'correction' })
    expect(await correction(30_00n)).toMatchObject({ state: 'done' })
    expect(await correction(-10_00n)).toMatchObject({ state: 'done' })
    expect([await allowance(), await allowance(bob)]).toEqual([0n, 100_00n])
    expect(await correction(1n)).toMatchObject({ state: 'waiting' })
  })

  test('the command line is one person under all its names', async () => {
    const [root, other] = ['cli:root@a', 'cli:other@b'].map((name): Actor => ({ name, address: null }))
    const before = await allowance(root)
    expect(await askBonus(opened.service, root!, bonusOf({ amountMinor: 30_00n }))).toMatchObject({ kind: 'outcome' })
    expect(await correction(30_00n, other)).toMatchObject({ state: 'done' })
    expect([before - (await allowance(root)), before - (await allowance(other))]).toEqual([60_00n, 60_00n])
  })

  test('a bonus that an older version ordered counts once, and not for itself', async () => {
    const bonus = bonusOf({ amountMinor: 60_00n })
    const detail = { amountMinor: '6000', referenceId: bonus.referenceId, reason: bonus.reason }
    for (let time = 0; time < 3; time++)
      await recordAudit(opened.service.db.pool, ada, 'wallet.bonus-ordered', `wallet:${walletId}`, detail)
    expect(await allowance()).toBe(40_00n)
    expect(await askBonus(opened.service, ada, bonus)).toMatchObject({ kind: 'outcome' })
    expect(await allowance()).toBe(40_00n)
  })

  test('what an operator moved a day ago counts no more', async () => {
    await correction(100_00n)
    expect(await allowance()).toBe(0n)
    await opened.service.db.pool.query(`update corrections set asked_at = asked_at - interval '24 hours'`)
    expect(await allowance()).toBe(100_00n)
  })
})
