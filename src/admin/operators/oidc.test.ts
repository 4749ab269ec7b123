/** Sign-in with the company's own account, against a stand-in that can lie. `test/admin/oidc.test.ts` has a real provider. */
import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { generateSync } from 'otplib'
import type { App } from '../../app.ts'
import { callbackPath } from '../../actions/operators/oidc/provider.ts'
import { totpContext } from '../../actions/operators/second-factor.ts'
import { updatePendingTotp, updateTotpConfirmed } from '../../store/operators.ts'
import { openOidcStandIn, type Answer, type StandIn } from '../../../test/oidc-stand-in.ts'
import { newOperator, newVisitor as newVisitorAt, password, type Visitor } from '../../../test/operator.ts'
import { mailedLink } from '../../../test/mailbox.ts'
import { openTestService, type TestService } from '../../../test/service.ts'
import { letPass } from '../../../test/time.ts'

let provider: StandIn
let rig: TestService
const clientId = 'billfold'
const clientSecret = 'a secret of the provider'
const roles =
  'admin=groups:wallet-admins, viewer=groups:staff, finance=realm_access.roles:money, support=https://x.example/dept:help'

beforeAll(async () => {
  provider = await openOidcStandIn(clientId, clientSecret)
  rig = await openTestService(settings({ OIDC_ROLES: 'viewer=groups:staff, admin=groups:wallet-admins' }))
})
afterAll(async () => {
  await rig.close()
  await provider.close()
})

const settings = (more: Record<string, string> = {}) => ({
  OIDC_ISSUER: provider.issuer,
  OIDC_CLIENT_ID: clientId,
  OIDC_CLIENT_SECRET: clientSecret,
  OIDC_NAME: 'Acme',
  ...more,
})

let addresses = 0
/** Each from another address, because starts are limited by address. */
const newVisitor = (app: App, cookies = new Map<string, string>()) =>
  newVisitorAt(app, cookies, `10.0.${Math.floor(++addresses / 250)}.${addresses % 250}`)

const staff = { groups: ['staff'], email: 'ada@acme.example', name: 'Ada' }
const newSubject = () => crypto.randomUUID()
const person = (more: Record<string, unknown> = {}) => ({ ...staff, email: `${newSubject()}@acme.example`, ...more })

/** The address of the provider that the sign-in page leads to. */
async function begin(visitor: Visitor, path = '/admin/sign-in/oidc', fields: Record<string, string> = {}) {
  const page = await visitor.post(path, fields)
  const [, url] = /^0; url=(.+)$/.exec(page.headers.get('refresh') ?? '') ?? []
  return { page, url: url ?? '' }
}

async function signIn(
  subject: string,
  answer: Answer = {},
  change: (query: URLSearchParams) => void = () => {},
  app = rig.app,
) {
  const visitor = newVisitor(app)
  await visitor.get('/admin/sign-in')
  const { url } = await begin(visitor)
  const query = provider.authorize(url, subject, answer)
  change(query)
  const response = await visitor.get(`${callbackPath}?${query.toString()}`)
  return { visitor, response, text: await response.text() }
}

const isSignedIn = async (visitor: Visitor) => (await visitor.get('/admin/account')).status === 200

test('an account with a group signs in with its role, and the page after it is open', async () => {
  const { visitor, response } = await signIn(newSubject(), { claims: person({ groups: ['x', 'wallet-admins'] }) })
  expect(response.headers.get('refresh')).toBe('0; url=/admin')
  expect(await (await visitor.get('/admin/account')).text()).toContain('admin')
  const cookie = response.headers.getSetCookie().find((line) => line.startsWith('billfold-session='))!
  expect(cookie).toContain('SameSite=Strict')
  const { rows } = await rig.service.db.pool
    .query(`select (extract(epoch from ends_at - created_at) / 3600)::float8 as hours
    from operator_sessions order by created_at desc limit 1`)
  expect(rows[0].hours).toBeCloseTo(8, 3)
})

