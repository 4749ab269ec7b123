/** An operator's work in a real browser: apps, secrets, wallets, references, statements. */
import { afterAll, beforeAll, expect, test } from 'bun:test'
import { text } from 'node:stream/consumers'
import type { FrameLocator, Page } from '@playwright/test'
import { Client } from 'pg'
import { eventually } from '../eventually.ts'
import { startRig, type Rig } from './rig.ts'

let rig: Rig
let second: string
let page: Page
let shop: ReturnType<typeof Bun.serve>
let clientId: string
const secrets: string[] = []
let user: { userId: string; serviceUserId: string }

beforeAll(async () => {
  rig = await startRig()
  second = await rig.startSecond()
  page = await rig.openPage({ acceptDownloads: true })
  await rig.signInByPages(page)
  shop = Bun.serve({
    port: 0,
    hostname: '127.0.0.1',
    fetch: ({ url }) =>
      new Response(
        `<!doctype html><title>Shop</title><iframe id="w" width="420" height="800" allow="payment *" src="${new URL(url).searchParams.get('src') ?? ''}">`,
        {
          headers: { 'content-type': 'text/html' },
        },
      ),
  })
})
afterAll(async () => {
  await shop.stop(true)
  await rig.stop()
})

const shopOrigin = () => `http://localhost:${shop.port}`

async function call(base: string, path: string, clientSecret: string, body: Record<string, unknown>) {
  const response = await fetch(base + path, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ clientId, clientSecret, ...body }),
  })
  return { status: response.status, body: (await response.json()) as Record<string, unknown> }
}

let sent = 0
const credit = (base: string, secret: string, amount = 1) =>
  call(base, '/api/server/wallet/credit', secret, {
    serviceUserId: user.serviceUserId,
    amount,
    referenceType: 'GIFT',
    referenceId: `gift-${++sent}`,
  })

/** The status that each secret gets from each process. */
async function statuses(): Promise<number[][]> {
  const answers = secrets.map(async (secret) => [
    (await credit(rig.base, secret)).status,
    (await credit(second, secret)).status,
  ])
  return await Promise.all(answers)
}

const secretOnPage = async () => (await page.locator('.copy.block pre').nth(1).innerText()).trim()
const openApp = (tab: 'settings' | 'secrets') => page.goto(`${rig.base}/admin/client-apps/${clientId}/${tab}`)
/** Processes cache an app for half a second, and for longer while the database is slow to answer. */
const statusesAre = (expected: number[][]) => eventually(statuses, expected)
const lastStatusesAre = (expected: number[]) => eventually(async () => (await statuses()).at(-1)!, expected)

test('an app that an operator registers has credentials that work at once', async () => {
  await page.getByRole('link', { name: 'Client apps' }).click()
  await page.getByRole('heading', { name: 'No apps yet' }).waitFor()
  await page.getByRole('link', { name: 'Register an app' }).first().click()
  await page.getByLabel('Name').fill('Fernweh Books')
  await page.getByLabel('Allowed iframe parents').fill('shop.example')
  await page.getByRole('button', { name: 'Register' }).click()
  await page.getByText('write an origin such as https://shop.example').waitFor()
  await page.getByLabel('Allowed iframe parents').fill(`${shopOrigin()}\nhttps://shop.example`)
  await page.getByRole('button', { name: 'Register' }).click()
  await page.getByRole('heading', { name: 'The app is registered' }).waitFor()
  clientId = (await page.locator('.copy.block pre').first().innerText()).trim()
  secrets.push(await secretOnPage())
  expect(await page.locator('.copy.block pre').nth(2).innerText()).toContain(`BILLFOLD_CLIENT_SECRET=${secrets[0]}`)
  // Reloading the page shows the app, and not the secret.
  await page.reload()
  expect(await page.content()).not.toContain(secrets[0]!)
  await page.getByRole('heading', { name: 'Fernweh Books' }).waitFor()
  const { userId, serviceUserId } = await rig.cli(
    ['user', 'create', '--email', 'grace@example.com', '--first', 'Grace', '--last', 'Hopper', '--link', clientId],
    'a password for grace',
  )
  user = { userId: userId!, serviceUserId: serviceUserId! }
  expect((await credit(rig.base, secrets[0]!, 50)).body['balance']).toBe(50)
})

