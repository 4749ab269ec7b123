import { afterAll, beforeAll, beforeEach, describe, expect, setDefaultTimeout, test } from 'bun:test'
import { readdir } from 'node:fs/promises'
import { join } from 'node:path'
import { minuteMs, openIdentityRig, password, wrongOf, type IdentityRig } from '../../test/identity-rig.ts'
import { mailedCode, newEmail } from '../../test/page.ts'
import { newApp, operator } from '../../test/service.ts'
import { setAppActive } from '../actions/apps/manage-apps.ts'

// Passwords are slow to check on purpose, and slower on a busy machine.
setDefaultTimeout(180_000)

const unknownHandle = `ch_${'x'.repeat(32)}`

let rig: IdentityRig
let person: ReturnType<IdentityRig['newPerson']>

beforeAll(async () => {
  rig = await openIdentityRig()
})
beforeEach(async () => {
  await rig.setLate(0)
  rig.move()
  person = rig.newPerson()
})
afterAll(() => rig.close())

describe('it works', () => {
  test('sign-up, the mailed code, and a link that the app’s backend can prove', async () => {
    const signedUp = await person.signUp()
    expect([signedUp.status, signedUp.body]).toEqual([202, { next: 'confirm', handle: expect.any(String) }])
    const { status, body } = await person.confirm()
    expect(status).toBe(200)
    expect(body['serviceUserId']).toMatch(/^su_[0-9a-f]{32}$/)
    expect((await rig.verify(body['linkCode'])).body).toEqual({ serviceUserId: body['serviceUserId'] })
    expect((await rig.client.wallet(String(body['serviceUserId']))).body).toMatchObject({ balance: 0, isActive: true })
  })

  test('signing in gives the same serviceUserId again, and another to another app', async () => {
    const { body } = await person.newAccount()
    const other = await newApp(rig.opened.service)
    expect((await person.logIn()).body['serviceUserId']).toBe(body['serviceUserId'])
    expect((await person.logIn({ email: ` ${person.email.toUpperCase()} ` })).body['serviceUserId']).toBe(
      body['serviceUserId'],
    )
    const elsewhere = await person.logIn({ clientId: other.clientId })
    expect(elsewhere.status).toBe(200)
    expect(elsewhere.body['serviceUserId']).not.toBe(body['serviceUserId'])
  })

  test('a sign-in before confirmation asks for the code, and sends no second mail while the first still works', async () => {
    const { body } = await person.signUp()
    await person.code()
    const early = await person.logIn()
    expect([early.status, early.body]).toEqual([202, { next: 'confirm', handle: body['handle'] }])
    expect((await person.mails(1)).length).toBe(1)
    await rig.setLate(16 * minuteMs)
    await person.logIn()
    expect((await person.confirm(2)).status).toBe(200)
  })

  test('a forgotten password is replaced with a mailed code, which also signs in; the owner gets a mail about it', async () => {
    const { body } = await person.newAccount()
    const asked = await rig.page.auth('forgot', person.who)
    expect([asked.status, asked.body]).toEqual([202, { next: 'reset', handle: expect.any(String) }])
    const reset = await rig.page.auth('reset', {
      ...person.who,
      code: await person.code(2),
      password: 'nine lazy otters',
    })
    expect(reset.body['serviceUserId']).toBe(body['serviceUserId'])
    expect((await person.logIn()).status).toBe(401)
    expect((await person.logIn({ password: 'nine lazy otters' })).status).toBe(200)
    expect((await person.mails(3))[2]!.subject).toContain('new password')
  })

  test('resend mails another code, and this browser no longer takes the first one', async () => {
    await person.signUp()
    const first = await person.code()
    const again = await rig.page.auth('resend', person.who)
    expect([again.status, again.body]).toEqual([202, { next: 'confirm', handle: expect.any(String) }])
    const second = await person.code(2)
    if (first !== second)
      expect((await rig.page.auth('confirm', { ...person.who, code: first })).body['code']).toBe('INVALID_CODE')
    expect((await rig.page.auth('confirm', { ...person.who, code: second })).status).toBe(200)
  })

  test('a password of any script works, in whichever way its characters are composed', async () => {
    await person.signUp({ password: 'Ｃafé 密码 🦙 \u00e9t\u00e9' })
    await person.confirm()
    expect((await person.logIn({ password: 'Ｃafé 密码 🦙 \u00e9t\u00e9'.normalize('NFD') })).status).toBe(200)
    expect((await person.logIn({ password: 'Cafe 密码 🦙 ete' })).status).toBe(401)
  })

  test('in development a mail is written to a file', async () => {
    await person.signUp()
    await person.code()
    expect((await readdir(join(rig.dataDir, 'mail'))).length).toBeGreaterThan(0)
  })
})

