/** Reconciles the processor's account with the ledger: agreement, and a difference of each kind, from the API and from a file. */
import { afterAll, beforeAll, beforeEach, expect, setDefaultTimeout, test } from 'bun:test'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { beginPatiently } from '../lock-waits.ts'
import { formTokenOf } from '../../src/actions/operators/manage-sessions.ts'
import { planDays } from '../../src/actions/topups/reconcile.ts'
import { resolveTopup } from '../../src/actions/topups/resolve-topup.ts'
import { listDayTotals } from '../../src/store/books/day-totals.ts'
import { getReconciliationState, listOpenDifferences } from '../../src/store/books/reconciliation.ts'
import { deleteExpired } from '../../src/store/cleanup.ts'
import { locks } from '../../src/store/locks.ts'
import type { Service } from '../../src/actions/service.ts'
import { reconcileDay } from '../../src/work/reconcile-day.ts'
import { runDue } from '../../src/work/runner.ts'
import { callCommand } from '../command.ts'
import { play } from '../deploy/runbooks.ts'
import { eventually } from '../eventually.ts'
import { host, newOperator, type TestOperator } from '../operator.ts'
import { beginDayThatStays, letPass, topupTables } from '../time.ts'
import { openBench, stripeEnvironment, type Bench } from './rig.ts'

setDefaultTimeout(180_000)

let bench: Bench
let finance: TestOperator
let folder: string
const dayMs = 86_400_000

beforeAll(async () => {
  bench = await openBench()
  finance = await newOperator(bench.opened, 'finance')
  folder = await mkdtemp(join(tmpdir(), 'billfold-reports-'))
})
afterAll(async () => {
  await bench.close()
  await rm(folder, { recursive: true })
})

/** The payments of earlier tests are too old to be compared. Days are counted on both sides, so midnight UTC must not pass between. */
beforeEach(async () => {
  await beginDayThatStays()
  for (const table of ['processor_lines', 'reconciliation_days', 'reconciliation_differences'])
    await query(`delete from ${table}`)
  await letPass(bench.service.db.pool, 400 * dayMs, topupTables)
  bench.standIn.state.letPass(400 * dayMs)
})

const query = async (sql: string, values: unknown[] = []) => (await bench.service.db.pool.query(sql, values)).rows
const resolve = async (id: string) => void (await resolveTopup(bench.service, (await bench.topup(id)).id))

async function paid(amount = 25): Promise<string> {
  const payer = await bench.newPayer()
  const id = await payer.begin(amount)
  bench.standIn.state.pay(id)
  await payer.confirm(id)
  return id
}

/** Two days pass, for both sides, and the service reads every day that is due. */
async function reconcile(): Promise<void> {
  await letPass(bench.service.db.pool, 2 * dayMs, topupTables)
  bench.standIn.state.letPass(2 * dayMs)
  await readAll()
}

async function reconcileDue(service: Service): Promise<void> {
  await planDays(service)
  await runDue(service, reconcileDay)
}

async function readAll(): Promise<void> {
  do await reconcileDue(bench.service)
  while ((await getReconciliationState(bench.service.db.pool)).unfinishedDays > 0)
}

const again = async () => {
  await query(`update reconciliation_days set finished_at = null`)
  await query(`insert into work (kind, key, due_at) select 'reconcile-day', day::text, now() from reconciliation_days`)
  await readAll()
}

const differences = async () =>
  (await listOpenDifferences(bench.service.db.pool, 100)).map(
    ({ paymentIntentId, kind, processorMinor, ledgerMinor }) =>
      `${kind} ${paymentIntentId} ${processorMinor} ${ledgerMinor}`,
  )

const metric = async (name: string) =>
  Number((await bench.service.metrics.registry.getSingleMetricAsString(name)).match(/^billfold\S+ (\S+)$/m)?.[1])