test('after a rotation with overlap both secrets work, and when it ends only the new one', async () => {
  await openApp('secrets')
  await page.getByText('Rotate the secret').click()
  await page.getByLabel('The old secret').selectOption('1h')
  await page.getByRole('button', { name: 'Create a new secret' }).click()
  await page.getByRole('heading', { name: 'The new secret' }).waitFor()
  secrets.push(await secretOnPage())
  await statusesAre([
    [200, 200],
    [200, 200],
  ])
  await openApp('secrets')
  await page.getByText('ends', { exact: true }).waitFor()
  await inDatabase(`update app_secrets set expires_at = now() where expires_at is not null`)
  await statusesAre([
    [401, 401],
    [200, 200],
  ])
})

test('a revoked secret stops working on both processes', async () => {
  await openApp('secrets')
  await page.getByText('Rotate the secret').click()
  await page.getByLabel('The old secret').selectOption('7d')
  await page.getByRole('button', { name: 'Create a new secret' }).click()
  await page.getByRole('heading', { name: 'The new secret' }).waitFor()
  secrets.push(await secretOnPage())
  await openApp('secrets')
  const old = page.getByRole('row').filter({ has: page.getByText('ends', { exact: true }) })
  await old.getByText('Revoke…').click()
  await old.getByRole('button', { name: 'Revoke now' }).click()
  await page.getByText('The secret is revoked').waitFor()
  await statusesAre([
    [401, 401],
    [401, 401],
    [200, 200],
  ])
})

test('a removed scope is refused on both processes', async () => {
  const secret = secrets.at(-1)!
  await openApp('settings')
  await page.getByLabel('wallet:write').uncheck()
  await page.getByRole('button', { name: 'Save' }).click()
  await page.getByText('The changes are saved').waitFor()
  for (const base of [rig.base, second])
    await eventually(async () => (await credit(base, secret)).body['code'], 'INSUFFICIENT_SCOPE')
  await openApp('settings')
  await page.getByLabel('wallet:write').check()
  await page.getByRole('button', { name: 'Save' }).click()
  await page.getByText('The changes are saved').waitFor()
  await eventually(async () => (await credit(second, secret)).status, 200)
})

async function openWidget(): Promise<{ wallet: FrameLocator; widget: Page }> {
  const session = await call(second, '/api/widget/session', secrets.at(-1)!, {
    serviceUserId: user.serviceUserId,
    parentOrigin: shopOrigin(),
  })
  const src = `${second}/widget/wallet?session=${String(session.body['sessionToken'])}`
  const widget = await rig.openPage()
  await widget.goto(`${shopOrigin()}/?src=${encodeURIComponent(src)}`)
  return { wallet: widget.frameLocator('#w'), widget }
}

test('freezing a wallet shows in the widget that is open on another process; so does a bonus', async () => {
  const { wallet, widget } = await openWidget()
  await wallet.getByText('Grace', { exact: false }).first().waitFor()
  await page.goto(`${rig.base}/admin/wallets?q=hopp`)
  await page.getByRole('link', { name: 'Grace Hopper' }).click()
  await page.getByText('Live widget sessions').waitFor()
  await page.getByRole('cell', { name: shopOrigin() }).waitFor()
  await page.getByText('Freeze the wallet').click()
  await page.getByLabel('Reason for freezing').fill('A suspicious login')
  await page.getByRole('button', { name: 'Freeze' }).click()
  await page.getByText('Frozen by an operator: A suspicious login').waitFor()
  await wallet.getByText('Your wallet is frozen').waitFor()
  const refused = await call(second, '/api/server/wallet/debit', secrets.at(-1)!, {
    serviceUserId: user.serviceUserId,
    amount: 1,
    referenceType: 'ORDER',
    referenceId: 'while-frozen',
  })
  expect(refused.body['code']).toBe('WALLET_INACTIVE')
  await page.getByText('Unfreeze the wallet').click()
  await page.getByLabel('Reason for unfreezing').fill('It was Grace')
  await page.getByRole('button', { name: 'Unfreeze' }).click()
  await page.getByText('The wallet is active again').waitFor()
  await wallet.getByText('Your wallet is frozen').waitFor({ state: 'detached' })

  const before = await balance()
  await page.getByText('Grant a bonus').click()
  await page.getByLabel('Amount in USD').fill('7.25')
  await page.getByLabel('Reason', { exact: true }).fill('For your patience')
  await page.getByRole('button', { name: 'Continue' }).click()
  await page.getByRole('heading', { name: 'Grant this bonus?' }).waitFor()
  await page.getByText(`$${(before + 7.25).toFixed(2)}`).waitFor()
  await page.getByRole('button', { name: 'Grant the bonus' }).click()
  await page.getByText('The bonus is credited').waitFor()
  expect(await balance()).toBe(before + 7.25)
  await wallet.getByText('For your patience').waitFor()
  await wallet
    .getByText(`$${(before + 7.25).toFixed(2)}`)
    .first()
    .waitFor()
  await widget.context().close()
})

