/** The lists of what people wrote, in a real browser: empty, filled, with a filter that finds nothing, and with one that is none. */
import { afterAll, beforeAll, expect, test } from 'bun:test'
import type { Page } from '@playwright/test'
import { deskLists } from '../../src/admin/pages.tsx'
import { openDatabase, type Database } from '../../src/store/connection/database.ts'
import { deskTables, insertDeskRows } from '../desk-rows.ts'
import { findPageBarriers, startRig, type Rig } from './rig.ts'

let rig: Rig
let page: Page
let db: Database

beforeAll(async () => {
  rig = await startRig()
  // The clocks there are four or five hours behind UTC.
  page = await rig.openPage({ timezoneId: 'America/New_York' })
  await rig.signIn(page)
  db = openDatabase({ connectionString: rig.databaseUrl })
})
afterAll(async () => {
  await db.pool.end()
  await rig.stop()
})

async function expectUsable(path: string, name: string, status = 200): Promise<void> {
  const response = await page.goto(`${rig.base}${path}`)
  expect([path, response?.status()]).toEqual([path, status])
  expect(await findPageBarriers(page, `list-${name}`)).toEqual([])
}

const nameOf = (path: string) => path.slice('/admin/'.length).replaceAll('/', '-')

test('an empty list says what fills it', async () => {
  await expectUsable('/admin/corrections', 'corrections-empty')
  await expectUsable('/admin/notes', 'notes-empty')
})

test('people with long names write into every table', async () => {
  const first = 'Hubert Blaine Wolfeschlegelsteinhausenberger'
  const app = await rig.cli(['app', 'create', '--name', 'Donaudampfschifffahrtsgesellschaft, Sons & Daughters'])
  const email = 'hubert.blaine.wolfeschlegelsteinhausenbergerdorff@donaudampfschifffahrtsgesellschaft.example.com'
  const user = ['user', 'create', '--email', email, '--first', first, '--last', 'Dorffwelchevoralternwaren']
  const { userId } = await rig.cli([...user, '--link', app['clientId']!], 'a long password')
  const { rows } = await db.pool.query<{ id: string }>(
    `with other as (
       insert into operators (id, email, name, role) values (gen_random_uuid(), 'long@example.com', $1, 'finance') returning id
     ) select id from operators union all select id from other`,
    [`${first} Dorffwelchevoralternwaren`],
  )
  const people = { userId: userId!, clientId: app['clientId']!, asker: rows[0]!.id, decider: rows[1]!.id }
  for (const table of deskTables)
    await insertDeskRows(db.pool, table, people, { count: table === 'corrections' ? 60 : 4 })
})

test.each(deskLists.map(({ path }) => [path]))('%s can be used by everyone', async (path) => {
  await expectUsable(path, nameOf(path))
})

test('a filter that finds nothing, and one that is none, lead back to the list', async () => {
  await expectUsable('/admin/corrections?min=5000&from=2026-10-01&until=2026-10-31', 'corrections-none')
  await page.getByRole('link', { name: 'Clear the filter' }).click()
  await page.getByText('60 corrections').waitFor()
  await expectUsable('/admin/corrections?min=abc&from=2026-10-01', 'corrections-wrong', 422)
  await expectUsable('/admin/reconciliation', 'reconciliation')
  await expectUsable('/admin/operators', 'operators')
})

test('the days of a filter are those of the times on the page', async () => {
  await page.goto(`${rig.base}/admin/corrections`)
  await page.getByLabel('From', { exact: true }).fill('2026-10-30')
  await page.getByLabel('Until').fill('2026-10-30')
  await page.getByRole('button', { name: 'Apply' }).click()
  await page.getByText('until: 2026-10-30 America/New_York').waitFor()
  const times = await page.locator('tbody time').allInnerTexts()
  expect(times).toHaveLength(24)
  expect(times.filter((time) => !time.startsWith('2026-10-30'))).toEqual([])
})

test('a list is filtered, sorted and exported without JavaScript', async () => {
  const plain = await rig.openPage({ javaScriptEnabled: false })
  await plain.context().addCookies(await page.context().cookies())
  await plain.goto(`${rig.base}/admin/corrections`)
  await plain.getByLabel('Amount from').fill('0.30')
  await plain.getByLabel('State').selectOption('declined')
  await plain.getByRole('button', { name: 'Apply' }).click()
  await plain.getByRole('link', { name: 'Amount', exact: true }).click()
  const amounts = await plain.locator('tbody .amount').allInnerTexts()
  expect(amounts.map((text) => text.replace(/[^\d.]/g, ''))).toEqual(
    Array.from({ length: 10 }, (_, i) => (0.58 - i * 0.03).toFixed(2)),
  )
  const [download] = await Promise.all([
    plain.waitForEvent('download'),
    plain.getByRole('link', { name: 'Export as CSV' }).click(),
  ])
  expect(download.suggestedFilename()).toMatch(/^corrections-\d{4}-\d\d-\d\d\.csv$/)
  await plain.context().close()
})
