/** The device of a browser: it proves the person, and only together with a session of the same user. */
import { afterAll, beforeAll, beforeEach, describe, expect, setDefaultTimeout, test } from 'bun:test'
import { proofsOfApp, takeLimit, userPasswords } from '../src/actions/limits.ts'
import { addDevice } from '../src/actions/people/trust-device.ts'
import { hashSecret } from '../src/actions/tokens.ts'
import { updateDevicePassword, updateDevicesRevoked } from '../src/store/people/devices.ts'
import { cookieOf, deviceOf } from './devices.ts'
import { minuteMs, openIdentityRig, password, type IdentityRig } from './identity-rig.ts'
import { recordQueries } from './recorded-queries.ts'
import { newApp, type Credentials } from './service.ts'

setDefaultTimeout(180_000)

let rig: IdentityRig
let other: Credentials

beforeAll(async () => {
  rig = await openIdentityRig()
  other = await newApp(rig.opened.service, { name: 'Other shop' })
})
beforeEach(async () => {
  await rig.setLate(0)
  rig.move()
})
afterAll(() => rig.close())

type Headers = Record<string, string>

const sessionOf = async (serviceUserId: unknown, app = rig.credentials) =>
  String((await rig.client.post('/api/widget/session', { ...app, serviceUserId })).body['sessionToken'])

/** A user who signed in on a device. */
async function newMember() {
  const person = rig.newPerson()
  await person.newAccount()
  const signedIn = await person.logIn()
  const { serviceUserId } = signedIn.body
  const session = await sessionOf(serviceUserId)
  const device = cookieOf(signedIn.headers)
  const { rows } = await pool().query<{ id: string }>('select id from users where email = $1', [person.email])
  return {
    ...person,
    serviceUserId,
    userId: rows[0]!.id,
    session,
    device,
    setCookie: signedIn.headers.get('set-cookie')!,
  }
}

const pool = () => rig.opened.service.db.pool
const call = (path: string, session: string, headers: Headers = {}, body?: object) => {
  const method = body ? 'POST' : 'GET'
  return rig.page.call(method, `/api/widget/${path}?session=${session}`, body && JSON.stringify(body), headers)
}
const proofOf = async (session: string, headers: Headers = {}) => (await call('wallet', session, headers)).body['proof']
const prove = (session: string, body: object, headers: Headers = {}) => call('account/prove', session, headers, body)
const tokenOf = (device: Headers) => device['cookie']!.split('=')[1]!

describe('the token', () => {
  test('a sign-in sets its cookie for this host alone, partitioned by the embedding site, and out of reach of scripts', async () => {
    const { setCookie } = await newMember()
    expect(setCookie).toMatch(
      /^__Host-billfold-device=wd_[\w-]{43}; Path=\/; HttpOnly; Secure; SameSite=None; Partitioned; Max-Age=2592000$/,
    )
  })

  test('with it a session proves the person, and just after the password the presence', async () => {
    const { session, device } = await newMember()
    expect(await proofOf(session)).toBe('session')
    const { body } = await call('wallet', session, device)
    expect(body).toMatchObject({ proof: 'presence', presenceUntil: expect.any(String) })
  })

  test('a mailed code proves the person, and no presence', async () => {
    const person = rig.newPerson()
    const { body, headers } = await person.newAccount()
    expect(await proofOf(await sessionOf(body['serviceUserId']), cookieOf(headers))).toBe('person')
  })

  test('a stolen token proves nothing with the session of another user, and opens nothing alone', async () => {
    const [owner, thief] = [await newMember(), await newMember()]
    expect(await proofOf(thief.session, owner.device)).toBe('session')
    expect((await call('account', thief.session, owner.device)).body['code']).toBe('PERSON_REQUIRED')
    for (const session of ['', `ws_${crypto.randomUUID()}`])
      expect((await call('account', session, owner.device)).body['code']).toBe('INVALID_SESSION')
    expect(await proofOf(owner.session, owner.device)).toBe('presence')
  })

  test('it is stored as its hash alone, and no log has it', async () => {
    const { device, session, userId } = await newMember()
    const token = tokenOf(device)
    await proofOf(session, device)
    const { rows } = await pool().query('select * from devices where user_id = $1', [userId])
    expect(rows.some(({ token_hash: hash }) => hashSecret(token).equals(hash as Buffer))).toBeTrue()
    expect(JSON.stringify(rows)).not.toContain(token)
    expect(rig.opened.logged.join('')).not.toContain(token)
  })

  test('a new sign-in replaces the token that the browser presents, even of another user', async () => {
    const [first, second] = [await newMember(), await newMember()]
    const body = JSON.stringify({ ...second.who, password })
    const again = await rig.page.call('POST', '/api/widget/auth/login', body, first.device)
    expect(await proofOf(first.session, first.device)).toBe('session')
    expect(await proofOf(second.session, cookieOf(again.headers))).toBe('presence')
    expect(await proofOf(second.session, second.device)).toBe('presence')
  })

  test('a user has fifty devices at most: one more ends the oldest', async () => {
    const { session, device, userId, logIn } = await newMember()
    const clientId = rig.credentials.clientId
    // The rig's account has a device of its sign-up, and one of its sign-in.
    for (let i = 0; i < 47; i++) await deviceOf(rig.opened.service, { userId, clientId })
    await pool().query(`update devices set created_at = created_at - interval '1 day' where token_hash = $1`, [
      hashSecret(tokenOf(device)),
    ])
    await logIn()
    expect(await proofOf(session, device)).toBe('presence')
    await logIn()
    expect(await proofOf(session, device)).toBe('session')
  })

  test('devices that have ended count for none of the fifty', async () => {
    const { session, device, userId, logIn } = await newMember()
    const clientId = rig.credentials.clientId
    await pool().query(`update devices set created_at = created_at - interval '1 day' where user_id = $1`, [userId])
    for (let i = 0; i < 60; i++) await deviceOf(rig.opened.service, { userId, clientId })
    await pool().query('update devices set revoked_at = now() where user_id = $1 and token_hash <> $2', [
      userId,
      hashSecret(tokenOf(device)),
    ])
    await logIn()
    expect(await proofOf(session, device)).toBe('presence')
  })
})

