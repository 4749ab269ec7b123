import { afterAll, beforeAll, beforeEach, describe, expect, setDefaultTimeout, spyOn, test } from 'bun:test'
import { minuteMs, openIdentityRig, password, type IdentityRig } from '../../test/identity-rig.ts'
import { mailsTo, newEmail } from '../../test/page.ts'
import { takeLimit, userPasswords } from '../actions/limits.ts'
import { isPassword, passwordCounts } from '../actions/people/passwords.ts'

// Passwords are slow to check on purpose, and slower on a busy machine.
setDefaultTimeout(180_000)

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

describe('it does not reveal who has an account', () => {
  test('an unknown email and a wrong password: the same answer after the same number of hashes', async () => {
    await person.newAccount()
    const known = await counted(() => person.logIn({ password: 'not this one' }))
    const unknown = await counted(() => person.logIn({ email: newEmail(), password: 'not this one' }))
    expect(known.hashes).toBe(1)
    expect(unknown).toEqual(known)
  })

  test('signing up with a fresh email, a taken one, and one that waits: the same answer and number of hashes', async () => {
    await person.newAccount()
    const waiting = newEmail()
    await person.signUp({ email: waiting })
    const fresh = await counted(() => person.signUp({ email: newEmail() }))
    expect(fresh.hashes).toBe(3)
    expect(await counted(() => person.signUp())).toEqual(fresh)
    expect(await counted(() => person.signUp({ email: waiting }))).toEqual(fresh)
    const letters = await person.mails(2)
    expect(letters[1]!.subject).toBe('You already have a wallet')
    expect(letters[1]!.text).not.toMatch(/\d{6}/)
    expect((await person.logIn()).status).toBe(200)
  })

  test.each(['forgot', 'resend'])(
    '%s for a known email and an unknown one: the same answer and number of hashes',
    async (step) => {
      await (step === 'forgot' ? person.newAccount() : person.signUp())
      const stranger = newEmail()
      const known = await counted(() => rig.page.auth(step, person.who))
      expect(known.hashes).toBe(1)
      expect(await counted(() => rig.page.auth(step, { ...person.who, email: stranger }))).toEqual(known)
      expect(await person.mails(2)).toHaveLength(2)
      expect(await mailsTo(stranger, rig.opened.logged, 0)).toEqual([])
    },
  )

  test('limits are the same for an email with an account and without', async () => {
    await person.newAccount()
    const results: unknown[] = []
    for (const each of [person.email, newEmail()]) {
      const statuses: number[] = []
      for (let i = 0; i < 12; i++) statuses.push((await person.logIn({ email: each, password: 'not this one' })).status)
      results.push(statuses)
    }
    expect(results[0]).toEqual([...Array(10).fill(401), 429, 429])
    expect(results[1]).toEqual(results[0])
  })
})

