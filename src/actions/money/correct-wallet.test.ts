import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, setDefaultTimeout, test } from 'bun:test'
import { expectBalancedBooks } from '../../../test/books.ts'
import { newClient } from '../../../test/client.ts'
import { deviceOf } from '../../../test/devices.ts'
import { newPage } from '../../../test/page.ts'
import {
  linkUser,
  newApp,
  newUser,
  openTestService,
  type Credentials,
  type TestService,
  type TestUser,
} from '../../../test/service.ts'
import { openLog } from '../../platform/log.ts'
import { openMetrics } from '../../platform/metrics.ts'
import { openDatabase, transact } from '../../store/connection/database.ts'
import {
  countWaitingCorrections,
  findCorrection,
  updateCorrectionPosted,
  type Correction,
} from '../../store/corrections.ts'
import { referenceKeyOf } from '../../store/outcomes.ts'
import { verifyBooks } from '../../store/verify/verify.ts'
import { findWallet } from '../../store/wallets.ts'
import { addWork } from '../../store/work/work.ts'
import { postCorrection } from '../../work/post-correction.ts'
import { runDue } from '../../work/runner.ts'
import type { Actor } from '../audit.ts'
import { closeService, openService, type Service } from '../service.ts'
import { newId } from '../tokens.ts'
import {
  approveCorrection,
  askCorrection,
  declineCorrection,
  withdrawCorrection,
  type CorrectionOrder,
} from './correct-wallet.ts'
import { askBonus, grantBonus } from './grant-bonus.ts'
import { freezeWallet } from './manage-wallets.ts'
import { postForService } from './post.ts'

setDefaultTimeout(180_000)

let opened: TestService
/** Acts as another process: it shares only the database. */
let other: Service
let shop: Credentials
let user: TestUser
let bonusKey: string

/** Other people in every test, because the limit counts what a person moved in all wallets. */
let ada: Actor
let bob: Actor
let cleo: Actor
let people = 0
const shell: Actor = { name: 'cli:root@host', address: null }

beforeAll(async () => {
  opened = await openTestService({ CORRECTION_APPROVAL_ABOVE: '50' })
  const { config, db } = opened.service
  const log = openLog('silent', () => {})
  other = openService({
    config,
    db: openDatabase(db.connection),
    log,
    metrics: openMetrics(),
    now: () => new Date(),
  })
  shop = await newApp(opened.service)
})
beforeEach(async () => {
  people++
  ada = { name: `operator:ada-${people}`, address: null, role: 'finance' }
  bob = { name: `operator:bob-${people}`, address: null, role: 'finance' }
  cleo = { name: `operator:cleo-${people}`, address: null, role: 'admin' }
  user = await newUser(opened.service, shop)
  const grant = { walletId: user.userId, amountMinor: 100_00n, referenceId: newId(), reason: 'Welcome' }
  // As `system`, so that it does not count towards an operator's limit.
  await grantBonus(opened.service, { name: 'system', address: null }, grant)
  bonusKey = referenceKeyOf({ namespace: 'service', type: 'BONUS', id: grant.referenceId })
})
afterEach(() => expectBalancedBooks(opened.service))
afterAll(async () => {
  await closeService(other)
  await other.db.pool.end()
  await opened.close()
})

const balance = async () => (await findWallet(opened.service.db.pool, user.userId))!.balanceMinor

function orderOf(amountMinor: bigint, changes: Partial<CorrectionOrder> = {}): CorrectionOrder {
  const usual = { counterAccount: 'adjustments', reason: 'Charged twice', corrects: null }
  return { id: newId(), walletId: user.userId, amountMinor, ...usual, ...changes }
}

async function ask(amountMinor: bigint, changes: Partial<CorrectionOrder> = {}, by = ada): Promise<Correction> {
  const asked = await askCorrection(opened.service, by, orderOf(amountMinor, changes))
  if ('problem' in asked) throw new Error(asked.problem)
  return asked
}

