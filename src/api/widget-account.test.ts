/** The account: reading, changing and deleting it. */
import { afterAll, beforeAll, beforeEach, describe, expect, setDefaultTimeout, test } from 'bun:test'
import { expectBalancedBooks } from '../../test/books.ts'
import { cookieOf } from '../../test/devices.ts'
import { minuteMs, openIdentityRig, password, wrongOf, type IdentityRig } from '../../test/identity-rig.ts'
import { mailedCode, newEmail, readEvents } from '../../test/page.ts'
import { newApp, operator, type Credentials } from '../../test/service.ts'
import { beginDayThatStays } from '../../test/time.ts'
import { grantBonus } from '../actions/money/grant-bonus.ts'
import type { SessionEndReason } from '../../sdk/contract.ts'
import { hashSecret } from '../actions/tokens.ts'
import { freezeWallet, unfreezeWallet } from '../actions/money/manage-wallets.ts'

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
afterAll(async () => {
  await expectBalancedBooks(rig.opened.service)
  await rig.close()
})

const firefox = { 'user-agent': 'Mozilla/5.0 (X11; Linux x86_64; rv:145.0) Gecko/20100101 Firefox/145.0' }
const phone = {
  'user-agent':
    'Mozilla/5.0 (iPhone; CPU iPhone OS 19_1 like Mac OS X) AppleWebKit/605.1.15 (KHTML, like Gecko) Version/19.1 Mobile/15E148 Safari/604.1',
}

type Member = Awaited<ReturnType<typeof newMember>>

/** A user with an account, signed in to the rig's app on a device where the password was just given. */
async function newMember() {
  const person = rig.newPerson()
  const { body, headers } = await person.newAccount()
  const device = cookieOf(headers)
  const serviceUserId = String(body['serviceUserId'])
  const session = async (app = rig.credentials, su = serviceUserId) => {
    const reply = await rig.client.post('/api/widget/session', { ...app, serviceUserId: su })
    return { status: reply.status, code: reply.body['code'], token: String(reply.body['sessionToken']) }
  }
  const { token } = await session()
  const asked = JSON.stringify({ password })
  await rig.page.call('POST', `/api/widget/account/prove?session=${token}`, asked, device)
  const { rows } = await rig.opened.service.db.pool.query<{ id: string }>('select id from users where email = $1', [
    person.email,
  ])
  return {
    ...person,
    token,
    session,
    serviceUserId,
    userId: rows[0]!.id,
    device,
    get: (path = '', using = token, as = device) =>
      rig.page.call('GET', `/api/widget/account${path}?session=${using}`, undefined, as),
    post: (path: string, body: object, using = token, as = device) =>
      rig.page.call('POST', `/api/widget/account/${path}?session=${using}`, JSON.stringify(body), as),
    open: (using = token, headers: Record<string, string> = firefox) =>
      rig.page.call('GET', `/api/widget/wallet?session=${using}`, undefined, { ...device, ...headers }),
    history: async () => {
      const reply = await rig.page.call('GET', `/api/widget/account/history?session=${token}`, undefined, device)
      return (reply.body['events'] as { event: string }[]).map(({ event }) => event)
    },
  }
}

const resultOf = ({ status, body }: { status: number; body: Record<string, unknown> }) =>
  status < 300 ? status : `${status} ${String(body['code'])}`

const row = async (sql: string, ...values: unknown[]) =>
  (await rig.opened.service.db.pool.query<Record<string, unknown>>(sql, values)).rows[0]

