/** The process that serves an open top-up page is killed in the middle of a card payment, and started again. */
import { afterAll, beforeAll, expect, setDefaultTimeout, test } from 'bun:test'
import type { Browser } from '@playwright/test'
import { expectBalancedBooks } from '../books.ts'
import { launchChromium } from '../chromium.ts'
import { newClient } from '../client.ts'
import { eventually } from '../eventually.ts'
import { freePort } from '../free-port.ts'
import { beginPatiently, endLockWaitsSql, lockWaitsSql } from '../lock-waits.ts'
import { startProcess, type ServiceProcess } from '../process.ts'
import { newApp, newUser, openTestService, type TestService } from '../service.ts'
import { firstOrAll } from '../wants-all.ts'
import { cards, formIn, typeCard } from './card-form.ts'

setDefaultTimeout(240_000)

let opened: TestService
let environment: Record<string, string>
let running: ServiceProcess
let browser: Browser

beforeAll(async () => {
  opened = await openTestService({ CARD_PROCESSOR: 'sandbox' })
  environment = { DATABASE_URL: opened.databaseUrl, CARD_PROCESSOR: 'sandbox', PORT: String(await freePort()) }
  ;[running, browser] = await Promise.all([startProcess(environment), launchChromium()])
})
afterAll(async () => {
  await browser.close()
  await running.stop()
  await opened.close()
})

/** Kills the process while it waits for a row that this transaction holds; its own statements end with it. */
async function killWhileHeld(sql: string, values: string[], act: () => Promise<void>): Promise<void> {
  const { pool } = opened.service.db
  const holder = await pool.connect()
  await beginPatiently(holder)
  await holder.query(sql, values)
  await act()
  await eventually(async () => (await pool.query(lockWaitsSql)).rowCount !== 0, true)
  await running.kill()
  while ((await pool.query(endLockWaitsSql)).rowCount) await Bun.sleep(10)
  await holder.query('rollback')
  holder.release()
}

const moments = [
  ['between storing the success and the ledger', 'select 1 from wallets where id = $1 for update'],
  // Without a browser: test/topup/two-processes.test.ts, always.
  ['before it stores the success', 'select 1 from topups where user_id = $1 for update'],
] as const

test.each(firstOrAll(moments))(
  'a process killed %s: the page waits, offers no second payment, and shows the one payment afterwards',
  async (_, sql) => {
    const app = await newApp(opened.service)
    const user = await newUser(opened.service, app)
    const client = newClient(running.send, app, running.url)
    const { body } = await client.post('/api/widget/session', { ...app, serviceUserId: user.serviceUserId })
    const page = await browser.newPage()
    page.setDefaultTimeout(60_000)
    await page.goto(`${running.url}/widget/topup?session=${String(body['sessionToken'])}&amount=25&lang=en`)
    await page.getByRole('button', { name: 'Continue' }).click()
    await formIn(page).locator('input[name=number]').waitFor()
    await killWhileHeld(sql, [user.userId], () => typeCard(page, cards.good))

    await page.getByRole('heading', { name: 'We cannot check the payment right now' }).waitFor()
    expect(await page.getByRole('button', { name: /Continue|Pay now|Add/ }).count()).toBe(0)
    running = await startProcess(environment)
    for (const step of ['goes on', 'after a reload']) {
      await page.getByRole('heading', { name: 'Money added' }).waitFor()
      expect([step, await page.getByText('You need').count()]).toEqual([step, 0])
      await page.reload()
    }
    const wallet = await client.wallet(user.serviceUserId)
    expect(wallet.body).toMatchObject({ balance: 25, transactions: [{ referenceType: 'TOPUP', amount: 25 }] })
    expect(wallet.body['transactions']).toHaveLength(1)
    // A movement without its mark would be posted again with every attempt.
    const marks = `select m.posted_at is not null as "isPosted" from topup_movements m join topups t on t.id = m.topup_id
      where t.user_id = $1`
    const { pool } = opened.service.db
    await eventually(
      async () => (await pool.query<{ isPosted: boolean }>(marks, [user.userId])).rows,
      [{ isPosted: true }],
    )
    await page.close()
    await expectBalancedBooks(opened.service)
  },
)
