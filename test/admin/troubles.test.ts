/** The incidents of docs/operations/runbooks.md: each really happens and is resolved in the admin area with a real browser, in counted steps. */
import { afterAll, beforeAll, beforeEach, expect, test } from 'bun:test'
import type { Locator, Page } from '@playwright/test'
import { Client as Postgres } from 'pg'
import { postForService } from '../../src/actions/money/post.ts'
import { closeService, openService } from '../../src/actions/service.ts'
import { parseConfig } from '../../src/config.ts'
import { openLog } from '../../src/platform/log.ts'
import { openMetrics } from '../../src/platform/metrics.ts'
import { openDatabase } from '../../src/store/connection/database.ts'
import { newClient, type Client } from '../client.ts'
import { stepsOf } from '../deploy/runbooks.ts'
import { secretsKey } from '../service.ts'
import { startRig, type Rig } from './rig.ts'

let rig: Rig
let page: Page
let app: { clientId: string; clientSecret: string }
let client: Client
let db: Postgres
/** Pages opened and elements clicked so far. */
let steps: number

beforeAll(async () => {
  rig = await startRig()
  page = await rig.openPage()
  await rig.signIn(page)
  const { clientId, clientSecret } = await rig.cli(['app', 'create', '--name', 'Fernweh Books'])
  app = { clientId: clientId!, clientSecret: clientSecret! }
  client = newClient((request) => fetch(request), app, rig.base)
  db = new Postgres({ connectionString: rig.databaseUrl })
  await db.connect()
})
beforeEach(() => {
  steps = 0
})
afterAll(async () => {
  await db.end()
  await rig.stop()
})

async function open(path: string): Promise<void> {
  steps++
  await page.goto(rig.base + path)
}

async function click(target: Locator): Promise<void> {
  steps++
  await target.click()
}

const button = (name: string) => page.getByRole('button', { name })
const counted = (trouble: string) => expect([trouble, steps]).toEqual([trouble, stepsOf(trouble).pages])

async function newUser(email: string, balance: number): Promise<{ userId: string; serviceUserId: string }> {
  const names = ['--first', 'Grace', '--last', 'Hopper', '--link', app.clientId]
  const made = await rig.cli(['user', 'create', '--email', email, ...names], 'a password for grace')
  const user = { userId: made['userId']!, serviceUserId: made['serviceUserId']! }
  await client.credit(user.serviceUserId, balance)
  return user
}

/** Posts the reversal that a dispute of spent money causes; test/topup/reversals.test.ts makes one at the processor. */
async function owe(walletId: string): Promise<void> {
  const config = parseConfig({ DEMO: '0', DATABASE_URL: rig.databaseUrl, SECRETS_KEY: secretsKey })
  const database = openDatabase({ connectionString: rig.databaseUrl })
  const log = openLog('silent', () => {})
  const service = openService({ config, db: database, log, metrics: openMetrics(), now: () => new Date() })
  const dispute = { referenceType: 'TOPUP_DISPUTE', referenceId: walletId, description: null, isReversal: true }
  await postForService(service, { walletId, counterAccount: 'cards', amountMinor: -2000n, ...dispute })
  await closeService(service)
  await database.pool.end()
}

test('a double charge is claimed', async () => {
  const { userId, serviceUserId } = await newUser('twice@example.com', 20)
  await client.debit(serviceUserId, 5, 'order-1001')
  await client.debit(serviceUserId, 5, 'order-1001')
  await client.debit(serviceUserId, 5, 'order-1001-again')
  await open(`/admin/wallets/${userId}`)
  // A repeat is no entry: there are two charges, under two references.
  const charges = page.getByRole('row').filter({ hasText: 'order-1001' })
  expect(await charges.count()).toBe(2)
  await click(charges.filter({ hasText: 'order-1001-again' }).getByRole('link', { name: 'Correct' }))
  await page.getByLabel('Reason').fill('Charged twice for order 1001')
  await click(button('Continue'))
  await click(button('Make the correction'))
  await page.getByText('The correction is in the ledger').waitFor()
  expect((await client.wallet(serviceUserId)).body['balance']).toBe(15)
  counted('A double charge is claimed')
})