async function problemOf(amountMinor: bigint, changes: Partial<CorrectionOrder> = {}): Promise<string> {
  const asked = await askCorrection(opened.service, ada, orderOf(amountMinor, changes))
  return 'problem' in asked ? asked.problem : asked.state
}

const stateOf = async (id: string) => (await findCorrection(opened.service.db.pool, id))!.state
const transfersOf = async (id: string) =>
  (await opened.service.db.pool.query('select amount from transfers where reference_id = $1', [id])).rows
const recorded = async () =>
  (
    await opened.service.db.pool.query<{ actor: string; action: string }>(
      `select actor, action from audit where subject = $1 and action like 'correction.%' order by at, id`,
      [`wallet:${user.userId}`],
    )
  ).rows.map(({ actor, action }) => `${actor.replace(/-\d+$/, '')} ${action}`)

const titlesOf = (body: Record<string, unknown>) =>
  (body['transactions'] as { referenceType: string; description: string | null }[]).map(
    (each) => `${each.referenceType} ${each.description}`,
  )

describe('below the limit', () => {
  test('a correction is done at once, and asked again with its id it moves nothing more', async () => {
    const order = orderOf(-20_00n)
    const [first, again] = [
      await askCorrection(opened.service, ada, order),
      await askCorrection(opened.service, ada, order),
    ]
    expect([first, again]).toMatchObject([{ state: 'done' }, { state: 'done', decidedBy: null }])
    expect(await balance()).toBe(80_00n)
    expect(await recorded()).toEqual(['operator:ada correction.asked', 'operator:ada correction.posted'])
  })

  test('a form that is sent ten times at once, to two processes, asks for one correction', async () => {
    const order = orderOf(30_00n)
    const sent = Array.from({ length: 10 }, (_, i) => askCorrection(i % 2 ? other : opened.service, ada, order))
    for (const asked of await Promise.all(sent)) expect(asked).toMatchObject({ state: 'done' })
    expect(await balance()).toBe(130_00n)
    expect(await recorded()).toHaveLength(2)
  })

  test('a large sum in small parts needs a second operator too', async () => {
    expect((await ask(-30_00n)).state).toBe('done')
    expect((await ask(20_00n)).state).toBe('done')
    expect((await ask(1n)).state).toBe('waiting')
    expect((await ask(1n, {}, bob)).state).toBe('done')
  })

  test('an operator’s debit never puts a wallet below zero, and what was refused is not done', async () => {
    await ask(-50_00n)
    await ask(-50_00n, {}, bob)
    const refused = await ask(-1n, {}, cleo)
    expect(refused).toMatchObject({ state: 'refused', refusal: 'INSUFFICIENT_BALANCE' })
    expect([await balance(), await transfersOf(refused.id)]).toEqual([0n, []])
    expect((await recorded()).at(-1)).toBe('operator:cleo correction.refused')
  })
})