test('the request to the provider has PKCE, state, nonce and the exact redirect', async () => {
  const visitor = newVisitor(rig.app)
  await visitor.get('/admin/sign-in')
  const { url, page } = await begin(visitor)
  const query = Object.fromEntries(new URL(url).searchParams)
  expect(url).toStartWith(`${provider.issuer}/authorize?`)
  expect(query).toMatchObject({
    client_id: clientId,
    response_type: 'code',
    scope: 'openid email profile',
    code_challenge_method: 'S256',
    redirect_uri: `http://127.0.0.1:3000${callbackPath}`,
  })
  for (const name of ['state', 'nonce', 'code_challenge']) expect(query[name]).toMatch(/^[\w-]{43}$/)
  expect(page.headers.getSetCookie().find((line) => line.startsWith('billfold-oidc='))).toContain(
    'HttpOnly; SameSite=Lax',
  )
  const stored = await rig.service.db.pool.query('select row_to_json(s)::text as text from oidc_starts s')
  for (const secret of [query['state']!, visitor.cookies.get('billfold-oidc')!])
    expect(stored.rows.map(({ text }) => text as string).join()).not.toContain(secret)
})

const now = () => Math.floor(Date.now() / 1000)

/** Each would sign in an operator if one check were missing. */
const forged: Record<string, { answer?: () => Answer; change?: (query: URLSearchParams) => void }> = {
  'another issuer in the token': { answer: () => ({ claims: { iss: 'https://evil.example' } }) },
  'an issuer with a slash more': { answer: () => ({ claims: { iss: `${provider.issuer}/` } }) },
  'no issuer': { answer: () => ({ without: ['iss'] }) },
  'the token of another client': { answer: () => ({ claims: { aud: 'another' } }) },
  'a list of audiences without ours': { answer: () => ({ claims: { aud: ['another', 'third'] } }) },
  'two audiences, and another party authorised': {
    answer: () => ({ claims: { aud: [clientId, 'another'], azp: 'another' } }),
  },
  'no audience': { answer: () => ({ without: ['aud'] }) },
  'an audience that is a number': { answer: () => ({ claims: { aud: 7 } }) },
  'another nonce': { answer: () => ({ claims: { nonce: 'x'.repeat(43) } }) },
  'no nonce': { answer: () => ({ without: ['nonce'] }) },
  'an empty nonce': { answer: () => ({ claims: { nonce: '' } }) },
  'a nonce that is a list': { answer: () => ({ claims: { nonce: [] } }) },
  'alg none': { answer: () => ({ signedWith: 'none' }) },
  'alg None': { answer: () => ({ signedWith: 'none', header: { alg: 'None' } }) },
  'alg NONE with a signature': { answer: () => ({ header: { alg: 'NONE' } }) },
  'HS256 with the public key': { answer: () => ({ signedWith: 'public-key' }) },
  'HS256 in the header, signed with RS256': { answer: () => ({ header: { alg: 'HS256' } }) },
  'RS512 in the header': { answer: () => ({ header: { alg: 'RS512' } }) },
  'no alg': { answer: () => ({ header: { alg: undefined } }) },
  'no signature': { answer: () => ({ signedWith: 'empty' }) },
  'the signature of another token': { answer: () => ({ signedWith: 'other-token' }) },
  'a key that the provider does not publish': { answer: () => ({ signedWith: 'unknown' }) },
  'a foreign key under a published id': { answer: () => ({ signedWith: 'unknown', header: { kid: 'first' } }) },
  'a foreign key in the header': {
    answer: () => ({ signedWith: 'unknown', header: { jwk: { kty: 'RSA' }, jku: 'https://evil.example' } }),
  },
  'an unknown critical header': { answer: () => ({ header: { crit: ['exp'] } }) },
  expired: { answer: () => ({ claims: { exp: now() - 120 } }) },
  'no expiry': { answer: () => ({ without: ['exp'] }) },
  'an expiry that is a text': { answer: () => ({ claims: { exp: '9999999999' } }) },
  'not valid yet': { answer: () => ({ claims: { nbf: now() + 600 } }) },
  'no time of issue': { answer: () => ({ without: ['iat'] }) },
  'no subject': { answer: () => ({ without: ['sub'] }) },
  'an empty subject': { answer: () => ({ claims: { sub: '' } }) },
  'a subject that is a number': { answer: () => ({ claims: { sub: 7 } }) },
  'a subject with a NUL': { answer: () => ({ claims: { sub: 'a\0b' } }) },
  'a subject of 300 characters': { answer: () => ({ claims: { sub: 'x'.repeat(300) } }) },
  'no ID token': { answer: () => ({ tokenAnswer: (good) => Response.json({ ...good, id_token: undefined }) }) },
  'an ID token of two parts': {
    answer: () => ({ tokenAnswer: (good) => Response.json({ ...good, id_token: 'a.b' }) }),
  },
  'an ID token that is a list': { answer: () => ({ tokenAnswer: (good) => Response.json({ ...good, id_token: [] }) }) },
  'an answer that is HTML': {
    answer: () => ({ tokenAnswer: () => new Response('<p>hello', { headers: { 'content-type': 'text/html' } }) }),
  },
  'an answer of two megabytes': {
    answer: () => ({ tokenAnswer: (good) => Response.json({ ...good, more: 'x'.repeat(2_000_000) }) }),
  },
  'a redirect in place of an answer': {
    answer: () => ({
      tokenAnswer: () => new Response(null, { status: 302, headers: { location: 'https://evil.example' } }),
    }),
  },
  'the claims of another subject at userinfo': {
    answer: () => ({ without: ['groups'], userinfo: { sub: 'another', groups: ['staff'] } }),
  },
  'another issuer in the callback': { change: (query) => query.set('iss', 'https://evil.example') },
  'no issuer in the callback': { change: (query) => query.delete('iss') },
  'another state': { change: (query) => query.set('state', 'x'.repeat(43)) },
  'no state': { change: (query) => query.delete('state') },
  'two states': { change: (query) => query.append('state', 'x'.repeat(43)) },
  'a code that the provider did not make': { change: (query) => query.set('code', 'guess') },
  'no code': { change: (query) => query.delete('code') },
  'two codes': { change: (query) => query.append('code', 'another') },
}

