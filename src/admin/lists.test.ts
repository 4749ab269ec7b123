import { afterAll, beforeAll, expect, test } from 'bun:test'
import { csvPages } from '../web/csv.ts'
import { newClient } from '../../test/client.ts'
import { newOperator, type TestOperator } from '../../test/operator.ts'
import { newUser } from '../../test/service.ts'
import { openBench, type Bench, type Payer } from '../../test/topup/rig.ts'

let bench: Bench
let viewer: TestOperator
let payer: Payer
const payments: string[] = []

beforeAll(async () => {
  bench = await openBench({}, 20_000)
  viewer = await newOperator(bench.opened, 'viewer')
  payer = await bench.newPayer()
  for (let i = 0; i < 3; i++) payments.push(await payer.begin(2 + i))
  bench.standIn.state.pay(payments[2]!)
  await payer.confirm(payments[2]!)
  await bench.service.db.pool.query(`update users set first_name = '=1+1' where id = $1`, [payer.userId])
})
afterAll(() => bench.close())

const html = async (path: string) => await (await viewer.get(path)).text()
const lines = async (path: string) => {
  const response = await viewer.get(path)
  expect(response.headers.get('content-type')).toStartWith('text/csv')
  return (await response.text()).trimEnd().split('\r\n')
}
const paymentsIn = (text: string) => [...text.matchAll(/<code>(pi_\w+)<\/code>/g)].map((match) => match[1]!)

test('top-ups come in both orders, and by state, app and day', async () => {
  expect(paymentsIn(await html('/admin/topups?order=oldest'))).toEqual(payments)
  expect(paymentsIn(await html('/admin/topups'))).toEqual(payments.toReversed())
  expect(paymentsIn(await html('/admin/topups?state=succeeded'))).toEqual([payments[2]!])
  expect(paymentsIn(await html(`/admin/topups?app=${bench.credentials.clientId}&state=created`))).toHaveLength(2)
  expect(paymentsIn(await html('/admin/topups?app=app_other'))).toEqual([])
  const dayOf = async (payment: string) => (await bench.topup(payment)).createdAt.toISOString().slice(0, 10)
  const days = `from=${await dayOf(payments[0]!)}&until=${await dayOf(payments[2]!)}`
  expect(paymentsIn(await html(`/admin/topups?${days}`))).toHaveLength(3)
  expect(paymentsIn(await html('/admin/topups?until=2020-01-01'))).toEqual([])
})

test('a list says which filters are on, in which zone, how many there are, and leads out of them', async () => {
  const shown = await html('/admin/topups?state=problem&from=2020-01-01')
  expect(shown).toContain('from: 2020-01-01 UTC')
  expect(shown).toContain('state: problem')
  expect(shown).toContain('<a href="/admin/topups">Clear</a>')
  expect(await html('/admin/topups')).toContain('<strong>3 top-ups</strong>')
  expect(await html('/admin/audit?action=nothing.at-all')).toContain('<strong>0 records</strong>')
  expect(await html('/admin/wallets')).toMatch(/<strong>\d+ wallets?<\/strong>/)
  expect(await html(`/admin/wallets/${payer.userId}`)).toContain('<strong>1 entry</strong>')
})

const walk = async (order: string) => {
  const seen: string[] = []
  for (let next: string | undefined = `/admin/wallets?order=${order}`; next;) {
    const shown: string = await html(next)
    seen.push(...[...shown.matchAll(/<a href="\/admin\/wallets\/([0-9a-f-]{36})">/g)].map((match) => match[1]!))
    next = /href="([^"]+)" rel="next"/.exec(shown)?.[1]?.replaceAll('&amp;', '&')
  }
  return seen
}

test('wallets come in both orders, page by page, each once', async () => {
  for (let i = 0; i < 55; i++) await newUser(bench.service, bench.credentials)
  const newest = await walk('')
  expect(newest.length).toBeGreaterThan(55)
  expect(newest).toEqual(newest.toSorted().toReversed())
  expect(await walk('oldest')).toEqual(newest.toReversed())
})

const ids = async (order: string) =>
  (await lines(`/admin/audit.csv?order=${order}&action=operator.created`))
    .slice(1)
    .map((line) => line.split(',').at(-1))

test('the audit log comes in both orders, page by page', async () => {
  for (let i = 0; i < 3; i++) await newOperator(bench.opened, 'viewer')
  const newest = await ids('')
  expect(newest.length).toBeGreaterThan(3)
  expect(await ids('oldest')).toEqual(newest.toReversed())
})

test('lists as files hold what the list does, every row, and no formula', async () => {
  const wallets = await lines('/admin/wallets.csv')
  expect(wallets.length).toBeGreaterThan(56)
  expect(wallets.find((line) => line.includes(payer.userId))).toContain("'=1+1")
  expect(await lines(`/admin/wallets.csv?q=${payer.userId.slice(0, 20)}`)).not.toHaveLength(1)
  const topups = await lines('/admin/topups.csv?order=oldest')
  expect(topups.slice(1).map((line) => payments.find((payment) => line.includes(payment)))).toEqual(payments)
  expect(topups[3]).toContain(',succeeded,4.00,USD,4.00,0.00,0.00,none,')
  const client = newClient(bench.app.fetch, bench.credentials)
  await client.debit(payer.serviceUserId, 1)
  expect(await lines(`/admin/wallets/${payer.userId}/ledger.csv`)).toHaveLength(3)
  expect((await lines(`/admin/wallets/${payer.userId}/ledger.csv?direction=debit`))[1]).toContain('DEBIT,1.00,3.00,USD')
})

const read = (before: { lines: string[] } | undefined) =>
  Promise.resolve(before ? before : { lines: ['a\r\n', 'b\r\n'] })

test('a file that had to end early says so in its last line', async () => {
  expect((await Array.fromAsync(csvPages(['head'], read, 5))).join('')).toBe(
    'head\r\na\r\nb\r\na\r\nb\r\na\r\ncut after 5 lines\r\n',
  )
})

test('a page of top-ups looks at no more than its span, and goes on from there', async () => {
  const { pool } = bench.service.db.patient
  await pool.query(
    `insert into topups (id, user_id, client_id, processor, amount, currency, state, created_at, updated_at, expires_at)
     select gen_random_uuid(), $1, $2, 'stripe', 100, 'USD', 'cancelled', now() - n * interval '1 second', now(), now()
     from generate_series(1, 20100) n`,
    [payer.userId, bench.credentials.clientId],
  )
  await pool.query(`update topups set state = 'failed' where created_at = (select min(created_at) from topups)`)
  const first = await html('/admin/topups?state=failed')
  expect(first).toContain('None of the 20,000')
  const next = /href="([^"]+)" rel="next"/.exec(first)![1]!.replaceAll('&amp;', '&')
  expect(await html(next)).toContain('failed</span>')
  expect(await html('/admin/topups')).toContain('<strong>more than 10,000 top-ups</strong>')
  expect(await lines('/admin/topups.csv?state=failed')).toHaveLength(2)
})
