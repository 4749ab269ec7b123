import { describe, expect, test } from 'bun:test'
import { send, tokens, widgetIn } from './test/browser-rig.ts'
import { eventually, visitShop } from './test/shop-visit.ts'

const shop = visitShop()
const [first] = tokens

describe('a load error says', () => {
  const loadTimeoutMs = 1500

  test('NOT_ALLOWED when the service refuses to be framed here', async () => {
    await shop.mountIn('a', { clientId: 'refused', loadTimeoutMs })
    await eventually(() => shop.errorsOf('a'), ['NOT_ALLOWED'])
  })

  test('NOT_ALLOWED when the backend was refused the session for this origin', async () => {
    await shop.mountIn('a', { sessions: ['ORIGIN_NOT_ALLOWED'] })
    await eventually(() => shop.errorsOf('a'), ['NOT_ALLOWED'])
  })

  test('BLOCKED when there is no service to reach', async () => {
    await shop.mountIn('a', { baseUrl: 'http://127.0.0.1:9', loadTimeoutMs })
    await eventually(() => shop.errorsOf('a'), ['BLOCKED'])
  })

  test('BLOCKED when the policy of the page forbids the frame', async () => {
    await shop.page().goto(`${shop.rig().shopOrigin}/strict`)
    await shop.mountIn('a', { loadTimeoutMs: 10_000 })
    await eventually(() => shop.errorsOf('a'), ['BLOCKED'])
  })

  test('TIMED_OUT when the page does not come', async () => {
    await shop.mountIn('a', { clientId: 'slow', loadTimeoutMs: 500 })
    await eventually(() => shop.errorsOf('a'), ['TIMED_OUT'])
  })

  test.each(['FAILS', 'not-a-token'])('SESSION_FAILED when there is no session: %s', async (session) => {
    await shop.mountIn('a', { sessions: [session] })
    await eventually(() => shop.errorsOf('a'), ['SESSION_FAILED'])
    expect(await shop.page().locator('#a iframe').count()).toBe(0)
  })

  test('nothing when the widget is there', async () => {
    await shop.mountIn('a', { sessions: [first], loadTimeoutMs: 300 })
    await widgetIn(shop.page(), 'a', first)
    await Bun.sleep(500)
    expect(await shop.errorsOf('a')).toEqual([])
  })

  test('SERVICE_ERROR, with its code, when the widget reports one', async () => {
    await shop.mountIn('a', { sessions: [first] })
    const frame = await widgetIn(shop.page(), 'a', first)
    await send(frame, { type: 'SERVICE_ERROR', version: 1, code: 'WALLET_INACTIVE' })
    await eventually(
      () => shop.walletOf('a', ({ errors }) => errors as unknown[]),
      [{ code: 'SERVICE_ERROR', serviceCode: 'WALLET_INACTIVE' }],
    )
  })
})
