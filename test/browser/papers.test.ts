/** Receipts and statements, opened from a sandboxed frame in a shop of another origin. */
import { afterAll, beforeAll, expect, setDefaultTimeout, test } from 'bun:test'
import { join } from 'node:path'
import type { Frame, Page } from '@playwright/test'
import { until, untilSeen } from '../until.ts'
import { findBarriers, wantsPictures } from './axe.ts'
import { atTheBank, payByCard } from './card-payments.ts'
import { findMisfits } from './layout.ts'
import { embed, startRig, type Rig } from './rig.ts'
import { signInOnDevice, walletUrl, type Tenant } from './shop.ts'

setDefaultTimeout(240_000)

let rig: Rig
let tenant: Tenant
beforeAll(async () => {
  rig = await startRig({ CARD_PROCESSOR: 'sandbox', SERVICE_NAME: 'Penny Lane', SUPPORT_EMAIL: 'help@penny.example' })
  rig.service.sandbox!.setOrigin(rig.base)
  tenant = await rig.newTenant()
  await tenant.client.credit(tenant.user.serviceUserId, 100)
  await tenant.client.debit(tenant.user.serviceUserId, 12.5)
  await atTheBank(rig, await payByCard(rig, tenant, 20), 'refund', 5)
})
afterAll(() => rig.stop())

async function openActivity(lang = 'en', of = tenant): Promise<{ page: Page; frame: Frame }> {
  const page = await rig.openPage()
  await signInOnDevice(rig, page, of)
  await page.goto(rig.shop)
  const frame = await embed(page, walletUrl(rig, { session: await of.newSession(rig.shop), lang }))
  await frame.click('#all-activity')
  await untilSeen(frame, '.browse .entry')
  return { page, frame }
}

async function windowBy(page: Page, click: () => Promise<void>): Promise<Page> {
  const [paper] = await Promise.all([page.context().waitForEvent('page'), click()])
  // The window is empty until its link has been ordered.
  await paper.waitForURL('**/widget/papers/*')
  return paper
}

async function expectUsable(paper: Page, name: string): Promise<void> {
  for (const [width, colorScheme] of [
    [1280, 'light'],
    [360, 'dark'],
  ] as const) {
    await paper.setViewportSize({ width, height: 900 })
    await until(paper, (width) => innerWidth === width, width)
    await paper.emulateMedia({ colorScheme })
    expect([width, await paper.evaluate(() => document.documentElement.scrollWidth > innerWidth)]).toEqual([
      width,
      false,
    ])
    const path = join(import.meta.dir, '../screenshots', `${name}-${width}-${colorScheme}.png`)
    if (wantsPictures) await paper.screenshot({ path, fullPage: true })
  }
  expect(await findBarriers(paper)).toEqual([])
}

const pagesIn = (pdf: Buffer) => pdf.toString('latin1').match(/\/Type\s*\/Page\b(?!s)/g)?.length

test('a receipt opens in a window without the session, prints on one page, and is not opened twice', async () => {
  const { page, frame } = await openActivity()
  await frame.click('.entry-open >> text=Top-up')
  const paper = await windowBy(page, () => frame.click('.papers >> text=Receipt'))
  expect(paper.url()).toMatch(/\/widget\/papers\/[\w-]{32}$/)
  expect(await paper.evaluate(() => [window.opener, document.referrer, document.cookie])).toEqual([null, '', ''])
  const text = await paper.innerText('main')
  for (const part of [
    'Penny Lane',
    'Receipt',
    '$20.00',
    'Your card',
    'Refunded to the card',
    '$5.00',
    'help@penny.example',
  ])
    expect(text).toContain(part)
  // The receipt and the wallet show the same code, so that a reader can match them.
  expect(text).toContain((await frame.textContent('.facts .code'))!)
  await expectUsable(paper, 'receipt')
  for (const format of ['A4', 'Letter'] as const) expect(pagesIn(await paper.pdf({ format }))).toBe(1)
  const printed = paper.evaluate(() => new Promise((resolve) => addEventListener('beforeprint', () => resolve(true))))
  await paper.evaluate(() => (window.print = () => void dispatchEvent(new Event('beforeprint'))))
  await paper.click('#print')
  expect(await printed).toBe(true)
  await paper.reload()
  expect(await paper.innerText('main')).toContain('This page can be opened only once')
  await expectUsable(paper, 'paper-used')
  await rig.closePage(page)
})

test('a statement opens in the reader’s language, from right to left, and comes as a file', async () => {
  const { page, frame } = await openActivity('ar')
  await frame.click('summary')
  const paper = await windowBy(page, () => frame.click('.papers button'))
  expect(
    await paper.evaluate(() => [document.documentElement.dir, document.querySelectorAll('tbody tr').length]),
  ).toEqual(['rtl', 4])
  await expectUsable(paper, 'statement-right-to-left')
  const [file] = await Promise.all([paper.waitForEvent('download'), paper.click('#file')])
  expect(file.suggestedFilename()).toMatch(/^statement-20\d\d-\d\d\.csv$/)
  const lines = (await Array.fromAsync(await file.createReadStream())).join('').split('\r\n')
  expect(lines).toHaveLength(8)
  expect(lines[5]).toMatch(/,-5\.00,102\.50,USD$/)
  await paper.waitForSelector('#file', { state: 'hidden' })
  await rig.closePage(page)
})