test('the wallet on a device costs no query more than with a session alone', async () => {
  const { session, device } = await newMember()
  // The first reads record the browser of the session and the use of the device.
  for (const headers of [{}, device]) await proofOf(session, headers)
  const sent = async (headers: Headers) => {
    const recorded = await recordQueries(async () => void (await proofOf(session, headers)))
    return recorded.map(({ text }) => text).filter((text) => /widget_sessions|wallets|devices|topups/.test(text))
  }
  const alone = await sent({})
  expect(alone.length).toBeGreaterThan(1)
  expect(await sent(device)).toEqual(alone)
})

describe('time, by the database’s clock', () => {
  test('the password counts for ten minutes', async () => {
    const { serviceUserId, device } = await newMember()
    await rig.setLate(9 * minuteMs)
    expect(await proofOf(await sessionOf(serviceUserId), device)).toBe('presence')
    await rig.setLate(10.1 * minuteMs)
    expect(await proofOf(await sessionOf(serviceUserId), device)).toBe('person')
  })

  test('a token that no call presents ends after an hour', async () => {
    const { serviceUserId, device } = await newMember()
    await rig.setLate(61 * minuteMs)
    expect(await proofOf(await sessionOf(serviceUserId), device)).toBe('session')
  })

  test('one that is used lives thirty days from its sign-in, and no longer', async () => {
    const { serviceUserId, session, device } = await newMember()
    await proofOf(session, device)
    await rig.setLate(29.9 * 24 * 60 * minuteMs)
    expect(await proofOf(await sessionOf(serviceUserId), device)).toBe('person')
    await rig.setLate(30.1 * 24 * 60 * minuteMs)
    expect(await proofOf(await sessionOf(serviceUserId), device)).toBe('session')
  })

  test('the password counts no longer than the device lives, and not on one that has ended', async () => {
    const { session, device, userId } = await newMember()
    const { rows } = await pool().query<{ id: string; at: Date }>(
      `update devices set expires_at = now() + interval '1 minute' where token_hash = $1 returning id, expires_at as at`,
      [hashSecret(tokenOf(device))],
    )
    const [{ id, at }] = rows as [{ id: string; at: Date }]
    const proved = await prove(session, { password }, device)
    expect(proved.body['presenceUntil']).toBe(at.toISOString())
    expect((await call('wallet', session, device)).body['presenceUntil']).toBe(at.toISOString())
    await updateDevicesRevoked(pool(), userId, { id })
    expect(await updateDevicePassword(pool(), id)).toBeUndefined()
  })

  test('the use is written once an hour', async () => {
    const { serviceUserId, session, device, userId } = await newMember()
    const usedAt = async () =>
      (await pool().query<{ at: Date }>('select max(last_used_at) as at from devices where user_id = $1', [userId]))
        .rows[0]!.at
    await proofOf(session, device)
    const first = await usedAt()
    await proofOf(session, device)
    expect(await usedAt()).toEqual(first)
    await rig.setLate(61 * minuteMs)
    await proofOf(await sessionOf(serviceUserId), device)
    expect((await usedAt()).getTime()).toBeGreaterThan(first.getTime())
  })
})