describe('a forged answer does not sign in', () => {
  test.each(Object.entries(forged))('%s', async (_, { answer = (): Answer => ({}), change }) => {
    const given = answer()
    const claims = { ...person(), ...given.claims }
    const { visitor, response } = await signIn(newSubject(), { ...given, claims }, change)
    expect([403, 503]).toContain(response.status)
    expect(visitor.cookies.has('billfold-session')).toBe(false)
    expect(await isSignedIn(visitor)).toBe(false)
  })

  test('the unchanged answer does', async () => {
    const { visitor } = await signIn(newSubject(), { claims: person() })
    expect(await isSignedIn(visitor)).toBe(true)
  })
})

describe('an answer counts once, and in one browser', () => {
  test('a second use of the same address is refused', async () => {
    const visitor = newVisitor(rig.app)
    await visitor.get('/admin/sign-in')
    const query = provider.authorize((await begin(visitor)).url, newSubject(), { claims: person() })
    const cookies = new Map(visitor.cookies)
    expect((await visitor.get(`${callbackPath}?${query.toString()}`)).status).toBe(200)
    const again = newVisitor(rig.app, cookies)
    expect((await again.get(`${callbackPath}?${query.toString()}`)).status).toBe(403)
    expect(await isSignedIn(again)).toBe(false)
  })

  test('another browser with its own start cannot use it, and the first one still can', async () => {
    const [mine, theirs] = [newVisitor(rig.app), newVisitor(rig.app)]
    for (const visitor of [mine, theirs]) await visitor.get('/admin/sign-in')
    const query = provider.authorize((await begin(mine)).url, newSubject(), { claims: person() })
    await begin(theirs)
    expect((await theirs.get(`${callbackPath}?${query.toString()}`)).status).toBe(403)
    expect((await newVisitor(rig.app).get(`${callbackPath}?${query.toString()}`)).status).toBe(403)
    expect((await mine.get(`${callbackPath}?${query.toString()}`)).status).toBe(200)
    expect([await isSignedIn(mine), await isSignedIn(theirs)]).toEqual([true, false])
  })

  test('two tabs of one browser both work', async () => {
    const visitor = newVisitor(rig.app)
    await visitor.get('/admin/sign-in')
    const first = provider.authorize((await begin(visitor)).url, newSubject(), { claims: person() })
    const second = provider.authorize((await begin(visitor)).url, newSubject(), { claims: person() })
    const cookies = new Map(visitor.cookies)
    for (const query of [second, first])
      expect((await newVisitor(rig.app, new Map(cookies)).get(`${callbackPath}?${query.toString()}`)).status).toBe(200)
  })

  test('after ten minutes it is refused', async () => {
    const visitor = newVisitor(rig.app)
    await visitor.get('/admin/sign-in')
    const query = provider.authorize((await begin(visitor)).url, newSubject(), { claims: person() })
    await letPass(rig.service.db.pool, 10 * 60_000 + 1_000)
    expect((await visitor.get(`${callbackPath}?${query.toString()}`)).status).toBe(403)
  })
})