test('no words of a statement or a receipt run together or are cut off, on phones and at 200 % text', async () => {
  const { page, frame } = await openActivity('de')
  await frame.click('summary')
  const statement = await windowBy(page, () => frame.click('.papers button'))
  expect(await statement.innerText('thead')).toContain('Betrag')
  expect(await findMisfits(statement, statement, 'statement')).toEqual([])
  await frame.click('.entry-open')
  const receipt = await windowBy(page, () => frame.click('.detail .papers button'))
  expect(await findMisfits(receipt, receipt, 'receipt')).toEqual([])
  await rig.closePage(page)
})

test('a search for a month and an amount goes through 12,000 entries by itself, adds up exactly, and becomes a paper', async () => {
  const rich = await rig.newTenant()
  const { pool } = rig.service.db.longRunning
  // One entry each four hours, the last one now; one in a thousand is an atlas.
  await pool.query(
    `insert into transfers (wallet_id, sequence, amount, balance_after, reference_key, created_at, counter_account,
       reference_type, reference_id, description)
     select $1, n, case when n % 1000 = 1 then -6440 else 1 end, 0, gen_random_uuid(), now() - (12000 - n) * interval '4 hours',
       'app:' || $2::text, 'ORDER', n::text, case when n % 1000 = 1 then 'Atlas' end
     from generate_series(1, 12000) n`,
    [rich.user.userId, rich.clientId],
  )
  await pool.query('update wallets set sequence = 12000 where id = $1', [rich.user.userId])
  const { page, frame } = await openActivity('en', rich)
  const shows = async (text: string, count: number) => {
    await frame.fill('[name=search]', text)
    await until(frame, (count) => document.querySelectorAll('.browse .entry').length === count, count)
  }
  const isTitled = (title: string) =>
    until(frame, (title) => document.querySelector('#sums-title')?.textContent === title, title)
  const out = () => frame.textContent('#sums-outMinor strong')

  // The entries are in three spans of 5,000, the sums in two of 10,000.
  await shows('atlas', 12)
  await isTitled('Found: 12')
  await until(frame, () => document.querySelector('.sums .progress') === null)
  expect(await out()).toBe('$772.80')
  const spoken = 'Found: 12. Money out: $772.80. Money in: $0.00.'
  await until(frame, (text) => document.querySelector('.sums [role=status]')?.textContent === text, spoken)
  const found = await windowBy(page, () => frame.click('text=Print or download'))
  const text = (await found.innerText('main')).replace(/\s+/g, ' ')
  expect(text).toContain('It is not a full statement')
  expect(text).toContain('Search atlas Entries found 12 Money in $0.00 Money out $772.80')
  expect(await found.evaluate(() => document.querySelectorAll('tbody tr').length)).toBe(12)
  await expectUsable(found, 'selection')
  const [file] = await Promise.all([found.waitForEvent('download'), found.click('#file')])
  expect(file.suggestedFilename()).toBe('selected-entries.csv')
  await found.close()
  await shows('over 64.39', 12)
  await shows('over 64.40', 0)
  await frame.waitForSelector('text=All entries were searched. None matches.')
  await shows('64.40', 12)

  // Stopped, it says so, and goes on when asked.
  const { promise: held, resolve: release } = Promise.withResolvers<void>()
  rig.trouble.answer = async ({ pathname, searchParams }) => {
    if (pathname === '/api/widget/activity' && searchParams.has('before')) await held
    return undefined
  }
  await frame.fill('[name=search]', 'nowhere')
  await frame.click('.progress >> text=Stop')
  await frame.waitForSelector('text=Search stopped')
  expect(await frame.isVisible('text=Nothing found')).toBe(false)
  rig.trouble.answer = undefined
  release()
  await frame.click('.progress >> text=Search older entries')
  await frame.waitForSelector('text=Nothing found')

  const monthAgo = new Date(Date.now() - 300 * 24 * 3_600_000)
  const name = new Intl.DateTimeFormat('en', { month: 'long', year: 'numeric' }).format(monthAgo)
  await frame.fill('[name=search]', `in ${name.toLowerCase()}`)
  await frame.waitForSelector(`.meanings >> text=${name}`)
  const paper = await windowBy(page, () => frame.click(`text=Statement for ${name}`))
  expect(await paper.textContent('h1')).toBe(`Statement: ${name}`)
  const rows = await paper.evaluate(() => document.querySelectorAll('tbody tr').length)
  await isTitled(`Found: ${rows}`)

  // The word itself can be searched.
  await frame.click('.meanings button')
  await frame.waitForSelector('text=Nothing found')
  await rig.closePage(page)
})

test('a paper that is ordered after the session has been renewed is ordered with the new one', async () => {
  const { page, frame } = await openActivity()
  const session = await tenant.newSession(rig.shop)
  await page.evaluate(
    ([sessionToken, origin]) =>
      document
        .querySelector('iframe')!
        .contentWindow!.postMessage({ type: 'SERVICE_SESSION', version: 1, sessionToken }, origin),
    [session, rig.base] as const,
  )
  await until(frame, (session) => (history.state as { session?: string }).session === session, session)
  await frame.click('summary')
  const [request, paper] = await Promise.all([
    page.waitForRequest((each) => each.method() === 'POST' && each.url().includes('/api/widget/papers?')),
    windowBy(page, () => frame.click('.papers button')),
  ])
  expect(new URL(request.url()).searchParams.get('session')).toBe(session)
  expect(await frame.content()).not.toContain(session)
  await expectUsable(paper, 'statement')
  await rig.closePage(page)
})