describe('the password on this device', () => {
  test('makes the browser a device of the user', async () => {
    const { session } = await newMember()
    const proved = await prove(session, { password })
    expect(proved.body).toEqual({ proof: 'presence', presenceUntil: expect.any(String) })
    expect(await proofOf(session, cookieOf(proved.headers))).toBe('presence')
  })

  test('gives a device its presence back, and no other token', async () => {
    const { serviceUserId, device } = await newMember()
    await rig.setLate(11 * minuteMs)
    const session = await sessionOf(serviceUserId)
    expect(await proofOf(session, device)).toBe('person')
    const proved = await prove(session, { password }, device)
    expect([proved.status, proved.headers.get('set-cookie')]).toEqual([200, null])
    expect(await proofOf(session, device)).toBe('presence')
  })

  test('replaces the device of another user in this browser', async () => {
    const [first, second] = [await newMember(), await newMember()]
    const proved = await prove(second.session, { password }, first.device)
    expect(await proofOf(second.session, cookieOf(proved.headers))).toBe('presence')
    expect(await proofOf(first.session, first.device)).toBe('session')
  })

  test('a page that keeps no cookie gets a separate token, for a header and for ten minutes', async () => {
    const { session, serviceUserId } = await newMember()
    const proved = await prove(session, { password, keep: 'page' })
    expect(proved.headers.get('set-cookie')).toBeNull()
    const header = { 'billfold-device': String(proved.body['deviceToken']) }
    expect(await proofOf(session, header)).toBe('presence')
    expect((await call('account', session, header)).status).toBe(200)
    await rig.setLate(9 * minuteMs)
    expect(await proofOf(await sessionOf(serviceUserId), header)).toBe('presence')
    await rig.setLate(10.1 * minuteMs)
    expect(await proofOf(await sessionOf(serviceUserId), header)).toBe('session')
  })

  test('the header counts from our own pages alone', async () => {
    const { session, device } = await newMember()
    for (const from of [{ origin: 'https://evil.example' }, { 'sec-fetch-site': 'cross-site' }] as Headers[]) {
      const headers = { 'sec-fetch-site': 'cross-site', ...from, 'billfold-device': tokenOf(device) }
      expect((await call('account', session, headers)).body['code']).toBe('CROSS_SITE_REFUSED')
    }
  })

  test('wrong ones count with those of signing in, and prove nothing', async () => {
    const { session, logIn } = await newMember()
    for (let i = 0; i < 10; i++)
      expect((await prove(session, { password: `wrong ${i}` })).body['code']).toBe('INVALID_CREDENTIALS')
    const refused = await prove(session, { password })
    expect([refused.status, refused.headers.get('set-cookie')]).toEqual([429, null])
    expect((await logIn()).status).toBe(429)
  })

  test('wrong ones count for the address, whatever account they are for', async () => {
    const { session } = await newMember()
    const left = rig.move('10.2.0.4')
    for (let i = 0; i < 99; i++) await takeLimit(rig.opened.service, userPasswords.wrongOfAddress!, '10.2.0.4')
    expect((await prove(session, { password: 'wrong' })).status).toBe(401)
    expect((await prove(session, { password })).status).toBe(429)
    rig.move(left)
    expect((await prove(session, { password })).status).toBe(200)
  })

  test('right ones, and those that another limit refuses, use up none of the twenty that an app has', async () => {
    const { session, userId } = await newMember()
    const ofApp = [proofsOfApp, userId, rig.credentials.clientId] as const
    for (let i = 0; i < 19; i++) await takeLimit(rig.opened.service, ...ofApp)
    for (let i = 0; i < 2; i++) expect((await prove(session, { password })).status).toBe(200)
    const left = rig.move('10.2.0.5')
    for (let i = 0; i < 100; i++) await takeLimit(rig.opened.service, userPasswords.wrongOfAddress!, '10.2.0.5')
    for (let i = 0; i < 2; i++) expect((await prove(session, { password })).status).toBe(429)
    rig.move(left)
    expect((await prove(session, { password })).status).toBe(200)
    expect(await takeLimit(rig.opened.service, ...ofApp)).toBeUndefined()
    expect((await prove(session, { password })).status).toBe(429)
  })

  test('a new device is a sign-in: it is in the history, and mailed about from a new place', async () => {
    const { session, mails } = await newMember()
    rig.move()
    const proved = await prove(session, { password })
    const { body } = await call('account/history', session, cookieOf(proved.headers))
    expect((body['events'] as object[])[0]).toMatchObject({ event: 'signed-in', by: 'you' })
    expect((await mails(2)).at(-1)!.subject).toBe('New sign-in to your wallet')
  })

  test('given while it is changed, the old one leaves no device', async () => {
    for (let round = 0; round < 5; round++) {
      const { session, device } = await newMember()
      const [proved] = await Promise.all([
        prove(session, { password }),
        call('account/password', session, device, { password, newPassword: 'eight merry otters' }),
      ])
      expect(await proofOf(session, cookieOf(proved.headers))).toBe('session')
      expect(await proofOf(session, device)).toBe('presence')
    }
  })

  test('makes no device once it is another', async () => {
    const { userId } = await newMember()
    const signIn = { userId, clientId: rig.credentials.clientId, passwordHash: 'the old hash', hasPassword: true }
    const browser = { address: '10.0.0.1', userAgent: null, deviceToken: undefined }
    expect(await addDevice(rig.opened.service, pool(), signIn, browser)).toBeUndefined()
  })

  test('given while the user signs out everywhere, it leaves no device', async () => {
    for (let round = 0; round < 5; round++) {
      const { session, device, serviceUserId, logIn } = await newMember()
      const [proved] = await Promise.all([
        prove(session, { password }),
        call('account/sign-out-everywhere', session, device, {}),
      ])
      await logIn()
      expect(await proofOf(await sessionOf(serviceUserId), cookieOf(proved.headers))).toBe('session')
    }
  })
})