test('a key that the provider rotated counts at once, and the old one no more', async () => {
  const subject = newSubject()
  const claims = person()
  expect(await isSignedIn((await signIn(subject, { claims })).visitor)).toBe(true)
  await provider.rotateKey()
  expect(await isSignedIn((await signIn(subject, { claims })).visitor)).toBe(true)
  expect(await isSignedIn((await signIn(subject, { claims, header: { kid: 'first' } })).visitor)).toBe(false)
})

describe('the role is the provider’s, and never a guess', () => {
  test('the highest of several groups wins, and is changed at the next sign-in', async () => {
    const subject = newSubject()
    const claims = person({ groups: ['staff', 'wallet-admins'] })
    const first = await signIn(subject, { claims })
    expect((await first.visitor.get('/admin/client-apps/new')).status).toBe(200)
    const second = await signIn(subject, { claims: { ...claims, groups: ['staff'] } })
    expect((await second.visitor.get('/admin/client-apps/new')).status).toBe(403)
    expect((await first.visitor.get('/admin/client-apps/new')).status).toBe(403)
  })

  test('other groups: refused, and the sessions end', async () => {
    const subject = newSubject()
    const claims = person()
    const { visitor } = await signIn(subject, { claims })
    const { response, text } = await signIn(subject, { claims: { ...claims, groups: ['guests'] } })
    expect([response.status, await isSignedIn(visitor)]).toEqual([403, false])
    expect(text).toContain('has no role here')
  })

  test.each([[[]], ['guests'], [{ staff: true }], [['Staff']], [[['staff']]], [' staff']])(
    'groups of %j are a statement, and no role',
    async (groups) => {
      const { response, text } = await signIn(newSubject(), { claims: person({ groups }) })
      expect(response.status).toBe(403)
      expect(text).toContain('has no role here')
    },
  )

  test('no groups at all: refused by name, and an open session stays', async () => {
    const subject = newSubject()
    const { visitor } = await signIn(subject, { claims: person() })
    for (const claims of [{}, { groups: null }]) {
      const { response, text } = await signIn(subject, { claims: { email: 'a@b.example', ...claims } })
      expect(response.status).toBe(403)
      expect(text).toContain('The provider sent no “groups”')
    }
    expect(await isSignedIn(visitor)).toBe(true)
  })

  test.each([[{ _claim_names: { groups: 'src1' } }], [{ hasgroups: true }]])(
    'more groups than Entra sends: %j',
    async (claims) => {
      const { response, text } = await signIn(newSubject(), { claims: { email: 'a@b.example', ...claims } })
      expect(response.status).toBe(403)
      expect(text).toContain('too many groups; use app roles')
    },
  )

  test('groups that only userinfo has count', async () => {
    const { visitor } = await signIn(newSubject(), {
      claims: { email: `${newSubject()}@b.example` },
      userinfo: { groups: ['staff'] },
    })
    expect(await isSignedIn(visitor)).toBe(true)
  })

  test('a claim may be a text, a list, nested or named by an address', async () => {
    const other = await openTestService(settings({ OIDC_ROLES: roles }))
    const roleOf = async (claims: Record<string, unknown>) => {
      const given = {
        groups: [],
        realm_access: { roles: [] },
        'https://x.example/dept': '',
        email: `${newSubject()}@b.example`,
        ...claims,
      }
      const { visitor } = await signIn(newSubject(), { claims: given }, undefined, other.app)
      return /<dd>(viewer|support|finance|admin)<\/dd>/.exec(await (await visitor.get('/admin/account')).text())?.[1]
    }
    expect(await roleOf({ groups: 'staff' })).toBe('viewer')
    expect(await roleOf({ groups: ['a', 'staff'] })).toBe('viewer')
    expect(await roleOf({ realm_access: { roles: ['money'] } })).toBe('finance')
    expect(await roleOf({ 'https://x.example/dept': 'help' })).toBe('support')
    expect(await roleOf({ groups: ['staff'], realm_access: { roles: ['money'] } })).toBe('finance')
    // The absent claim could only give less.
    expect(await roleOf({ realm_access: { roles: ['money'] }, 'https://x.example/dept': undefined })).toBe('finance')
    // The claim that could give more is absent.
    expect(await roleOf({ groups: ['staff'], realm_access: undefined })).toBeUndefined()
    await other.close()
  })

  test('the last admin is not demoted', async () => {
    const other = await openTestService(settings({ OIDC_ROLES: 'viewer=groups:staff, admin=groups:wallet-admins' }))
    const subject = newSubject()
    const claims = person({ groups: ['wallet-admins'] })
    const { visitor } = await signIn(subject, { claims }, undefined, other.app)
    const { response } = await signIn(subject, { claims: { ...claims, groups: ['staff'] } }, undefined, other.app)
    expect(response.status).toBe(409)
    expect((await visitor.get('/admin/client-apps/new')).status).toBe(200)
    await other.close()
  })
})