describe('it is safe', () => {
  test('a stranger who uses up the attempts does not block the owner’s own address, and no other address for long', async () => {
    await person.newAccount()
    const home = rig.move()
    for (let i = 0; i < 99; i++) await takeLimit(rig.opened.service, userPasswords.anywhere, person.email)
    rig.move()
    expect((await person.logIn({ password: 'not this one' })).status).toBe(401)
    rig.move()
    const limited = await person.logIn()
    expect([limited.status, limited.body['code']]).toEqual([429, 'RATE_LIMITED'])
    expect(Number(limited.headers.get('retry-after'))).toBeGreaterThan(0)
    expect(Number(limited.headers.get('retry-after'))).toBeLessThanOrEqual(900)
    rig.move(home)
    expect((await person.logIn()).status).toBe(200)
    rig.move()
    await rig.setLate(15 * minuteMs + 1_000)
    expect((await person.logIn()).status).toBe(200)
  })

  test('a blocked user can still sign in by mail', async () => {
    await person.newAccount()
    rig.move()
    for (let i = 0; i < 11; i++) await person.logIn({ password: 'not this one' })
    expect((await person.logIn()).status).toBe(429)
    await rig.page.auth('forgot', person.who)
    expect((await rig.page.auth('reset', { ...person.who, code: await person.code(2), password })).status).toBe(200)
    expect((await person.logIn()).status).toBe(200)
  })

  test('one address that tries many emails is slowed down', async () => {
    const here = rig.move('10.2.0.1')
    rig.move(here)
    for (let i = 0; i < 99; i++) await takeLimit(rig.opened.service, userPasswords.wrongOfAddress!, here)
    expect((await person.logIn()).status).toBe(401)
    const { status, headers } = await person.logIn({ email: newEmail() })
    expect([status, headers.has('retry-after')]).toEqual([429, true])
    rig.move()
    expect((await person.logIn()).status).toBe(401)
  })

  test('one network that signs up many emails is slowed down, and no other', async () => {
    const left = rig.move('10.2.0.2')
    for (let i = 0; i < 50; i++) rig.opened.service.signUps.count('10.2.0.2', rig.opened.service.now())
    const { status, body, headers } = await person.signUp()
    expect([status, body['code'], headers.has('retry-after')]).toEqual([429, 'RATE_LIMITED', true])
    rig.move(left)
    expect((await person.signUp()).status).toBe(202)
  })

  test('mails to one address are limited, no matter which caller requests them', async () => {
    await person.newAccount()
    const statuses: number[] = []
    for (let i = 0; i < 12; i++) {
      rig.move()
      statuses.push((await rig.page.auth('forgot', person.who)).status)
    }
    // The mail of the sign-up was the first of ten.
    expect(statuses).toEqual([...Array(9).fill(202), 429, 429, 429])
    await rig.setLate(61 * minuteMs)
    expect((await rig.page.auth('forgot', person.who)).status).toBe(202)
  })

  test('no one can create an account with another person’s email and a chosen password', async () => {
    await person.signUp({ password: 'the thief’s own words' })
    rig.move()
    await person.signUp()
    rig.move()
    await person.signUp({ password: 'the thief’s own words' })
    // The owner of the mailbox enters the newest code, which the thief’s sign-up triggered.
    expect((await person.confirm(3)).status).toBe(200)
    expect((await person.logIn({ password: 'the thief’s own words' })).status).toBe(401)
    expect((await person.mails(4))[3]!.subject).toContain('Choose a password')
    await rig.page.auth('forgot', person.who)
    expect((await rig.page.auth('reset', { ...person.who, code: await person.code(5), password })).status).toBe(200)
    expect((await person.logIn()).status).toBe(200)
  })

  test('signing up twice with the same password is one sign-up', async () => {
    await person.signUp()
    await person.signUp()
    expect((await person.confirm(2)).status).toBe(200)
    expect((await person.logIn()).status).toBe(200)
  })

  test('one code used by five callers at once creates one account', async () => {
    await person.signUp()
    const right = await person.code()
    const replies = await Promise.all(
      Array.from({ length: 5 }, () => rig.page.auth('confirm', { ...person.who, code: right })),
    )
    expect(replies.map((reply) => reply.status).toSorted((a, b) => a - b)).toEqual([200, 400, 400, 400, 400])
  })

  test('a new password voids the link codes issued before', async () => {
    await person.newAccount()
    const { linkCode } = (await person.logIn()).body
    await rig.page.auth('forgot', person.who)
    await rig.page.auth('reset', { ...person.who, code: await person.code(2), password })
    expect((await rig.verify(linkCode)).body['code']).toBe('INVALID_LINK_CODE')
  })

  test('codes, link codes and passwords are nowhere in the database', async () => {
    await person.signUp()
    const mailed = await person.code()
    const { rows } = await rig.opened.service.db.pool.query(
      'select * from code_handles m join sign_ups s using (email) where email = $1',
      [person.email],
    )
    expect(rows).toHaveLength(1)
    expect(rows[0].code_hash).toStartWith('$argon2id$')
    expect(rows[0].handle_hash).toHaveLength(32)
    expect(JSON.stringify(rows)).not.toContain(password)
    const { body } = await rig.page.auth('confirm', { ...person.who, code: mailed })
    const codes = await rig.opened.service.db.pool.query('select * from link_codes where link_id = $1', [
      body['serviceUserId'],
    ])
    expect(codes.rows).toHaveLength(1)
    expect(codes.rows[0].code_hash).toHaveLength(32)
  })

  test('no password, email or code gets into the log beside the mails of development', async () => {
    await person.newAccount()
    await person.logIn({ password: 'not this one' })
    const lines = rig.opened.logged.filter((line) => JSON.parse(line).message !== 'mail').join('')
    for (const secret of [password, person.email, 'not this one', await person.code()])
      expect(lines).not.toContain(secret)
  })

  test('when too many password checks are waiting, the next is refused with Retry-After', async () => {
    // Two checks that never end occupy the slots, and five hundred wait behind them.
    const held = Promise.withResolvers<boolean>()
    const verify = spyOn(Bun.password, 'verify').mockReturnValue(held.promise)
    try {
      const waiting = Array.from({ length: 502 }, () => isPassword(rig.opened.service, 'x', null))
      const { status, body, headers } = await person.logIn()
      expect([status, body['code'], headers.get('retry-after')]).toEqual([429, 'RATE_LIMITED', '5'])
      held.resolve(false)
      await Promise.all(waiting)
    } finally {
      verify.mockRestore()
    }
    expect((await person.logIn()).status).toBe(401)
  })
})

async function counted(work: () => ReturnType<IdentityRig['page']['auth']>) {
  const before = passwordCounts().started
  const { status, body } = await work()
  const { requestId: _, handle, ...rest } = body
  return {
    status,
    body: { ...rest, ...(handle !== undefined && { handle: shapeOf(handle) }) },
    hashes: passwordCounts().started - before,
  }
}

/** Handles are random; everything else about them is the same for every email. */
function shapeOf(handle: unknown): string {
  return String(handle).replace(/[A-Za-z0-9_-]{32}$/, '…')
}
