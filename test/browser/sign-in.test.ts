/** Signing in and leaving: what the user does, and which messages the shop receives. */
import { afterAll, beforeAll, describe, expect, setDefaultTimeout, test } from 'bun:test'
import type { Frame, Page } from '@playwright/test'
import { freezeWallet } from '../../src/actions/money/manage-wallets.ts'
import { createUser } from '../../src/actions/people/create-user.ts'
import { mailedCode, newEmail } from '../page.ts'
import { linkUser, newApp, operator } from '../service.ts'
import { until, untilSeen } from '../until.ts'
import { embed, waitForMessage, startRig, type Rig } from './rig.ts'
import { clickPart, focusIs, openShop, openSignIn, reload, untilReady, walletUrl } from './shop.ts'

setDefaultTimeout(240_000)

/** No request leaves the machine: the test answers for these hosts. */
const links = { TERMS_URL: 'https://terms.example/', SUPPORT_URL: 'https://help.example/' }

let rig: Rig
beforeAll(async () => {
  rig = await startRig({ CARD_PROCESSOR: 'sandbox', SERVICE_NAME: 'Café Purse', ...links })
})
afterAll(() => rig.stop())

async function windowOf(page: Page, frame: Frame, link: string): Promise<string> {
  await page.context().route(/example/, (route) => route.fulfill({ body: 'elsewhere' }))
  const [opened] = await Promise.all([page.context().waitForEvent('page'), frame.click(`text=${link}`)])
  await opened.waitForLoadState()
  const url = opened.url()
  expect(await opened.evaluate(() => window.opener === null)).toBeTrue()
  await opened.close()
  return url
}

describe('the owner of the wallet', () => {
  test('the form names the service, whose password it asks for, and the app, where it is used', async () => {
    const { page, frame } = await openSignIn(rig, await rig.newTenant())
    await frame.getByRole('heading', { name: 'Sign in to Café Purse' }).waitFor()
    await frame.getByText('to pay at Fernweh Books').waitFor()
    await frame.getByLabel('Café Purse password', { exact: true }).waitFor()
    expect(await frame.title()).toBe('Wallet · Fernweh Books · Café Purse')
    expect(await frame.locator('.legal a').allTextContents()).toEqual(['Terms', 'Help'])
    expect(await windowOf(page, frame, 'Terms')).toBe(links.TERMS_URL)
    await rig.closePage(page)
  })

  test('a frozen wallet names the support page, and the link opens from within the sandbox', async () => {
    const tenant = await rig.newTenant()
    await freezeWallet(rig.service, operator, tenant.user.userId, 'A question')
    const { page, frame } = await openShop(rig, tenant)
    expect(await windowOf(page, frame, 'Contact support')).toBe(links.SUPPORT_URL)
    await rig.closePage(page)
  })

  test('a frame whose sandbox lacks allow-same-origin explains that, in its own style', async () => {
    const tenant = await rig.newTenant()
    const page = await rig.openPage()
    await page.goto(rig.shop)
    const url = walletUrl(rig, { session: await tenant.newSession() })
    const frame = await embed(page, url, { sandbox: 'allow-scripts' })
    await frame.waitForSelector('text=allow-same-origin')
    await until(frame, () => getComputedStyle(document.querySelector('.panel')!).display === 'grid')
    await rig.closePage(page)
  })
})

