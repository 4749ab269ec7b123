/** Every table that people write to has a list with a filter, an order, a CSV file and a search by id. */
import { afterAll, beforeAll, describe, expect, setDefaultTimeout, test } from 'bun:test'
import { listTables } from '../store/migrations/tables.ts'
import { deskTables, insertDeskRows, type DeskPeople } from '../../test/desk-rows.ts'
import { newOperator, type TestOperator } from '../../test/operator.ts'
import { newApp, newUser, openTestService, type TestService } from '../../test/service.ts'
import { adminRoutes, deskLists } from './pages.tsx'

setDefaultTimeout(180_000)

let rig: TestService
let viewer: TestOperator
let people: DeskPeople

const count = 60

beforeAll(async () => {
  rig = await openTestService()
  viewer = await newOperator(rig, 'viewer')
  const asker = await newOperator(rig, 'finance')
  const decider = await newOperator(rig, 'admin')
  const credentials = await newApp(rig.service, { name: 'Fernweh Books' })
  const { userId } = await newUser(rig.service, credentials)
  people = { userId, clientId: credentials.clientId, asker: asker.id, decider: decider.id }
  for (const table of deskTables) await insertDeskRows(rig.service.db.pool, table, people, { count })
})
afterAll(() => rig.close())

/** Lists that are not declared as the others, by table. */
const otherLists: Readonly<Record<string, string>> = { audit: '/admin/audit' }

/** Tables with the id or the name of an operator that operators do not fill in. */
const notByHand: Readonly<Record<string, string>> = {
  holds: 'apps make them; they have a list, and what ended one is no person',
  hold_steps: 'the page of a hold lists them; an operator’s void is in the audit log',
  operator_addresses: 'from where an operator signed in',
  operator_identities: 'the account at the identity provider',
  operator_recovery_codes: 'hashes',
  operator_sessions: 'the account page lists them',
  processor_lines: 'bookings of the card processor; an upload is in the audit log, and what it contradicts has a list',
}

const isPerson = (column: string) => /(^|_)(by|actor)$|^operator_id$/.test(column)

test('every table with the name of a person has a list, or a reason why not', async () => {
  const tables = await listTables(rig.service.db.pool)
  const written = tables.filter(({ columns }) => columns.some(({ name }) => isPerson(name))).map(({ name }) => name)
  const listed = [...deskLists.map(({ table }) => table), ...Object.keys(otherLists)]
  expect(written.filter((name) => !listed.includes(name)).toSorted()).toEqual(Object.keys(notByHand).toSorted())
  expect(deskLists.map(({ table }) => table).toSorted()).toEqual(deskTables.toSorted())
})

const pages = [
  ...deskLists.map(({ table, path }) => [table, path] as const),
  ...Object.entries(otherLists).map(([table, path]) => [table, path] as const),
]

const html = async (path: string) => await (await viewer.get(path)).text()
const read = (text: string) => text.replaceAll('&amp;', '&').replaceAll('&quot;', '"')
const query = (path: string, fields: Record<string, string>) => `${path}?${new URLSearchParams(fields)}`

/** The rows of a CSV file, without its head. No value of the fixture has a line break. */
async function csv(path: string): Promise<string[]> {
  const response = await viewer.get(path)
  expect([path, response.status, response.headers.get('content-type')?.slice(0, 8)]).toEqual([path, 200, 'text/csv'])
  return (await response.text()).trimEnd().split('\r\n').slice(1)
}

const bodyRows = (text: string) => (/<tbody.*<\/tbody>/s.exec(text)?.[0] ?? '').match(/<tr/g)?.length ?? 0
const headsOf = (text: string) =>
  [...text.matchAll(/aria-sort="(\w+)"[^>]*><a href="([^"]+)"/g)].map(([, sort, href]) => [sort!, read(href!)] as const)

/** The fields that the columns of a table ask for. */
async function fieldsFor(table: string): Promise<string[]> {
  const { columns } = (await listTables(rig.service.db.pool)).find(({ name }) => name === table)!
  const has = (pattern: RegExp) => columns.some(({ name }) => pattern.test(name))
  return [
    'id',
    'from',
    'until',
    'order',
    ...(columns.some(({ name }) => isPerson(name)) ? ['actor'] : []),
    ...(has(/(^|_)amount$/) ? ['min', 'max'] : []),
    ...(has(/^state$|^resolved_at$|^finished_at$/) ? ['state'] : []),
  ]
}

