import { describe, expect, test } from 'bun:test'
import { send, tokens, widgetIn } from './test/browser-rig.ts'
import { visitShop } from './test/shop-visit.ts'

const shop = visitShop()
const [first] = tokens
const paid = { type: 'SERVICE_WALLET_UPDATED', version: 1, paid: 14.98 }
const need = { amount: 14.98, reason: 'Order 1042 & more' }

/** Starts a top-up in the page and returns a function that reads its outcome. */
async function begin(): Promise<() => Promise<unknown>> {
  await shop.page().evaluate((need) => {
    Object.assign(window, { topUp: window.wallets.a!.handle.topUp(need) })
  }, need)
  return async () => await shop.page().evaluate(() => (window as unknown as { topUp: Promise<unknown> }).topUp)
}

async function beginInWindow() {
  await shop.mountIn('a', { sessions: [first] })
  await widgetIn(shop.page(), 'a', first)
  const opening = shop.page().waitForEvent('popup')
  const outcome = await begin()
  const opened = await opening
  await opened.waitForLoadState()
  return { opened, outcome }
}

/** In the frame, because the browser blocks windows. */
async function beginInFrame() {
  await shop.mountIn('a', { sessions: [first] })
  await widgetIn(shop.page(), 'a', first)
  await shop.page().evaluate(() => void (window.open = () => null))
  const outcome = await begin()
  return { frame: await widgetIn(shop.page(), 'a', '/widget/topup'), outcome }
}

describe('a top-up that the page requests', () => {
  test('opens a window with the session, the amount and the reason, and resolves when it is paid', async () => {
    const { opened, outcome } = await beginInWindow()
    const { pathname, searchParams } = new URL(opened.url())
    expect([pathname, Object.fromEntries(searchParams)]).toEqual([
      '/widget/topup',
      { clientId: 'app_1', session: first, amount: '14.98', reason: 'Order 1042 & more' },
    ])
    // Neither a message of another window nor one without the amount ends it.
    await shop.page().evaluate((paid) => window.postMessage(paid, '*'), { ...paid, paid: 1 })
    await opened.evaluate((origin) => {
      const opener = window.opener as Window
      opener.postMessage({ type: 'SERVICE_WALLET_UPDATED', version: 1 }, origin)
      opener.postMessage({ type: 'SERVICE_WALLET_UPDATED', version: 1, paid: 14.98 }, origin)
    }, shop.rig().shopOrigin)
    expect(await outcome()).toEqual({ status: 'paid', amount: 14.98 })
  })

  test('is closed with its window', async () => {
    const { opened, outcome } = await beginInWindow()
    await opened.close()
    expect(await outcome()).toEqual({ status: 'closed' })
  })

  test('gives way to a second one', async () => {
    const { opened, outcome } = await beginInWindow()
    const before = outcome()
    const closing = opened.waitForEvent('close')
    const again = await begin()
    expect(await before).toEqual({ status: 'closed' })
    await closing
    await shop.page().evaluate(() => window.wallets.a!.handle.unmount())
    expect(await again()).toEqual({ status: 'closed' })
  })

  test('is shown in the frame where the browser blocks the window, and is paid there', async () => {
    const { frame, outcome } = await beginInFrame()
    expect(new URL(frame.url()).searchParams.get('reason')).toBe(need.reason)
    await send(frame, { type: 'SERVICE_WALLET_LOADED', version: 1, page: 'topup' })
    await send(frame, paid)
    expect(await outcome()).toEqual({ status: 'paid', amount: 14.98 })
  })

  test('is closed when the frame shows the wallet again', async () => {
    const { frame, outcome } = await beginInFrame()
    await send(frame, { type: 'SERVICE_WALLET_LOADED', version: 1 })
    expect(await outcome()).toEqual({ status: 'closed' })
  })

  test('needs a user who is signed in', async () => {
    await shop.mountIn('a')
    await widgetIn(shop.page(), 'a', 'clientId=app_1')
    expect(await (await begin())()).toEqual({ status: 'signed-out' })
  })
})