/** A member with a second device, and a third that was signed in through another app. */
async function newThree() {
  const member = await newMember()
  const second = cookieOf((await member.logIn()).headers)
  const elsewhere = await member.logIn({ clientId: other.clientId })
  const theirs = await sessionOf(elsewhere.body['serviceUserId'], other)
  return { ...member, second, third: cookieOf(elsewhere.headers), theirs, otherUser: elsewhere.body['serviceUserId'] }
}
type Three = Awaited<ReturnType<typeof newThree>>

/** What each proves with a new session, after the user signed in again where that is needed. */
async function proofsOf({ serviceUserId, device, second, third, logIn }: Three, changes: object = {}) {
  await logIn(changes)
  const session = await sessionOf(serviceUserId)
  return await Promise.all([device, second, third].map((each) => proofOf(session, each)))
}

describe('a device ends', () => {
  test('signing out everywhere ends all', async () => {
    const member = await newThree()
    const done = await call('account/sign-out-everywhere', member.session, member.device, {})
    expect(done.headers.get('set-cookie')).toContain('__Host-billfold-device=; ')
    expect(await proofsOf(member)).toEqual(['session', 'session', 'session'])
  })

  test('logging out ends this one', async () => {
    const member = await newThree()
    const done = await call('logout', member.session, member.device, {})
    expect(done.headers.get('set-cookie')).toContain('Max-Age=0')
    expect(await proofsOf(member)).toEqual(['session', 'presence', 'presence'])
  })

  test('signing out of an app ends those that were signed in through it', async () => {
    const member = await newThree()
    await call('account/sign-out', member.session, member.device, { clientId: other.clientId })
    expect(await proofsOf(member)).toEqual(['presence', 'presence', 'session'])
  })

  test('signing out of this app ends the device of this call, also when it was signed in through another app', async () => {
    const member = await newMember()
    const device = cookieOf((await member.logIn({ clientId: other.clientId })).headers)
    expect(await proofOf(member.session, device)).toBe('presence')
    await call('account/sign-out', member.session, device, { clientId: rig.credentials.clientId })
    await member.logIn()
    expect(await proofOf(await sessionOf(member.serviceUserId), device)).toBe('session')
  })

  test('a session alone signs out of its own app, and ends no device of another', async () => {
    const member = await newThree()
    expect((await call('account/sign-out', member.theirs, {}, { clientId: other.clientId })).status).toBe(200)
    expect(await proofsOf(member)).toEqual(['presence', 'presence', 'session'])
  })

  test('disconnecting an app ends those that were signed in through it', async () => {
    const member = await newThree()
    await call('links/disconnect', member.session, member.device, { clientId: other.clientId })
    expect(await proofsOf(member)).toEqual(['presence', 'presence', 'session'])
  })

  test('the user ends one of the list, and only one of their own', async () => {
    const member = await newThree()
    const stranger = await newMember()
    const { body } = await call('account/signed-in', member.session, member.device)
    const devices = body['devices'] as { id: string; appName: string; isThis: boolean }[]
    expect(devices.map(({ appName, isThis }) => `${appName} ${isThis}`)).toEqual([
      'Other shop false',
      'Test shop false',
      'Test shop true',
      'Test shop false',
    ])
    const [theirs] = devices.filter(({ appName }) => appName === 'Other shop')
    const end = (who: { session: string; device: Headers }) =>
      call('account/sign-out-device', who.session, who.device, { deviceId: theirs!.id })
    expect((await end(stranger)).body['fields']).toEqual({ deviceId: 'is not a device where this user is signed in' })
    expect((await end(member)).status).toBe(200)
    expect((await end(member)).status).toBe(400)
    expect(await proofsOf(member)).toEqual(['presence', 'presence', 'session'])
    const { rows } = await pool().query<{ action: string }>(
      `select action from audit where subject = $1 and action = 'user.device-ended'`,
      [`user:${member.userId}`],
    )
    expect(rows).toHaveLength(1)
  })

  test('a change of the password keeps only the one it was made on', async () => {
    const member = await newThree()
    const newPassword = 'eight merry otters'
    await call('account/password', member.session, member.device, { password, newPassword })
    expect(await proofsOf(member, { password: newPassword })).toEqual(['presence', 'session', 'session'])
  })

  test('a reset ends all, and makes a new one', async () => {
    const member = await newThree()
    await rig.page.auth('forgot', member.who)
    const newPassword = 'eight merry otters'
    const code = await member.code(2)
    const reset = await rig.page.auth('reset', { ...member.who, code, password: newPassword })
    expect(await proofOf(await sessionOf(member.serviceUserId), cookieOf(reset.headers))).toBe('presence')
    expect(await proofsOf(member, { password: newPassword })).toEqual(['session', 'session', 'session'])
  })
})