describe('an identity is one operator, and never found by its email', () => {
  test('the email of a local operator does not sign in as that operator', async () => {
    const local = await newOperator(rig, 'admin')
    const { response, text, visitor } = await signIn(newSubject(), {
      claims: person({ email: local.email.toUpperCase() }),
    })
    expect(response.status).toBe(409)
    expect(text).toContain('An operator with this email address exists')
    expect(await isSignedIn(visitor)).toBe(false)
  })

  test('the same subject with another email is the same operator', async () => {
    const subject = newSubject()
    for (let i = 0; i < 2; i++) await signIn(subject, { claims: person() })
    const { rows } = await rig.service.db.pool.query('select 1 from operator_identities where subject = $1', [subject])
    expect(rows).toHaveLength(1)
  })

  test('ten sign-ins of a new identity at once make one operator', async () => {
    const subject = newSubject()
    const claims = person()
    const all = await Promise.all(Array.from({ length: 10 }, () => signIn(subject, { claims })))
    expect(all.map(({ response }) => response.status)).toEqual(Array(10).fill(200))
    const { rows } = await rig.service.db.pool.query('select 1 from operators where email = $1', [claims.email])
    expect(rows).toHaveLength(1)
  })

  test('a suspended operator does not come back through the provider', async () => {
    const subject = newSubject()
    const claims = person()
    await signIn(subject, { claims })
    await rig.service.db.pool.query('update operators set is_active = false where email = $1', [claims.email])
    const { response, text } = await signIn(subject, { claims })
    expect(response.status).toBe(403)
    expect(text).toContain('taken away')
  })

  test('no email, and an email that the provider calls unverified, are refused by name', async () => {
    const none = await signIn(newSubject(), { claims: { groups: ['staff'] }, userinfo: {} })
    expect(none.text).toContain('sent no email')
    const unverified = await signIn(newSubject(), { claims: person({ email_verified: false }) })
    expect(unverified.text).toContain('not verified')
  })

  test('a signed-in operator connects it with the password, and disconnects it', async () => {
    const local = await newOperator(rig, 'viewer')
    expect((await local.post('/admin/account/oidc', { 'oidc-own': 'wrong' })).status).toBe(422)
    const subject = newSubject()
    const { url } = await begin(local, '/admin/account/oidc', { 'oidc-own': password })
    const query = provider.authorize(url, subject)
    // The browser comes from another site, and withholds the Strict cookie.
    const back = newVisitor(rig.app, new Map([['billfold-oidc', local.cookies.get('billfold-oidc')!]]))
    const response = await back.get(`${callbackPath}?${query.toString()}`)
    expect(response.headers.get('refresh')).toBe('0; url=/admin/account?done=identity-connected')
    expect(back.cookies.has('billfold-session')).toBe(false)
    const { visitor } = await signIn(subject, { claims: person() })
    expect(await (await visitor.get('/admin/account')).text()).toContain(local.email)
    const other = await newOperator(rig, 'viewer')
    const taken = provider.authorize((await begin(other, '/admin/account/oidc', { 'oidc-own': password })).url, subject)
    expect((await other.get(`${callbackPath}?${taken.toString()}`)).status).toBe(409)
    expect((await local.post('/admin/account/oidc/disconnect', { 'oidc-own': password })).status).toBe(303)
    expect((await signIn(subject, { claims: person({ email: local.email }) })).response.status).toBe(409)
  })

  test('a session that ended meanwhile connects nothing', async () => {
    const local = await newOperator(rig, 'viewer')
    const { url } = await begin(local, '/admin/account/oidc', { 'oidc-own': password })
    const query = provider.authorize(url, newSubject())
    await local.post('/admin/sign-out')
    expect((await local.get(`${callbackPath}?${query.toString()}`)).status).toBe(403)
  })

  test('without OIDC_ROLES an unknown account is refused, and an invitation is accepted with it', async () => {
    const other = await openTestService(settings())
    const subject = newSubject()
    const refused = await signIn(subject, { claims: person() }, undefined, other.app)
    expect(refused.text).toContain('No operator is connected with this account')
    const admin = await newOperator(other)
    await admin.post('/admin/operators/invite', { email: 'new@acme.example', role: 'finance' })
    const token = new URL(await mailedLink(other.service, 'new@acme.example'), provider.issuer).searchParams.get(
      'token',
    )!
    const invited = newVisitor(other.app)
    expect(await (await invited.get(`/admin/welcome?token=${token}`)).text()).toContain('Continue with Acme')
    const { url } = await begin(invited, '/admin/welcome/oidc', { token })
    const back = await invited.get(
      `${callbackPath}?${provider.authorize(url, subject, { claims: { name: 'Neu' } }).toString()}`,
    )
    expect(back.status).toBe(200)
    expect(await (await invited.get('/admin/account')).text()).toContain('finance')
    const again = await signIn(subject, {}, undefined, other.app)
    expect(await (await again.visitor.get('/admin/account')).text()).toContain('new@acme.example')
    expect((await newVisitor(other.app).get(`/admin/welcome?token=${token}`)).status).toBe(404)
    await other.close()
  })
})