describe('names and language', () => {
  test('the account is shown, and its names and language are changed', async () => {
    const member = await newMember()
    expect((await member.get()).body).toMatchObject({
      email: member.email,
      firstName: 'Ada',
      language: null,
      hasPassword: true,
      keptReason: null,
    })
    expect(resultOf(await member.post('names', { firstName: ' Grace ', lastName: 'Hopper' }))).toBe(200)
    expect(resultOf(await member.post('language', { language: 'ar' }))).toBe(200)
    expect((await member.get()).body).toMatchObject({ firstName: 'Grace', lastName: 'Hopper', language: 'ar' })
    expect((await member.open()).body['user']).toEqual({ firstName: 'Grace', lastName: 'Hopper', language: 'ar' })
    expect(await member.history()).toEqual(['name-changed', 'app-connected', 'created'])
  })

  test('a language that the service does not have is refused', async () => {
    const member = await newMember()
    const { status, body } = await member.post('language', { language: 'tlh' })
    expect({ status, fields: body['fields'] }).toEqual({
      status: 400,
      fields: { language: expect.stringContaining('must be one of') },
    })
  })

  test('unchanged names leave no record', async () => {
    const member = await newMember()
    await member.post('names', { firstName: 'Ada', lastName: 'Lovelace' })
    expect(await member.history()).toEqual(['app-connected', 'created'])
  })
})

describe('password', () => {
  const newPassword = 'eight merry otters'

  test('the old one is needed; every other session ends, and other apps need a new sign-in', async () => {
    const member = await newMember()
    const elsewhere = await member.logIn({ clientId: other.clientId })
    const otherUser = String(elsewhere.body['serviceUserId'])
    const theirs = await member.session(other, otherUser)
    const second = await member.session()
    expect(resultOf(await member.post('password', { password: 'not this one', newPassword }))).toBe(
      '401 INVALID_CREDENTIALS',
    )
    expect(resultOf(await member.post('password', { password, newPassword: 'password1' }))).toBe('400 WEAK_PASSWORD')
    expect(resultOf(await member.open(second.token))).toBe(200)
    expect(resultOf(await member.post('password', { password, newPassword }))).toBe(200)
    expect(resultOf(await member.open())).toBe(200)
    expect(resultOf(await member.open(second.token))).toBe('401 INVALID_SESSION')
    expect(resultOf(await member.open(theirs.token))).toBe('401 INVALID_SESSION')
    expect((await member.session()).status).toBe(200)
    const again = await member.session(other, otherUser)
    expect([again.status, again.code]).toEqual([404, 'USER_NOT_FOUND'])
    // The app's backend still debits and credits.
    expect((await rig.client.credit(member.serviceUserId, 1)).status).toBe(200)
    expect(resultOf(await member.logIn())).toBe('401 INVALID_CREDENTIALS')
    expect(resultOf(await member.logIn({ clientId: other.clientId, password: newPassword }))).toBe(200)
    expect((await member.session(other, otherUser)).status).toBe(200)
    expect((await member.mails(2)).map(({ subject }) => subject)).toContain('Your wallet has a new password')
  })

  test('attempts count with those of signing in: after ten wrong ones the right one is refused too', async () => {
    const member = await newMember()
    for (let i = 0; i < 10; i++) await member.post('password', { password: `wrong ${i} wrong`, newPassword })
    expect(resultOf(await member.post('password', { password, newPassword }))).toBe('429 RATE_LIMITED')
    expect(resultOf(await member.post('delete', { password }))).toBe('429 RATE_LIMITED')
    expect(resultOf(await member.logIn())).toBe('429 RATE_LIMITED')
    await rig.setLate(16 * minuteMs)
    const { token } = await member.session()
    expect(resultOf(await member.post('password', { password, newPassword }, token))).toBe(200)
  })

  test('of two changes at once one is made', async () => {
    const member = await newMember()
    const asked = ['five loud geese', 'six quiet moles'].map((to) =>
      member.post('password', { password, newPassword: to }),
    )
    const replies = (await Promise.all(asked)).map(resultOf)
    expect(new Set(replies)).toEqual(new Set([200, '401 INVALID_CREDENTIALS']))
  })

  test('a change voids the link codes issued before', async () => {
    const member = await newMember()
    const { linkCode } = (await member.logIn()).body
    expect(resultOf(await member.post('password', { password, newPassword }))).toBe(200)
    expect((await rig.verify(linkCode)).body['code']).toBe('INVALID_LINK_CODE')
  })

  test('a reset ends all sessions, and other apps need a new sign-in', async () => {
    const member = await newMember()
    const otherUser = String((await member.logIn({ clientId: other.clientId })).body['serviceUserId'])
    expect((await member.session(other, otherUser)).status).toBe(200)
    await rig.page.auth('forgot', member.who)
    const code = await member.code(2)
    expect(resultOf(await rig.page.auth('reset', { ...member.who, code, password: newPassword }))).toBe(200)
    expect(resultOf(await member.open())).toBe('401 INVALID_SESSION')
    expect((await member.session()).status).toBe(200)
    expect((await member.session(other, otherUser)).code).toBe('USER_NOT_FOUND')
  })
})

