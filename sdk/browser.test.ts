import { describe, expect, test } from 'bun:test'
import { send, tokens, widgetIn } from './test/browser-rig.ts'
import { eventually, visitShop } from './test/shop-visit.ts'

const shop = visitShop()
const link = { serviceUserId: 'su_0123456789abcdef', linkCode: 'lc_0123456789abcdef' }
const [first, second, third] = tokens

describe('the frame', () => {
  test('the widget’s frame has exactly the permissions of the contract, and a name', async () => {
    await shop.mountIn('a')
    await widgetIn(shop.page(), 'a', 'clientId=app_1')
    const frame = shop.page().locator('#a iframe')
    expect(await frame.getAttribute('allow')).toBe('payment *')
    expect(await frame.getAttribute('sandbox')).toBe(
      'allow-same-origin allow-scripts allow-forms allow-popups allow-popups-to-escape-sandbox',
    )
    expect(await frame.getAttribute('title')).toBe('Wallet')
    expect(await frame.getAttribute('src')).toBe(`${shop.rig().serviceOrigin}/widget/wallet?clientId=app_1`)
  })

  test('the widget’s frame takes the height the widget asks for', async () => {
    await shop.mountIn('a', { sessions: [first] })
    await send(await widgetIn(shop.page(), 'a', first), { type: 'SERVICE_RESIZE', version: 1, height: 411.2 })
    await eventually(
      async () =>
        await shop
          .page()
          .locator('#a iframe')
          .evaluate((frame) => frame.clientHeight),
      412,
    )
  })

  test('a reload of the widget adds no entry to the history of the page', async () => {
    await shop.mountIn('a', { sessions: [first, second] })
    await widgetIn(shop.page(), 'a', first)
    const before = await shop.page().evaluate(() => history.length)
    await shop.page().evaluate(() => window.wallets.a!.handle.reload())
    await widgetIn(shop.page(), 'a', second)
    expect(await shop.page().evaluate(() => history.length)).toBe(before)
    expect(await shop.page().locator('#a iframe').count()).toBe(1)
  })
})