describe('it refuses', () => {
  test('a wrong password', async () => {
    await person.newAccount()
    const { status, body } = await person.logIn({ password: 'seven tired llama' })
    expect([status, body['code']]).toEqual([401, 'INVALID_CREDENTIALS'])
  })

  test.each(['password1', '12345678', 'short', 'x'.repeat(257), 'Dragon2024!'])(
    'the weak password %j',
    async (weak) => {
      for (const reply of [
        await person.signUp({ password: weak }),
        await rig.page.auth('reset', { ...person.who, code: '000000', handle: unknownHandle, password: weak }),
      ]) {
        expect([reply.status, reply.body['code'], Object.keys(reply.body['fields'] as object)]).toEqual([
          400,
          'WEAK_PASSWORD',
          ['password'],
        ])
      }
    },
  )

  test('a wrong code, a code of another purpose, and a code of another email', async () => {
    await person.signUp()
    const right = await person.code()
    const email2 = newEmail()
    await person.signUp({ email: email2 })
    // One time in a million both codes are equal.
    if ((await mailedCode(email2, rig.opened.logged)) === right) return
    for (const body of [
      { ...person.who, code: wrongOf(right) },
      { ...person.who, email: email2, code: right },
      { ...person.who, email: newEmail(), code: right, handle: unknownHandle },
    ]) {
      const reply = await rig.page.auth('confirm', body)
      expect([reply.status, reply.body['code']]).toEqual([400, 'INVALID_CODE'])
    }
    // Its own handle, of the other purpose.
    const reset = await rig.page.auth('reset', { ...person.who, code: right, password })
    expect(reset.body['code']).toBe('INVALID_CODE')
    expect((await person.confirm()).status).toBe(200)
  })

  test('a code a second time, and after fifteen minutes', async () => {
    await person.newAccount()
    expect((await person.confirm()).body['code']).toBe('INVALID_CODE')
    await rig.page.auth('forgot', person.who)
    const right = await person.code(2)
    await rig.setLate(15 * minuteMs + 1_000)
    expect((await rig.page.auth('reset', { ...person.who, code: right, password })).body['code']).toBe('INVALID_CODE')
    await rig.setLate(0)
    expect((await rig.page.auth('reset', { ...person.who, code: right, password })).status).toBe(200)
    expect((await rig.page.auth('reset', { ...person.who, code: right, password })).body['code']).toBe('INVALID_CODE')
  })

  test('the right code after five wrong ones, even when they all come at once', async () => {
    await person.signUp()
    const right = await person.code()
    await Promise.all(
      Array.from({ length: 8 }, () => rig.page.auth('confirm', { ...person.who, code: wrongOf(right) })),
    )
    expect((await rig.page.auth('confirm', { ...person.who, code: right })).body['code']).toBe('INVALID_CODE')
  })

  test('any code from an address after fifty wrong ones, whoever they were for, until a quarter of an hour later', async () => {
    const left = rig.move()
    await person.signUp()
    const right = await person.code()
    const guess = (email: string, code: string) => rig.page.auth('confirm', { ...person.who, email, code })
    const strangers = Array.from({ length: 50 }, () => newEmail())
    for (const email of strangers) await rig.page.auth('resend', { ...person.who, email })
    // No code was mailed to an email without a sign-up: any guess is wrong but for one in a million.
    const wrong = await Promise.all(strangers.map((email) => guess(email, wrongOf(right))))
    expect(new Set(wrong.map(({ body }) => body['code']))).toEqual(new Set(['INVALID_CODE']))
    expect(await guess(person.email, right)).toMatchObject({ status: 429, body: { code: 'RATE_LIMITED' } })
    // From another address the right code still works: the limit is the address's, not the person's.
    rig.move(left)
    expect((await guess(person.email, right)).status).toBe(200)
  })

  test('a link code a second time, of another app, after two minutes, or of a link that is gone', async () => {
    const { body } = await person.newAccount()
    const other = await newApp(rig.opened.service)
    expect((await rig.verify(body['linkCode'], other)).body['code']).toBe('INVALID_LINK_CODE')
    expect((await rig.verify(body['linkCode'])).status).toBe(200)
    expect((await rig.verify(body['linkCode'])).body['code']).toBe('INVALID_LINK_CODE')
    const second = (await person.logIn()).body['linkCode']
    await rig.setLate(2 * minuteMs + 1_000)
    expect((await rig.verify(second)).body['code']).toBe('INVALID_LINK_CODE')
    await rig.setLate(0)
    await rig.opened.service.db.pool.query('update links set disconnected_at = now() where id = $1', [
      body['serviceUserId'],
    ])
    expect((await rig.verify(second)).body['code']).toBe('INVALID_LINK_CODE')
  })

  test.each([undefined, null, 5, '', 'x'.repeat(300), {}])('the link code %j', async (linkCode) => {
    const { status, body } = await rig.verify(linkCode)
    expect([status, Object.keys(body['fields'] as object)]).toEqual([400, ['linkCode']])
  })

  test.each(['lc_\u0000', 'lc_\ud800', 'nothing'])('the unknown link code %j', async (linkCode) => {
    expect((await rig.verify(linkCode)).body['code']).toBe('INVALID_LINK_CODE')
  })

  test('an app that is unknown or inactive', async () => {
    const other = await newApp(rig.opened.service)
    await setAppActive(rig.opened.service, operator, other.clientId, false)
    for (const clientId of ['app_nobody', other.clientId]) {
      const reply = await person.signUp({ clientId })
      expect([reply.status, reply.body['code']]).toEqual([401, 'INVALID_CLIENT'])
    }
  })
})
