import { describe, expect, test } from 'bun:test'
import { send, tokens, widgetIn } from './test/browser-rig.ts'
import { eventually, visitShop } from './test/shop-visit.ts'

const shop = visitShop()
const [first, second, third] = tokens

describe('strangers', () => {
  const logout = { type: 'SERVICE_LOGOUT_REQUEST', version: 1 }

  test('a stranger in the page itself or in another frame of any origin changes nothing', async () => {
    await shop.mountIn('a', { sessions: [first] })
    await widgetIn(shop.page(), 'a', first)
    await shop.page().evaluate((message) => window.postMessage(message, '*'), logout)
    for (const origin of [shop.rig().serviceOrigin, shop.rig().shopOrigin]) {
      await shop.page().evaluate((src) => {
        const frame = document.createElement('iframe')
        frame.name = 'stranger'
        frame.src = src
        document.body.append(frame)
      }, `${origin}/widget/wallet?clientId=stranger`)
      await eventually(async () => shop.page().frame({ name: 'stranger' })?.url().startsWith(origin), true)
      await shop.page().frame({ name: 'stranger' })!.waitForLoadState()
      await shop
        .page()
        .frame({ name: 'stranger' })!
        .evaluate((message) => parent.postMessage(message, '*'), logout)
      await shop.page().evaluate(() => document.querySelector('iframe[name=stranger]')!.remove())
    }
    await Bun.sleep(150)
    expect(await shop.callsOf('a')).toEqual([shop.asked()])
    await eventually(
      () => shop.walletOf('a', ({ events }) => events.map(({ type }) => type)),
      ['SERVICE_WALLET_LOADED'],
    )
  })

  test('messages of a page from another origin that took over the frame are ignored', async () => {
    await shop.mountIn('a', { sessions: [first] })
    await widgetIn(shop.page(), 'a', first)
    await shop.page().evaluate((src) => {
      document.querySelector('iframe')!.src = src
    }, `${shop.rig().shopOrigin}/elsewhere`)
    await eventually(async () => shop.page().frames()[1]?.url(), `${shop.rig().shopOrigin}/elsewhere`)
    await shop.page().frames()[1]!.waitForLoadState()
    await shop
      .page()
      .frames()[1]!
      .evaluate((message) => parent.postMessage(message, '*'), logout)
    await Bun.sleep(150)
    expect(await shop.callsOf('a')).toEqual([shop.asked()])
  })

  test('a stranger cannot do harm with a thousand odd messages, even from the right frame', async () => {
    await shop.mountIn('a', { sessions: [first] })
    const frame = await widgetIn(shop.page(), 'a', first)
    await frame.evaluate(() => {
      const kinds = [
        'SERVICE_LOGOUT_REQUEST',
        'SERVICE_AUTH_SUCCESS',
        'SERVICE_RESIZE',
        'SERVICE_ERROR',
        '__proto__',
        '',
      ]
      const values = [null, undefined, 1e308, -1, '', '<img>', [], {}, new Date(), 10n, 'javascript:alert(1)']
      const versions = [0, 2, '1', null]
      for (let count = 0; count < 1000; count++) {
        const [type, version] = [kinds[count % kinds.length], versions[count % versions.length]]
        const odd = { type, version, height: values[count % 11], code: values[count % 7], linkCode: values[count % 5] }
        window.send([odd, values[count % 11], [odd]][count % 3])
        window.send({ ...odd, version: 1, type: 'SERVICE_AUTH_SUCCESS' })
      }
    })
    // The last message, and the only valid one besides the first.
    await send(frame, { type: 'SERVICE_WALLET_UPDATED', version: 1 })
    await eventually(() => shop.callsOf('a'), [shop.asked(), 'onUpdated'])
    expect(await shop.walletOf('a', ({ events }) => events.length)).toBe(2)
    expect(await shop.errorsOf('a')).toEqual([])
  })
})

test('two widgets on a page do not receive each other’s messages', async () => {
  await shop.mountIn('a', { sessions: [first] })
  await shop.mountIn('b', { sessions: [second, third] })
  await widgetIn(shop.page(), 'a', first)
  const b = await widgetIn(shop.page(), 'b', second)
  await send(b, { type: 'SERVICE_WALLET_UPDATED', version: 1 })
  await send(b, { type: 'SERVICE_SESSION_EXPIRED', version: 1 })
  await eventually(() => shop.callsOf('b'), [shop.asked(), 'onUpdated', shop.asked()])
  await eventually(() => b.evaluate(() => window.inbound.length), 1)
  expect(await shop.callsOf('a')).toEqual([shop.asked()])
  await shop.page().evaluate(() => window.wallets.a!.handle.unmount())
  await send(b, { type: 'SERVICE_WALLET_UPDATED', version: 1 })
  await eventually(() => shop.callsOf('b'), [shop.asked(), 'onUpdated', shop.asked(), 'onUpdated'])
})

describe('unmounting', () => {
  test('after unmount nothing is left in the page, and nothing happens any more', async () => {
    await shop.mountIn('a', { sessions: [first] })
    await widgetIn(shop.page(), 'a', first)
    await shop.page().evaluate(() => window.wallets.a!.handle.unmount())
    expect(await shop.page().locator('#a').innerHTML()).toBe('')
    await shop.page().evaluate(() => window.wallets.a!.handle.reload())
    expect(await shop.callsOf('a')).toEqual([shop.asked()])
  })

  test('a session that arrives after unmount does not bring the widget back', async () => {
    await shop.mountIn('a', { sessions: [first] })
    await shop.page().evaluate(() => window.wallets.a!.handle.unmount())
    await Bun.sleep(200)
    expect(await shop.page().locator('#a').innerHTML()).toBe('')
    expect(await shop.errorsOf('a')).toEqual([])
  })
})