describe('above the limit', () => {
  test('nothing moves until another person approves, and both names are on record', async () => {
    const { id, state } = await ask(-60_00n)
    expect([state, await balance()]).toEqual(['waiting', 100_00n])
    const waiting = await countWaitingCorrections(opened.service.db.pool)
    expect(waiting.count).toBeGreaterThan(0)
    expect(waiting.oldestAt).toBeInstanceOf(Date)
    expect(await approveCorrection(opened.service, ada, id)).toEqual({ problem: 'own' })
    expect(await declineCorrection(opened.service, ada, id, 'no')).toEqual({ problem: 'own' })
    expect(await withdrawCorrection(opened.service, bob, id)).toEqual({ problem: 'not-own' })
    const approved = await approveCorrection(opened.service, bob, id)
    expect(approved).toMatchObject({ correction: { state: 'done', askedBy: ada.name, decidedBy: bob.name } })
    expect(await approveCorrection(opened.service, cleo, id)).toEqual({ problem: 'decided' })
    expect(await balance()).toBe(40_00n)
    expect(await recorded()).toEqual([
      'operator:ada correction.asked',
      'operator:bob correction.approved',
      'operator:bob correction.posted',
    ])
  })

  test('of many who approve, decline and withdraw at once in two processes one wins, and money moves once or not at all', async () => {
    for (let round = 0; round < 8; round++) {
      const before = await balance()
      const { id } = await ask(round % 2 ? 60_00n : -60_00n)
      const deciding = [opened.service, other].flatMap((service) => [
        approveCorrection(service, bob, id),
        approveCorrection(service, cleo, id),
        ...(round > 3 ? [withdrawCorrection(service, ada, id), declineCorrection(service, cleo, id, 'no')] : []),
      ])
      const won = (await Promise.all(deciding)).filter((decided) => 'correction' in decided)
      expect(won).toHaveLength(1)
      const state = await stateOf(id)
      const moved = (await balance()) - before
      expect([state === 'done', await transfersOf(id)]).toEqual([moved !== 0n, moved === 0n ? [] : [{ amount: moved }]])
    }
  })

  test('one that is declined or withdrawn moves nothing, for good', async () => {
    const [declined, withdrawn] = [await ask(-60_00n), await ask(-60_00n)]
    await declineCorrection(opened.service, bob, declined.id, 'the user was right')
    await withdrawCorrection(opened.service, ada, withdrawn.id)
    for (const { id } of [declined, withdrawn])
      expect(await approveCorrection(opened.service, cleo, id)).toEqual({ problem: 'decided' })
    expect(await findCorrection(opened.service.db.pool, declined.id)).toMatchObject({
      state: 'declined',
      decidedBy: bob.name,
      decisionReason: 'the user was right',
    })
    expect([await stateOf(withdrawn.id), await balance()]).toEqual(['withdrawn', 100_00n])
  })

  test('the command line counts as one person', async () => {
    const { id } = await ask(-60_00n, {}, shell)
    const again = { ...shell, name: 'cli:somebody else' }
    expect(await approveCorrection(opened.service, again, id)).toEqual({ problem: 'own' })
    const { id: asked } = await ask(-60_00n)
    expect(await approveCorrection(opened.service, shell, asked)).toMatchObject({ correction: { state: 'done' } })
  })

  test('the database itself requires a second person', async () => {
    const { id } = await ask(-60_00n)
    const force = (by: string | null) =>
      opened.service.db.pool
        .query(`update corrections set state = 'done', decided_by = $2 where id = $1`, [id, by])
        .then(
          () => 'done',
          (error: Error) => error.message,
        )
    for (const by of [null, ada.name]) expect(await force(by)).toContain('corrections_two_people')
  })

  test('a process that dies after the approval leaves it to the next one, which does it once', async () => {
    const { id } = await ask(-60_00n)
    await opened.service.db.pool.query(
      `update corrections set state = 'approved', decided_by = $2, decided_at = now() - interval '1 minute' where id = $1`,
      [id, bob.name],
    )
    await addWork(opened.service.db.pool, { kind: 'post-correction', key: id })
    await Promise.all([runDue(opened.service, postCorrection), runDue(other, postCorrection)])
    expect([await stateOf(id), await balance(), await transfersOf(id)]).toEqual(['done', 40_00n, [{ amount: -60_00n }]])
    const left = `select 1 from work where kind = 'post-correction' and key = $1`
    expect((await opened.service.db.pool.query(left, [id])).rows).toEqual([])
    expect((await recorded()).at(-1)).toBe('system correction.posted')
  })

  test('one that was posted before the process died is found in the ledger', async () => {
    const { id } = await ask(-60_00n)
    await opened.service.db.pool.query(
      `update corrections set state = 'approved', decided_by = $2, decided_at = now() - interval '1 minute' where id = $1`,
      [id, bob.name],
    )
    await addWork(opened.service.db.pool, { kind: 'post-correction', key: id })
    const posting = { walletId: user.userId, counterAccount: 'adjustments', amountMinor: -60_00n } as const
    await postForService(opened.service, { ...posting, referenceType: 'CORRECTION', referenceId: id, description: 'x' })
    await runDue(other, postCorrection)
    expect([await stateOf(id), await balance()]).toEqual(['done', 40_00n])
  })
})

