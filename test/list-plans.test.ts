/** The lists of what people wrote, on tables of 30,000 rows that were never analysed: each page walks the index of its order and stops. */
import { afterAll, beforeAll, describe, expect, setDefaultTimeout, test } from 'bun:test'
import { deskLists } from '../src/admin/pages.tsx'
import { maxRead } from '../src/store/connection/listing.ts'
import { deskTables, insertDeskRows, type DeskPeople } from './desk-rows.ts'
import { newOperator, type TestOperator } from './operator.ts'
import { recordQueries, type RecordedQuery } from './recorded-queries.ts'
import { newApp, newUser, openTestService, type TestService } from './service.ts'

setDefaultTimeout(180_000)

let rig: TestService
let viewer: TestOperator
let people: DeskPeople

const count = 30_000

beforeAll(async () => {
  rig = await openTestService()
  viewer = await newOperator(rig, 'viewer')
  const [asker, decider] = [await newOperator(rig, 'finance'), await newOperator(rig, 'finance')]
  const { clientId } = await newApp(rig.service)
  const { userId } = await newUser(rig.service, { clientId })
  people = { userId, clientId, asker: asker.id, decider: decider.id }
  const { pool } = rig.service.db.longRunning
  for (const table of deskTables) {
    await pool.query(`alter table ${table} set (autovacuum_enabled = false)`)
    await insertDeskRows(pool, table, people, { count })
  }
})
afterAll(() => rig.close())

type Node = { 'Node Type': string; 'Relation Name'?: string; Plans?: Node[] }

async function planOf({ client, text, values }: RecordedQuery): Promise<Node> {
  const { rows } = await client.query<{ 'QUERY PLAN': [{ Plan: Node }] }>(`explain (format json) ${text}`, [...values])
  return rows[0]!['QUERY PLAN'][0].Plan
}

/** Steps that read the whole table, or all that one page may read, before they answer. */
function wholeReads(node: Node, table: string): string[] {
  const below = (node.Plans ?? []).flatMap((each) => wholeReads(each, table))
  const isWhole = node['Node Type'] === 'Sort' || (node['Node Type'] === 'Seq Scan' && node['Relation Name'] === table)
  return isWhole ? [`${node['Node Type']} ${node['Relation Name'] ?? ''}`, ...below] : below
}

/** One row, found by its id, may be sorted, and so may be the rows of one wallet or app by their amount: people make few. */
const maySort = (filter: string, order: string) =>
  filter.startsWith('id=') || (/^(wallet|app)=/.test(filter) && /most|least/.test(order))

const read = (text: string) => text.replaceAll('&amp;', '&').replaceAll('&quot;', '"')

const lists = deskLists.map(({ table, path, equals }) => [table, path, equals] as const)

describe.each(lists)('the list of %s', (table, path, equals) => {
  test('reads no whole table and sorts nothing, whatever the filter and the order', async () => {
    const first = await (await viewer.get(path)).text()
    const orders = first.includes('value="most"') ? ['', 'oldest', 'most', 'least'] : ['', 'oldest']
    const filters = [
      '',
      'from=2026-01-01&until=2026-06-01',
      `actor=operator:${people.decider}`,
      'id=00000000-0000-7000-8000-000000000000',
      ...(orders.length > 2 ? ['min=200', 'min=200&max=201&from=2026-01-01'] : []),
      ...[`wallet=${people.userId}`, `app=${people.clientId}`, `user=${people.userId}`].filter((each) =>
        equals.includes(each.split('=')[0]!),
      ),
    ]
    const wrong: string[] = []
    for (const order of orders)
      for (const filter of filters) {
        const address = `${path}?${filter}&order=${order}`
        const recorded = await recordQueries(async () => {
          const response = await viewer.get(address)
          expect([address, response.status]).toEqual([address, 200])
          const next = /href="([^"]+)" rel="next"/.exec(await response.text())?.[1]
          if (next) expect((await viewer.get(read(next))).status).toBe(200)
        })
        const pages = recorded.filter(
          ({ text }) =>
            text.includes('listing_row') && (text.includes(` ${table} `) || text.includes(` all_${table} `)),
        )
        expect(pages.length).toBeGreaterThan(0)
        for (const each of pages)
          for (const step of wholeReads(await planOf(each), table))
            if (!(step.startsWith('Sort') && maySort(filter, order))) wrong.push(`${address}: ${step}`)
      }
    expect(wrong).toEqual([])
  })
})

test('a page reads at most its bound for a rare match, says so, and the next page finds it', async () => {
  const { pool } = rig.service.db.longRunning
  await pool.query(
    `update corrections set reason = 'the oldest', state = 'withdrawn' where asked_at = (select min(asked_at) from corrections)`,
  )
  const path = '/admin/corrections?state=withdrawn'
  const first = await (await viewer.get(path)).text()
  expect(first).toContain(`None of the ${maxRead.toLocaleString('en')} corrections searched match the filter.`)
  expect(first).toContain('at least 0 corrections')
  expect(first).toContain('Clear the filter')
  const next = read(/href="([^"]+)" rel="next">Search further/.exec(first)![1]!)
  const second = await (await viewer.get(next)).text()
  expect(second).toContain('the oldest')
  expect(second).not.toContain('rel="next"')
  const file = (await (await viewer.get('/admin/corrections.csv?state=withdrawn')).text()).trimEnd().split('\r\n')
  expect(file).toHaveLength(2)
})

test('a file holds every row once, across its pages and its bounds', async () => {
  for (const query of ['?state=declined', '?order=least']) {
    const lines = (await (await viewer.get(`/admin/corrections.csv${query}`)).text()).trimEnd().split('\r\n').slice(1)
    expect(new Set(lines.map((line) => line.split(',')[0])).size).toBe(lines.length)
    expect([query, lines.length]).toEqual([query, query.includes('declined') ? count / 3 : count])
  }
})

test('nothing was analysed on the way', async () => {
  const { rows } = await rig.service.db.pool.query(
    'select distinct tablename from pg_stats where tablename = any($1)',
    [deskTables],
  )
  expect(rows).toEqual([])
})
