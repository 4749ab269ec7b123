/** What an auditor asks for: amounts, days in a time zone, people and states; and what is no filter. */
import { readFile } from 'node:fs/promises'
import { afterAll, beforeAll, expect, setDefaultTimeout, test } from 'bun:test'
import { newId } from '../actions/tokens.ts'
import { newOperator, type TestOperator } from '../../test/operator.ts'
import { parseCsv } from '../../test/parse-csv.ts'
import { newApp, newUser, openTestService, type TestService } from '../../test/service.ts'

setDefaultTimeout(180_000)

let rig: TestService
let ada: TestOperator
let bob: TestOperator
let viewer: TestOperator
let userId: string

beforeAll(async () => {
  rig = await openTestService()
  ada = await newOperator(rig, 'finance')
  bob = await newOperator(rig, 'finance')
  viewer = await newOperator(rig, 'viewer')
  userId = (await newUser(rig.service, await newApp(rig.service))).userId
  await rig.service.db.pool.query(`update operators set name = '=Ada' where id = $1`, [ada.id])
  await rig.service.db.pool.query(`update operators set name = 'Bob' where id = $1`, [bob.id])
  await insert('september', { at: '2026-09-30 23:30Z', minor: 500_00n })
  await insert('small', { at: '2026-10-02 10:00Z', minor: 100_00n })
  await insert('credit', { at: '2026-10-03 10:00Z', minor: 100_01n })
  await insert('debit', { at: '2026-10-31 23:59:59.999999Z', minor: -250_00n })
  await insert('waiting', { at: '2026-10-20 10:00Z', minor: 900_00n, state: 'waiting' })
  await insert('by the command line', { at: '2026-10-21 10:00Z', minor: 101_00n, askedBy: 'cli:root@host' })
  await insert('november', { at: '2026-11-01 00:00Z', minor: 500_00n })
})
afterAll(() => rig.close())

type Given = { at: string; minor: bigint; state?: string; askedBy?: string }

async function insert(reason: string, { at, minor, state = 'done', askedBy = `operator:${ada.id}` }: Given) {
  const decidedBy = state === 'waiting' ? null : `operator:${bob.id}`
  await rig.service.db.pool.query(
    `insert into corrections (id, wallet_id, amount, counter_account, reason, state, needs_approval, asked_by, asked_at, decided_by)
     values ($1, $2, $3, 'adjustments', $4, $5, true, $6, $7, $8)`,
    [newId(), userId, minor, reason, state, askedBy, at, decidedBy],
  )
}

const path = '/admin/corrections'

async function rows(fields: string): Promise<Record<string, string>[]> {
  const response = await viewer.get(`${path}.csv?${fields}`)
  expect(response.status).toBe(200)
  const [head, ...lines] = parseCsv(await response.text())
  return lines.map((line) => Object.fromEntries(line.map((cell, i) => [head![i]!, cell])))
}

const reasons = async (fields: string) => (await rows(fields)).map(({ reason }) => reason)
const html = async (fields: string) => await (await viewer.get(`${path}?${fields}`)).text()

test('the example in docs/operators.md answers the auditor, names included', async () => {
  const docs = await readFile(new URL('../../docs/operators.md', import.meta.url), 'utf8')
  const example = /`\/admin\/corrections\.csv\?([^`]+)`/.exec(docs)![1]!
  const found = await rows(example)
  expect(found.map(({ reason }) => reason)).toEqual(['debit', 'by the command line', 'waiting', 'credit'])
  expect(found[0]).toMatchObject({ amount: '-250.00', type: 'debit', requestedBy: `'=Ada`, decidedBy: 'Bob' })
  expect(found[0]!['requestedById']).toBe(`operator:${ada.id}`)
  expect(found[1]!['requestedBy']).toBe('command line, root@host')
  expect(found[2]).toMatchObject({ state: 'waiting', decidedBy: '' })
  const page = await html(example)
  for (const reason of ['debit', 'by the command line', 'waiting', 'credit']) expect(page).toContain(reason)
  expect(page).toContain('<strong>4 corrections</strong>')
})

test('amounts are compared without their sign, both ends included, as a person types them', async () => {
  expect(await reasons('min=250&max=500')).toEqual(['november', 'debit', 'september'])
  expect(await reasons('min=%24900.00')).toEqual(['waiting'])
  expect(await reasons('order=most&max=101')).toEqual(['by the command line', 'credit', 'small'])
  expect(await reasons('order=least&min=250&until=2026-10-31')).toEqual(['debit', 'september', 'waiting'])
  expect(await reasons('type=debit')).toEqual(['debit'])
})