const codes = async (member: Member, email: string, mails = 2, newMails = 1) => ({
  email,
  oldCode: await mailedCode(member.email, rig.opened.logged, mails),
  newCode: await mailedCode(email, rig.opened.logged, newMails),
})

describe('email', () => {
  test('both codes change it, once; the old address gets a mail', async () => {
    const member = await newMember()
    const email = newEmail()
    expect(resultOf(await member.post('email', { email: email.toUpperCase() }))).toBe(202)
    const right = await codes(member, email)
    for (const wrong of [
      { ...right, oldCode: wrongOf(right.oldCode) },
      { ...right, newCode: wrongOf(right.newCode) },
      { ...right, oldCode: right.newCode, newCode: right.oldCode },
      { ...right, email: newEmail() },
    ])
      expect(resultOf(await member.post('email/confirm', wrong))).toBe('400 INVALID_CODE')
    expect(resultOf(await member.post('email/confirm', right))).toBe(200)
    expect((await member.get()).body['email']).toBe(email)
    expect(resultOf(await member.post('email/confirm', right))).toBe(200)
    expect(resultOf(await member.logIn())).toBe('401 INVALID_CREDENTIALS')
    expect(resultOf(await member.logIn({ email }))).toBe(200)
    expect((await member.mails(3)).at(-1)!.subject).toBe('Your wallet has a new email address')
    expect((await member.history()).slice(0, 2)).toEqual(['signed-in', 'email-changed'])
  })

  test('the codes are void after five attempts and after fifteen minutes', async () => {
    const member = await newMember()
    const email = newEmail()
    await member.post('email', { email })
    const right = await codes(member, email)
    for (let i = 0; i < 5; i++) await member.post('email/confirm', { ...right, oldCode: wrongOf(right.oldCode) })
    expect(resultOf(await member.post('email/confirm', right))).toBe('400 INVALID_CODE')
    await member.post('email', { email })
    const next = await codes(member, email, 3, 2)
    await rig.setLate(16 * minuteMs)
    const { token } = await member.session()
    expect(resultOf(await member.post('email/confirm', next, token))).toBe('400 INVALID_CODE')
  })

  test('wrong codes count for the network, together with those of signing in', async () => {
    const member = await newMember()
    const email = newEmail()
    await member.post('email', { email })
    const right = await codes(member, email)
    const left = rig.move('10.2.0.3')
    for (let i = 0; i < 49; i++) rig.opened.service.wrongCodes.count('10.2.0.3', rig.opened.service.now())
    const wrong = { ...right, oldCode: wrongOf(right.oldCode) }
    expect(resultOf(await member.post('email/confirm', wrong))).toBe('400 INVALID_CODE')
    expect(resultOf(await member.post('email/confirm', right))).toBe('429 RATE_LIMITED')
    rig.move(left)
    expect(resultOf(await member.post('email/confirm', right))).toBe(200)
  })

  test('an address that has an account answers the same, is mailed no code, and is not taken over', async () => {
    const [member, owner] = [await newMember(), await newMember()]
    const [free, taken] = [
      await member.post('email', { email: newEmail() }),
      await member.post('email', { email: owner.email }),
    ]
    expect([taken.status, taken.body]).toEqual([free.status, free.body])
    const letters = await owner.mails(2)
    expect(letters.at(-1)!.subject).toBe('You already have a wallet')
    expect(letters.at(-1)!.text).not.toMatch(/\d{6}/)
    expect((await owner.get()).body['email']).toBe(owner.email)
  })

  test('a user who signed up with the new address in between keeps it', async () => {
    const member = await newMember()
    const rival = rig.newPerson()
    await member.post('email', { email: rival.email })
    const right = await codes(member, rival.email)
    await rival.signUp()
    await rival.confirm(2)
    expect(resultOf(await member.post('email/confirm', right))).toBe('400 INVALID_CODE')
    expect((await member.get()).body['email']).toBe(member.email)
    expect(resultOf(await rival.logIn())).toBe(200)
  })

  test('of two users who want one address at once, one gets it', async () => {
    const [one, two] = [await newMember(), await newMember()]
    const email = newEmail()
    await one.post('email', { email })
    const first = await codes(one, email)
    await two.post('email', { email })
    const second = await codes(two, email, 2, 2)
    const replies = await Promise.all([one.post('email/confirm', first), two.post('email/confirm', second)])
    expect(new Set(replies.map(resultOf))).toEqual(new Set([200, '400 INVALID_CODE']))
  })

  test('one code sent many times at once changes once, and mails are limited like those of a sign-up', async () => {
    const member = await newMember()
    const email = newEmail()
    await member.post('email', { email })
    const right = await codes(member, email)
    const replies = await Promise.all(Array.from({ length: 4 }, () => member.post('email/confirm', right)))
    expect(replies.map(resultOf)).toContain(200)
    expect((await member.history()).filter((event) => event === 'email-changed')).toHaveLength(1)
    const asked = []
    for (let i = 0; i < 5; i++) asked.push(resultOf(await member.post('email', { email: newEmail() })))
    // The address already got one of its four mails: the code of the change above.
    expect(asked).toEqual([202, 202, 202, '429 RATE_LIMITED', '429 RATE_LIMITED'])
  })

  test('the email of the account itself is no change', async () => {
    const member = await newMember()
    expect(resultOf(await member.post('email', { email: member.email }))).toBe('400 INVALID_REQUEST')
  })
})

