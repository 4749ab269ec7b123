/** What the shop must never do: show the secret, trust the browser, accept a change from another site. */
import { afterAll, beforeAll, expect, setDefaultTimeout, test } from 'bun:test'
import { startShopRig, type ShopRig } from './rig.ts'
import { eventually, newName, openVisit } from './visit.ts'

setDefaultTimeout(240_000)

let rig: ShopRig

beforeAll(async () => {
  rig = await startShopRig()
})
afterAll(() => rig.stop())

/** A shop user without a browser. */
async function signIn(name: string) {
  const form = { method: 'POST', body: new URLSearchParams({ name }), redirect: 'manual' as const }
  const response = await fetch(`${rig.shopOrigin}/sign-in`, { ...form, headers: { origin: rig.shopOrigin } })
  const setCookie = response.headers.get('set-cookie')!
  const cookie = setCookie.split(';')[0]!
  const post = async (path: string, body: object, headers: Record<string, string> = { origin: rig.shopOrigin }) => {
    const init = { method: 'POST', body: JSON.stringify(body), headers: { cookie, ...headers } }
    const answer = await fetch(`${rig.shopOrigin}${path}`, init)
    return { status: answer.status, text: await answer.text() }
  }
  return { setCookie, cookie, post }
}

test('no answer of the shop brings the secret or a whole id to the page, over a whole visit', async () => {
  const visit = await openVisit(rig)
  const bodies: string[] = []
  visit.page.on('response', (response) => {
    if (!response.url().startsWith(rig.shopOrigin) || response.status() >= 300) return
    response.text().then(
      (text) => bodies.push(text),
      // The page navigated away before this body was read.
      () => {},
    )
  })
  const name = newName()
  await visit.enterAs(name)
  await visit.signInAsNew()
  // Each answer moves the content below it: wait for it before the next click.
  await visit.page.getByRole('button', { name: /welcome gift/ }).click()
  await eventually(async () => await visit.balance().textContent(), '$50.00')
  const opening = visit.context.waitForEvent('page')
  await visit.buy('Night radio')
  await visit.order('Night radio').locator('.state.refused').waitFor()
  await (await opening).close()
  await visit.buy('Stoneware mug')
  await visit.order('Stoneware mug').getByRole('button', { name: 'Refund' }).click()
  await eventually(async () => await visit.order('Stoneware mug').locator('.state').textContent(), 'Refunded')
  const { serviceUserId } = (await rig.storedUser(name))!
  await eventually(() => bodies.length > 10, true)
  const seen = [...bodies, await visit.page.content()].join('\n')
  expect(seen).toContain(serviceUserId!.slice(0, 7))
  expect(seen).not.toContain(serviceUserId!)
  expect(seen).not.toContain(rig.app.clientSecret)
  const story = (await visit.story().allTextContents()).join('\n')
  expect(story).toContain('(stays in the backend)')
  expect(story).not.toMatch(/ws_[0-9a-f]{8}-/)
  expect(visit.complaints).toEqual([])
  await visit.close()
})

test('the shop accepts a change from its own page alone', async () => {
  const { post, setCookie } = await signIn(newName())
  const order = { productId: 'mug' }
  expect((await post('/api/orders', order)).status).toBe(200)
  for (const origin of ['http://localhost:1', 'https://localhost', 'null', rig.serviceOrigin, '']) {
    expect((await post('/api/orders', order, { origin })).status).toBe(403)
  }
  expect((await post('/api/orders', order, {})).status).toBe(403)
  expect((await post('/api/orders', order, { origin: rig.shopOrigin, cookie: '' })).status).toBe(401)
  expect(setCookie).toMatch(/HttpOnly/)
  expect(setCookie).toMatch(/SameSite=Lax/)
})

test('an id that the browser claims is not trusted, and a made-up code links nothing', async () => {
  const name = newName()
  const { post } = await signIn(name)
  const serviceUserId = 'su_0123456789abcdefghijkl'
  expect((await post('/api/wallet/link', { serviceUserId })).status).toBe(400)
  const forged = await post('/api/wallet/link', { serviceUserId, linkCode: 'not-a-code' })
  expect(forged.status).toBe(400)
  expect(forged.text).toContain('INVALID_LINK_CODE')
  expect(await rig.storedUser(name)).toEqual({ id: expect.any(String) as string, name })
})

test('no shop user can pay or refund another shop user’s order', async () => {
  const [owner, stranger] = await Promise.all([signIn(newName()), signIn(newName())])
  const placed = JSON.parse((await owner.post('/api/orders', { productId: 'mug' })).text) as {
    outcome: { orderId: string }
  }
  const { orderId } = placed.outcome
  expect((await stranger.post(`/api/orders/${orderId}/pay`, {})).status).toBe(404)
  expect((await stranger.post(`/api/orders/${orderId}/refund`, {})).status).toBe(404)
  expect((await owner.post(`/api/orders/${orderId}/pay`, {})).text).toContain('not-linked')
})

test('the shop does not refund an order that was not paid', async () => {
  const { post } = await signIn(newName())
  const { orderId } = (
    JSON.parse((await post('/api/orders', { productId: 'mug' })).text) as { outcome: { orderId: string } }
  ).outcome
  expect((await post(`/api/orders/${orderId}/refund`, {})).text).toContain('NOT_PAID')
})

test('a shop user’s name with markup in it is shown as it was written', async () => {
  const visit = await openVisit(rig)
  const name = `<img src=x onerror="alert(1)"> ${newName()}`.slice(0, 40)
  await visit.enterAs(name)
  expect(await visit.page.locator('.who strong', { hasText: '<img' }).textContent()).toBe(name)
  expect(await visit.page.locator('.who img').count()).toBe(0)
  await visit.close()
})

test('every answer of the shop carries the policy, and no page may frame the shop', async () => {
  const { cookie } = await signIn(newName())
  for (const path of ['/', '/shop.js', '/style.css', '/api/state', '/nowhere']) {
    const { headers } = await fetch(`${rig.shopOrigin}${path}`, { headers: { cookie } })
    const policy = headers.get('content-security-policy')!
    expect(policy).toContain("default-src 'none'")
    expect(policy).toContain(`frame-src ${rig.serviceOrigin}`)
    expect(policy).toContain("frame-ancestors 'none'")
    expect(policy).not.toContain('unsafe')
    expect(headers.get('x-content-type-options')).toBe('nosniff')
  }
})

test('users, links and orders survive a restart of the shop', async () => {
  const visit = await openVisit(rig)
  const name = newName()
  await visit.enterAs(name)
  await visit.signInAsNew()
  await visit.buy('Night radio')
  await visit.order('Night radio').locator('.state.refused').waitFor()
  await rig.restartShop()
  await visit.page.reload()
  await visit.order('Night radio').locator('.state.refused').waitFor()
  await visit.balance().waitFor({ state: 'attached' })
  await visit.close()
})