describe('signing in', () => {
  const password = 'seven tired llamas'

  test('a newcomer signs up, confirms, and the shop gets an id it can verify', async () => {
    const tenant = await rig.newTenant()
    const { page, frame } = await openSignIn(rig, tenant)
    const email = newEmail()
    await frame.click('text=Create account')
    await untilReady(frame, '#field-firstName')
    await frame.fill('#field-firstName', 'Grace')
    await frame.fill('#field-lastName', 'Hopper')
    await frame.fill('#field-email', email)
    await frame.fill('#field-password', password)
    await page.keyboard.press('Enter')
    await untilReady(frame, '#field-code')
    // A new code is requested, and the focus stays.
    await frame.focus('text=Send a new code')
    await page.keyboard.press('Enter')
    await frame.waitForSelector('text=A new code is on its way.')
    expect(await frame.evaluate(() => document.activeElement?.textContent)).toBe('Send a new code')
    // The code of the second mail: the first one is no longer valid.
    await frame.fill('#field-code', await mailedCode(email, rig.logged, 2))
    await page.keyboard.press('Enter')
    const message = await waitForMessage(page, 'SERVICE_AUTH_SUCCESS')
    expect(message).toEqual({
      type: 'SERVICE_AUTH_SUCCESS',
      version: 1,
      serviceUserId: expect.stringMatching(/^su_/),
      linkCode: expect.any(String),
    })
    await frame.waitForSelector('text=Connecting your wallet')
    if (message.type !== 'SERVICE_AUTH_SUCCESS') throw new Error('unreachable')
    const { clientId, clientSecret } = tenant
    const verified = await tenant.client.post('/api/server/link/verify', {
      clientId,
      clientSecret,
      linkCode: message.linkCode,
    })
    expect(verified.body).toEqual({ serviceUserId: message.serviceUserId })
    await rig.closePage(page)
  })

  test('a forgotten password is replaced by a mailed code', async () => {
    const tenant = await rig.newTenant()
    const email = newEmail()
    await createUser(rig.service, operator, { email, password, firstName: 'Ada', lastName: 'L' })
    const { page, frame } = await openSignIn(rig, tenant)
    await frame.fill('#field-email', email)
    await frame.fill('#field-password', 'not the right one')
    await page.keyboard.press('Enter')
    await frame.waitForSelector('text=The email and password do not match.')
    await frame.click('text=Forgot your password?')
    await focusIs(frame, 'Reset your password')
    await frame.fill('#field-email', email)
    await page.keyboard.press('Enter')
    await untilReady(frame, '#field-code')
    await frame.fill('#field-code', await mailedCode(email, rig.logged))
    await frame.fill('#field-password', 'eight rested llamas')
    await page.keyboard.press('Enter')
    await waitForMessage(page, 'SERVICE_AUTH_SUCCESS')
    await rig.closePage(page)
  })

  test('a reload while the code is awaited asks for the code again, which still works, and a log-in form comes back by hand', async () => {
    const tenant = await rig.newTenant()
    const email = newEmail()
    await createUser(rig.service, operator, { email, password, firstName: 'Ada', lastName: 'L' })
    const { page, frame } = await openSignIn(rig, tenant)
    await frame.click('text=Forgot your password?')
    await focusIs(frame, 'Reset your password')
    await frame.fill('#field-email', email)
    await page.keyboard.press('Enter')
    await untilReady(frame, '#field-code')
    await reload(frame)
    await untilReady(frame, '#field-code')
    await frame.getByText(email).waitFor()
    await frame.click('text=Back')
    await untilReady(frame, '#field-email')
    await reload(frame)
    await untilReady(frame, '#field-email')
    expect(await frame.evaluate(() => history.state as unknown)).toEqual({ session: null })
    await frame.click('text=Forgot your password?')
    await focusIs(frame, 'Reset your password')
    await frame.fill('#field-email', email)
    await page.keyboard.press('Enter')
    await untilReady(frame, '#field-code')
    await reload(frame)
    await untilReady(frame, '#field-code')
    await frame.fill('#field-code', await mailedCode(email, rig.logged, 2))
    await frame.fill('#field-password', 'eight rested llamas')
    await page.keyboard.press('Enter')
    await waitForMessage(page, 'SERVICE_AUTH_SUCCESS')
    await rig.closePage(page)
  })

  test('a password can be made visible, and password managers know every field', async () => {
    const { page, frame } = await openSignIn(rig, await rig.newTenant())
    await frame.fill('#field-password', 'llama')
    await frame.click('.reveal')
    await untilSeen(frame, '#field-password[type=text]')
    expect(await frame.inputValue('#field-password')).toBe('llama')
    await frame.click('.reveal')
    await untilSeen(frame, '#field-password[type=password]')
    const hints = () =>
      frame.$$eval('input', (inputs) => inputs.map((input) => [input.name, input.getAttribute('autocomplete')]))
    expect(await hints()).toEqual([
      ['email', 'username'],
      ['password', 'current-password'],
    ])
    await frame.click('text=Create account')
    await untilSeen(frame, '#field-firstName')
    expect(await hints()).toEqual([
      ['firstName', 'given-name'],
      ['lastName', 'family-name'],
      ['email', 'username'],
      ['password', 'new-password'],
    ])
    await rig.closePage(page)
  })
})

describe('leaving', () => {
  test('logging out ends the session and notifies the shop, which is also the way to another account', async () => {
    const { page, frame } = await openShop(rig, await rig.newTenant())
    await frame.click('button.avatar')
    await frame.click('text="Sign out"')
    expect(await waitForMessage(page, 'SERVICE_LOGOUT_REQUEST')).toEqual({ type: 'SERVICE_LOGOUT_REQUEST', version: 1 })
    await untilSeen(frame, '#field-password')
    await rig.closePage(page)
  })

  test('an app is disconnected only after a second click, and its id is then unknown', async () => {
    const tenant = await rig.newTenant()
    const other = await newApp(rig.service, { name: 'Kino Kosmos' })
    const serviceUserId = await linkUser(rig.service, other, tenant.user.userId)
    const { page, frame } = await openShop(rig, tenant)
    await clickPart(frame, 'apps')
    await frame.click('text=Disconnect >> nth=1')
    await frame.waitForSelector('text=Disconnect Kino Kosmos?')
    await frame.click('text=Cancel')
    await frame.click('[aria-label="Disconnect Kino Kosmos"]')
    await frame.click('.ask .danger')
    await frame.waitForSelector('text=Kino Kosmos is disconnected.')
    const { status } = await tenant.client.get('/api/server/wallet', { ...other, serviceUserId })
    expect(status).toBe(401)
    await rig.closePage(page)
  })

  test('disconnecting the app that shows the wallet signs out', async () => {
    const tenant = await rig.newTenant()
    const { page, frame } = await openShop(rig, tenant)
    await clickPart(frame, 'apps')
    await frame.click('.account .entry .button')
    await frame.click('.ask .danger')
    await waitForMessage(page, 'SERVICE_LOGOUT_REQUEST')
    await rig.closePage(page)
  })
})
