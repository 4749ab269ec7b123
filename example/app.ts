/** The shop's pages, its sign-in and its protection. Every change is a POST from the shop's own page. */
import { Hono, type Context } from 'hono'
import { deleteCookie, getCookie, setCookie } from 'hono/cookie'
import { apiRoutes, type ShopEnv } from './api.ts'
import type { ShopConfig } from './config.ts'
import { openEvents } from './shop-events.ts'
import { maxNameLength, moon, shopPage, signInPage } from './page.ts'
import type { ShopUser, Store } from './store.ts'

const cookie = 'shop_session'

export type ShopFiles = { readonly script: string; readonly style: string }

/** An event with the longest texts has less than 8 kB. */
const maxWebhookBytes = 64 * 1024
const webhookPath = '/webhooks/billfold'

export function buildShop(config: ShopConfig, store: Store, files: ShopFiles, events = openEvents(config, store)) {
  const app = new Hono<ShopEnv>()
  const policy = contentPolicy(new URL(config.billfold.baseUrl).origin)

  app.use(async (c, next) => {
    // SameSite cookies protect against other sites, but another port of this host is the same site: check the origin too.
    // A webhook comes from the service, and proves it by its signature.
    if (c.req.method === 'GET' || isOwnPage(c) || c.req.path === webhookPath) await next()
    else c.res = c.text('This request did not come from the shop.', 403)
    c.header('content-security-policy', policy)
    c.header('x-content-type-options', 'nosniff')
    // The widget reads the origin of the embedding page from the Referer and needs no more of it.
    c.header('referrer-policy', 'strict-origin')
    c.header('cache-control', 'no-store')
  })

  const file = (path: string, type: string, text: string) =>
    app.get(path, (c) => c.body(text, 200, { 'content-type': `${type}; charset=utf-8` }))
  file('/shop.js', 'text/javascript', files.script)
  file('/style.css', 'text/css', files.style)
  file('/moon.svg', 'image/svg+xml', moon)

  app.get('/', (c) => {
    const user = findVisitor(c, store)
    return c.html(user ? shopPage(config, user) : signInPage())
  })

  app.post('/sign-in', async (c) => {
    const { name } = await c.req.parseBody()
    const trimmed = typeof name === 'string' ? name.trim().replace(/\s+/g, ' ') : ''
    if (trimmed === '' || trimmed.length > maxNameLength) return c.html(signInPage('Please write a name.'), 400)
    const secure = new URL(c.req.url).protocol === 'https:'
    const token = store.insertSession(store.getOrInsertUser(trimmed))
    setCookie(c, cookie, token, { httpOnly: true, sameSite: 'Lax', path: '/', maxAge: 30 * 86_400, secure })
    return c.redirect('/', 303)
  })

  app.post('/sign-out', (c) => {
    store.removeSession(getCookie(c, cookie) ?? '')
    deleteCookie(c, cookie, { path: '/' })
    return c.redirect('/', 303)
  })

  app.post(webhookPath, async (c) => {
    if (config.webhookSecrets.length === 0) return c.notFound()
    // The signature is over the raw body: nothing may parse it first.
    const body = await c.req.text()
    if (body.length > maxWebhookBytes) return c.body(null, 413)
    return c.body(null, await events.receive(body, c.req.raw.headers))
  })

  app.use('/api/*', async (c, next) => {
    const user = findVisitor(c, store)
    if (user) c.set('user', user)
    return user ? await next() : c.json({ code: 'SIGNED_OUT' }, 401)
  })
  app.route('/api', apiRoutes(config, store))

  app.onError((error, c) => {
    console.error(error)
    return c.json({ code: 'SHOP_FAULT' }, 500)
  })
  return app
}

function findVisitor(c: Context<ShopEnv>, store: Store): ShopUser | undefined {
  const token = getCookie(c, cookie)
  return token === undefined ? undefined : store.findSessionUser(token)
}

function isOwnPage(c: Context<ShopEnv>): boolean {
  const origin = c.req.header('origin') ?? ''
  return URL.canParse(origin) && new URL(origin).host === c.req.header('host')
}

/** `frame-src` allows the widget; `connect-src` lets the SDK find out why a frame does not load. */
function contentPolicy(serviceOrigin: string): string {
  return [
    "default-src 'none'",
    "script-src 'self'",
    "style-src 'self'",
    "img-src 'self'",
    `connect-src 'self' ${serviceOrigin}`,
    `frame-src ${serviceOrigin}`,
    "form-action 'self'",
    "base-uri 'none'",
    "frame-ancestors 'none'",
  ].join('; ')
}
