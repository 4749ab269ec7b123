import { afterAll, beforeAll, beforeEach, expect, setDefaultTimeout, test } from 'bun:test'
import { beginPatiently } from '../../../test/lock-waits.ts'
import { countCalls } from '../../actions/apps/count-calls.ts'
import { newClient } from '../../../test/client.ts'
import { newOperator, type TestOperator } from '../../../test/operator.ts'
import { newApp, newUser } from '../../../test/service.ts'
import { beginDayThatStays } from '../../../test/time.ts'
import { openBench, type Bench } from '../../../test/topup/rig.ts'

setDefaultTimeout(180_000)

let bench: Bench
let viewer: TestOperator
const query = (sql: string, values: unknown[] = []) => bench.service.db.pool.query(sql, values)

beforeAll(async () => {
  bench = await openBench({}, 20_000)
  viewer = await newOperator(bench.opened, 'viewer')
})
// The test must not cross midnight UTC: figures of today are read on the same day.
beforeEach(() => beginDayThatStays())
afterAll(() => bench.close())

const page = async (range = '') => text(await (await viewer.get(`/admin${range && `?range=${range}`}`)).text())
/** The page's text: without markup, with single spaces. */
const text = (html: string) =>
  html
    .replace(/<[^>]+>/g, ' ')
    .replace(/&#?\w+;/g, '’')
    .replace(/\s+/g, ' ')

test('an overview without anything says so, in every range', async () => {
  for (const range of ['', 'hour', 'day', 'week', 'month', 'quarter', 'nonsense']) {
    const shown = await page(range)
    for (const part of ['Held in wallets', '$0.00', 'Nothing moved.', 'No app moved money', 'None started yet'])
      expect([range, shown]).toEqual([range, expect.stringContaining(part)])
  }
})

test('money in and out covers the range, over all writers, compared with the period before', async () => {
  const app = await newApp(bench.service, { name: 'Fernweh' })
  const user = await newUser(bench.service, app)
  const client = newClient(bench.app.fetch, app)
  await client.credit(user.serviceUserId, 100)
  await client.debit(user.serviceUserId, 40)
  // Rows of two writers a week ago, and of one a month ago.
  await query(
    `insert into positions (counter_account, day, writer, debited, credited, transfers)
     select $1, (now() at time zone 'UTC')::date - days, writer, debited, credited, 1
     from (values (7, 500, 3000, 1000), (7, 501, 1000, 1000), (40, 500, 900, 0)) as p(days, writer, debited, credited)`,
    [`app:${app.clientId}`],
  )
  const day = await page('day')
  expect(day).toContain('Into wallets today $100.00 +400 %')
  expect(day).toContain('Out of wallets today $40.00 ±0 % $40.00 in the whole of')
  expect(day).toContain('Fernweh $100.00 $20.00 $40.00 $40.00 2')
  const week = await page('week')
  expect(week).toContain('Out of wallets in the last 7 days $40.00 ±0 % $40.00 in the 7 days before')
  expect(await page('month')).toContain('Out of wallets in the last 30 days $80.00 +788 % $9.00 in the 30 days before')
  expect(await page('quarter')).toContain('Out of wallets in the last 91 days $89.00')
  await query('delete from positions where writer >= 500')
})

test('what needs attention is counted and links to its list', async () => {
  const payer = await bench.newPayer()
  const payment = await payer.begin(25)
  bench.standIn.state.pay(payment)
  await payer.confirm(payment)
  const { id } = await bench.topup(payment)
  await query(
    `update topups set dispute = 'open', disputed = 2500, problem = 'mismatch', decline_code = 'x' where id = $1`,
    [id],
  )
  const poor = await newUser(bench.service, bench.credentials)
  await query(`update wallets set balance = -1234, frozen_for = 'debt' where id = $1`, [poor.userId])
  const frozen = await newUser(bench.service, bench.credentials)
  await query(`update wallets set frozen_for = 'operator' where id = $1`, [frozen.userId])
  const shown = await page()
  for (const part of [
    'do not match their order 1',
    'Open disputes $25.00 1',
    'Wallets in debt -$12.34 1',
    'frozen by an operator 1',
    'Started 1',
    'Paid $25.00 1',
    'With a declined card 1',
  ])
    expect(shown).toContain(part)
  for (const [list, expected] of [
    ['/admin/topups?state=disputed', payment],
    ['/admin/topups?state=problem', payment],
    ['/admin/wallets?state=debt', poor.userId],
    ['/admin/wallets?state=operator', frozen.userId],
  ] as const) {
    const html = await (await viewer.get(list)).text()
    expect(html).toContain(expected)
    expect(html).toMatch(/<strong>1 (wallet|top-up)<\/strong>/)
  }
  await query(`update wallets set balance = 0, frozen_for = null`)
  await query(`update topups set dispute = 'none', disputed = 0, problem = null`)
})

test('requests are shown by the minute and by steps, with their axes', async () => {
  await query(
    `insert into minutes select date_trunc('minute', now()) - n * interval '1 minute', gen_random_uuid(), 600, 1, 1, 1, 1, '{600}', 2
     from generate_series(-1, 40) n`,
  )
  const hour = await (await viewer.get('/admin?range=hour')).text()
  expect(text(hour)).toContain('Requests a minute 600')
  // The newest minute is the current one, or already the one before.
  expect(text(hour)).toMatch(/Faults, last hour 4[12] /)
  expect(hour).toMatch(/aria-label="Requests a minute, \d\d:\d\d to \d\d:\d\d UTC: from 0 to 600, last 600/)
  const day = text(await (await viewer.get('/admin?range=day')).text())
  expect(day).toMatch(/Faults, last 24 hours 4[12] /)
  expect(text(await (await viewer.get('/admin/overview?range=week&auto=1')).text())).toMatch(/last 48 hours 4[12] /)
})

test('an app whose calls were refused for their number is named on the overview, and on its page with the last time', async () => {
  const app = await newApp(bench.service, { name: 'Greedy Goods', maxOperations: 1 })
  const { serviceUserId, userId } = await newUser(bench.service, app)
  const client = newClient(bench.app.fetch, app)
  expect(await page()).not.toContain('Greedy Goods: calls refused')
  const holder = await bench.service.db.pool.connect()
  await beginPatiently(holder)
  await holder.query('select 1 from wallets where id = $1 for update', [userId])
  const first = client.credit(serviceUserId, 1)
  while (bench.service.quota.underWay(app.clientId, 'operations') === 0) await Bun.sleep(5)
  expect((await client.credit(serviceUserId, 1)).status).toBe(429)
  expect((await client.credit(serviceUserId, 1)).status).toBe(429)
  await holder.query('rollback')
  holder.release()
  expect((await first).status).toBe(200)
  await countCalls(bench.service)
  expect(await page()).toContain('Greedy Goods: calls refused for their number 2')
  const own = text(await (await viewer.get(`/admin/client-apps/${app.clientId}/calls`)).text())
  expect(own).toMatch(/RATE_LIMITED \/api\/server\/wallet\/credit 2 2/)
  const metrics = await bench.service.metrics.render()
  expect(metrics).toContain(`billfold_throttled_calls_total{app="${app.clientId}"} 2`)
})
