/** Every state of the hosted pages, looked at: by axe, and by whoever opens test/screenshots afterwards. */
import { afterAll, beforeAll, expect, setDefaultTimeout, test } from 'bun:test'
import { mkdir } from 'node:fs/promises'
import { join } from 'node:path'
import type { Frame, Page } from '@playwright/test'
import { freezeWallet } from '../../src/actions/manage-wallets.ts'
import { postForService } from '../../src/actions/post.ts'
import { linkUser, newApp, operator } from '../service.ts'
import { findBarriers } from './axe.ts'
import { embed, startRig, type Rig } from './rig.ts'

setDefaultTimeout(120_000)

const folder = join(import.meta.dir, '../screenshots')
let rig: Rig
let tenant: Awaited<ReturnType<Rig['newTenant']>>

beforeAll(async () => {
  await mkdir(folder, { recursive: true })
  rig = await startRig({ CARD_PROCESSOR: 'sandbox' })
  tenant = await rig.newTenant()
})
afterAll(() => rig.stop())

/** A page in the state, and the document that shows it; `hasScript: false` for a browser without. */
type State = { readonly show: (page: Page) => Promise<Frame | Page>; readonly hasScript?: false }

const wallet = (query: Record<string, string>) => `${rig.base}/widget/wallet?${new URLSearchParams(query)}`
const topup = (query: Record<string, string>) => `${rig.base}/widget/topup?${new URLSearchParams(query)}`

async function inShop(page: Page, src: string): Promise<Frame> {
  await page.goto(rig.shop)
  return await embed(page, src)
}

type Tenant = typeof tenant

async function fund({ client, user }: Tenant): Promise<void> {
  const entries = [
    ['credit', 250, 'Welcome gift from Grandma'],
    ['debit', 24.9, 'The Left Hand of Darkness, hardcover'],
    ['debit', 3.5, null],
    ['debit', 119, 'Complete Works of Jorge Luis Borges, three volumes in a slipcase'],
    ['credit', 24.9, 'Refund: order 1041'],
    ['debit', 12, 'Postcards'],
    ['debit', 8.25, 'Gift wrapping'],
    ['credit', 1200, 'Prize: short story of the year'],
    ['debit', 64.4, 'Atlas of Remote Islands'],
    ['debit', 9.99, 'Order 1045'],
  ] as const
  for (const [direction, amount, description] of entries) {
    await client.post(`/api/server/wallet/${direction}`, {
      ...credentialsOf({ client, user } as Tenant),
      serviceUserId: user.serviceUserId,
      amount,
      referenceType: direction === 'debit' ? 'ORDER_PAYMENT' : 'ORDER_REFUND',
      referenceId: `${user.userId} ${amount} ${description}`,
      ...(description && { description }),
    })
  }
}

const known = new Map<Tenant['client'], { clientId: string; clientSecret: string }>()
const credentialsOf = ({ client }: Tenant) => known.get(client)!

async function funded(changes: Parameters<Rig['newTenant']>[0] = {}): Promise<Tenant> {
  const made = await rig.newTenant(changes)
  known.set(made.client, { clientId: made.clientId, clientSecret: made.clientSecret })
  await fund(made)
  return made
}

async function openWallet(page: Page, { newSession }: Tenant, query: Record<string, string> = {}): Promise<Frame> {
  const frame = await inShop(page, wallet({ session: await newSession(), ...query }))
  await frame.waitForSelector('.hero-balance')
  return frame
}

async function signedOut(page: Page, query: Record<string, string> = {}): Promise<Frame> {
  const frame = await inShop(page, wallet({ clientId: tenant.clientId, ...query }))
  await frame.waitForSelector('#field-password')
  return frame
}

/** Until the state is over, calls to the path wait or answer as told. */
function troubled(path: string, answer: () => Response | Promise<Response>): void {
  rig.trouble.answer = ({ pathname }) => (pathname === path ? answer() : undefined)
}