describe('linking', () => {
  test('the link flow goes from sign-in over the backend to a widget with a session', async () => {
    await shop.mountIn('a')
    const signIn = await widgetIn(shop.page(), 'a', 'clientId=app_1')
    await shop.page().evaluate((token) => window.wallets.a!.sessions.push(token), first)
    await send(signIn, { type: 'SERVICE_AUTH_SUCCESS', version: 1, ...link })
    await widgetIn(shop.page(), 'a', `session=${first}`)
    expect(await shop.callsOf('a')).toEqual([shop.asked(), `onLinked ${JSON.stringify(link)}`, 'stored', shop.asked()])
    await eventually(
      () => shop.walletOf('a', ({ events }) => events.map((event) => event.type)),
      ['SERVICE_AUTH_REQUIRED', 'SERVICE_AUTH_SUCCESS', 'SERVICE_WALLET_LOADED'],
    )
  })

  test('the link flow runs once when the widget sends its message twice', async () => {
    await shop.mountIn('a')
    const signIn = await widgetIn(shop.page(), 'a', 'clientId=app_1')
    await shop.page().evaluate((token) => window.wallets.a!.sessions.push(token), first)
    const success = { type: 'SERVICE_AUTH_SUCCESS', version: 1, ...link }
    await signIn.evaluate((data) => [data, data].forEach((message) => window.send(message)), success)
    await widgetIn(shop.page(), 'a', first)
    expect((await shop.callsOf('a')).filter((call) => call.startsWith('onLinked'))).toHaveLength(1)
  })

  test.each(['THROWS', 'ANSWERS_500'] as const)('the link flow stops when storing the link %s', async (linkAnswer) => {
    await shop.mountIn('a', { sessions: [null, first] })
    const signIn = await widgetIn(shop.page(), 'a', 'clientId=app_1')
    await shop.page().evaluate((answer) => (window.wallets.a!.linkAnswer = answer), linkAnswer)
    await send(signIn, { type: 'SERVICE_AUTH_SUCCESS', version: 1, ...link })
    await eventually(() => shop.errorsOf('a'), ['LINK_FAILED'])
    expect((await shop.callsOf('a')).filter((call) => call === shop.asked())).toHaveLength(1)
  })

  const hint =
    ' If the backend found no body: it reads JSON only from a request with the header content-type: application/json.'

  test.each([
    ['JSON', () => Response.json({ code: 'INVALID_REQUEST' }, { status: 400 }), '{"code":"INVALID_REQUEST"}', hint],
    ['a page', () => new Response('<h1>\n  Error</h1>', { status: 500 }), '<h1> Error</h1>', hint],
    ['a long page', () => new Response('x'.repeat(9_000), { status: 403 }), `${'x'.repeat(300)}...`, ''],
    ['nothing', () => new Response(null, { status: 401 }), '', ''],
  ])('a failed link carries what the backend answered: %s', async (_name, answer, shown, ending) => {
    shop.rig().answerLink(answer)
    await shop.mountIn('a', { sessions: [null, first] })
    const signIn = await widgetIn(shop.page(), 'a', 'clientId=app_1')
    await shop.page().evaluate(() => (window.wallets.a!.linkAnswer = 'FETCHES'))
    await send(signIn, { type: 'SERVICE_AUTH_SUCCESS', version: 1, ...link })
    const { status } = answer()
    const message = `Wallet: LINK_FAILED: /link answered ${status}: ${shown || 'nothing'}.${ending}`
    await eventually(() => shop.walletOf('a', ({ reasons }) => reasons), [{ message, status, answer: shown }])
  })

  test('a link that the backend did not store is reported instead of a silent second sign-in', async () => {
    await shop.mountIn('a')
    const signIn = await widgetIn(shop.page(), 'a', 'clientId=app_1')
    await send(signIn, { type: 'SERVICE_AUTH_SUCCESS', version: 1, ...link })
    await eventually(() => shop.errorsOf('a'), ['LINK_FAILED'])
    expect(await shop.walletOf('a', ({ reasons }) => reasons[0]!.message)).toBe(
      'Wallet: LINK_FAILED: onLinked reported no error, but fetchSession then gave no session: the backend has not stored the link.',
    )
  })

  test('the link flow keeps the focus in the widget', async () => {
    await shop.mountIn('a', { sessions: [null, first] })
    const signIn = await widgetIn(shop.page(), 'a', 'clientId=app_1')
    await signIn.locator('input').focus()
    await send(signIn, { type: 'SERVICE_AUTH_SUCCESS', version: 1, ...link })
    await widgetIn(shop.page(), 'a', first)
    await eventually(() => shop.page().evaluate(() => document.activeElement?.tagName), 'IFRAME')
  })

  test('switching the account removes the link, then shows a widget without a session', async () => {
    await shop.mountIn('a', { sessions: [first, second] })
    await send(await widgetIn(shop.page(), 'a', first), { type: 'SERVICE_LOGOUT_REQUEST', version: 1 })
    await eventually(() => shop.frameSrc('a'), `${shop.rig().serviceOrigin}/widget/wallet?clientId=app_1`)
    expect(await shop.callsOf('a')).toEqual([shop.asked(), 'onUnlinked'])
  })
})