describe('where I am signed in', () => {
  test('an app, the browsers that used it, and this one; signing out ends it until the next sign-in', async () => {
    const member = await newMember()
    await member.open()
    const away = rig.move()
    const onPhone = await member.session()
    await member.open(onPhone.token, phone)
    rig.move(away)
    const elsewhere = await member.logIn({ clientId: other.clientId })
    const otherUser = String(elsewhere.body['serviceUserId'])
    const { body } = await member.get('/signed-in')
    expect(body['apps']).toMatchObject([
      { clientId: other.clientId, appName: 'Other shop', isThisApp: false, browsers: [] },
      {
        clientId: rig.credentials.clientId,
        isThisApp: true,
        browsers: [
          { browser: 'Safari/iPhone', isLive: true, isThis: false, isThisNetwork: false },
          { browser: 'Firefox/Linux', isLive: true, isThis: true, isThisNetwork: true },
        ],
      },
    ])
    const theirs = await member.session(other, otherUser)
    expect(resultOf(await member.post('sign-out', { clientId: other.clientId }))).toBe(200)
    expect(resultOf(await member.open(theirs.token))).toBe('401 INVALID_SESSION')
    const refused = await member.session(other, otherUser)
    expect([refused.status, refused.code]).toEqual([404, 'USER_NOT_FOUND'])
    expect(resultOf(await member.post('sign-out', { clientId: other.clientId }))).toBe('400 INVALID_REQUEST')
    expect((await member.get('/signed-in')).body['apps']).toHaveLength(1)
    const balance = await rig.client.get('/api/server/wallet', { ...other, serviceUserId: otherUser })
    expect(balance.status).toBe(200)
    await member.logIn({ clientId: other.clientId })
    expect((await member.session(other, otherUser)).status).toBe(200)
  })

  test('signing out everywhere ends every session and open stream at once', async () => {
    const member = await newMember()
    const { token } = await member.session()
    const stream = await rig.opened.app.fetch(
      new Request(`http://billfold.test/api/widget/events?session=${token}`, {
        headers: { 'sec-fetch-site': 'same-origin' },
      }),
    )
    const events = readEvents(stream)
    expect((await events.next())?.event).toBe('wallet')
    expect(resultOf(await member.post('sign-out-everywhere', {}))).toBe(200)
    expect(await events.next()).toEqual({
      event: 'ended',
      data: { code: 'INVALID_SESSION', reason: 'signed-out-everywhere' },
    })
    expect(resultOf(await member.open())).toBe('401 INVALID_SESSION')
    expect((await member.session()).status).toBe(404)
    const again = cookieOf((await member.logIn()).headers)
    const { token: fresh } = await member.session()
    expect(resultOf(await member.open(fresh))).toBe(200)
    expect(resultOf(await member.get('/history', fresh))).toBe('403 PERSON_REQUIRED')
    const { body } = await member.get('/history', fresh, again)
    expect((body['events'] as object[])[1]).toMatchObject({ event: 'signed-out', by: 'you', isEverywhere: true })
  })

  const newPassword = 'another long secret'
  const ends: readonly [SessionEndReason, (member: Member) => Promise<unknown>, { isForgotten?: true }?][] = [
    ['signed-out', (member) => member.post('sign-out', { clientId: rig.credentials.clientId })],
    ['signed-out-everywhere', (member) => member.post('sign-out-everywhere', {})],
    ['password-changed', (member) => member.post('password', { password, newPassword })],
    [
      'disconnected',
      ({ token, device }) =>
        rig.page.call(
          'POST',
          `/api/widget/links/disconnect?session=${token}`,
          JSON.stringify({ clientId: rig.credentials.clientId }),
          device,
        ),
    ],
    ['deleted', (member) => member.post('delete', { password }), { isForgotten: true }],
  ]
  test.each(ends)(
    'the holder of a session that ended learns the reason %s',
    async (reason, end, { isForgotten } = {}) => {
      const member = await newMember()
      const { token } = await member.session()
      const events = readEvents(
        await rig.opened.app.fetch(new Request(`http://billfold.test/api/widget/events?session=${token}`)),
      )
      expect((await events.next())?.event).toBe('wallet')
      expect(await end(member)).toMatchObject({ status: 200 })
      expect(await events.next()).toEqual({ event: 'ended', data: { code: 'INVALID_SESSION', reason } })
      // Nothing of a deleted account stays: its token is one that never was.
      const known = isForgotten ? undefined : reason
      const reasonNow = async () => {
        const { body } = await member.open(token)
        return [body['code'], body['reason']]
      }
      expect(await reasonNow()).toEqual(['INVALID_SESSION', known])
      // A later sign-in opens new sessions; the old one keeps its reason.
      await member.logIn({ password: reason === 'password-changed' ? newPassword : password })
      expect(await reasonNow()).toEqual(['INVALID_SESSION', known])
    },
  )

  test('a token that was never a session has no reason', async () => {
    const member = await newMember()
    const { body } = await member.open(`ws_${crypto.randomUUID()}`)
    expect(body).toEqual({ error: expect.any(String), code: 'INVALID_SESSION', requestId: expect.any(String) })
  })

  test('signing out of the app voids the link codes issued before, and ends a session that it did not find', async () => {
    const member = await newMember()
    const { linkCode } = (await member.logIn()).body
    const late = await member.session()
    expect(resultOf(await member.post('sign-out', { clientId: rig.credentials.clientId }))).toBe(200)
    expect((await rig.verify(linkCode)).body['code']).toBe('INVALID_LINK_CODE')
    // As if it had been written just after the statement that ends sessions.
    await rig.opened.service.db.pool.query(
      'update widget_sessions set revoked_at = null, revoked_for = null where token_hash = $1',
      [hashSecret(late.token)],
    )
    const { status, body } = await member.open(late.token)
    expect([status, body['code'], body['reason']]).toEqual([401, 'INVALID_SESSION', 'signed-out'])
  })

  test('a session that is created while its user signs out is ended too', async () => {
    const member = await newMember()
    const [opened] = await Promise.all([
      Promise.all(Array.from({ length: 10 }, () => member.session())),
      member.post('sign-out-everywhere', {}),
    ])
    for (const { token } of opened) expect(resultOf(await member.open(token))).toBe('401 INVALID_SESSION')
    await member.logIn()
    for (const { token } of opened) expect(resultOf(await member.open(token))).toBe('401 INVALID_SESSION')
  })
})