test('charges, refunds and disputes on both sides agree, and the day’s totals are on both sides', async () => {
  const [one, two, three] = [await paid(25), await paid(40), await paid(10)]
  bench.standIn.state.refund(one, 1_000)
  bench.standIn.state.dispute(two)
  bench.standIn.state.dispute(three)
  for (const id of [one, two, three]) await resolve(id)
  bench.standIn.state.winDispute(three)
  await resolve(three)
  bench.standIn.state.book({ type: 'payout', reporting_category: 'payout', amount: -2_000, source: null })
  bench.standIn.state.book({ type: 'stripe_fee', reporting_category: 'fee', amount: -200, source: null })
  await reconcile()
  expect(await differences()).toEqual([])
  const days = await listDayTotals(bench.service.db.pool, 31)
  expect(days).toHaveLength(7)
  const sum = (name: keyof (typeof days)[number]) => days.reduce((total, day) => total + (day[name] as bigint), 0n)
  expect([sum('charges'), sum('ledgerCharges')]).toEqual([7_500n, 7_500n])
  expect([sum('refunds'), sum('ledgerRefunds')]).toEqual([-1_000n, -1_000n])
  expect([sum('disputes'), sum('ledgerDisputes')]).toEqual([-4_000n, -4_000n])
  const kept = [25, 40, 10].reduce((fees, amount) => fees + BigInt(Math.round(amount * 2.9) + 30), 0n)
  expect(sum('fees')).toBe(kept + 2n * 1_500n + 200n)
  expect(sum('payouts')).toBe(-2_000n)
  expect(await metric('billfold_reconciliation_differences')).toBe(0)
  expect(await metric('billfold_reconciliation_age_seconds')).toBeLessThan(3_600)
})

test('a charge unknown to the ledger is a difference, until it is credited', async () => {
  const payer = await bench.newPayer()
  const id = await payer.begin(25)
  bench.standIn.state.pay(id)
  await reconcile()
  expect(await differences()).toEqual([`charge ${id} 2500 0`])
  expect(await metric('billfold_reconciliation_differences')).toBe(1)
  expect(bench.opened.logged.filter((line) => line.includes('the processor and the ledger differ'))).toHaveLength(1)
  await resolve(id)
  await again()
  expect(await differences()).toEqual([])
  expect(await metric('billfold_reconciliation_differences')).toBe(0)
})

test('a credit without a charge, and a charge of another amount, are differences', async () => {
  const [gone, other] = [await paid(25), await paid(30)]
  const { bookings, charges } = bench.standIn.state
  const chargeOf = (id: string) => [...charges.values()].find((charge) => charge['payment_intent'] === id)!.id
  bookings.splice(
    bookings.findIndex(({ source }) => source === chargeOf(gone)),
    1,
  )
  bookings.find(({ source }) => source === chargeOf(other))!.amount = 2_999
  await reconcile()
  expect((await differences()).toSorted()).toEqual([`charge ${gone} 0 2500`, `charge ${other} 2999 3000`].toSorted())
})

test('a refund and a dispute on one side only are differences, on either side', async () => {
  const [refunded, disputed, alone] = [await paid(25), await paid(30), await paid(35)]
  bench.standIn.state.refund(alone, 500)
  await resolve(alone)
  bench.standIn.state.bookings.pop()
  bench.standIn.state.refund(refunded, 700)
  bench.standIn.state.dispute(disputed)
  await reconcile()
  expect((await differences()).toSorted()).toEqual(
    [`refund ${refunded} -700 0`, `dispute ${disputed} -3000 0`, `refund ${alone} 0 -500`].toSorted(),
  )
})

test('the ledger’s side is the ledger itself: a movement that was never posted does not count', async () => {
  const id = await paid(25)
  await query(`update topup_movements set reference_id = reference_id || '-x' where reference_id = $1`, [id])
  await reconcile()
  expect(await differences()).toEqual([`charge ${id} 2500 0`])
  await query(`update topup_movements set reference_id = $1 where reference_id = $1 || '-x'`, [id])
})

