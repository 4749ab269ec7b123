/** Every page and state of the admin area: in both sizes and schemes, checked by axe, and used without JavaScript. */
import { afterAll, beforeAll, expect, test } from 'bun:test'
import type { Page } from '@playwright/test'
import { until } from '../until.ts'
import { openDatabase } from '../../src/store/connection/database.ts'
import { findPageBarriers, startRig, type Rig } from './rig.ts'

let rig: Rig
let page: Page
let app: Record<string, string>
let walletId: string
let longWalletId: string

beforeAll(async () => {
  rig = await startRig()
  page = await rig.openPage()
})
afterAll(() => rig.stop())

async function expectUsable(path: string, name: string): Promise<void> {
  const response = await page.goto(`${rig.base}${path}`)
  expect(response?.status()).toBe(200)
  expect(await findPageBarriers(page, name)).toEqual([])
}

test('the admin’s sign-in, right and wrong, can be used by everyone', async () => {
  await page.goto(`${rig.base}/admin`)
  expect(await findPageBarriers(page, 'sign-in')).toEqual([])
  await page.getByLabel('Email').fill('nobody@example.com')
  await page.getByLabel('Password').fill('not a password at all')
  await page.getByRole('button', { name: 'Continue' }).click()
  await page.getByRole('alert').waitFor()
  expect(await findPageBarriers(page, 'sign-in-wrong')).toEqual([])
  await page.goto(`${rig.base}/admin/welcome?token=unknown`)
  expect(await findPageBarriers(page, 'welcome-gone')).toEqual([])
})

test('setting up the second factor can be used by everyone, with a wrong code as well', async () => {
  const visitor = await rig.openPage()
  await visitor.goto(`${rig.base}/admin`)
  await visitor.getByLabel('Email').fill('ada@example.com')
  await visitor.getByLabel('Password').fill('correct horse battery staple')
  await visitor.getByRole('button', { name: 'Continue' }).click()
  await visitor.getByRole('img', { name: 'QR code' }).waitFor()
  await visitor.getByLabel('The six digits').fill('000000')
  await visitor.getByRole('button', { name: 'Confirm' }).click()
  await visitor.getByRole('alert').waitFor()
  expect(await findPageBarriers(visitor, 'second-factor')).toEqual([])
  await visitor.context().close()
  await rig.signInByPages(page)
})

test.each([
  ['/admin', 'overview-empty'],
  ['/admin/client-apps', 'client-apps-empty'],
  ['/admin/wallets', 'wallets-empty'],
  ['/admin/wallets?state=frozen', 'wallets-frozen-empty'],
  ['/admin/references', 'references-empty'],
  ['/admin/books', 'books-empty'],
  ['/admin/work', 'work-empty'],
  ['/admin/origin-doctor', 'origin-doctor-empty'],
])('%s says what to do first where there is nothing yet', expectUsable)

test('an app, a user and their entries are created for the admin pages to show', async () => {
  app = await rig.cli([
    'app',
    'create',
    '--name',
    'Fernweh Books',
    '--parent',
    'http://localhost:3001',
    '--scope',
    'wallet:read',
    '--scope',
    'wallet:write',
  ])
  const user = await rig.cli(
    [
      'user',
      'create',
      '--email',
      'grace@example.com',
      '--first',
      'Grace',
      '--last',
      'Hopper',
      '--link',
      app['clientId']!,
    ],
    'a password for grace',
  )
  walletId = user['userId']!
  for (let i = 0; i < 14; i++) {
    const isCredit = i % 6 === 0
    const response = await fetch(`${rig.base}/api/server/wallet/${isCredit ? 'credit' : 'debit'}`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({
        clientId: app['clientId'],
        clientSecret: app['clientSecret'],
        serviceUserId: user['serviceUserId'],
        amount: isCredit ? 120.5 : 3.75 + i,
        referenceType: isCredit ? 'GIFT' : 'ORDER_PAYMENT',
        referenceId: `order-${i}`,
        description:
          i % 2 === 0 ? `Order ${i}, with a description that is somewhat longer than one would like` : undefined,
      }),
    })
    expect([200, 400]).toContain(response.status)
  }
})

