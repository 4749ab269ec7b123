/** A real process on a database, or two of them, a real Chromium, and an operator who signs in with it. */
import { setDefaultTimeout } from 'bun:test'
import { mkdir } from 'node:fs/promises'
import { generateSync } from 'otplib'
import { Client } from 'pg'
import type { BrowserContextOptions, Page } from '@playwright/test'
import { startSession } from '../../src/actions/operators/manage-sessions.ts'
import { findBarriers, endFading, wantsPictures } from '../browser/axe.ts'
import { launchChromium } from '../chromium.ts'
import { callCommand } from '../command.ts'
import { freePort } from '../free-port.ts'
import { testDatabase, type TestDatabase } from '../postgres.ts'
import { startProcess } from '../process.ts'
import { until } from '../until.ts'
import { wantsAll } from '../wants-all.ts'

/** For every file that imports this one: a page takes seconds on a busy machine, and a test opens several. */
setDefaultTimeout(240_000)

const email = 'ada@example.com'
const password = 'correct horse battery staple'
const screenshots = new URL('../screenshots/', import.meta.url).pathname

export type Rig = Awaited<ReturnType<typeof startRig>>

/** `settingsFor` returns additional settings; some depend on the database. */
export async function startRig(
  settingsFor: (database: TestDatabase) => Promise<Record<string, string>> = async () => ({}),
) {
  const database = await testDatabase()
  const environment = { DATABASE_URL: database.url, ...(await settingsFor(database)) }
  // Each process needs to know its own address.
  const start = async () => await startProcess({ ...environment, PORT: String(await freePort()) })
  const first = await start()
  const processes = [first]
  const cli = async (args: string[], input = '') => {
    const { exitCode, stdout, stderr } = await callCommand([...args, '--json'], environment, input)
    if (exitCode !== 0) throw new Error(`billfold ${args.join(' ')}: ${stdout}${stderr}`)
    return JSON.parse(stdout) as Record<string, string>
  }
  const { operatorId } = await cli(['admin', 'create', '--email', email, '--name', 'Ada Lovelace'], password)
  const browser = await launchChromium()
  let totpSecret = ''

  return {
    base: first.url,
    /** Another process on the same database; its address. */
    async startSecond(): Promise<string> {
      const second = await start()
      processes.push(second)
      return second.url
    },
    browser,
    cli,
    databaseUrl: database.url,
    environment,
    openPage: async (options: BrowserContextOptions = {}): Promise<Page> => {
      const context = await browser.newContext({ viewport: { width: 1280, height: 900 }, ...options })
      context.setDefaultTimeout(60_000)
      return await context.newPage()
    },
    /** Gives the browser a session like the one that the sign-in pages begin, for tests of other pages. */
    async signIn(page: Page): Promise<void> {
      const db = new Client({ connectionString: database.url })
      await db.connect()
      const device = { address: '127.0.0.1', browser: 'Test' }
      const value = await startSession({ now: () => new Date() }, db, operatorId!, 'full', device)
      await db.end()
      await page.context().addCookies([{ name: 'billfold-session', value, url: first.url, httpOnly: true }])
      await page.goto(`${first.url}/admin`)
      await until(page, () => document.querySelector('h1')?.textContent === 'Overview')
    },
    /** Signs in through the pages: password, then the code; the first time it sets up the second factor. */
    async signInByPages(page: Page, url = first.url): Promise<void> {
      await page.goto(`${url}/admin`)
      const emergency = page.getByText('Emergency sign-in for admins')
      if (await emergency.isVisible()) await emergency.click()
      await page.getByLabel('Email').fill(email)
      await page.getByLabel('Password').fill(password)
      await page.getByRole('button', { name: 'Continue', exact: true }).click()
      if (totpSecret !== '') {
        await page.getByLabel('Code').fill(codeOf(totpSecret))
        await page.getByRole('button', { name: 'Sign in', exact: true }).click()
      } else {
        await page.getByText('Cannot scan it?').click()
        totpSecret = (await page.locator('details code').innerText()).replaceAll(' ', '')
        await page.getByLabel('The six digits').fill(codeOf(totpSecret))
        await page.getByRole('button', { name: 'Confirm' }).click()
        await page.getByRole('link', { name: 'I have saved them' }).click()
      }
      await page.getByRole('heading', { name: 'Overview' }).waitFor()
    },
    async stop(): Promise<void> {
      await browser.close()
      await Promise.all(processes.map((each) => each.stop()))
      await database.drop()
    },
  }
}

function codeOf(secret: string): string {
  return generateSync({ secret, epoch: Math.floor(Date.now() / 1000) })
}

const views = [
  [1280, 'light'],
  [1280, 'dark'],
  [360, 'light'],
  [360, 'dark'],
] as const

/**
 * A label names the first of two elements with one id, and a screen reader finds the content of a page by its one title. Runs in the
 * page: axe reports neither as serious.
 */
function listMisnamed(): string[] {
  const ids = [...document.querySelectorAll('[id]')].map(({ id }) => id)
  const twice = new Set(ids.filter((id, i) => ids.indexOf(id) < i))
  const titles = document.querySelectorAll('h1').length
  return [...[...twice].map((id) => `two elements are ${id}`), ...(titles === 1 ? [] : [`${titles} titles`])]
}

/** Overflow at each width, ids and titles, and violations found by axe. SCREENSHOTS=1 also takes a screenshot of each view. */
export async function findPageBarriers(page: Page, name: string): Promise<string[]> {
  await mkdir(screenshots, { recursive: true })
  const barriers = (await page.evaluate(listMisnamed)).map((line) => `${name}: ${line}`)
  for (const [width, colorScheme] of views) {
    // Colours do not change the width of a page.
    if (colorScheme === 'dark' && !wantsPictures) continue
    await page.setViewportSize({ width, height: 900 })
    await page.emulateMedia({ colorScheme })
    const overflow = await page.evaluate(() => document.documentElement.scrollWidth - window.innerWidth)
    if (overflow > 0) barriers.push(`${name}: ${overflow} pixels too wide at ${width}`)
    if (wantsAll) barriers.push(...(await findBarriers(page)))
    if (!wantsPictures) continue
    await endFading(page)
    await page.screenshot({ path: `${screenshots}admin-${name}-${width}-${colorScheme}.png`, fullPage: true })
  }
  await page.setViewportSize({ width: 1280, height: 900 })
  await page.emulateMedia({ colorScheme: 'light' })
  return [...barriers, ...(await findBarriers(page))]
}