async function balance(): Promise<number> {
  const query = new URLSearchParams({ clientId, clientSecret: secrets.at(-1)!, serviceUserId: user.serviceUserId })
  const response = await fetch(`${second}/api/server/wallet?${query}`)
  return ((await response.json()) as { balance: number }).balance
}

const debit = (amount: number) =>
  call(rig.base, '/api/server/wallet/debit', secrets.at(-1)!, {
    serviceUserId: user.serviceUserId,
    amount,
    referenceType: 'ORDER_PAYMENT',
    referenceId: 'order-77',
  })

test('the reference inspector shows a repeat that asked for another amount', async () => {
  expect((await debit(5)).status).toBe(200)
  expect((await debit(6)).body['mismatch']).toEqual(['amount'])
  // Repeats are stored in the background.
  while ((await inDatabase('select 1 from repeats where abs(amount) = 600')).length === 0) await Bun.sleep(50)
  await page.getByRole('link', { name: 'References' }).click()
  await page.getByLabel('referenceType').fill('ORDER_PAYMENT')
  await page.getByLabel('referenceId').fill('order-77')
  await page.getByRole('button', { name: 'Inspect' }).click()
  const row = page.getByRole('region', { name: 'Later uses' }).getByRole('row').nth(1)
  expect(await row.innerText()).toMatch(/Debit −\$6\.00.*amount.*1/s)
  await page.getByRole('link', { name: 'Grace Hopper' }).first().waitFor()
})

test('the downloaded statement equals the ledger', async () => {
  await page.goto(`${rig.base}/admin/wallets/${user.userId}`)
  const [download] = await Promise.all([
    page.waitForEvent('download'),
    page.getByRole('button', { name: 'Download CSV' }).click(),
  ])
  const lines = (await text(await download.createReadStream())).trimEnd().split('\r\n')
  const entries = await inDatabase(
    'select sequence::int, (amount / 100.0)::float8 as amount, (balance_after / 100.0)::float8 as after from transfers where wallet_id = $1 order by sequence',
    [user.userId],
  )
  const cells = lines.slice(2, -1).map((line) => line.split(','))
  expect(
    cells.map((cell) => ({
      sequence: Number(cell[0]),
      amount: (cell[2] === 'DEBIT' ? -1 : 1) * Number(cell[3]),
      after: Number(cell[4]),
    })),
  ).toEqual(entries as { sequence: number; amount: number; after: number }[])
  expect(lines.at(-1)!.split(',')[4]).toBe((await balance()).toFixed(2))
})

test('deactivating an app says how many sessions end; then every call is refused, and its widget closes', async () => {
  const { wallet, widget } = await openWidget()
  await wallet.getByText('Grace', { exact: false }).first().waitFor()
  await openApp('settings')
  await page.getByText('Deactivate this app…').click()
  expect(await page.locator('.danger-zone').innerText()).toMatch(/(One|\d+) open widget sessions? ends? at once/)
  await page.getByRole('button', { name: 'Deactivate Fernweh Books' }).click()
  await page.getByText('The app is inactive').waitFor()
  await lastStatusesAre([401, 401])
  await wallet.getByText('For your patience').waitFor({ state: 'detached' })
  await widget.context().close()
  await openApp('settings')
  await page.getByRole('button', { name: 'Activate' }).click()
  await page.getByText('The app is active').waitFor()
  await lastStatusesAre([200, 200])
})

test('everything an operator did is in the audit log, with the operator and the address', async () => {
  await page.getByRole('link', { name: 'Audit log' }).click()
  const text = await page.getByRole('region', { name: 'Audit log' }).innerText()
  for (const action of [
    'app.created',
    'app.secret-rotated',
    'app.secret-revoked',
    'app.changed',
    'app.deactivated',
    'wallet.frozen',
    'wallet.unfrozen',
    'wallet.bonus-granted',
    'operator.signed-in',
  ])
    expect(text).toContain(action)
  expect(text).toContain('Ada Lovelace')
  for (const secret of secrets) expect(text).not.toContain(secret)
  await page.getByLabel('What').selectOption('wallet.frozen')
  await page.waitForURL(/action=wallet\.frozen/)
  await page.getByText('A suspicious login').waitFor()
  expect(await page.getByRole('region', { name: 'Audit log' }).getByRole('row').count()).toBe(2)
})

async function inDatabase(sql: string, values: unknown[] = []): Promise<unknown[]> {
  const client = new Client({ connectionString: rig.databaseUrl })
  await client.connect()
  try {
    return (await client.query<Record<string, unknown>>(sql, values)).rows
  } finally {
    await client.end()
  }
}
