import { afterAll, beforeAll, expect, setDefaultTimeout, test } from 'bun:test'
import { newClient, type Client } from '../../../test/client.ts'
import { recordQueries } from '../../../test/recorded-queries.ts'
import { linkUser, newApp, newUser, openTestService, type TestService } from '../../../test/service.ts'

setDefaultTimeout(180_000)

const theirs = 23_000
let opened: TestService
let client: Client
let serviceUserId: string

/** Three visible entries, one of them the service's, and above them many thousands of another app. */
beforeAll(async () => {
  opened = await openTestService()
  const credentials = await newApp(opened.service)
  const other = await newApp(opened.service)
  client = newClient(opened.app.fetch, credentials)
  const user = await newUser(opened.service, credentials)
  serviceUserId = user.serviceUserId
  await linkUser(opened.service, other, user.userId)
  for (const name of ['one', 'two', 'three']) await client.credit(serviceUserId, 1, name)
  // Half a minute per statement: it inserts thousands of rows, and the machine may be busy.
  const { pool } = opened.service.db.longRunning
  await pool.query(
    `insert into transfers (wallet_id, sequence, amount, balance_after, reference_key, created_at, counter_account, reference_type, reference_id)
     select $1, 3 + n, case n % 2 when 0 then -1 else 1 end, 300 + n % 2, gen_random_uuid(), now(), 'app:' || $2::text, 'ORDER', n::text
     from generate_series(1, $3::bigint) n`,
    [user.userId, other.clientId, theirs],
  )
  await pool.query('update wallets set sequence = sequence + $2 where id = $1', [user.userId, theirs])
})
afterAll(() => opened.close())

type Page = { readonly references: unknown[]; readonly nextBefore: number | null }

async function readPage(query: Record<string, string>): Promise<Page> {
  const { status, body } = await client.wallet(serviceUserId, query)
  expect([status, body['balance']]).toEqual([200, 3])
  const transactions = body['transactions'] as Record<string, unknown>[]
  return {
    references: transactions.map((each) => each['referenceId']),
    nextBefore: body['nextBefore'] as number | null,
  }
}

test('whoever follows nextBefore finds every entry of their own below any number of another app’s', async () => {
  for (const limit of ['1', '2', '50']) {
    const pages: Page[] = []
    let query: Record<string, string> = { limit }
    for (;;) {
      const page = await readPage(query)
      pages.push(page)
      if (page.nextBefore === null) break
      query = { limit, before: String(page.nextBefore) }
    }
    expect(pages.flatMap((page) => page.references)).toEqual(['three', 'two', 'one'])
    expect(pages[0]).toEqual({ references: [], nextBefore: theirs + 4 - 5_000 })
    expect(pages.length).toBeLessThan(9)
  }
})

type Node = {
  readonly 'Relation Name'?: string
  readonly 'Actual Rows'?: number
  readonly 'Rows Removed by Filter'?: number
}

/** Of a plan and all plans in it: on a cluster, that of the node, on its shard of the table. */
function looksAt(plan: unknown): number {
  if (typeof plan !== 'object' || plan === null) return 0
  const { 'Relation Name': table = '', 'Actual Rows': read = 0, 'Rows Removed by Filter': removed = 0 } = plan as Node
  const here = /^transfers(_\d+)?$/.test(table) ? read + removed : 0
  return Object.values(plan).reduce<number>((sum, below) => sum + looksAt(below), here)
}

const queries = [{}, { limit: '200' }, { before: '20000' }, { before: '5100', limit: '1' }, { before: '99999999' }]

/** With existing planner statistics and with fresh ones: the server may refresh them at any time. */
test.each(
  ['select 1', 'vacuum analyze transfers'].flatMap((statistics) =>
    queries.map((query) => [query as Record<string, string>, statistics] as const),
  ),
)(
  'a page %j looks at 5,000 entries at most and the one it begins with, whatever the wallet holds, after %s',
  async (query, statistics) => {
    await opened.service.db.longRunning.pool.query(statistics)
    const heard = await recordQueries(async () => void (await readPage(query)))
    const walks = heard.filter(({ text }) => text.includes(' all_transfers '))
    expect(walks).toHaveLength(1)
    const [{ client: connection, text, values }] = walks as [(typeof walks)[0]]
    const { rows } = await connection.query(`explain (analyze, format json) ${text}`, [...values])
    const looked = looksAt(rows)
    expect(looked).toBeGreaterThan(0)
    expect(looked).toBeLessThanOrEqual(5_001)
  },
)
