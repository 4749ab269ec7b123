/** Pages whose origin is not on the list: they show nothing, receive nothing, and change nothing. */
import { afterAll, beforeAll, describe, expect, setDefaultTimeout, test } from 'bun:test'
import type { Frame, Page } from '@playwright/test'
import { frameIn, until, untilSeen } from '../until.ts'
import { embed, waitForMessage, startRig, type Rig } from './rig.ts'

setDefaultTimeout(240_000)

let rig: Rig
beforeAll(async () => {
  rig = await startRig()
})
afterAll(() => rig.stop())

const walletUrl = (query: Record<string, string>) => `${rig.base}/widget/wallet?${new URLSearchParams(query)}`

/** A refused frame shows the browser's own error page. */
async function isShown(frame: Frame): Promise<boolean> {
  for (let tries = 0; tries < 600; tries++) {
    if (await frame.evaluate(() => document.getElementById('root') !== null).catch(() => false)) return true
    if (frame.url().startsWith('chrome-error:')) return false
    await Bun.sleep(50)
  }
  throw new Error(`neither a page nor an error: ${frame.url()}`)
}

/** A shown wallet sends a message to an allowed page. Without a wallet, nothing arrives in the time a message would need. */
async function hasReceivedMessage(page: Page, shown: boolean): Promise<boolean> {
  if (!shown) await Bun.sleep(500)
  else await until(page, () => window.received.length > 0).catch(() => {})
  return await page.evaluate(() => window.received.length > 0)
}

/**
 * A new window: a message from the frame of an earlier test can still arrive in a window that is used again.
 */
const openFresh = () => rig.openPage({ viewport: { width: 800, height: 900 } })

/** A page at `host` embeds the wallet of an app that lists `parents`. */
async function visit(host: string, parents: string[], parentOrigin?: string) {
  const tenant = await rig.newTenant({ allowedIframeParents: parents })
  const page = await openFresh()
  await page.goto(host)
  const frame = await embed(page, walletUrl({ session: await tenant.newSession(parentOrigin) }))
  const shown = await isShown(frame)
  const result = { isShown: shown, hasReceived: await hasReceivedMessage(page, shown) }
  await rig.closePage(page)
  return result
}

const nothing = { isShown: false, hasReceived: false }
const all = { isShown: true, hasReceived: true }

describe('who may frame the wallet', () => {
  test('an origin on the list frames the wallet and receives its messages', async () => {
    expect(await visit(rig.shop, [rig.shop])).toEqual(all)
  })

  test('an origin on another port cannot frame the wallet and receives nothing', async () => {
    expect(await visit(rig.strangerShop, [rig.shop])).toEqual(nothing)
  })

  test('an origin of another scheme cannot frame the wallet and receives nothing', async () => {
    expect(await visit(rig.shop, [rig.shop.replace('http:', 'https:')])).toEqual(nothing)
  })

  test('a subdomain of an origin on the list cannot frame the wallet and receives nothing', async () => {
    expect(await visit(rig.shop.replace('localhost', 'evil.localhost'), [rig.shop])).toEqual(nothing)
  })

  test('an origin on the list that is not the session’s own cannot frame the wallet and receives nothing', async () => {
    expect(await visit(rig.shop, [rig.shop, rig.strangerShop], rig.strangerShop)).toEqual(nothing)
    expect(await visit(rig.strangerShop, [rig.shop, rig.strangerShop], rig.strangerShop)).toEqual(all)
  })

  test('a foreign page around an allowed page sees no wallet, and the allowed page inside receives nothing', async () => {
    const tenant = await rig.newTenant()
    const inner = `${rig.shop}/?embed=${encodeURIComponent(walletUrl({ session: await tenant.newSession() }))}`
    const page = await openFresh()
    await page.goto(rig.strangerShop)
    const shop = await embed(page, inner, {})
    const wallet = await frameIn(shop)
    expect(await isShown(wallet)).toBe(false)
    await hasReceivedMessage(page, false)
    expect(await page.evaluate(() => window.received)).toEqual([])
    expect(await shop.evaluate(() => window.received)).toEqual([])
    await rig.closePage(page)
  })

  test('only the origins of its own app can frame the sign-in page, by clientId and by Referer', async () => {
    // No other app lists this origin, so the Referer alone identifies the app.
    const onlyShop = rig.shop.replace('localhost', 'only.localhost')
    const { clientId } = await rig.newTenant({ allowedIframeParents: [onlyShop] })
    const page = await openFresh()
    await page.goto(rig.shop)
    expect(await isShown(await embed(page, walletUrl({ clientId })))).toBe(false)
    expect(await page.evaluate(() => window.received)).toEqual([])
    await page.goto(onlyShop)
    const frame = await embed(page, walletUrl({}))
    await waitForMessage(page, 'SERVICE_AUTH_REQUIRED')
    await frame.waitForSelector('text=Sign in to Billfold')
    await rig.closePage(page)
  })
})

test('a page without a Referer, beside several apps, gets a frame that says what is missing, and that nothing can act in', async () => {
  await rig.newTenant()
  await rig.newTenant({ allowedIframeParents: [rig.strangerShop] })
  const page = await openFresh()
  const calls: string[] = []
  page.on('request', (request) => calls.push(new URL(request.url()).pathname))
  await page.goto(`${rig.strangerShop}/plain?${new URLSearchParams({ src: walletUrl({}), referrer: 'no-referrer' })}`)
  const frame = await frameIn(page)
  await frame.waitForSelector('text=The wallet cannot be shown here')
  const shown = await frame.evaluate(() => ({
    text: document.body.innerText,
    origin: self.origin,
    focusable: document.querySelectorAll('a, button, input, select, textarea, iframe, [tabindex]').length,
    isStyled: getComputedStyle(document.querySelector('.muted')!).color !== getComputedStyle(document.body).color,
  }))
  expect(shown.text).toContain('clientId=app_…')
  expect(shown.text).toContain('referrerpolicy="strict-origin"')
  // An opaque origin: the frame is a stranger to the service itself, so it has no cookie and no storage of it.
  expect([shown.origin, shown.focusable, shown.isStyled]).toEqual(['null', 0, true])
  expect(calls.filter((path) => path.startsWith('/api/'))).toEqual([])
  expect(await page.evaluate(() => window.received)).toEqual([])
  await rig.closePage(page)
})