const others = async (): Promise<Partial<CorrectionOrder>[]> => [
  { amountMinor: 1n },
  { amountMinor: 60_00n },
  { counterAccount: 'bonus' },
  { reason: 'Another reason' },
  { corrects: bonusKey },
  { walletId: (await newUser(opened.service, shop)).userId },
]

describe('an id binds its content', () => {
  test.each(['waiting', 'done', 'refused', 'declined', 'withdrawn'] as const)(
    'of a correction that is %s: other content is refused, the same is answered with it',
    async (state) => {
      const order = orderOf(state === 'refused' ? -200_00n : -60_00n)
      await askCorrection(opened.service, ada, order)
      if (state === 'done' || state === 'refused') await approveCorrection(opened.service, bob, order.id)
      if (state === 'declined') await declineCorrection(opened.service, bob, order.id, 'no')
      if (state === 'withdrawn') await withdrawCorrection(opened.service, ada, order.id)
      const before = [await balance(), await recorded()]
      for (const other of await others())
        for (const by of [ada, bob])
          expect(await askCorrection(opened.service, by, { ...order, ...other })).toEqual({ problem: 'reused' })
      expect(await askCorrection(opened.service, ada, order)).toMatchObject({ id: order.id, state })
      expect([await balance(), await recorded()]).toEqual(before)
    },
  )
})

const give = (amountMinor: bigint, by = ada, referenceId = newId(), service = opened.service) =>
  askBonus(service, by, { walletId: user.userId, amountMinor, referenceId, reason: 'Sorry' })

describe('a bonus', () => {
  test('of no more than the limit is granted at once; above it, it waits for a second operator, and is posted on bonus', async () => {
    expect(await give(50_00n)).toMatchObject({ kind: 'outcome' })
    const large = await give(50_01n, bob)
    expect(large).toMatchObject({ kind: 'correction', correction: { state: 'waiting', counterAccount: 'bonus' } })
    expect(await balance()).toBe(150_00n)
    const { id } = (large as { correction: Correction }).correction
    expect(await approveCorrection(opened.service, bob, id)).toEqual({ problem: 'own' })
    expect(await approveCorrection(opened.service, cleo, id)).toMatchObject({ correction: { state: 'done' } })
    expect(await balance()).toBe(200_01n)
  })

  test('in small parts is a large one, beside corrections and before them', async () => {
    expect(await give(30_00n)).toMatchObject({ kind: 'outcome' })
    expect(await give(20_01n)).toMatchObject({ kind: 'correction' })
    expect((await ask(-20_01n)).state).toBe('waiting')
    expect((await ask(-20_00n)).state).toBe('done')
    expect(await give(1n)).toMatchObject({ kind: 'correction' })
    expect(await give(1n, bob)).toMatchObject({ kind: 'outcome' })
  })

  test('whose form is sent again stays what it was, though the limit was reached since or a day went by', async () => {
    const [small, large] = [newId(), newId()]
    expect(await give(40_00n, ada, small)).toMatchObject({ kind: 'outcome' })
    expect(await give(40_00n, ada, large)).toMatchObject({ kind: 'correction' })
    expect(await give(40_00n, ada, small)).toMatchObject({ kind: 'outcome', replay: {} })
    expect(await give(40_00n, bob, large)).toMatchObject({ kind: 'correction', correction: { askedBy: ada.name } })
    expect(await balance()).toBe(140_00n)
  })

  test('is granted once, or waits once, for any number of concurrent requests to two processes', async () => {
    const ids = [newId(), newId(), newId()]
    const sent = Array.from({ length: 12 }, (_, i) => give(25_00n, ada, ids[i % 3], i % 2 ? other : opened.service))
    const kinds = (await Promise.all(sent)).map(({ kind }) => kind)
    expect(kinds.filter((kind) => kind === 'outcome')).toHaveLength(8)
    expect(kinds.filter((kind) => kind === 'correction')).toHaveLength(4)
    expect(await balance()).toBe(150_00n)
  })
})

