import { afterAll, beforeAll, expect, test } from 'bun:test'
import { generateSync } from 'otplib'
import { formTokenOf } from '../actions/operators/manage-sessions.ts'
import { totpContext } from '../actions/operators/second-factor.ts'
import { updatePendingTotp, updateTotpConfirmed } from '../store/operators.ts'
import { newOperator, newVisitor, password, type TestOperator } from '../../test/operator.ts'
import { newApp, newUser, openTestService, type TestService } from '../../test/service.ts'
import { adminRoutes } from './pages.tsx'

let rig: TestService
let admin: TestOperator
let viewer: TestOperator
let clientId: string
let walletId: string

beforeAll(async () => {
  rig = await openTestService()
  admin = await newOperator(rig)
  viewer = await newOperator(rig, 'viewer')
  clientId = (await newApp(rig.service)).clientId
  walletId = (await newUser(rig.service, { clientId })).userId
})
afterAll(() => rig.close())

const pathOf = (path: string) => path.replace(':clientId', clientId).replace(':id', walletId)
const gets = adminRoutes.filter((route) => route.method === 'GET')

test.each(gets.map((route) => [route.path]))('GET %s cannot be framed, cached or given a script', async (path) => {
  const { headers } = await admin.get(pathOf(path))
  const policy = headers.get('content-security-policy') ?? ''
  expect(policy).toContain("frame-ancestors 'none'")
  expect(policy).toContain("default-src 'none'")
  expect(policy).not.toContain('unsafe')
  expect(headers.get('x-frame-options')).toBe('DENY')
  expect(headers.get('cache-control')).toBe('no-store')
  expect(headers.get('x-content-type-options')).toBe('nosniff')
})