test('an app and a user with long names and much money are created for the admin pages to show', async () => {
  const long = 'Donaudampfschifffahrtsgesellschaft and Wolfeschlegelsteinhausenbergerdorff, Sons & Daughters of 1887'
  const rich = await rig.cli(['app', 'create', '--name', long.slice(0, 100), '--scope', 'wallet:write'])
  const names = [
    '--first',
    'Hubert Blaine Wolfeschlegelsteinhausenberger',
    '--last',
    'Dorffwelchevoralternwarengewissenhaft',
  ]
  const email = 'hubert.blaine.wolfeschlegelsteinhausenbergerdorff@donaudampfschifffahrtsgesellschaft.example.com'
  const user = await rig.cli(
    ['user', 'create', '--email', email, ...names, '--link', rich['clientId']!],
    'a long password',
  )
  longWalletId = user['userId']!
  for (let i = 0; i < 3; i++) {
    const response = await fetch(`${rig.base}/api/server/wallet/credit`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({
        clientId: rich['clientId'],
        clientSecret: rich['clientSecret'],
        serviceUserId: user['serviceUserId'],
        amount: 999_999_999.99,
        referenceType: 'A_REFERENCE_TYPE_THAT_IS_RATHER_LONG_FOR_A_TYPE',
        referenceId: `0000-${'1234567890'.repeat(20)}-${i}`,
        description: 'Wörter '.repeat(60),
      }),
    })
    expect(response.status).toBe(200)
  }
  await expectUsable(`/admin/wallets/${longWalletId}`, 'wallet-long')
})

test.each([
  ['/admin?range=month', 'overview-month'],
  ['/admin/topups', 'topups-empty'],
  ['/admin/wallets?state=debt', 'wallets-filtered'],
  ['/admin/audit?action=app.created&from=2026-01-01', 'audit-filtered'],
  ['/admin/search?q=a', 'search-many'],
  ['/admin', 'overview'],
  ['/admin/client-apps', 'client-apps'],
  ['/admin/client-apps/new', 'client-app-new'],
  ['/admin/wallets', 'wallets'],
  ['/admin/wallets?q=nobody', 'wallets-none'],
  ['/admin/references?type=GIFT&id=order-0', 'reference'],
  ['/admin/references?type=GIFT&id=never', 'reference-never'],
  ['/admin/references?code=ORDER-1042', 'reference-no-code'],
  ['/admin/search', 'search-help'],
  ['/admin/search?q=grace', 'search'],
  ['/admin/search?q=3.75+today', 'search-amount'],
  ['/admin/books', 'books'],
  ['/admin/audit', 'audit'],
  ['/admin/origin-doctor?page=https://www.shop.example/wallet', 'origin-doctor'],
  ['/admin/operators', 'operators'],
  ['/admin/account', 'account'],
])('%s can be used by everyone, at 360 and 1280 pixels, light and dark', expectUsable)

test('background work that failed can be used by everyone', async () => {
  const { pool } = openDatabase({ connectionString: rig.databaseUrl })
  await pool.query(
    `insert into work (kind, key, due_at, failures, last_error, failed_at, given_up_at) values
       ('resolve-topup', gen_random_uuid(), now() + interval '1 hour', 5, 'card processor unavailable (network): no answer', now(), null),
       ('send-mail', 'declined:' || gen_random_uuid(), now(), 0, null, null, now()),
       ('job', 'merge-positions', 'infinity', 3, 'TimedOut', now(), null)`,
  )
  await expectUsable('/admin/work', 'work')
  await pool.query('delete from work')
  await pool.end()
})

test('the tabs of a client app, and its secret, can be used by everyone', async () => {
  const base = `/admin/client-apps/${app['clientId']}`
  await expectUsable(base, 'client-app')
  await expectUsable(`${base}/calls`, 'client-app-calls')
  await expectUsable(`${base}/settings`, 'client-app-settings')
  await page.getByText('Deactivate this app…').click()
  expect(await findPageBarriers(page, 'client-app-deactivate')).toEqual([])
  await expectUsable(`${base}/secrets`, 'client-app-secrets')
  await page.getByText('Rotate the secret').click()
  await page.getByText('Revoke…').click()
  expect(await findPageBarriers(page, 'client-app-open')).toEqual([])
  await page.getByRole('button', { name: 'Create a new secret' }).click()
  await page.getByRole('heading', { name: 'The new secret' }).waitFor()
  expect(await findPageBarriers(page, 'secret')).toEqual([])
})

test('a wallet, and a bonus for it, can be used by everyone', async () => {
  await expectUsable(`/admin/wallets/${walletId}`, 'wallet')
  await page.getByText('Grant a bonus').click()
  await page.getByLabel('Amount in USD').fill('nothing')
  await page.getByLabel('Reason', { exact: true }).fill('x')
  await page.getByRole('button', { name: 'Continue' }).click()
  await page.getByText('Enter an amount above zero').waitFor()
  expect(await findPageBarriers(page, 'wallet-problem')).toEqual([])
  await page.getByLabel('Amount in USD').fill('5')
  await page.getByRole('button', { name: 'Continue' }).click()
  await page.getByRole('heading', { name: 'Grant this bonus?' }).waitFor()
  expect(await findPageBarriers(page, 'bonus')).toEqual([])
})