describe('what it corrects', () => {
  test('a wrong bonus is taken back on the account it came from, once, however many try at the same time', async () => {
    const order = { counterAccount: 'bonus', corrects: bonusKey }
    const tries = [opened.service, other, opened.service, other].map((service, i) =>
      askCorrection(service, [ada, bob][i % 2]!, orderOf(-100_00n, order)),
    )
    const asked = await Promise.all(tries)
    const waiting = asked.filter((each) => !('problem' in each)) as Correction[]
    expect(asked.filter((each) => 'problem' in each && each.problem === 'too-much')).toHaveLength(3)
    await approveCorrection(opened.service, cleo, waiting[0]!.id)
    expect(await balance()).toBe(0n)
    const { rows } = await opened.service.db.pool.query(
      `select sum(amount)::bigint as left from transfers where counter_account = 'bonus' and wallet_id = $1`,
      [user.userId],
    )
    expect(rows).toEqual([{ left: 0n }])
  })

  test('in parts up to the whole, and what was declined counts no more', async () => {
    const order = { counterAccount: 'bonus', corrects: bonusKey }
    const { id } = await ask(-60_00n, order)
    expect(await problemOf(-40_01n, order)).toBe('too-much')
    await declineCorrection(opened.service, bob, id, 'too much')
    expect(await problemOf(-40_01n, order)).toBe('done')
    expect(await problemOf(-59_99n, order)).toBe('waiting')
  })

  test('a transaction of another wallet, one that never was and a refused one are none of this wallet', async () => {
    const stranger = await newUser(opened.service, shop)
    const client = newClient(opened.app.fetch, shop)
    const { body } = await client.credit(stranger.serviceUserId, 5)
    const theirs = String(body['transactionId']).slice('txn_'.length)
    await client.debit(user.serviceUserId, 1_000, 'refused')
    const refused = referenceKeyOf({ namespace: `app:${shop.clientId}`, type: 'ORDER', id: 'refused' })
    for (const corrects of [theirs, '0'.repeat(32), refused])
      expect(await problemOf(-1n, { corrects })).toBe('unknown-transaction')
  })

  test('an account is one of the list, and an app’s only where the user was linked to it', async () => {
    const stranger = await newApp(opened.service)
    for (const counterAccount of ['cards', 'app:none', `app:${stranger.clientId}`, ''])
      expect(await problemOf(-1n, { counterAccount })).toBe('unknown-account')
    expect(await problemOf(-1n, { counterAccount: `app:${shop.clientId}` })).toBe('done')
    expect(await problemOf(-1n, { walletId: newId() })).toBe('unknown-wallet')
  })
})

describe('wallets that are not active', () => {
  test('a freeze by an operator stops apps, and not the operators', async () => {
    await freezeWallet(opened.service, bob, user.userId, 'fraud')
    expect((await newClient(opened.app.fetch, shop).debit(user.serviceUserId, 1)).status).toBe(403)
    await ask(-50_00n)
    expect(await findWallet(opened.service.db.pool, user.userId)).toMatchObject({
      balanceMinor: 50_00n,
      frozenFor: 'operator',
    })
  })

  test('a debt is written off by a credit, which thaws the wallet, and grows by no correction', async () => {
    await postForService(opened.service, {
      walletId: user.userId,
      counterAccount: 'cards',
      amountMinor: -110_00n,
      isReversal: true,
      referenceType: 'TOPUP_DISPUTE',
      referenceId: newId(),
      description: null,
    })
    expect(await ask(-1n)).toMatchObject({ state: 'refused', refusal: 'WALLET_INACTIVE' })
    expect(await ask(10_00n)).toMatchObject({ state: 'done' })
    expect(await findWallet(opened.service.db.pool, user.userId)).toMatchObject({ balanceMinor: 0n, frozenFor: null })
  })

  test('one that waits while the account is deleted is refused when it is approved', async () => {
    await ask(-50_00n)
    await ask(-50_00n, {}, bob)
    const { id } = await ask(60_00n)
    await opened.service.db.pool.query(`update wallets set frozen_for = 'closed' where id = $1`, [user.userId])
    const decided = await approveCorrection(opened.service, cleo, id)
    expect(decided).toMatchObject({ correction: { state: 'refused', refusal: 'WALLET_CLOSED' } })
    expect(await balance()).toBe(0n)
  })
})