const startPage = async () => {
  const visitor = newVisitor(rig.app)
  await visitor.get('/admin/sign-in')
  const { page } = await begin(visitor)
  return { status: page.status, text: await page.text() }
}

describe('a provider that is away or elsewhere', () => {
  test('the page says that a silent or failing provider does not answer', async () => {
    provider.state.isSilent = true
    const silent = await startPage()
    provider.state.isSilent = false
    provider.state.status = 502
    const broken = await startPage()
    provider.state.status = 0
    for (const { status, text } of [silent, broken]) {
      expect(status).toBe(503)
      expect(text).toContain('The provider of Acme does not answer')
    }
  })

  test.each([
    ['another issuer', { issuer: 'https://evil.example' }],
    ['no authorisation endpoint', { authorization_endpoint: undefined }],
    ['no issuer', { issuer: undefined }],
  ])('a discovery document with %s starts nothing', async (_, change) => {
    provider.state.discovery = (document) => ({ ...document, ...change })
    const { status } = await startPage()
    provider.state.discovery = (document) => document
    expect(status).toBe(403)
  })

  test('an error of the provider is shown as text', async () => {
    const { response, text } = await signIn(newSubject(), {}, (query) => {
      query.delete('code')
      query.set('error', 'access_denied<script>')
    })
    expect(response.status).toBe(403)
    expect(text).toContain('access_denied&lt;script')
  })

  test('starts are limited by address', async () => {
    const other = await openTestService(settings())
    const visitor = newVisitor(other.app)
    await visitor.get('/admin/sign-in')
    const statuses: number[] = []
    for (let i = 0; i < 31; i++) statuses.push((await begin(visitor)).page.status)
    expect(statuses).toEqual([...Array(30).fill(200), 429])
    await other.close()
  })
})