test('a correction is requested, waits, and is approved by a second person, in pages that everyone can use', async () => {
  await page.goto(`${rig.base}/admin/wallets/${walletId}`)
  await page.getByRole('link', { name: 'Correct… entry 1', exact: true }).click()
  await page.getByRole('heading', { name: 'Correct the wallet' }).waitFor()
  expect(await findPageBarriers(page, 'correct')).toEqual([])
  await page.getByLabel('What it does').selectOption('credit')
  await page.getByLabel('Amount in USD').fill('250')
  await page.getByLabel('Reason', { exact: true }).fill('Charged for another customer’s order')
  await page.getByRole('button', { name: 'Continue' }).click()
  await page.getByRole('heading', { name: 'Make this correction?' }).waitFor()
  expect(await findPageBarriers(page, 'correct-question')).toEqual([])
  await page.getByRole('button', { name: 'Make the correction' }).click()
  await page.getByText('You requested this').waitFor()
  const order = ['wallet', 'correct', walletId, '--credit', '200', '--reason', 'A bonus that was forgotten']
  const { correctionId } = await rig.cli([...order, '--account', 'bonus'])
  await expectUsable('/admin/corrections', 'corrections')
  await page.goto(`${rig.base}/admin/corrections/${correctionId}`)
  await page.getByText('Decline…').click()
  expect(await findPageBarriers(page, 'correction-waits')).toEqual([])
  await page.getByRole('button', { name: 'Approve: move the money now' }).click()
  await page.getByText('The correction is in the ledger').waitFor()
  expect(await findPageBarriers(page, 'correction-done')).toEqual([])
  await expectUsable(`/admin/wallets/${walletId}`, 'wallet-corrected')
  await expectUsable(`/admin/client-apps/${app['clientId']}/settlements`, 'settlements')
})

test('a frozen wallet, and a missing page, can be used by everyone', async () => {
  await page.goto(`${rig.base}/admin/wallets/${walletId}`)
  await page.getByText('Freeze the wallet').click()
  await page.getByLabel('Reason for freezing').fill('Looks odd')
  await page.getByRole('button', { name: 'Freeze' }).click()
  await page.getByText('Frozen by an operator').waitFor()
  expect(await findPageBarriers(page, 'wallet-frozen')).toEqual([])
  await page.goto(`${rig.base}/admin/nothing-here`)
  expect(await findPageBarriers(page, 'not-found')).toEqual([])
})

test('the admin overview updates itself', async () => {
  await page.goto(`${rig.base}/admin`)
  await page.locator('[data-live]').evaluate((part) => part.replaceChildren('old figures'))
  await page.getByText('Requests a minute').waitFor()
  await page.getByText('The books', { exact: false }).or(page.getByText('right')).first().waitFor()
})

test('the first Tab in the admin area offers a link past the navigation', async () => {
  await page.goto(`${rig.base}/admin/wallets`)
  await page.keyboard.press('Tab')
  expect(await page.evaluate(() => document.activeElement?.textContent)).toBe('Skip to content')
  await page.keyboard.press('Enter')
  await until(page, () => document.activeElement?.id === 'main')
})

test('a slash, Ctrl+K and ⌘K focus the search on any page, and a slash in a field is typed', async () => {
  const here = () => page.evaluate(() => document.activeElement?.id)
  for (const key of ['/', 'Control+k', 'Meta+k']) {
    await page.goto(`${rig.base}/admin/audit`)
    await page.keyboard.press(key)
    expect([key, await here()]).toEqual([key, 'search'])
  }
  await page.keyboard.type('a/b')
  expect(await page.getByLabel('Search everything').inputValue()).toBe('a/b')
  await page.keyboard.press('Control+k')
  await page.keyboard.type('grace@example.com')
  await page.keyboard.press('Enter')
  await page.getByRole('heading', { name: 'Grace Hopper' }).waitFor()
})

test('the admin area works without JavaScript: find, unfreeze, register, sign out', async () => {
  const cookies = await page.context().cookies()
  const plain = await rig.openPage({ javaScriptEnabled: false })
  await plain.context().addCookies(cookies)
  await plain.goto(`${rig.base}/admin/wallets`)
  await plain.getByLabel('Find a user').fill('grace@')
  await plain.getByRole('button', { name: 'Find' }).click()
  await plain.getByRole('link', { name: 'Grace Hopper' }).click()
  await plain.getByText('Unfreeze the wallet').click()
  await plain.getByLabel('Reason for unfreezing').fill('All is well')
  await plain.getByRole('button', { name: 'Unfreeze' }).click()
  await plain.getByText('The wallet is active again').waitFor()
  await plain.goto(`${rig.base}/admin/client-apps/new`)
  await plain.getByLabel('Name').fill('Plain')
  await plain.getByRole('button', { name: 'Register' }).click()
  await plain.getByRole('heading', { name: 'The app is registered' }).waitFor()
  expect(await plain.getByRole('button', { name: 'Copy' }).count()).toBe(0)
  await plain.getByRole('button', { name: 'Sign out' }).click()
  await plain.getByText('You are signed out').waitFor()
  await plain.goto(`${rig.base}/admin/wallets`)
  await plain.getByRole('heading', { name: 'Sign in' }).waitFor()
  await plain.context().close()
})
