import { describe, expect, test } from 'bun:test'
import { send, tokens, widgetIn } from './test/browser-rig.ts'
import { eventually, visitShop } from './test/shop-visit.ts'

const shop = visitShop()
const [first] = tokens

const loadTimeoutMs = 60_000

/** Stops the clock of the page, so that no timeout fires because the machine is busy. Such a window is not reused. */
async function stopTheClock(): Promise<void> {
  await shop.page().clock.install()
  await shop.page().goto(shop.rig().shopOrigin)
  await shop.page().evaluate(() => {
    document.addEventListener('load', () => (document.body.dataset['loaded'] = ''), true)
  })
  await shop.page().clock.pauseAt(Date.now() + 3_600_000)
}

/** The frame has loaded and has posted no message for a third of its load timeout. */
async function waitInSilence(): Promise<void> {
  await shop.page().clock.runFor(1_000)
  await eventually(() => shop.page().evaluate(() => 'loaded' in document.body.dataset), true)
  await shop.page().clock.runFor(loadTimeoutMs / 3)
}

describe('load errors', () => {
  test('a wallet whose service refuses to be framed here fails with NOT_ALLOWED', async () => {
    await stopTheClock()
    await shop.mountIn('a', { clientId: 'refused', loadTimeoutMs })
    await waitInSilence()
    await eventually(() => shop.errorsOf('a'), ['NOT_ALLOWED'])
    await shop.page().context().close()
  })

  test('a wallet whose backend was refused the session for this origin fails with NOT_ALLOWED', async () => {
    await shop.mountIn('a', { sessions: ['ORIGIN_NOT_ALLOWED'] })
    await eventually(() => shop.errorsOf('a'), ['NOT_ALLOWED'])
  })

  test('a wallet without a service to reach fails with BLOCKED', async () => {
    await stopTheClock()
    await shop.mountIn('a', { baseUrl: 'http://127.0.0.1:9', loadTimeoutMs })
    await waitInSilence()
    await eventually(() => shop.errorsOf('a'), ['BLOCKED'])
    await shop.page().context().close()
  })

  test('a wallet whose frame the page’s policy forbids fails with BLOCKED', async () => {
    await shop.page().goto(`${shop.rig().shopOrigin}/strict`)
    await shop.mountIn('a', { loadTimeoutMs })
    await eventually(() => shop.errorsOf('a'), ['BLOCKED'])
  })

  test('a wallet whose page does not load fails with TIMED_OUT', async () => {
    await shop.mountIn('a', { clientId: 'slow', loadTimeoutMs: 500 })
    await eventually(() => shop.errorsOf('a'), ['TIMED_OUT'])
  })

  test.each(['FAILS', 'not-a-token'])('a wallet without a session fails with SESSION_FAILED: %s', async (session) => {
    await shop.mountIn('a', { sessions: [session] })
    await eventually(() => shop.errorsOf('a'), ['SESSION_FAILED'])
    expect(await shop.page().locator('#a iframe').count()).toBe(0)
  })

  test('a wallet that loads reports no load error', async () => {
    await stopTheClock()
    await shop.mountIn('a', { sessions: [first], loadTimeoutMs })
    await shop.page().clock.runFor(1_000)
    await widgetIn(shop.page(), 'a', first)
    await eventually(() => shop.walletOf('a', ({ events }) => events.length), 1)
    await shop.page().clock.runFor(2 * loadTimeoutMs)
    expect(await shop.errorsOf('a')).toEqual([])
    await shop.page().context().close()
  })

  test('an error that the widget reports arrives as SERVICE_ERROR, with its code', async () => {
    await shop.mountIn('a', { sessions: [first] })
    const frame = await widgetIn(shop.page(), 'a', first)
    await send(frame, { type: 'SERVICE_ERROR', version: 1, code: 'WALLET_INACTIVE' })
    await eventually(
      () => shop.walletOf('a', ({ errors }) => errors as unknown[]),
      [{ code: 'SERVICE_ERROR', serviceCode: 'WALLET_INACTIVE' }],
    )
  })
})