test('days are days of the zone in which the page shows its times', async () => {
  const october = 'from=2026-10-01&until=2026-10-31'
  expect(await reasons(`${october}&zone=Europe/Berlin`)).not.toContain('debit')
  expect(await reasons(`${october}&zone=Europe/Berlin`)).toContain('september')
  expect(await reasons(`${october}&zone=America/New_York`)).toContain('november')
  expect(await html(`${october}&zone=Europe/Berlin`)).toContain('until: 2026-10-31 Europe/Berlin')
  // The clocks change on 2026-10-25 in Berlin: the day has 25 hours, and ends at 23:00 UTC.
  await insert('last hour of the long day', { at: '2026-10-25 22:59:59Z', minor: 1n })
  await insert('first hour of the long day', { at: '2026-10-24 22:00Z', minor: 1n })
  expect(await reasons('from=2026-10-25&until=2026-10-25&zone=Europe/Berlin')).toEqual([
    'last hour of the long day',
    'first hour of the long day',
  ])
  // In Auckland they change on 2026-04-05 at 14:00 UTC of the day before, between midnight there and midnight in UTC.
  await insert('first hour of an autumn day', { at: '2026-04-04 11:00Z', minor: 1n })
  await insert('the hour before', { at: '2026-04-04 10:59:59Z', minor: 1n })
  expect(await reasons('from=2026-04-05&until=2026-04-05&zone=Pacific/Auckland')).toEqual([
    'first hour of an autumn day',
  ])
  expect(await reasons(`${october}&zone=Nowhere/Land`)).toEqual(await reasons(october))
})

test('a person is one who asked or decided, the command line by any name', async () => {
  expect(await reasons(`actor=operator:${bob.id}&min=900`)).toEqual([])
  expect(await reasons(`actor=operator:${ada.id}&min=900`)).toEqual(['waiting'])
  expect(await reasons('actor=cli')).toEqual(['by the command line'])
})

test('a filter that is none shows no rows, says why, and exports nothing', async () => {
  for (const [field, value] of [
    ['min', 'abc'],
    ['min', '0'],
    ['min', '-5'],
    ['min', '1.000'],
    ['max', '1e3'],
    ['max', '99999999999999999999'],
    ['max', '€5'],
    ['from', '2026-02-31'],
    ['from', 'yesterday'],
    ['until', '1999-01-01'],
  ] as const) {
    const query = new URLSearchParams({ [field]: value }).toString()
    const page = await viewer.get(`${path}?${query}`)
    expect([field, value, page.status]).toEqual([field, value, 422])
    const text = await page.text()
    expect(text).toContain(`id="field-${field}-problem"`)
    expect(text).toContain('Clear the filter')
    expect(text).not.toContain('<table')
    expect((await viewer.get(`${path}.csv?${query}`)).status).toBe(422)
  }
})

test('unknown choices, ids, orders and cursors never fail, and a filter is never ignored', async () => {
  for (const query of ['state=gone', 'type=%27', 'id=x', 'wallet=1', 'actor=operator:x', 'state=constructor'])
    expect([query, await reasons(query)]).toEqual([query, []])
  const all = await reasons('')
  for (const query of ['order=drop', 'foo=1', 'zone=%ED%A0%80'])
    expect([query, await reasons(query)]).toEqual([query, all])
  for (const after of [
    'x',
    '[]',
    '{}',
    'null',
    '["2026-10-01T00:00:00.000000Z"]',
    '["2026-10-01T00:00:00.000000Z","x"]',
    '["2026-02-31T00:00:00.000000Z","01900000-0000-7000-8000-000000000000"]',
    '["infinity","01900000-0000-7000-8000-000000000000"]',
    '[1,2]',
  ]) {
    const response = await viewer.get(`${path}?${new URLSearchParams({ after })}`)
    expect([after, response.status]).toEqual([after, 200])
    expect(await response.text()).toContain('november')
  }
  const injected = `id=${encodeURIComponent("' or 1=1 --")}&order=${encodeURIComponent('asked_at; drop table notes')}`
  expect(await reasons(injected)).toEqual([])
  const [first] = await rows('')
  expect(await reasons(`id=${first!['id']!.toUpperCase()}`)).toEqual([first!['reason']])
  expect(await reasons(`wallet=${userId}&state=waiting`)).toEqual(['waiting'])
})

test('nobody reads a list or its file without a session', async () => {
  for (const each of [path, `${path}.csv`]) {
    const response = await rig.app.fetch(new Request(`http://127.0.0.1:3000${each}`))
    expect(response.status).toBe(303)
    expect(response.headers.get('location')).toStartWith('/admin/sign-in')
  }
})