const states: Record<string, State> = {
  loading: {
    show: async (page) => {
      troubled('/api/widget/wallet', () => new Promise(() => {}))
      const frame = await inShop(page, wallet({ session: await tenant.newSession() }))
      await frame.waitForSelector('.skeleton-hero')
      return frame
    },
  },
  'no-transactions': { show: (page) => openWallet(page, tenant) },
  'ten-transactions': { show: async (page) => openWallet(page, await funded()) },
  'exact-time': {
    show: async (page) => {
      const frame = await openWallet(page, await funded())
      await frame.focus('.entry:nth-child(3) time')
      return frame
    },
  },
  branded: {
    show: async (page) => openWallet(page, await funded({ name: 'Limón & Söhne', accentColor: '#ffd400' })),
  },
  'right-to-left': { show: async (page) => openWallet(page, await funded(), { lang: 'ar' }) },
  japanese: { show: async (page) => openWallet(page, await funded(), { lang: 'ja' }) },
  'frozen-by-operator': {
    show: async (page) => {
      const frozen = await funded()
      await freezeWallet(rig.service, operator, frozen.user.userId, 'A question about an order')
      return await openWallet(page, frozen)
    },
  },
  'frozen-by-debt': {
    show: async (page) => {
      const owing = await rig.newTenant()
      await postForService(rig.service, {
        walletId: owing.user.userId,
        counterAccount: 'cards',
        amountMinor: -4200n,
        isReversal: true,
        referenceType: 'TOPUP_REVERSAL',
        referenceId: owing.user.userId,
        description: 'Card payment taken back',
      })
      return await openWallet(page, owing)
    },
  },
  expired: {
    show: async (page) => {
      const session = await tenant.newSession()
      rig.clock.lateMs = 6 * 60_000
      const frame = await inShop(page, wallet({ session }))
      await frame.waitForSelector('.panel[aria-busy=true]')
      return frame
    },
  },
  'expired-and-nobody-answers': {
    show: async (page) => {
      const session = await tenant.newSession()
      rig.clock.lateMs = 6 * 60_000
      await page.clock.install()
      const frame = await inShop(page, wallet({ session }))
      await frame.waitForSelector('.panel[aria-busy=true]')
      await page.clock.runFor(11_000)
      await frame.waitForSelector('.panel .button')
      return frame
    },
  },
  ended: {
    show: async (page) => {
      const left = await rig.newTenant()
      const session = await left.newSession()
      const frame = await inShop(page, wallet({ session }))
      await frame.waitForSelector('.hero-balance')
      await rig.app.fetch(
        new Request(`${rig.base}/api/widget/logout?session=${session}`, {
          method: 'POST',
          body: '{}',
          headers: { 'content-type': 'application/json', 'sec-fetch-site': 'same-origin' },
        }),
      )
      await frame.waitForSelector('.panel .button')
      return frame
    },
  },
  offline: {
    show: async (page) => {
      const frame = await openWallet(page, await funded())
      await page.context().setOffline(true)
      await frame.waitForSelector('.connection .warn')
      return frame
    },
  },
  'back-online': {
    show: async (page) => {
      const frame = await openWallet(page, await funded())
      await page.context().setOffline(true)
      await frame.waitForSelector('.connection .warn')
      await page.context().setOffline(false)
      await frame.waitForSelector('.connection .good')
      return frame
    },
  },
  'no-network': {
    show: async (page) => {
      await page.route('**/api/widget/wallet*', (route) => route.abort())
      const frame = await inShop(page, wallet({ session: await tenant.newSession() }))
      await frame.waitForSelector('.panel .icon-cloud')
      return frame
    },
  },
  failed: {
    show: async (page) => {
      troubled('/api/widget/wallet', () => Response.json({ error: 'x', code: 'INTERNAL' }, { status: 500 }))
      const frame = await inShop(page, wallet({ session: await tenant.newSession() }))
      await frame.waitForSelector('.panel.bad')
      return frame
    },
  },
  'sign-in': { show: (page) => signedOut(page) },
  'sign-in-wrong': {
    show: async (page) => {
      const frame = await signedOut(page)
      await frame.fill('#field-email', 'ada@example.com')
      await frame.fill('#field-password', 'not the right one')
      await frame.click('.reveal')
      await frame.click('form > .button')
      await frame.waitForSelector('.notice.bad')
      return frame
    },
  },
  'sign-up-with-problems': {
    show: async (page) => {
      const frame = await signedOut(page)
      await frame.click('.under .link-button')
      await frame.fill('#field-firstName', 'Ada')
      await frame.fill('#field-email', 'ada')
      await frame.fill('#field-password', 'short')
      await frame.click('form > .button')
      await frame.waitForSelector('.problem')
      return frame
    },
  },
  'sign-up-german': {
    show: async (page) => {
      const frame = await signedOut(page, { lang: 'de' })
      await frame.click('.under .link-button')
      await frame.waitForSelector('#field-firstName')
      return frame
    },
  },
  'confirm-email': {
    show: async (page) => {
      const frame = await signedOut(page)
      await frame.click('.under .link-button')
      await frame.fill('#field-firstName', 'Ada')
      await frame.fill('#field-lastName', 'Lovelace')
      await frame.fill('#field-email', 'ada@example.com')
      await frame.fill('#field-password', 'seven tired llamas')
      await frame.click('form > .button')
      await frame.waitForSelector('#field-code')
      return frame
    },
  },
  forgot: {
    show: async (page) => {
      const frame = await signedOut(page)
      await frame.click('.forgot .link-button')
      await frame.waitForSelector('text=Reset your password')
      return frame
    },
  },
  'reset-password': {
    show: async (page) => {
      const frame = await signedOut(page)
      await frame.click('.forgot .link-button')
      await frame.waitForSelector('text=Reset your password')
      await frame.fill('#field-email', 'ada@example.com')
      await frame.click('form > .button')
      await frame.waitForSelector('#field-code')
      return frame
    },
  },
  connecting: {
    show: async (page) => {
      troubled('/api/widget/auth/login', () =>
        Response.json({ serviceUserId: 'su_00000000000000000000', linkCode: 'lc_x' }),
      )
      const frame = await signedOut(page)
      await frame.fill('#field-email', 'ada@example.com')
      await frame.fill('#field-password', 'seven tired llamas')
      await frame.click('form > .button')
      await frame.waitForSelector('.panel')
      return frame
    },
  },
  account: {
    show: async (page) => {
      const other = await newApp(rig.service, { name: 'Kino Kosmos', allowedIframeParents: [] })
      await linkUser(rig.service, other, tenant.user.userId)
      const frame = await openWallet(page, tenant)
      await frame.click('.avatar')
      await frame.waitForSelector('.account .entry:nth-child(2)')
      return frame
    },
  },
  disconnecting: {
    show: async (page) => {
      const frame = await openWallet(page, tenant)
      await frame.click('.avatar')
      await frame.click('.account .entry:nth-child(2) .button')
      await frame.waitForSelector('.ask')
      return frame
    },
  },
  'popup-blocked': {
    show: async (page) => {
      const frame = await openWallet(page, await funded())
      await frame.evaluate(() => void (window.open = () => null))
      await frame.click('.hero-action')
      await frame.waitForSelector('.blocked')
      return frame
    },
  },
  'top-up': {
    show: async (page) => {
      await page.goto(topup({ session: await tenant.newSession() }))
      await page.waitForSelector('.presets')
      return page
    },
  },
  'top-up-wrong-amount': {
    show: async (page) => {
      await page.goto(topup({ session: await tenant.newSession() }))
      await page.click('.preset.other')
      await page.fill('#field-other', '0.001')
      await page.click('form > .button')
      await page.waitForSelector('.problem')
      return page
    },
  },
  'top-up-expired': {
    show: async (page) => {
      const session = await tenant.newSession()
      rig.clock.lateMs = 6 * 60_000
      await page.goto(topup({ session }))
      await page.waitForSelector('.panel')
      return page
    },
  },
  'top-up-frozen': {
    show: async (page) => {
      const frozen = await rig.newTenant()
      await freezeWallet(rig.service, operator, frozen.user.userId, 'A question about an order')
      await page.goto(topup({ session: await frozen.newSession() }))
      await page.waitForSelector('.panel')
      return page
    },
  },
  outside: {
    show: async (page) => {
      await page.goto(`${rig.base}/widget/wallet`)
      return page
    },
  },
  'outside-signed-out': {
    show: async (page) => {
      await page.goto(wallet({ clientId: tenant.clientId }))
      await page.waitForSelector('.sign-in .notice')
      return page
    },
  },
  'not-allowed': {
    show: async (page) => {
      await page.goto(wallet({ clientId: 'app_unknown' }))
      return page
    },
  },
  'script-blocked': {
    hasScript: false,
    show: async (page) => {
      await page.goto(wallet({ session: await tenant.newSession() }))
      await page.waitForSelector('.explain')
      return page
    },
  },
}