test('a secret has leaked', async () => {
  const { serviceUserId } = await newUser('leaked@example.com', 5)
  await open(`/admin/client-apps/${app.clientId}`)
  await click(page.getByRole('link', { name: 'Secrets', exact: true }))
  await click(page.getByText('Rotate the secret'))
  await page.getByLabel('The old secret').selectOption('none')
  await click(button('Create a new secret'))
  await page.getByRole('heading', { name: 'The new secret' }).waitFor()
  const clientSecret = (await page.locator('.copy.block pre').nth(1).innerText()).trim()
  while ((await client.wallet(serviceUserId)).status !== 401) await Bun.sleep(50)
  app = { ...app, clientSecret }
  client = newClient((request) => fetch(request), app, rig.base)
  while ((await client.wallet(serviceUserId)).status !== 200) await Bun.sleep(50)
  counted('A secret has leaked')
})

test('a wallet is frozen', async () => {
  const { userId, serviceUserId } = await newUser('frozen@example.com', 5)
  await rig.cli(['wallet', 'freeze', userId, '--reason', 'stolen phone'])
  await open(`/admin/wallets/${userId}`)
  await page.getByText('stolen phone').first().waitFor()
  await click(page.getByText('Unfreeze the wallet'))
  await page.getByLabel('Reason for unfreezing').fill('Identity confirmed by phone')
  await click(button('Unfreeze'))
  await page.getByText('The wallet is active again').waitFor()
  expect((await client.debit(serviceUserId, 1)).status).toBe(200)
  counted('A wallet is frozen')
})

test('a charge-back after spending', async () => {
  const { userId, serviceUserId } = await newUser('debt@example.com', 25)
  await client.debit(serviceUserId, 25)
  await owe(userId)
  expect((await client.wallet(serviceUserId)).body).toMatchObject({ balance: -20, isActive: false })
  await open(`/admin/wallets/${userId}/correct`)
  await page.getByLabel('What it does').selectOption('credit')
  await page.getByLabel('Amount in USD').fill('20')
  await page.getByLabel('Reason').fill('Debt written off')
  await click(button('Continue'))
  await click(button('Make the correction'))
  await page.getByText('The correction is in the ledger').waitFor()
  expect((await client.wallet(serviceUserId)).body).toMatchObject({ balance: 0, isActive: true })
  counted('A charge-back after spending')
})

test('an operator has left', async () => {
  await rig.cli(['admin', 'create', '--email', 'eve@example.com', '--name', 'Eve'], 'correct horse battery staple')
  await open('/admin/operators')
  const row = page.getByRole('row').filter({ hasText: 'eve@example.com' })
  await click(row.getByText('Change…'))
  await click(row.getByRole('button', { name: 'Remove access' }))
  await row.getByText('no access').waitFor()
  counted('An operator has left')
})

test('the books are wrong', async () => {
  const { userId } = await newUser('wrong@example.com', 7)
  await db.query('update wallets set balance = balance + 100 where id = $1', [userId])
  const alarm = page.getByRole('alert').filter({ hasText: 'The books are wrong' })
  // The sums differ immediately; soon after, the pass names the wallet.
  const culprit = page.locator(`a[href="/admin/wallets/${userId}"]`).first()
  while (!(await page.goto(`${rig.base}/admin/books`).then(() => culprit.isVisible()))) await Bun.sleep(200)
  expect(await alarm.isVisible()).toBeTrue()
  await open('/admin/books')
  await click(culprit)
  await click(page.getByText('Freeze the wallet'))
  await page.getByLabel('Reason for freezing').fill('The books are wrong')
  await click(button('Freeze'))
  await page.getByText('Unfreeze the wallet').waitFor()
  // The ledger has the right balance; the next pass finds no fault.
  await db.query('update wallets set balance = balance - 100 where id = $1', [userId])
  while (await page.goto(`${rig.base}/admin/books`).then(() => alarm.isVisible())) await Bun.sleep(200)
  counted('The books are wrong')
})