/** The rows of all pages, as their text. */
async function walk(first: string): Promise<string[]> {
  const rows: string[] = []
  for (let next: string | undefined = first; next;) {
    const shown: string = await html(next)
    const body = /<tbody[^>]*>(.*)<\/tbody>/s.exec(shown)![1]!
    rows.push(...body.split('<tr').slice(1))
    next = read(/href="([^"]+)" rel="next"/.exec(shown)?.[1] ?? '')
  }
  return rows
}

/** Descending and ascending, by each column that can be sorted. */
async function ordersOf(path: string): Promise<[string, string][]> {
  const orders = [...(await html(path)).matchAll(/<option value="(|oldest|most|least)"/g)].map(([, value]) => value!)
  const known = new Set(orders.slice(orders.lastIndexOf('')))
  return known.has('most')
    ? [
        ['', 'oldest'],
        ['most', 'least'],
      ]
    : [['', 'oldest']]
}

const isOld = (line: string) => !line.includes('.exported')

describe.each(pages)('the list of %s', (table, path) => {
  const route = (suffix: string) => adminRoutes.find((each) => each.method === 'GET' && each.path === path + suffix)

  test('is open to every role, with its file', () => {
    expect([route('')?.access, route('.csv')?.access]).toEqual(['view', 'view'])
  })

  test('has the fields of a filter, an order by click, a file, and a way back from no match', async () => {
    const shown = await html(path)
    const missing = (await fieldsFor(table)).filter((name) => !shown.includes(`name="${name}"`))
    expect(missing).toEqual([])
    expect(read(shown)).toContain(`href="${path}.csv"`)
    const sorted = headsOf(shown)
    expect(sorted.length).toBeGreaterThan(0)
    const none = await html(query(path, { id: '00000000-0000-7000-8000-000000000000' }))
    expect(none).toContain('No matches')
    expect(none).toContain(`href="${path}">Clear the filter</a>`)
  })

  test('finds one by its id, on the page and in the file', async () => {
    const all = await csv(`${path}.csv`)
    const head = (await (await viewer.get(`${path}.csv`)).text()).split('\r\n')[0]!.split(',')
    const column = Math.max(0, head.indexOf('id'))
    const id = all[1]!.split(',').at(head.at(-1) === 'id' ? -1 : column)!
    const found = await csv(query(`${path}.csv`, { id }))
    expect(found.length).toBeGreaterThan(0)
    expect(found.length).toBeLessThan(all.length)
    expect(found.filter((line) => !line.includes(id))).toEqual([])
    expect(bodyRows(await html(query(path, { id })))).toBe(Math.min(50, found.length))
  })

  test('is bounded by days that are included', async () => {
    const days = { from: '2026-10-30', until: '2026-10-30' }
    const found = await csv(query(`${path}.csv`, days))
    if (table !== 'audit') expect(found.length).toBe(dayTables.includes(table) ? 1 : 24)
    expect(found.filter((line) => !line.includes('2026-10-30'))).toEqual([])
    expect(await csv(query(`${path}.csv`, { until: '2020-01-01' }))).toEqual([])
  })

  test('comes in both orders, page by page, each row once', async () => {
    const newest = (await csv(`${path}.csv`)).filter(isOld)
    expect((await csv(`${path}.csv?order=oldest`)).filter(isOld)).toEqual(newest.toReversed())
    if (table === 'audit') return
    for (const [descending, ascending] of await ordersOf(path)) {
      const rows = await walk(query(path, { order: descending }))
      expect(rows.length).toBe(newest.length)
      expect(new Set(rows).size).toBe(rows.length)
      expect(await walk(query(path, { order: ascending }))).toEqual(rows.toReversed())
    }
  })

  test('records each export, with its filter', async () => {
    await csv(query(`${path}.csv`, { from: '2026-10-01', until: '2026-10-31' }))
    const { rows } = await rig.service.db.pool.query<{ actor: string; detail: Record<string, string> }>(
      `select actor, detail from audit where action like '%.exported' order by at desc limit 1`,
    )
    expect(rows[0]!.actor).toBe(`operator:${viewer.id}`)
    expect(rows[0]!.detail).toMatchObject({ from: '2026-10-01', until: '2026-10-31' })
  })
})

const dayTables = ['reconciliation_days', 'reconciliation_differences', 'report_contradictions']