test('a charge in our name without a top-up is a difference; payments of other software in the account are none', async () => {
  const make = (metadata: object) => {
    const { id } = bench.standIn.state.createIntent({ amount: 900, currency: 'usd', metadata })
    bench.standIn.state.pay(id)
    return id
  }
  const forged = make({ topup_id: 'nobody’s' })
  const foreign = make({})
  bench.standIn.state.refund(foreign, 100)
  await reconcile()
  expect(await differences()).toEqual([`charge ${forged} 900 0`])
  const html = await (await finance.get('/admin/reconciliation')).text()
  expect(html).toContain('a charge without a top-up')
})

test('a payment refunded after the last day that was read is no difference, whichever side is ahead', async () => {
  const [ledgerAhead, both] = [await paid(25), await paid(25)]
  await letPass(bench.service.db.pool, 2 * dayMs, topupTables)
  bench.standIn.state.letPass(2 * dayMs)
  for (const id of [ledgerAhead, both]) {
    bench.standIn.state.refund(id, 300)
    await resolve(id)
  }
  await readAll()
  expect(await differences()).toEqual([])
})

test('a payment from before the first day that was read is left out', async () => {
  const id = await paid(25)
  await letPass(bench.service.db.pool, 20 * dayMs, topupTables)
  bench.standIn.state.letPass(20 * dayMs)
  bench.standIn.state.refund(id, 300)
  await resolve(id)
  await reconcile()
  expect(await differences()).toEqual([])
})

test('many lines are read page by page, and a failed reading continues where it stopped', async () => {
  const { state, failNext } = bench.standIn
  for (let i = 0; i < 250; i++) state.book({ type: 'charge', reporting_category: 'charge', amount: 1, source: null })
  // To noon: lines of the first hour of a day are also read with the day before.
  state.letPass(2 * dayMs + ((Date.now() + dayMs / 2) % dayMs))
  const cards = bench.service.cards!
  const listLines = cards.listLines.bind(cards)
  const afters: (string | undefined)[] = []
  const watched = async (span: Parameters<typeof listLines>[0]) => {
    // The second page fails the first time, and so does the SDK's own retry.
    if (span.after !== undefined && !afters.includes(span.after)) failNext(500, 2)
    afters.push(span.after)
    return await listLines(span)
  }
  Object.assign(cards, { listLines: watched })
  for (let i = 0; i < 7; i++) await reconcileDue(bench.service)
  const { problem, unfinishedDays } = await getReconciliationState(bench.service.db.pool)
  expect([problem, unfinishedDays]).toEqual([expect.stringContaining('card processor unavailable'), 1])
  expect(await (await finance.get('/admin/reconciliation')).text()).toContain('card processor unavailable')
  Object.assign(cards, {
    listLines: async (span: Parameters<typeof listLines>[0]) => (afters.push(span.after), await listLines(span)),
  })
  await query(`update work set due_at = now()`)
  await readAll()
  Object.assign(cards, { listLines })
  expect(await query(`select count(*)::int as count from processor_lines`)).toEqual([{ count: 250 }])
  // Seven days, each from its first page once; the second page twice, the third once.
  expect(afters.filter((after) => after === undefined)).toHaveLength(7)
  expect(afters).toHaveLength(10)
  expect((await getReconciliationState(bench.service.db.pool)).problem).toBeNull()
})

test('two processes read each day once', async () => {
  await paid(25)
  await letPass(bench.service.db.pool, 2 * dayMs, topupTables)
  bench.standIn.state.letPass(2 * dayMs)
  const asked = () => bench.standIn.requests.filter(({ path }) => path === '/v1/balance_transactions').length
  const before = asked()
  for (let i = 0; i < 7; i++) await Promise.all([reconcileDue(bench.service), reconcileDue(bench.service)])
  expect((await getReconciliationState(bench.service.db.pool)).unfinishedDays).toBe(0)
  expect(asked() - before).toBe(7)
})