describe('with OIDC_ONLY', () => {
  test('a right password of others than admins with a second factor is refused, and a wrong one says nothing more', async () => {
    const other = await openTestService(settings({ OIDC_ONLY: '1' }))
    const [viewer, admin] = [await newOperator(other, 'viewer'), await newOperator(other, 'admin')]
    const tryPassword = async (email: string, given: string) => {
      const visitor = newVisitor(other.app)
      await visitor.get('/admin/sign-in')
      const response = await visitor.post('/admin/sign-in', { email, password: given })
      return [response.status, (await response.text()).includes('Passwords are for admins'), await isSignedIn(visitor)]
    }
    expect(await tryPassword(viewer.email, password)).toEqual([403, true, false])
    // The admin has no second factor yet.
    expect(await tryPassword(admin.email, password)).toEqual([403, true, false])
    expect(await tryPassword(viewer.email, 'not the password')).toEqual([401, false, false])
    const sealed = await other.service.secrets.seal('JBSWY3DPEHPK3PXPJBSWY3DPEHPK3PXP', totpContext(viewer))
    await updatePendingTotp(other.service.db.pool, viewer.id, { sealed, lifetimeMs: 60_000 })
    await updateTotpConfirmed(other.service.db.pool, viewer.id, { sealed, step: 0 })
    expect(await tryPassword(viewer.email, password)).toEqual([403, true, false])
    await other.close()
  })

  test('an admin whose role becomes another between password and code is refused, and the sign-in ends', async () => {
    const other = await openTestService(settings({ OIDC_ONLY: '1' }))
    const admin = await newOperator(other, 'admin')
    const secret = 'JBSWY3DPEHPK3PXPJBSWY3DPEHPK3PXP'
    const sealed = await other.service.secrets.seal(secret, totpContext(admin))
    await updatePendingTotp(other.service.db.pool, admin.id, { sealed, lifetimeMs: 60_000 })
    await updateTotpConfirmed(other.service.db.pool, admin.id, { sealed, step: 0 })
    const begin = async () => {
      const visitor = newVisitor(other.app)
      await visitor.get('/admin/sign-in')
      await visitor.post('/admin/sign-in', { email: admin.email, password })
      return visitor
    }
    const late = await begin()
    await other.service.db.pool.query(`update operators set role = 'viewer' where id = $1`, [admin.id])
    const refused = await late.post('/admin/sign-in/code', { code: generateSync({ secret }) })
    expect([refused.status, (await refused.text()).includes('Passwords are for admins.')]).toEqual([403, true])
    expect(late.cookies.has('billfold-session')).toBe(false)
    await other.service.db.pool.query(`update operators set role = 'admin' where id = $1`, [admin.id])
    const again = await begin()
    expect((await again.post('/admin/sign-in/code', { code: generateSync({ secret }) })).status).toBe(303)
    await other.close()
  })

  test('an invited viewer cannot choose a password, and the link still works with the account', async () => {
    const other = await openTestService(settings({ OIDC_ONLY: '1' }))
    const admin = await newOperator(other)
    await admin.post('/admin/operators/invite', { email: 'new@acme.example', role: 'viewer' })
    const token = new URL(await mailedLink(other.service, 'new@acme.example'), provider.issuer).searchParams.get(
      'token',
    )!
    const invited = newVisitor(other.app)
    expect(await (await invited.get(`/admin/welcome?token=${token}`)).text()).not.toContain('type="password"')
    const fields = { token, name: 'Neu', email: 'new@acme.example', password }
    expect((await invited.post('/admin/welcome', fields)).status).toBe(403)
    const { url } = await begin(invited, '/admin/welcome/oidc', { token })
    const back = await invited.get(`${callbackPath}?${provider.authorize(url, newSubject()).toString()}`)
    expect([back.status, await isSignedIn(invited)]).toEqual([200, true])
    await other.close()
  })
})