/** Posts messages to the wallet, from its parent page or from a sibling frame. */
async function postToWallet(from: Page | Frame, messages: readonly unknown[]): Promise<void> {
  await from.evaluate(
    ({ messages, target }) => {
      for (const message of messages) window.top!.frames[0]!.postMessage(message, target)
    },
    { messages, target: rig.base },
  )
}

async function openShop() {
  const tenant = await rig.newTenant()
  await tenant.client.credit(tenant.user.serviceUserId, 10)
  const page = await rig.openPage()
  await page.goto(rig.shop)
  const streaming = page.waitForRequest(/\/api\/widget\/events/)
  const frame = await embed(page, walletUrl({ session: await tenant.newSession() }))
  await untilSeen(frame, '.hero-balance .visually-hidden')
  await streaming
  // Wait until the wallet has loaded and no longer changes.
  for (let shown = ''; shown !== (shown = await sees(frame));) await Bun.sleep(500)
  const calls: string[] = []
  page.on('request', (request) => {
    const { pathname } = new URL(request.url())
    // An idle wallet loads the files of its other views.
    if (!pathname.startsWith('/assets/')) calls.push(pathname)
  })
  return { tenant, page, frame, calls }
}

/** The last script of the shop page has run. */
const untilLoaded = (shop: Frame) => until(shop, () => typeof window.embed === 'function')
/** Times are left out, because they change. */
const sees = (frame: Frame) =>
  frame.evaluate(() => {
    const root = document.getElementById('root')!.cloneNode(true) as HTMLElement
    for (const time of root.querySelectorAll('time')) time.remove()
    return root.innerHTML
  })
const forged = (sessionToken: string) => ({ type: 'SERVICE_SESSION', version: 1, sessionToken })

describe('who may send messages to the wallet', () => {
  test('a thousand random messages from the parent change nothing and cause no call', async () => {
    const { page, frame, calls } = await openShop()
    const before = await sees(frame)
    await postToWallet(page, randomMessages(1000))
    await Bun.sleep(500)
    expect(await sees(frame)).toBe(before)
    expect(calls).toEqual([])
    await rig.closePage(page)
  })

  test('a well-formed session that opens nothing leaves the wallet as it is', async () => {
    const { page, frame } = await openShop()
    const before = await sees(frame)
    await postToWallet(page, [forged('ws_00000000-0000-4000-8000-000000000000')])
    await Bun.sleep(1000)
    expect(await sees(frame)).toBe(before)
    await rig.closePage(page)
  })

  test('another user’s valid session, sent by a frame of another origin, is ignored', async () => {
    const { page, frame, calls } = await openShop()
    const mallory = await rig.newTenant()
    await mallory.client.credit(mallory.user.serviceUserId, 666)
    const stranger = await embed(page, rig.strangerShop, {})
    await untilLoaded(stranger)
    calls.length = 0
    await postToWallet(stranger, [forged(await mallory.newSession())])
    await Bun.sleep(1000)
    expect(await frame.textContent('.hero-balance .visually-hidden')).toContain('$10.00')
    expect(calls).toEqual([])
    await rig.closePage(page)
  })

  test('another user’s valid session, sent by a frame of the shop’s own origin that is not the parent, is ignored', async () => {
    const { page, frame, calls } = await openShop()
    const mallory = await rig.newTenant()
    const sibling = await embed(page, rig.shop, {})
    await untilLoaded(sibling)
    calls.length = 0
    await postToWallet(sibling, [forged(await mallory.newSession())])
    await Bun.sleep(1000)
    expect(await frame.textContent('.hero-balance .visually-hidden')).toContain('$10.00')
    expect(calls).toEqual([])
    await rig.closePage(page)
  })

  test('a valid session that the parent sends is used', async () => {
    const { page, frame } = await openShop()
    const other = await rig.newTenant()
    await other.client.credit(other.user.serviceUserId, 20)
    await postToWallet(page, [forged(await other.newSession())])
    await until(frame, () => document.querySelector('.hero-balance')?.textContent?.includes('$20.00'))
    await rig.closePage(page)
  })
})

/** Almost valid messages, and noise of every type that can be posted. */
function randomMessages(count: number): unknown[] {
  const types = ['SERVICE_SESSION', 'SERVICE_LOGOUT_REQUEST', 'SERVICE_AUTH_SUCCESS', 'service_session', '', 'x']
  const tokens = [
    'ws_',
    'ws_x',
    'WS_00000000-0000-4000-8000-000000000000',
    '../wallet',
    '',
    null,
    7,
    { toString: 'ws_' },
  ]
  return Array.from({ length: count }, (_, i) => {
    if (i % 5 === 0) return pick([null, undefined, 0, 'SERVICE_SESSION', [], [1], true, Number.NaN, new Date(0)])
    return {
      type: pick(types),
      version: pick([0, 1, 2, '1', undefined]),
      sessionToken: pick(tokens),
      noise: Math.random(),
    }
  })
}

function pick<T>(list: readonly T[]): T {
  return list[Math.floor(Math.random() * list.length)]!
}