test('two days are never compared at once: each also resolves what the other has just found', async () => {
  await paid(25)
  const holder = await bench.service.db.pool.connect()
  await beginPatiently(holder)
  await holder.query('select pg_advisory_xact_lock($1)', [locks.reconciliation])
  const reading = reconcile()
  const waits = `select 1 from pg_locks where locktype = 'advisory' and not granted and objid = ($1 & x'ffffffff'::bigint)::oid`
  await eventually(async () => (await query(waits, [locks.reconciliation])).length, 1)
  await holder.query('rollback')
  holder.release()
  await reading
  expect((await getReconciliationState(bench.service.db.pool)).unfinishedDays).toBe(0)
})

const head = 'balance_transaction_id,created_utc,reporting_category,currency,gross,fee,payment_intent_id'
const environment = () => ({ DATABASE_URL: bench.opened.databaseUrl, ...stripeEnvironment(bench.standIn), DEMO: '0' })

test('a report’s file is compared by the page and by the command, which exits with 1 while something differs', async () => {
  const id = await paid(25)
  await letPass(bench.service.db.pool, 2 * dayMs, topupTables)
  const day = new Date(Date.now() - 2 * dayMs).toISOString().slice(0, 10)
  const line = (amount: string) => `${head}\ntxn_file,${day} 12:00:00,charge,usd,${amount},1.03,${id}\n`
  const refused = await finance.post('/admin/reconciliation/file', { report: 'x' })
  expect([refused.status, await refused.text()]).toEqual([
    422,
    expect.stringContaining('Missing: balance_transaction_id'),
  ])
  const sent = await finance.post('/admin/reconciliation/file', { report: line('24.99') })
  expect(sent.headers.get('location')).toBe('/admin/reconciliation?done=report-read')
  expect(await differences()).toEqual([`charge ${id} 2499 2500`])
  const html = await (await finance.get('/admin/reconciliation')).text()
  expect(html).toContain(`href="/admin/topups/${(await bench.topup(id)).id}"`)
  expect(html).toContain('a charge with another amount')

  const file = join(folder, 'report.csv')
  await writeFile(file, line('25.00'))
  const good = await callCommand(['reconcile', '--file', file, '--json'], environment())
  expect([good.exitCode, JSON.parse(good.stdout)]).toEqual([0, { days: [day], differences: [], contradictions: [] }])
  await writeFile(file, line('24.00'))
  const bad = await callCommand(['reconcile', '--file', file], environment())
  expect([bad.exitCode, bad.stdout]).toEqual([
    1,
    expect.stringContaining('24.00 at the processor, 25.00 in the ledger'),
  ])
  await writeFile(file, `${line('25.00')}x\n`)
  const wrong = await callCommand(['reconcile', '--file', file], environment())
  expect([wrong.exitCode, wrong.stderr]).toEqual([1, expect.stringContaining('Line 3: it has 1 cells')])
})

test('a file comes with its form, up to 10 MB and no further', async () => {
  const id = await paid(25)
  await letPass(bench.service.db.pool, 2 * dayMs, topupTables)
  const day = new Date(Date.now() - 2 * dayMs).toISOString().slice(0, 10)
  const send = async (text: string) => {
    const body = new FormData()
    body.append('_token', formTokenOf(finance.token))
    body.append('report', new File([text], 'report.csv', { type: 'text/csv' }))
    const headers = { origin: host, host: new URL(host).host, cookie: `billfold-session=${finance.token}` }
    return await bench.app.fetch(new Request(`${host}/admin/reconciliation/file`, { method: 'POST', body, headers }))
  }
  const note = `${head},description\ntxn_note,${day} 12:00:00,charge,usd,25.00,1.03,${id},"${'x'.repeat(100_000)}"`
  expect((await send(note)).status).toBe(303)
  expect(await query('select payment_intent_id, amount from processor_lines')).toEqual([
    { payment_intent_id: id, amount: 2_500n },
  ])
  expect((await send('x'.repeat(10 * 1024 * 1024 + 100_000))).status).toBe(413)
})

