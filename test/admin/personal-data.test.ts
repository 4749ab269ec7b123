/** A user's request by post, answered in a real browser: every state of the card, on a phone and a desktop, and the file itself. */
import { afterAll, beforeAll, beforeEach, expect, test } from 'bun:test'
import { mkdir, readFile, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { Page } from '@playwright/test'
import { endFading, wantsPictures } from '../browser/axe.ts'
import { openDatabase } from '../../src/store/connection/database.ts'
import { letPass } from '../time.ts'
import { until } from '../until.ts'
import { findPageBarriers, startRig, type Rig } from './rig.ts'

let rig: Rig
let page: Page
let userId: string
let made = 0

beforeAll(async () => {
  rig = await startRig()
  page = await rig.openPage()
  await rig.signIn(page)
})
afterAll(() => rig.stop())
beforeEach(async () => {
  const person = ['--email', `ann${++made}@example.com`, '--first', 'Ann', '--last', 'Lee']
  userId = (await rig.cli(['user', 'create', ...person], 'seven tired llamas'))['userId']!
  await open()
})

const open = () => page.goto(`${rig.base}/admin/wallets/${userId}`)
const card = () => page.locator('#personal-data')
const says = (text: string) =>
  until(page, (wanted) => document.querySelector('#personal-data')?.textContent?.includes(wanted), text)
const press = (name: string) => card().getByRole('button', { name }).click()
const askByCommand = () => rig.cli(['user', 'delete', userId, '--reason', 'letter of 3 March, receipt code compared'])

async function unfold(title: string): Promise<void> {
  await card().getByText(title, { exact: true }).click()
}

async function ask(): Promise<void> {
  await unfold('Delete the account')
  await page.getByLabel('Reason for the deletion').fill('letter of 3 March, receipt code compared')
  await press('Request the deletion')
  await page.getByText('A second operator has to approve the deletion.').waitFor()
}

/** Everyone can use it. With SCREENSHOTS=1 there is a picture of the card in each size and scheme. */
async function expectUsable(name: string): Promise<void> {
  expect(await findPageBarriers(page, `personal-${name}`)).toEqual([])
  if (!wantsPictures) return
  const folder = new URL('../screenshots/', import.meta.url).pathname
  await mkdir(folder, { recursive: true })
  for (const width of [390, 1280])
    for (const colorScheme of ['light', 'dark'] as const) {
      await page.setViewportSize({ width, height: 900 })
      await page.emulateMedia({ colorScheme })
      await endFading(page)
      await card().screenshot({ path: `${folder}personal-card-${name}-${width}-${colorScheme}.png` })
    }
  await page.setViewportSize({ width: 1280, height: 900 })
  await page.emulateMedia({ colorScheme: 'light' })
}

test('the data is downloaded as a file, and the form can be used again', async () => {
  await unfold('Download the user’s data')
  await expectUsable('export')
  for (let round = 0; round < 2; round++) {
    await page.getByLabel('Reason for the download').fill('letter of 3 March, receipt code compared')
    const [download] = await Promise.all([page.waitForEvent('download'), press('Download the data')])
    expect(download.suggestedFilename()).toBe(`user-data-${userId}.json`)
    // The runner's browser is another process, whose files have no path here.
    const file = join(tmpdir(), `billfold-${userId}-${round}.json`)
    await download.saveAs(file)
    const data = JSON.parse(await readFile(file, 'utf8')) as { account: object }
    await rm(file)
    expect(data.account).toMatchObject({ userId, firstName: 'Ann' })
  }
})

test('no request: the form says what will happen', async () => {
  await unfold('Delete the account')
  await expectUsable('none')
})

test('money left: the amount is named, and there is no form', async () => {
  await rig.cli(['wallet', 'credit', userId, '--amount', '34.56', '--reason', 'Welcome'])
  await open()
  await unfold('Delete the account')
  await says('The wallet still has 34.56 USD.')
  await expectUsable('kept')
})

test('a waiting request of one’s own can be withdrawn, and nothing else', async () => {
  await ask()
  await says('You requested this.')
  expect(await card().getByRole('button', { name: 'Approve' }).count()).toBe(0)
  await expectUsable('waits-mine')
  await press('Withdraw the request')
  await page.getByText('The request is withdrawn').waitFor()
  await expectUsable('withdrawn')
})

test('a waiting request of another person is declined with a reason, or approved', async () => {
  await askByCommand()
  await open()
  await expectUsable('waits-other')
  await unfold('Decline the deletion')
  await page.getByLabel('Reason for declining').fill('the receipt code is of another wallet')
  await press('Decline')
  await page.getByText('The deletion is declined').waitFor()
  await says('the receipt code is of another wallet')
  await expectUsable('declined')
  await rig.cli(['user', 'delete', userId, '--reason', 'second letter'])
  await open()
  await press('Approve: delete the account now')
  await page.getByText('The account is deleted. The user is mailed about it.').waitFor()
  await says('account deleted')
  await expectUsable('deleted')
})

test('an expired request says so, and can be made again', async () => {
  await ask()
  const db = openDatabase({ connectionString: rig.databaseUrl }, 1)
  await db.pool.query('alter table user_deletions disable trigger user')
  await letPass(db.pool, 8 * 86_400_000, ['user_deletions'])
  await db.pool.query('alter table user_deletions enable trigger user')
  await db.pool.end()
  await open()
  await says('expired')
  await expectUsable('expired')
  await ask()
})

test('a waiting request that money prevents says how much, in place of the button', async () => {
  await askByCommand()
  await rig.cli(['wallet', 'credit', userId, '--amount', '12.50', '--reason', 'Welcome'])
  await open()
  await says('The wallet still has 12.50 USD.')
  expect(await card().getByRole('button', { name: 'Approve' }).count()).toBe(0)
  await expectUsable('waits-kept')
})