test('a page holds no inline script and no style attribute', async () => {
  for (const path of gets.map((route) => pathOf(route.path))) {
    const html = await (await admin.get(path)).text()
    expect(html).not.toMatch(/<script(?![^>]*\bsrc=)[^>]*>/)
    expect(html).not.toMatch(/\s(style|on\w+)="/)
  }
})

test('another operator’s session cannot be ended by its id', async () => {
  const { rows } = await rig.service.db.pool.query<{ id: string }>(
    'select id from operator_sessions where operator_id = $1',
    [viewer.id],
  )
  const response = await admin.post('/admin/account/sessions/end', { id: rows[0]!.id })
  expect(response.status).toBe(404)
  expect((await viewer.get('/admin/account')).status).toBe(200)
})

test('a session id is not a session: only the token in the cookie is', async () => {
  const { rows } = await rig.service.db.pool.query<{ id: string; hash: string }>(
    `select id, encode(token_hash, 'base64') as hash from operator_sessions where operator_id = $1`,
    [admin.id],
  )
  for (const value of [rows[0]!.id, rows[0]!.hash, encodeURIComponent(rows[0]!.hash)]) {
    const response = await newVisitor(rig.app, new Map([['billfold-session', value]])).get('/admin/account')
    expect(response.status).toBe(303)
  }
})

test('fields that a form does not have change nothing', async () => {
  const fields = {
    name: 'Renamed',
    allowedOrigins: '',
    allowedIframeParents: '',
    scopes: ['wallet:read'],
    isActive: 'false',
    is_active: 'false',
    clientId: 'app_other',
    client_id: 'app_other',
    createdAt: '2000-01-01',
    secrets: '[]',
    __proto__: 'x',
  }
  expect((await admin.post(`/admin/client-apps/${clientId}`, fields)).status).toBe(303)
  const app = (await rig.service.apps.find(clientId))!
  expect(app).toMatchObject({ clientId, name: 'Renamed', isActive: true, scopes: ['wallet:read'] })
  expect(app.secrets).toHaveLength(1)
  expect(
    (await viewer.post('/admin/account/password', { before: password, after: 'another horse battery', role: 'admin' }))
      .status,
  ).toBe(303)
  const { rows } = await rig.service.db.pool.query<{ role: string }>('select role from operators where id = $1', [
    viewer.id,
  ])
  expect(rows[0]!.role).toBe('viewer')
})

const nasty = '<img src=x onerror=alert(1)>"\'&--></script><svg/onload=alert(2)>'

test('markup in a name is shown as text, wherever it appears', async () => {
  const app = await newApp(rig.service, { name: nasty.slice(0, 100) })
  const user = await newUser(rig.service, app)
  await rig.service.db.pool.query('update users set first_name = $2, last_name = $2, email = $3 where id = $1', [
    user.userId,
    nasty,
    'nasty@example.com',
  ])
  await admin.post(`/admin/wallets/${user.userId}/freeze`, { reason: nasty })
  const pages = [
    '/admin/client-apps',
    ...['', '/settings', '/secrets', '/settlements', '/calls'].map((tab) => `/admin/client-apps/${app.clientId}${tab}`),
    '/admin/wallets',
    `/admin/wallets/${user.userId}`,
    '/admin/audit',
    '/admin/books',
    `/admin/references?type=${encodeURIComponent(nasty)}&id=${encodeURIComponent(nasty)}`,
    `/admin/wallets?q=${encodeURIComponent(nasty)}`,
    `/admin/client-apps?q=${encodeURIComponent(nasty)}`,
    `/admin/origin-doctor?page=${encodeURIComponent(nasty)}&parentOrigin=${encodeURIComponent(nasty)}`,
    `/admin/audit?subject=${encodeURIComponent(nasty)}`,
    `/admin?done=${encodeURIComponent(nasty)}`,
  ]
  for (const path of pages) {
    const response = await admin.get(path)
    expect(response.status).toBe(200)
    const html = await response.text()
    expect(html).not.toContain('<img src=x')
    expect(html).not.toContain('<svg/onload')
  }
})

const injections = [
  'a\r\nset-cookie: evil=1',
  'a\0b',
  '../../../etc/passwd',
  '%2e%2e%2f%0d%0ax',
  '\ud800',
  "'; drop table operators; --",
  '\u202egnp.exe',
  'x'.repeat(5_000),
]

test('no text in a field or an address ends in a header, a path or a fault', async () => {
  for (const text of injections) {
    const inQuery = encodeURIComponent(text.toWellFormed())
    const answers = [
      await admin.post('/admin/client-apps', {
        name: text,
        allowedIframeParents: text,
        accentColor: text,
        logoUrl: text,
        form: text,
      }),
      await admin.post(`/admin/client-apps/${clientId}`, { name: text, allowedOrigins: text, scopes: [text] }),
      await admin.post(`/admin/client-apps/${clientId}/secrets`, { overlap: text, form: text }),
      await admin.post(`/admin/client-apps/${inQuery}/active`, { to: text }),
      await admin.post(`/admin/client-apps/${clientId}/secrets/${inQuery}/revoke`),
      await admin.post(`/admin/wallets/${inQuery}/freeze`, { reason: text }),
      await admin.post(`/admin/wallets/${walletId}/bonus`, { amount: text, bonusReason: text }),
      await admin.post(`/admin/wallets/${walletId}/bonus/grant`, { amount: '1', bonusReason: 'ok', referenceId: text }),
      await admin.post('/admin/operators/invite', { role: text }),
      await admin.post('/admin/operators/invite', { role: 'viewer', email: text }),
      await admin.post(`/admin/operators/changes/${inQuery}/approve`),
      await admin.post(`/admin/operators/${inQuery}/access`, { role: text }),
      await admin.post('/admin/account/password', { before: text, after: text }),
      await admin.get(`/admin/wallets?q=${inQuery}&after=${inQuery}&state=${inQuery}`),
      await admin.get(
        `/admin/wallets/${walletId}?before=${inQuery}&month=${inQuery}&type=${inQuery}&ref=${inQuery}&account=${inQuery}`,
      ),
      await admin.get(`/admin/wallets/${walletId}/statement?month=${inQuery}`),
      await admin.get(`/admin/references?app=${inQuery}&type=${inQuery}&id=${inQuery}`),
      await admin.get(`/admin/books?account=${inQuery}&month=${inQuery}`),
      await admin.get(`/admin/books/settlement.csv?account=${inQuery}&month=2025-03`),
      await admin.get(`/admin/audit?actor=${inQuery}&action=${inQuery}&from=${inQuery}&after=${inQuery}`),
      await admin.get(`/admin/sign-in?next=${inQuery}`),
      await admin.get(`/admin/welcome?token=${inQuery}`),
      await admin.get(`/admin/${inQuery}`),
    ]
    for (const answer of answers) {
      expect(answer.status).toBeLessThan(500)
      expect(answer.headers.getSetCookie().join()).not.toContain('evil')
      expect(answer.headers.get('location') ?? '/admin').toStartWith('/admin')
      expect(answer.headers.get('content-disposition') ?? '').not.toMatch(/[\r\n]|\.\.\//)
      await answer.text()
    }
  }
})

test('signing in never redirects to another site', async () => {
  for (const next of [
    'https://evil.example',
    '//evil.example',
    '/\\evil.example',
    '/admin/../../evil',
    '/admin@evil.example',
    'javascript:alert(1)',
  ]) {
    const visitor = newVisitor(rig.app)
    await visitor.get(`/admin/sign-in?next=${encodeURIComponent(next)}`)
    const response = await visitor.post('/admin/sign-in', { email: admin.email, password, next })
    expect(response.status).toBe(303)
    expect(response.headers.get('location')).toMatch(/^\/admin\/(second-factor|sign-in\/code\?next=%2Fadmin$)/)
  }
})

test('neither a secret nor a query nor a password is in the log', async () => {
  const before = rig.logged.length
  await admin.get('/admin/wallets?q=a-very-private-search')
  const created = await admin.post('/admin/client-apps', {
    name: 'Logged',
    allowedOrigins: '',
    allowedIframeParents: '',
    scopes: ['wallet:read'],
    form: crypto.randomUUID(),
  })
  const secret = /bfs_[\w-]{43}/.exec(await created.text())![0]
  const lines = rig.logged.slice(before).join('')
  expect(lines).not.toContain('a-very-private-search')
  expect(lines).not.toContain(secret)
  const { rows } = await rig.service.db.pool.query<{ all: string }>(
    `select string_agg(a::text, ' ') as all from audit a`,
  )
  expect(rows[0]!.all).not.toContain(secret)
  expect(rows[0]!.all).not.toContain(password)
})

test('in production the cookie is bound to this host and to https, and the second factor cannot be left out', async () => {
  const production = await openTestService({
    NODE_ENV: 'production',
    PUBLIC_URL: 'https://pay.example',
    CARD_PROCESSOR: 'none',
    SMTP_URL: 'smtp://mail.example',
  })
  try {
    const { email } = await newOperator(production)
    const headers = { origin: 'https://pay.example' }
    const page = await production.app.fetch(new Request('https://pay.example/admin/sign-in'))
    const form = /__Host-billfold-form=([\w-]+)/.exec(page.headers.getSetCookie().join())![1]!
    const send = (path: string, fields: Record<string, string>, cookie: string) =>
      production.app.fetch(
        new Request(`https://pay.example${path}`, {
          method: 'POST',
          body: new URLSearchParams(fields),
          headers: { ...headers, cookie },
        }),
      )
    const signedIn = await send(
      '/admin/sign-in',
      { email, password, _token: formTokenOf(form) },
      `__Host-billfold-form=${form}`,
    )
    const line = signedIn.headers.getSetCookie().find((each) => each.startsWith('__Host-billfold-session='))!
    expect(line).toMatch(/; Path=\/; HttpOnly; SameSite=Strict; Secure$/)
    const token = /=([\w-]+)/.exec(line)![1]!
    const skipped = await send(
      '/admin/second-factor/skip',
      { _token: formTokenOf(token) },
      `__Host-billfold-session=${token}`,
    )
    expect(skipped.status).toBe(403)
    const inside = await production.app.fetch(
      new Request('https://pay.example/admin/wallets', { headers: { cookie: `__Host-billfold-session=${token}` } }),
    )
    expect(inside.headers.get('location')).toBe('/admin/second-factor')
    // In production the request's own host is no proof: only the configured origin counts.
    const spoofed = await production.app.fetch(
      new Request('https://evil.example/admin/sign-in', {
        method: 'POST',
        body: new URLSearchParams({ _token: formTokenOf(form) }),
        headers: { origin: 'https://evil.example', host: 'evil.example', cookie: `__Host-billfold-form=${form}` },
      }),
    )
    expect(spoofed.status).toBe(403)
  } finally {
    await production.close()
  }
})

test('a code of the authenticator signs in once, however many ask at the same time', async () => {
  const operator = await newOperator(rig)
  const secret = 'JBSWY3DPEHPK3PXPJBSWY3DPEHPK3PXP'
  const sealed = await rig.service.secrets.seal(secret, totpContext(operator))
  await updatePendingTotp(rig.service.db.pool, operator.id, { sealed, lifetimeMs: 60_000 })
  await updateTotpConfirmed(rig.service.db.pool, operator.id, { sealed, step: 0 })
  const visitors = await Promise.all(
    Array.from({ length: 4 }, async () => {
      const visitor = newVisitor(rig.app)
      await visitor.get('/admin/sign-in')
      await visitor.post('/admin/sign-in', { email: operator.email, password })
      return visitor
    }),
  )
  const code = generateSync({ secret, epoch: Math.floor(Date.now() / 1000) })
  const answers = await Promise.all(visitors.map((visitor) => visitor.post('/admin/sign-in/code', { code })))
  expect(answers.map((answer) => answer.status).sort((a, b) => a - b)).toEqual([303, 401, 401, 401])
})