describe('apps', () => {
  test('each app lists what it may do and what it debited and credited this month, to the cent', async () => {
    await beginDayThatStays()
    const member = await newMember()
    const reader = await newApp(rig.opened.service, { name: 'Reader', scopes: ['wallet:read'] })
    await member.logIn({ clientId: reader.clientId })
    await rig.client.credit(member.serviceUserId, 10)
    await rig.client.debit(member.serviceUserId, 0.1)
    await rig.client.debit(member.serviceUserId, 0.2)
    const links = `/api/widget/links?session=${member.token}`
    const { body } = await rig.page.call('GET', links, undefined, member.device)
    expect(body['links']).toMatchObject([
      {
        isThisApp: true,
        scopes: ['wallet:read', 'wallet:write'],
        month: { debited: 0.3, credited: 10, isCut: false },
      },
      { appName: 'Reader', scopes: ['wallet:read'], month: { debited: 0, credited: 0, isCut: false } },
    ])
  })
})

describe('history', () => {
  test('an operator’s action is shown without name and reason; pages follow each other', async () => {
    const member = await newMember()
    await freezeWallet(rig.opened.service, operator, member.userId, 'a secret suspicion')
    await unfreezeWallet(rig.opened.service, operator, member.userId, 'a secret suspicion')
    for (let i = 0; i < 20; i++) await member.post('names', { firstName: `Ada ${i}`, lastName: 'Lovelace' })
    const first = await member.get('/history')
    const path = `/api/widget/account/history?session=${member.token}&before=${String(first.body['nextBefore'])}`
    const next = await rig.page.call('GET', path, undefined, member.device)
    expect((first.body['events'] as { event: string }[]).map(({ event }) => event)).toEqual(
      Array(20).fill('name-changed'),
    )
    expect(next.body).toMatchObject({
      events: [
        { event: 'unfrozen', by: 'support' },
        { event: 'frozen', by: 'support' },
        { event: 'app-connected', by: 'you', appName: 'Test shop' },
        { event: 'created' },
      ],
      nextBefore: null,
    })
    expect(JSON.stringify([first.body, next.body])).not.toMatch(/suspicion|operator|"test"/)
  })

  test('a page that starts at another user’s record is empty', async () => {
    const [member, stranger] = [await newMember(), await newMember()]
    const { body } = await stranger.get('/history')
    const id = (body['events'] as { id: string }[])[0]!.id
    const path = `/api/widget/account/history?session=${member.token}&before=${id}`
    const reply = await rig.page.call('GET', path, undefined, member.device)
    expect(reply.body).toEqual({ events: [], nextBefore: null })
  })
})