test('with OIDC_ONLY an invited admin cannot skip the second factor, and sets up none once the role is another', async () => {
  const other = await openTestService(settings({ OIDC_ONLY: '1' }))
  const email = 'new@acme.example'
  await (await newOperator(other)).post('/admin/operators/invite', { email, role: 'admin' })
  const token = new URL(await mailedLink(other.service, email), provider.issuer).searchParams.get('token')!
  const invited = newVisitor(other.app)
  await invited.get(`/admin/welcome?token=${token}`)
  const joined = await invited.post('/admin/welcome', { token, email, name: 'Neu', password })
  expect(joined.headers.get('location')).toBe('/admin/second-factor')
  const page = await (await invited.get('/admin/second-factor')).text()
  expect(page).not.toContain('Not now')
  const skipped = await invited.post('/admin/second-factor/skip')
  expect([skipped.status, (await skipped.text()).includes('not with OIDC_ONLY')]).toEqual([403, true])
  await other.service.db.pool.query(`update operators set role = 'viewer' where email = $1`, [email])
  const secret = /<code>([A-Z2-7 ]{32,})<\/code>/.exec(page)![1]!.replaceAll(' ', '')
  const refused = await invited.post('/admin/second-factor', { code: generateSync({ secret }) })
  expect([refused.status, (await refused.text()).includes('Passwords are for admins.')]).toEqual([403, true])
  expect(invited.cookies.has('billfold-session')).toBe(false)
  const { rows } = await other.service.db.pool.query('select totp_secret from operators where email = $1', [email])
  expect(rows).toEqual([{ totp_secret: null }])
  await other.close()
})

test('no code, token or secret is in a log or a record', async () => {
  const { rows } = await rig.service.db.pool.query('select row_to_json(a)::text as text from audit a')
  const everything = `${rig.logged.join('\n')}\n${rows.map(({ text }) => text as string).join('\n')}`
  expect(everything.includes('operator.identity-refused')).toBe(true)
  for (const secret of [clientSecret, 'code=', 'eyJ', '"access"'])
    expect([secret, everything.includes(secret)]).toEqual([secret, false])
})
