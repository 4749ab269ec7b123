import { describe, expect, test } from 'bun:test'
import { send, tokens, widgetIn } from './test/browser-rig.ts'
import { eventually, visitShop } from './test/shop-visit.ts'

const shop = visitShop()
const [first] = tokens

describe('load errors', () => {
  const loadTimeoutMs = 1500

  test('a wallet whose service refuses to be framed here fails with NOT_ALLOWED', async () => {
    await shop.mountIn('a', { clientId: 'refused', loadTimeoutMs })
    await eventually(() => shop.errorsOf('a'), ['NOT_ALLOWED'])
  })

  test('a wallet whose backend was refused the session for this origin fails with NOT_ALLOWED', async () => {
    await shop.mountIn('a', { sessions: ['ORIGIN_NOT_ALLOWED'] })
    await eventually(() => shop.errorsOf('a'), ['NOT_ALLOWED'])
  })

  test('a wallet without a service to reach fails with BLOCKED', async () => {
    await shop.mountIn('a', { baseUrl: 'http://127.0.0.1:9', loadTimeoutMs })
    await eventually(() => shop.errorsOf('a'), ['BLOCKED'])
  })

  test('a wallet whose frame the page’s policy forbids fails with BLOCKED', async () => {
    await shop.page().goto(`${shop.rig().shopOrigin}/strict`)
    await shop.mountIn('a', { loadTimeoutMs: 10_000 })
    await eventually(() => shop.errorsOf('a'), ['BLOCKED'])
  })

  test('a wallet whose page does not come fails with TIMED_OUT', async () => {
    await shop.mountIn('a', { clientId: 'slow', loadTimeoutMs: 500 })
    await eventually(() => shop.errorsOf('a'), ['TIMED_OUT'])
  })

  test.each(['FAILS', 'not-a-token'])('a wallet without a session fails with SESSION_FAILED: %s', async (session) => {
    await shop.mountIn('a', { sessions: [session] })
    await eventually(() => shop.errorsOf('a'), ['SESSION_FAILED'])
    expect(await shop.page().locator('#a iframe').count()).toBe(0)
  })

  test('a wallet that is there reports no load error', async () => {
    await shop.mountIn('a', { sessions: [first], loadTimeoutMs: 2_000 })
    await widgetIn(shop.page(), 'a', first)
    await Bun.sleep(2_200)
    expect(await shop.errorsOf('a')).toEqual([])
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