describe('sessions', () => {
  test.each([
    ['a session', () => Response.json({ sessionToken: first, expiresAt: '2025-03-01T10:00:00Z' }), `session=${first}`],
    ['null', () => Response.json(null), 'clientId=app_1'],
    ['nothing', () => new Response(null, { status: 204 }), 'clientId=app_1'],
    ['requiresAuth', () => Response.json({ requiresAuth: true }, { status: 401 }), 'clientId=app_1'],
  ])('a session may come as the Response of the backend: %s', async (_name, answer, address) => {
    shop.rig().answerSession(answer)
    await shop.mountIn('a', { sessions: ['FETCHES'] })
    await widgetIn(shop.page(), 'a', address)
    expect(await shop.errorsOf('a')).toEqual([])
  })

  test.each([
    [
      'an error',
      'FETCHES',
      () => Response.json({ code: 'INVALID_CLIENT' }, { status: 502 }),
      '/session answered 502: {"code":"INVALID_CLIENT"}.',
    ],
    ['an empty error', 'FETCHES', () => new Response(null, { status: 503 }), '/session answered 503: nothing.'],
    [
      'a page of a sign-in',
      'FETCHES',
      () => new Response('<h1>Sign in</h1>'),
      'fetchSession gave no session, but: <h1>Sign in</h1>',
    ],
    [
      'JSON of an error',
      '{"code":"INVALID_CLIENT"}',
      () => new Response(),
      'fetchSession gave no session, but: {"code":"INVALID_CLIENT"}',
    ],
  ])('a missing session is reported with what came instead: %s', async (_name, session, answer, reason) => {
    shop.rig().answerSession(answer)
    await shop.mountIn('a', { sessions: [session] })
    const read = () => shop.walletOf('a', ({ reasons }) => reasons.map(({ message }) => message))
    await eventually(read, [`Wallet: SESSION_FAILED: ${reason}`])
  })

  test('a session is renewed in place, by a message to the one right origin', async () => {
    await shop.mountIn('a', { sessions: [first, second] })
    const frame = await widgetIn(shop.page(), 'a', first)
    await send(frame, { type: 'SERVICE_SESSION_EXPIRING', version: 1, expiresAt: '2025-03-01T10:00:00Z' })
    const renewal = { type: 'SERVICE_SESSION', version: 1, sessionToken: second }
    await eventually(() => frame.evaluate(() => window.inbound), [{ data: renewal, origin: shop.rig().shopOrigin }])
    expect(frame.url()).toContain(first)
  })

  test('a session that could not be renewed in time is tried again when it has expired', async () => {
    await shop.mountIn('a', { sessions: [first, 'FAILS', third] })
    const frame = await widgetIn(shop.page(), 'a', first)
    await send(frame, { type: 'SERVICE_SESSION_EXPIRING', version: 1, expiresAt: '2025-03-01T10:00:00Z' })
    await eventually(() => shop.walletOf('a', ({ sessions }) => sessions.length), 1)
    await Bun.sleep(50)
    expect(await shop.errorsOf('a')).toEqual([])
    await send(frame, { type: 'SERVICE_SESSION_EXPIRED', version: 1 })
    await eventually(() => frame.evaluate(() => window.inbound.length), 1)
    expect(await shop.errorsOf('a')).toEqual([])
  })

  test('a session that expired and cannot be renewed is an error', async () => {
    await shop.mountIn('a', { sessions: [first, 'FAILS'] })
    await send(await widgetIn(shop.page(), 'a', first), { type: 'SERVICE_SESSION_EXPIRED', version: 1 })
    await eventually(() => shop.errorsOf('a'), ['SESSION_FAILED'])
  })

  test('when the link is gone at a renewal, the widget shows its sign-in form', async () => {
    await shop.mountIn('a', { sessions: [first, null] })
    await send(await widgetIn(shop.page(), 'a', first), { type: 'SERVICE_SESSION_EXPIRED', version: 1 })
    await eventually(() => shop.frameSrc('a'), `${shop.rig().serviceOrigin}/widget/wallet?clientId=app_1`)
  })

  test('sessions that are already expired do not make the page renew them for ever', async () => {
    await shop.mountIn('a', { sessions: [first, ...Array.from({ length: 50 }, () => second)] })
    const frame = await widgetIn(shop.page(), 'a', first)
    // All within the same ten seconds, even on a busy machine.
    await shop.page().evaluate((now) => (Date.now = () => now), Date.now())
    const expired = { type: 'SERVICE_SESSION_EXPIRED', version: 1 }
    for (let times = 1; times <= 5; times++) {
      await send(frame, expired)
      await eventually(() => frame.evaluate(() => window.inbound.length), times)
    }
    for (let times = 1; times <= 7; times++) {
      await send(frame, expired)
      await eventually(() => shop.errorsOf('a'), Array<string>(times).fill('SESSION_FAILED'))
    }
    expect(await shop.callsOf('a')).toEqual(Array<string>(6).fill(shop.asked()))
  })
})

function topup(url: string): object {
  return { type: 'SERVICE_OPEN_TOPUP', version: 1, url }
}

describe('topping up', () => {
  test('the top-up page is opened by the page, in one window that finds its way back', async () => {
    await shop.mountIn('a', { sessions: [first] })
    const url = `${shop.rig().serviceOrigin}/widget/topup?session=${first}`
    const [popup] = await Promise.all([
      shop.page().waitForEvent('popup'),
      send(await widgetIn(shop.page(), 'a', first), topup(url)),
    ])
    await popup.waitForURL(url)
    expect(await popup.evaluate(() => window.opener !== null)).toBeTrue()
    expect(shop.page().context().pages()).toHaveLength(2)
    await popup.close()
  })

  test('nothing but the top-up page is opened in its name', async () => {
    await shop.mountIn('a', { sessions: [first] })
    const frame = await widgetIn(shop.page(), 'a', first)
    const pages = () => shop.page().context().pages().length
    const before = pages()
    await send(frame, topup('https://elsewhere.example/widget/topup'))
    await send(frame, topup(`${shop.rig().serviceOrigin}/admin`))
    await eventually(() => shop.walletOf('a', ({ events }) => events.length), 3)
    await Bun.sleep(200)
    expect(pages()).toBe(before)
  })
})