test('the command reads a day again from the processor, and refuses one that is not over', async () => {
  const id = await paid(25)
  bench.standIn.state.refund(id, 100)
  await reconcile()
  expect(await differences()).toEqual([`refund ${id} -100 0`])
  await resolve(id)
  const [{ day }] = (await query(`select day from reconciliation_differences`)) as [{ day: string }]
  const { exitCode, stdout } = await callCommand(['reconcile', '--day', day], environment())
  expect([exitCode, stdout]).toEqual([0, `Read: ${day}. The processor and the ledger agree.\n`])
  const today = new Date().toISOString().slice(0, 10)
  const early = await callCommand(['reconcile', '--day', today], environment())
  expect([early.exitCode, early.stderr]).toEqual([1, expect.stringContaining(`${today} is not over`)])
  const ordered = await finance.post('/admin/reconciliation/day', { day: today })
  expect([ordered.status, await ordered.text()]).toEqual([422, expect.stringContaining('This day can be read')])
  expect((await finance.post('/admin/reconciliation/day', { day })).status).toBe(303)
  expect((await getReconciliationState(bench.service.db.pool)).unfinishedDays).toBe(1)
})

test('a difference resolved by hand is closed, with name and reason, and opens again when a side changes', async () => {
  const payer = await bench.newPayer()
  const id = await payer.begin(25)
  bench.standIn.state.pay(id)
  await reconcile()
  const path = '/admin/reconciliation/difference'
  const page = await (await finance.get(`${path}?payment=${id}&kind=charge`)).text()
  const seen = /name="seen" value="([^"]+)"/.exec(page)![1]!
  const fields = { payment: id, kind: 'charge', seen, reason: 'Paid back by bank transfer 4711' }
  expect((await finance.post(path, { ...fields, reason: ' ' })).status).toBe(422)
  expect((await finance.post(path, { ...fields, seen: '2400 0' })).status).toBe(409)
  const viewer = await newOperator(bench.opened, 'viewer')
  expect((await viewer.post(path, fields)).status).toBe(403)
  expect(await differences()).toHaveLength(1)
  const alerts = () => bench.opened.logged.filter((line) => line.includes('the processor and the ledger differ')).length
  const alertsBefore = alerts()
  expect((await finance.post(path, fields)).status).toBe(303)
  // The same form again gets the first result, and one with another reason is refused.
  expect((await finance.post(path, fields)).status).toBe(303)
  expect((await finance.post(path, { ...fields, reason: 'Taken as a loss' })).status).toBe(409)
  await again()
  expect([await differences(), alerts()]).toEqual([[], alertsBefore])
  expect(await metric('billfold_reconciliation_differences')).toBe(0)
  const list = await (await finance.get('/admin/reconciliation')).text()
  for (const shown of ['Resolved by hand', id, finance.name, fields.reason]) expect(list).toContain(shown)
  const records = await query(`select detail from audit where action = 'reconciliation.difference-settled'`)
  expect(records).toMatchObject([{ detail: { paymentIntentId: id, processorMinor: '2500', ledgerMinor: '0' } }])
  const { bookings, charges } = bench.standIn.state
  const charge = [...charges.values()].find((each) => each['payment_intent'] === id)!.id
  bookings.find(({ source }) => source === charge)!.amount = 2_400
  await again()
  expect(await differences()).toEqual([`charge ${id} 2400 0`])
})

test('the command of the runbook resolves a charge that the ledger does not have', async () => {
  const id = await (await bench.newPayer()).begin(25)
  bench.standIn.state.pay(id)
  await reconcile()
  expect(await differences()).toEqual([`charge ${id} 2500 0`])
  expect(await play('reconcile-settle', environment(), { PAYMENT: id })).toMatchObject([{ exitCode: 0 }])
  expect(await differences()).toEqual([])
})

