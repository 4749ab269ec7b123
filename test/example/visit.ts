/** The actions of a person in the shop and in the wallet's frame, and the messages that the shop's page receives. */
import { expect } from 'bun:test'
import type { BrowserContextOptions, Frame, FrameLocator, Page } from '@playwright/test'
import { frameIn, until } from '../until.ts'
import { createUser } from '../../src/actions/people/create-user.ts'
import { operator } from '../service.ts'
import type { ShopRig } from './rig.ts'

export type ReceivedMessage = {
  readonly origin: string
  readonly data: { readonly type: string; readonly [name: string]: unknown }
}

declare global {
  interface Window {
    shopReceived: ReceivedMessage[]
  }
}

export type Account = { readonly email: string; readonly password: string }

let count = 0

/** Unique in this shop. */
export function newName(): string {
  return `Guest ${process.pid}-${++count}`
}

/** Records every message from the start of the page on. */
export async function prepareVisit(page: Page): Promise<void> {
  await page.addInitScript(() => {
    if (window.top !== window) return
    window.shopReceived = []
    addEventListener('message', ({ origin, data }) =>
      window.shopReceived.push({ origin, data: data as ReceivedMessage['data'] }),
    )
  })
}

export async function openVisit(rig: ShopRig, options: BrowserContextOptions = {}) {
  const page = await rig.windows.open(options)
  const context = page.context()
  const complaints: string[] = []
  page.on('console', (message) => {
    if (/content security policy|refused to/i.test(message.text())) complaints.push(message.text())
  })
  page.on('pageerror', (error) => complaints.push(error.message))
  const wallet = walletIn(page)

  return {
    page,
    context,
    wallet,
    complaints,
    close: () => rig.windows.giveBack(page),
    enterAs: (name: string) => enterAs(page, rig, name),
    signUp: () => signUp(page, rig),
    /** With an account made without the browser: most tests only need a user who is signed in. */
    signInAsNew: () => signInAsNew(page, rig),
    logIn: (account: Account) => logIn(page, account),
    received: async (type: string) =>
      (await page.evaluate(() => window.shopReceived)).filter(({ data }) => data.type === type),
    receivedTypes: async () => (await page.evaluate(() => window.shopReceived)).map(({ data }) => data.type),
    buy: (product: string) => page.getByRole('button', { name: `Buy the ${product}` }).click(),
    order: (product: string) => page.locator('#orders li', { hasText: product }).first(),
    notice: () => page.locator('#notice'),
    purse: () => page.locator('#purse-balance'),
    balance: () => wallet.locator('.hero-balance .visually-hidden'),
    story: () => page.locator('#steps > li'),
    atRest: () => atRest(page),
  }
}

export type Visit = Awaited<ReturnType<typeof openVisit>>

async function enterAs(page: Page, rig: ShopRig, name: string): Promise<void> {
  await page.goto(rig.shopOrigin)
  const leave = page.getByRole('button', { name: 'Change user' })
  if (await leave.isVisible()) await leave.click()
  await page.getByLabel('Someone new').fill(name)
  await page.getByRole('button', { name: 'Come in' }).click()
  await page.getByRole('heading', { name: 'On the shelf' }).waitFor()
  // The products are there before their script; the script shows the stored record.
  await until(page, () => Boolean(document.getElementById('record')?.textContent))
}

function walletIn(page: Page): FrameLocator {
  return page.frameLocator('iframe')
}

/** The form is there before its script, and a click in between is lost: the widget sends a message once it is ready. */
async function untilSignIn(page: Page): Promise<Frame> {
  await until(page, () => {
    const last = window.shopReceived.findLast(({ data }) => data.type !== 'SERVICE_RESIZE')
    return last?.data.type === 'SERVICE_AUTH_REQUIRED'
  })
  return await frameIn(page)
}

/** By keyboard: while the frame changes its height, a button may move away from the pointer. Waits until the form is ready. */
export async function press(wallet: FrameLocator | Frame, name: string | RegExp, exact = false): Promise<void> {
  await wallet.getByRole('button', { name, exact, disabled: false }).press('Enter')
}

export async function signUp(page: Page, rig: Pick<ShopRig, 'mailedCode'>): Promise<Account> {
  const wallet = await untilSignIn(page)
  const account = newAccount()
  await press(wallet, 'Create account')
  await wallet.getByLabel('First name').fill('Robin')
  await wallet.getByLabel('Last name').fill('Vesper')
  await wallet.getByLabel('Email').fill(account.email)
  await wallet.getByLabel('Password', { exact: true }).fill(account.password)
  await press(wallet, 'Create account')
  await wallet.getByRole('heading', { name: 'Check your email' }).waitFor()
  await wallet.getByLabel('Code').fill(await rig.mailedCode(account.email))
  await press(wallet, 'Confirm')
  await untilOpen(page)
  return account
}

const newAccount = (): Account => ({
  email: `guest-${process.pid}-${++count}@example.com`,
  password: `small hours ${Math.random()}`,
})

async function signInAsNew(page: Page, { opened }: Pick<ShopRig, 'opened'>): Promise<Account> {
  const account = newAccount()
  await createUser(opened.service, operator, { ...account, firstName: 'Robin', lastName: 'Vesper' })
  await logIn(page, account)
  return account
}

export async function logIn(page: Page, account: Account): Promise<void> {
  await fillLogIn(page, account)
  await untilOpen(page)
}

/** The frame has the height of its content: the page below no longer moves. */
async function atRest(page: Page): Promise<void> {
  const readHeights = async () => [
    await page.locator('#wallet iframe').evaluate((frame) => frame.clientHeight),
    await walletIn(page)
      .locator('#root')
      .evaluate((root) => Math.ceil(root.getBoundingClientRect().height)),
  ]
  await eventually(async () => new Set(await readHeights()).size, 1)
}

/** Waits for the balance: the placeholders before it have the same text. */
async function untilOpen(page: Page): Promise<void> {
  await walletIn(page).locator('.hero-balance .visually-hidden').waitFor({ state: 'attached' })
}

export async function fillLogIn(page: Page, { email, password }: Account): Promise<void> {
  const wallet = await untilSignIn(page)
  await wallet.getByLabel('Email').fill(email)
  await wallet.getByLabel('Billfold password', { exact: true }).fill(password)
  await press(wallet, 'Sign in')
}

/** Repeats until the value is as expected, for as long as a busy machine may need. */
export async function eventually<T>(read: () => Promise<T> | T, expected: NoInfer<T>): Promise<void> {
  let seen = await read()
  for (const endsAt = Date.now() + 60_000; Date.now() < endsAt && seen !== expected; seen = await read()) {
    await Bun.sleep(25)
  }
  expect(seen as unknown).toEqual(expected)
}