describe('deletion', () => {
  test('deletion needs the password, and money, debt and a freeze prevent it', async () => {
    const member = await newMember()
    const { service } = rig.opened
    expect(resultOf(await member.post('delete', { password: 'not this one' }))).toBe('401 INVALID_CREDENTIALS')
    await rig.client.credit(member.serviceUserId, 5)
    const kept = await member.post('delete', { password })
    expect([resultOf(kept), kept.body['reason']]).toEqual(['409 ACCOUNT_NOT_DELETABLE', 'balance'])
    expect((await member.get()).body['keptReason']).toBe('balance')
    await rig.client.debit(member.serviceUserId, 5)
    await freezeWallet(service, operator, member.userId, 'x')
    expect((await member.post('delete', { password })).body['reason']).toBe('frozen')
    await unfreezeWallet(service, operator, member.userId, 'x')
    expect(resultOf(await member.post('delete', { password }))).toBe(200)
  })

  test('personal data is deleted, the books stay, and the address can sign up again as a new user', async () => {
    const member = await newMember()
    await member.open()
    await rig.client.credit(member.serviceUserId, 5, `in ${member.userId}`)
    await rig.client.debit(member.serviceUserId, 5, `out ${member.userId}`)
    await member.post('email', { email: newEmail() })
    await rig.page.auth('forgot', member.who)
    expect(resultOf(await member.post('delete', { password }))).toBe(200)
    expect(await row('select * from users where id = $1', member.userId)).toMatchObject({
      email: null,
      password_hash: null,
      first_name: '',
      last_name: '',
      language: null,
    })
    const { service } = rig.opened
    const { rows } = await service.db.pool.query<{ text: string }>(
      `select string_agg(t::text, ' ') as text from (
         select row_to_json(s)::text from sign_ups s union all select row_to_json(m)::text from mailed_codes m
         union all select row_to_json(h)::text from code_handles h
         union all select row_to_json(e)::text from email_changes e union all select row_to_json(w)::text from widget_sessions w
         union all select row_to_json(a)::text from user_addresses a union all select row_to_json(d)::text from audit d) t`,
    )
    expect(rows[0]!.text).not.toContain(member.email)
    const left = await row(
      `select (select count(*) from widget_sessions where user_id = $1) + (select count(*) from user_addresses where user_id = $1)
         + (select count(*) from devices where user_id = $1) as count`,
      member.userId,
    )
    expect(left).toEqual({ count: 0n })
    expect(resultOf(await member.open())).toBe('401 INVALID_SESSION')
    expect(resultOf(await member.logIn())).toBe('401 INVALID_CREDENTIALS')
    // The app sees an unknown user; a repeat of an earlier posting still returns its outcome.
    expect((await member.session()).status).toBe(404)
    expect(resultOf(await rig.client.debit(member.serviceUserId, 1))).toBe('404 USER_NOT_FOUND')
    expect(resultOf(await rig.client.credit(member.serviceUserId, 1))).toBe('404 USER_NOT_FOUND')
    expect(resultOf(await rig.client.wallet(member.serviceUserId))).toBe('401 USER_NOT_FOUND')
    expect(await rig.client.debit(member.serviceUserId, 5, `out ${member.userId}`)).toMatchObject({
      status: 200,
      body: { replayed: true },
    })
    const bonus = { walletId: member.userId, amountMinor: 100n, referenceId: crypto.randomUUID(), reason: 'x' }
    expect(await grantBonus(service, operator, bonus)).toEqual({ kind: 'unknown-user' })
    expect(await unfreezeWallet(service, operator, member.userId, 'x')).toBe('closed')
    expect((await member.mails(4)).at(-1)!.subject).toBe('Your wallet has been deleted')
    // The same address creates a new user.
    await member.signUp()
    const again = await member.confirm(5)
    expect(again.status).toBe(200)
    expect(again.body['serviceUserId']).not.toBe(member.serviceUserId)
    expect((await rig.client.wallet(String(again.body['serviceUserId']))).body).toMatchObject({
      balance: 0,
      transactions: [],
    })
  })

  test('the database itself refuses money for the wallet of a deleted user', async () => {
    const member = await newMember()
    await member.post('delete', { password })
    const credit = row('update wallets set balance = 1, sequence = sequence + 1 where id = $1', member.userId)
    expect(await credit.catch((error: Error) => error.message)).toContain('wallets_closed_is_empty')
    const name = row(`update users set first_name = 'Ada' where id = $1`, member.userId)
    expect(await name.catch((error: Error) => error.message)).toContain('users_deleted_is_nobody')
  })
})