describe('who sees it', () => {
  test('the app whose account it is on sees it, other apps do not; on the service’s own accounts every app does', async () => {
    const cinema = await newApp(opened.service)
    const atCinema = await linkUser(opened.service, cinema, user.userId)
    await ask(-1_00n, { counterAccount: `app:${shop.clientId}`, reason: 'for the shop' })
    await ask(-1_00n, { reason: 'for all' })
    const seen = async (app: Credentials, id: string) =>
      titlesOf((await newClient(opened.app.fetch, app).wallet(id)).body)
    expect(await seen(shop, user.serviceUserId)).toEqual([
      'CORRECTION for all',
      'CORRECTION for the shop',
      'BONUS Welcome',
    ])
    expect(await seen(cinema, atCinema)).toEqual(['CORRECTION for all', 'BONUS Welcome'])
  })

  test('the user sees all of them as the service’s own, and an app’s label of that name as the app’s', async () => {
    await ask(-1_00n, { counterAccount: `app:${shop.clientId}`, reason: 'for the shop' })
    const client = newClient(opened.app.fetch, shop)
    const label = { referenceType: 'CORRECTION', referenceId: newId(), amount: 1 }
    await client.post('/api/server/wallet/debit', { ...shop, serviceUserId: user.serviceUserId, ...label })
    const session = await client.post('/api/widget/session', { ...shop, serviceUserId: user.serviceUserId })
    const { cookie } = await deviceOf(opened.service, { userId: user.userId, clientId: shop.clientId })
    const page = newPage(opened.app.fetch, undefined, { cookie })
    const activity = async (query = '') => {
      const { body } = await page.get(`/api/widget/activity?session=${String(session.body['sessionToken'])}${query}`)
      return (body['transactions'] as { app: object | null; referenceType: string }[]).map(
        ({ app, referenceType }) => `${referenceType} ${app ? 'app' : 'service'}`,
      )
    }
    expect(await activity()).toEqual(['CORRECTION app', 'CORRECTION service', 'BONUS service'])
    expect(await activity('&app=service')).toEqual(['CORRECTION service', 'BONUS service'])
    expect(await activity('&search=zzz&types=CORRECTION')).toEqual(['CORRECTION service'])
  })
})

test('the check of the books knows every entry that was made here', async () => {
  const { transfers, faults } = await verifyBooks(opened.service.db.connection)
  expect([transfers > 40, faults]).toEqual([true, 0])
})

test('a correction that one process saw refused and another saw posted is done, in either order', async () => {
  const { id } = await ask(1_00n)
  const report = (refusal: string | null) =>
    transact(opened.service.db, (tx) => updateCorrectionPosted(tx, id, refusal))
  expect([await report('WALLET_INACTIVE'), await stateOf(id)]).toEqual([false, 'done'])
  await opened.service.db.pool.query(
    `update corrections set state = 'refused', refusal = 'WALLET_INACTIVE' where id = $1`,
    [id],
  )
  expect(await report(null)).toBeTrue()
  expect(await findCorrection(opened.service.db.pool, id)).toMatchObject({ state: 'done', refusal: null })
  expect(await transfersOf(id)).toHaveLength(1)
})