test('the command resolves a difference with the amounts that the operator saw, once, and names the operator', async () => {
  const id = await paid(25)
  bench.standIn.state.refund(id, 100)
  await reconcile()
  const callSettle = async (...args: string[]) =>
    await callCommand(['reconcile', 'settle', id, ...args, '--reason', 'Taken as a loss', '--as', 'ann'], environment())
  const seen = ['--processor', '-1.00', '--ledger', '0.00']
  const refusals: [args: string[], exitCode: number, message: string][] = [
    [['refunds', ...seen], 2, '"refunds" is not a kind of difference: write charge, refund, dispute.'],
    [['refund', '--processor', '1e2', '--ledger', '0.00'], 2, '--processor: write an amount of USD'],
    [['charge', ...seen], 1, `There is no open difference: charge of ${id}.`],
    [['refund', '--processor', '1.00', '--ledger', '0.00'], 1, '-1.00 at the processor, 0.00 in the ledger'],
  ]
  for (const [args, exitCode, message] of refusals)
    expect([args, await callSettle(...args)]).toMatchObject([
      args,
      { exitCode, stderr: expect.stringContaining(message) as string },
    ])
  expect(await differences()).toEqual([`refund ${id} -100 0`])
  const settled = await callSettle('refund', ...seen, '--json')
  expect([settled.exitCode, JSON.parse(settled.stdout)]).toMatchObject([
    0,
    { paymentIntentId: id, kind: 'refund', processor: '-1.00', ledger: '0.00', settledBy: 'cli:ann' },
  ])
  expect(await differences()).toEqual([])
  expect(await callSettle('refund', ...seen)).toMatchObject({ exitCode: 1 })
  const records = await query(
    `select actor, detail->>'reason' as reason from audit
     where action = 'reconciliation.difference-settled' and detail->>'paymentIntentId' = $1`,
    [id],
  )
  expect(records).toEqual([{ actor: 'cli:ann', reason: 'Taken as a loss' }])
})

test('lines are deleted with their days, except those of a payment that differs, and older ones are no longer compared', async () => {
  const [right, wrong] = [await paid(25), await paid(30)]
  await query(`delete from topup_movements where topup_id = (select id from topups where payment_intent_id = $1)`, [
    wrong,
  ])
  await reconcile()
  expect(await differences()).toEqual([`charge ${wrong} 3000 0`])
  const lines = async () =>
    (await query('select payment_intent_id as id from processor_lines order by id')).map((row) => String(row['id']))
  const keep = { processorLinesDays: 31, eventsDays: 30 }
  await deleteExpired(bench.service.db, keep)
  expect((await lines()).toSorted()).toEqual([right, wrong].toSorted())
  await letPass(bench.service.db.pool, 40 * dayMs, [...topupTables, 'processor_lines'])
  await query('update reconciliation_days set day = day - 40')
  await query('update reconciliation_differences set day = day - 40')
  await deleteExpired(bench.service.db, keep)
  expect(await lines()).toEqual([wrong])
  // A late refund of the payment whose charge was deleted is no difference; the other payment is unchanged.
  const days = { processorLinesDays: 31, eventsDays: 30 }
  const service = { ...bench.service, config: { ...bench.service.config, ...days } }
  bench.standIn.state.letPass(40 * dayMs)
  bench.standIn.state.refund(right, 1_000)
  await resolve(right)
  await letPass(bench.service.db.pool, 2 * dayMs, topupTables)
  bench.standIn.state.letPass(2 * dayMs)
  do await reconcileDue(service)
  while ((await getReconciliationState(service.db.pool)).unfinishedDays > 0)
  expect(await differences()).toEqual([`charge ${wrong} 3000 0`])
})
