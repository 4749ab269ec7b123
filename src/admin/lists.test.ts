import { afterAll, beforeAll, expect, test } from 'bun:test'
import { csvPages } from '../web/csv.ts'
import { newClient } from '../../test/client.ts'
import { newOperator, type TestOperator } from '../../test/operator.ts'
import { newApp, newUser } from '../../test/service.ts'
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

test('a list shows its active filters, their time zone, the total, and a link that clears them', async () => {
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

test('a CSV export holds every row of its list, and no formula', async () => {
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

test('a page of top-ups reads at most its span, and the next page continues from there', async () => {
  const { pool } = bench.service.db.longRunning
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

const headsOf = (text: string) =>
  Object.fromEntries(
    [...text.matchAll(/<th [^>]*aria-sort="(\w+)"[^>]*><a href="([^"]+)">([^<]+)<\/a>/g)].map(
      ([, sort, href, title]) => [title!, { sort, href: href!.replaceAll('&amp;', '&') }],
    ),
  )

test('a click on a column head sorts by it, and the next click reverses the order', async () => {
  const mine = `/admin/topups?user=${payer.userId}&state=created`
  const first = headsOf(await html(mine))
  expect(first).toEqual({ Time: { sort: 'descending', href: `${mine}&order=oldest` } })
  const turned = await html(first['Time']!.href)
  expect(headsOf(turned)).toEqual({ Time: { sort: 'ascending', href: mine } })
  expect(paymentsIn(turned)).toEqual(payments.slice(0, 2))
  expect(headsOf(await html('/admin/audit'))).toMatchObject({ Time: { sort: 'descending' } })
  expect(Object.keys(headsOf(await html('/admin/wallets')))).toEqual(['Since'])
})

test('wallets in a state are sorted by their balance, page after page; all of them only by their age', async () => {
  const users = []
  for (let i = 0; i < 60; i++) {
    const { userId } = await newUser(bench.service, bench.credentials)
    users.push(userId)
  }
  await bench.service.db.pool.query(
    `update wallets set frozen_for = 'operator', frozen_reason = 'x' where id = any($1::uuid[])`,
    [users],
  )
  const client = newClient(bench.app.fetch, bench.credentials)
  const { rows } = await bench.service.db.pool.query<{ id: string; user_id: string }>(
    'select id, user_id from links where user_id = any($1::uuid[])',
    [users],
  )
  const link = new Map(rows.map((row) => [row.user_id, row.id]))
  // Some balances are equal, so that the order falls back to the id.
  for (const [i, id] of users.entries()) if (i % 4 > 0) await client.credit(link.get(id)!, i % 4)
  const balanceOf = new Map(users.map((id, i) => [id, i % 4]))
  const most = await walk('most&state=operator')
  expect(most.toSorted()).toEqual(users.toSorted())
  expect(most.map((id) => balanceOf.get(id)!)).toEqual(users.map((_, i) => 3 - Math.floor(i / 15)))
  expect(await walk('least&state=operator')).toEqual(most.toReversed())
  const heads = headsOf(await html('/admin/wallets?state=operator&order=most'))
  expect(heads['Balance']).toEqual({ sort: 'descending', href: '/admin/wallets?state=operator&order=least' })
  // A hand-written address: the order is not available, and the list still shows.
  expect((await viewer.get('/admin/wallets?order=most')).status).toBe(200)
  expect((await viewer.get('/admin/wallets?state=operator&order=most&after=x+y')).status).toBe(200)
})

test('apps are sorted and exported, and so is the ledger of one', async () => {
  const other = await newApp(bench.service, { name: 'Aardvark Books' })
  const names = async (path: string) =>
    [...(await html(path)).matchAll(/<a href="\/admin\/client-apps\/app_\w+">([^<]+)<\/a>/g)].map((match) => match[1]!)
  const heads = headsOf(await html('/admin/client-apps'))
  expect(heads['Registered']!.sort).toBe('descending')
  const byName = await names(heads['App']!.href)
  expect(byName).toEqual(byName.toSorted())
  expect(await names(headsOf(await html(heads['App']!.href))['App']!.href)).toEqual(byName.toReversed())
  const [head, ...apps] = await lines('/admin/client-apps.csv?order=name')
  expect(head).toStartWith('clientId,name,state')
  expect(apps.map((line) => line.split(',')[1]!)).toEqual(byName)

  const today = new Date().toISOString().slice(0, 10)
  const path = (clientId: string, from = '2026-01-01', until = today) =>
    `/admin/client-apps/${clientId}/ledger.csv?from=${from}&until=${until}`
  const monthAgo = new Date(Date.now() - 30 * 86_400_000).toISOString().slice(0, 10)
  const tomorrow = new Date(Date.now() + 86_400_000).toISOString().slice(0, 10)
  const client = newClient(bench.app.fetch, other)
  const { userId, serviceUserId } = await newUser(bench.service, other)
  await client.credit(serviceUserId, 9, 'first')
  for (let i = 0; i < 3; i++) await client.debit(serviceUserId, 1, `order-${i}`)
  const [titles, ...entries] = await lines(path(other.clientId, monthAgo, tomorrow))
  const column = (name: string) => entries.map((line) => line.split(',')[titles!.split(',').indexOf(name)])
  expect(column('referenceId')).toEqual(['first', 'order-0', 'order-1', 'order-2'])
  expect(column('walletId')).toEqual(Array(4).fill(userId))
  for (const [from, until] of [
    ['', today],
    ['2020-01-01', today],
    [today, monthAgo],
  ])
    expect((await viewer.get(path(other.clientId, from, until))).status).toBe(422)
  expect((await viewer.get(path('app_none', monthAgo, today))).status).toBe(404)
})