const open = async (path: unknown) =>
  (await rig.opened.app.fetch(new Request(`http://billfold.test${String(path)}`))).text()
const fileOf = (html: string) => /href="(\/widget\/papers\/[\w-]{32})"/.exec(html)?.[1]
const order = async ({ session, device }: { session: string; device: Headers }, kind = 'data') => {
  const { body } = await call('papers', session, device, { kind, month: '2026-01' })
  expect(body).toEqual({ path: expect.any(String) })
  return body['path']
}

describe('a link to a paper ends with what it hangs on', () => {
  test('signing out everywhere ends it, and the link to its file, also when the session has expired', async () => {
    const member = await newMember()
    const { session, device, serviceUserId } = member
    await proofOf(session, device)
    const file = fileOf(await open(await order(member)))
    const waiting = await order(member)
    await rig.setLate(6 * minuteMs)
    const later = await order({ session: await sessionOf(serviceUserId), device })
    await call('account/sign-out-everywhere', await sessionOf(serviceUserId), device, {})
    // A new sign-in gives nothing of it back.
    await member.logIn()
    for (const path of [file, waiting, later]) expect(await open(path)).toContain('can be opened only once')
  })

  test('the end of the device ends it; the end of another device does not', async () => {
    const member = await newMember()
    const path = await order(member, 'statement')
    const kept = await order(member, 'statement')
    const second = cookieOf((await member.logIn()).headers)
    await call('logout', await sessionOf(member.serviceUserId), second, {})
    expect(await open(kept)).toContain('Statement')
    await call('logout', await sessionOf(member.serviceUserId), member.device, {})
    expect(await open(path)).toContain('can be opened only once')
  })

  test('a receipt that a session alone ordered ends with that session', async () => {
    const { session, serviceUserId } = await newMember()
    await rig.client.credit(String(serviceUserId), 5)
    const receipt = async () => (await call('papers', session, {}, { kind: 'receipt', sequence: 1 })).body['path']
    const [first, second] = [await receipt(), await receipt()]
    expect(await open(first)).toContain('5.00')
    await call('logout', session, {}, {})
    expect(await open(second)).toContain('can be opened only once')
  })

  test('a sign-out everywhere also ends one whose session has just expired', async () => {
    const { session, serviceUserId, device, logIn } = await newMember()
    await rig.client.credit(String(serviceUserId), 5)
    await rig.setLate(4 * minuteMs)
    const { body } = await call('papers', session, {}, { kind: 'receipt', sequence: 1 })
    await rig.setLate(5.5 * minuteMs)
    await call('account/sign-out-everywhere', await sessionOf(serviceUserId), device, {})
    await logIn()
    expect(await open(body['path'])).toContain('can be opened only once')
  })

  test('who downloads the data is mailed', async () => {
    const member = await newMember()
    const file = fileOf(await open(await order(member)))
    expect(await open(file)).toContain('billfold-user-data')
    expect((await member.mails(2)).at(-1)!.subject).toBe('A copy of your data was downloaded')
  })
})