for (const [name, { show, hasScript = true }] of Object.entries(states)) {
  test(`axe finds no barrier in the state ${name}`, async () => {
    const page = await rig.openPage({ javaScriptEnabled: hasScript })
    try {
      const shown = await show(page)
      const barriers: string[] = []
      for (const colorScheme of ['light', 'dark'] as const) {
        await page.emulateMedia({ colorScheme })
        for (const width of [1280, 360]) {
          await page.setViewportSize({ width, height: 400 })
          await page.waitForTimeout(150)
          // A picture of the whole page, by a window of its size: Chromium blanks foreign frames in longer pictures.
          const height = await shown.evaluate(() => document.getElementById('root')!.getBoundingClientRect().height)
          await page.setViewportSize({ width, height: Math.ceil(height) || 400 })
          await page.waitForTimeout(150)
          await page.screenshot({ path: join(folder, `${name}-${width}-${colorScheme}.png`) })
        }
        if (hasScript) barriers.push(...(await findBarriers(shown)).map((line) => `${colorScheme}: ${line}`))
        const isTooWide = hasScript && (await shown.evaluate(() => document.documentElement.scrollWidth > innerWidth))
        if (isTooWide) barriers.push(`${colorScheme}: wider than 360 px`)
      }
      expect(barriers).toEqual([])
    } finally {
      rig.trouble.answer = undefined
      rig.clock.lateMs = 0
      await page.context().close()
    }
  })
}
