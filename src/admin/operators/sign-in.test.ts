import { afterAll, beforeAll, expect, test } from 'bun:test'
import { generateSync } from 'otplib'
import { firstOperatorLink } from '../../actions/operators/manage-operators.ts'
import { host, newOperator, newVisitor, password, type Visitor } from '../../../test/operator.ts'
import { mailedLink } from '../../../test/mailbox.ts'
import { openTestService, type TestService } from '../../../test/service.ts'
import { letPass } from '../../../test/time.ts'

let rig: TestService
const later = (ms: number) => letPass(rig.service.db.pool, ms)
const minutes = 60_000

beforeAll(async () => {
  rig = await openTestService()
})
afterAll(() => rig.close())

const codeOf = (secret: string, agoMs = 0) => generateSync({ secret, epoch: Math.floor((Date.now() - agoMs) / 1000) })

/** The path of the link that the invited person gets by mail. */
async function invited(email: string, role = 'admin'): Promise<string> {
  const admin = await newOperator(rig)
  expect((await admin.post('/admin/operators/invite', { email, role })).status).toBe(303)
  return await mailedLink(rig.service, email)
}

/** Creates an operator through a one-time link, with a second factor. */
async function join(link: string, email: string) {
  const visitor = newVisitor(rig.app)
  const token = new URL(link, host).searchParams.get('token')!
  expect((await visitor.get(`/admin/welcome?token=${token}`)).status).toBe(200)
  const joined = await visitor.post('/admin/welcome', { token, email, name: 'Ada', password })
  expect(joined.headers.get('location')).toBe('/admin/second-factor')
  const page = await (await visitor.get('/admin/second-factor')).text()
  const secret = /<code>([A-Z2-7 ]{32,})<\/code>/.exec(page)![1]!.replaceAll(' ', '')
  const code = codeOf(secret)
  const done = await visitor.post('/admin/second-factor', { code })
  const recoveryCodes = /<code>([a-z0-9\n-]{100,})<\/code>/.exec(await done.text())![1]!.split('\n')
  return { visitor, secret, code, recoveryCodes, token }
}

async function withPassword(email: string, visitor = newVisitor(rig.app)): Promise<Visitor> {
  await visitor.get('/admin/sign-in')
  const response = await visitor.post('/admin/sign-in', { email, password })
  expect(response.headers.get('location')).toStartWith('/admin/sign-in/code')
  return visitor
}

test('the first operator comes by a one-time link, with a second factor, and is an admin', async () => {
  const link = (await firstOperatorLink(rig.service))!
  const { visitor, token, recoveryCodes } = await join(link, 'first@example.com')
  expect(recoveryCodes).toHaveLength(10)
  expect((await visitor.get('/admin/client-apps/new')).status).toBe(200)
  expect((await newVisitor(rig.app).get(`/admin/welcome?token=${token}`)).status).toBe(404)
  expect(await firstOperatorLink(rig.service)).toBeUndefined()
})

test('only the newest first link works', async () => {
  const other = await openTestService()
  const [old, fresh] = [await firstOperatorLink(other.service), await firstOperatorLink(other.service)]
  expect((await newVisitor(other.app).get(old!.slice(host.length))).status).toBe(404)
  expect((await newVisitor(other.app).get(fresh!.slice(host.length))).status).toBe(200)
  await other.close()
})

test('password and code sign in; neither alone shows anything', async () => {
  const { secret } = await join(await invited('both@example.com', 'viewer'), 'both@example.com')
  await later(minutes)
  const visitor = await withPassword('both@example.com')
  expect((await visitor.get('/admin/wallets')).headers.get('location')).toBe('/admin/sign-in/code')
  const half = visitor.cookies.get('billfold-session')
  expect((await visitor.post('/admin/sign-in/code', { code: '000000' })).status).toBe(401)
  const response = await visitor.post('/admin/sign-in/code', { code: codeOf(secret), next: '/admin/books' })
  expect(response.headers.get('location')).toBe('/admin/books')
  expect(visitor.cookies.get('billfold-session')).not.toBe(half)
  expect((await visitor.get('/admin/wallets')).status).toBe(200)
  // The token of the first step no longer works.
  expect((await newVisitor(rig.app, new Map([['billfold-session', half!]])).get('/admin/sign-in/code')).status).toBe(
    303,
  )
})

async function statusWith(email: string, code: string): Promise<number> {
  return (await (await withPassword(email)).post('/admin/sign-in/code', { code })).status
}

test('a code is never accepted twice, nor is one from before it', async () => {
  const email = 'twice@example.com'
  const { secret, code: first } = await join(await invited(email), email)
  // The code that confirmed the set-up counts as used.
  expect(await statusWith(email, first)).toBe(401)
  await later(minutes)
  const [before, code] = [codeOf(secret, 30_000), codeOf(secret)]
  expect(await statusWith(email, code)).toBe(303)
  for (const used of [code, before]) expect(await statusWith(email, used)).toBe(401)
})

test('a code counts for half a minute before and after its time, and no longer', async () => {
  const email = 'clock@example.com'
  const { secret } = await join(await invited(email), email)
  await later(10 * minutes)
  expect(await statusWith(email, codeOf(secret, -100_000))).toBe(401)
  expect(await statusWith(email, codeOf(secret, -30_000))).toBe(303)
})

test('after the password there are ten minutes for the code', async () => {
  const email = 'slow@example.com'
  const { secret } = await join(await invited(email), email)
  await later(minutes)
  const late = await withPassword(email)
  await later(9 * minutes)
  expect((await late.get('/admin/sign-in/code')).status).toBe(200)
  await later(2 * minutes)
  expect((await late.get('/admin/sign-in/code')).headers.get('location')).toStartWith('/admin/sign-in')
  expect((await late.post('/admin/sign-in/code', { code: codeOf(secret) })).status).toBe(401)
  expect((await late.get('/admin/wallets')).status).toBe(303)
})

test('setting up the second factor ends every other session of the operator', async () => {
  const email = 'later@example.com'
  const link = await invited(email)
  const first = newVisitor(rig.app)
  const token = new URL(link, host).searchParams.get('token')!
  await first.get(`/admin/welcome?token=${token}`)
  await first.post('/admin/welcome', { token, email, name: 'Ada', password })
  await first.post('/admin/second-factor/skip')
  expect((await first.get('/admin/account')).status).toBe(200)
  const second = newVisitor(rig.app)
  await second.get('/admin/sign-in')
  await second.post('/admin/sign-in', { email, password })
  const page = await (await second.get('/admin/second-factor')).text()
  const secret = /<code>([A-Z2-7 ]{32,})<\/code>/.exec(page)![1]!.replaceAll(' ', '')
  expect((await second.post('/admin/second-factor', { code: codeOf(secret) })).status).toBe(200)
  expect((await first.get('/admin/account')).status).toBe(303)
  expect((await second.get('/admin/account')).status).toBe(200)
})

test('a recovery code signs in once', async () => {
  const { recoveryCodes } = await join(await invited('lost@example.com'), 'lost@example.com')
  const code = recoveryCodes[3]!.toUpperCase()
  expect((await (await withPassword('lost@example.com')).post('/admin/sign-in/code', { code })).status).toBe(303)
  expect((await (await withPassword('lost@example.com')).post('/admin/sign-in/code', { code })).status).toBe(401)
  const { rows } = await rig.service.db.pool.query<{ all: string }>(
    `select string_agg(c::text, ' ') as all from operator_recovery_codes c`,
  )
  for (const each of recoveryCodes) expect(rows[0]!.all).not.toContain(each)
})

test('a token planted before signing in never becomes a session', async () => {
  const { email } = await newOperator(rig)
  const planted = 'A'.repeat(43)
  const victim = newVisitor(rig.app, new Map([['billfold-session', planted]]))
  await victim.get('/admin/sign-in')
  const { 'billfold-form': form } = Object.fromEntries(victim.cookies)
  expect(form).toBeDefined()
  victim.cookies.delete('billfold-session')
  await victim.post('/admin/sign-in', { email, password })
  expect(victim.cookies.get('billfold-session')).not.toBe(planted)
  expect(victim.cookies.has('billfold-form')).toBe(false)
  expect((await newVisitor(rig.app, new Map([['billfold-session', planted]])).get('/admin/account')).status).toBe(303)
})

test('a wrong password, an unknown email and an operator without access get the same answer', async () => {
  const { email, id } = await newOperator(rig)
  const gone = await newOperator(rig)
  await rig.service.db.pool.query('update operators set is_active = false where id = $1', [gone.id])
  const answers = []
  for (const [who, what] of [
    [email, 'wrong password here'],
    ['nobody@example.com', password],
    [gone.email, password],
  ]) {
    const visitor = newVisitor(rig.app)
    await visitor.get('/admin/sign-in')
    const response = await visitor.post('/admin/sign-in', { email: who, password: what })
    const html = await response.text()
    answers.push([response.status, /role="alert"><div>([^<]+)/.exec(html)?.[1]])
  }
  expect(answers).toEqual(answers.map(() => [401, 'The email and password do not match.']))
  const { rows } = await rig.service.db.pool.query(`select subject from audit where action = 'operator.sign-in-failed'`)
  expect(rows).toContainEqual({ subject: `operator:${id}` })
  expect(rows).toContainEqual({ subject: 'operator:unknown' })
})

test('the sixth wrong password in a quarter of an hour waits, elsewhere one may still sign in', async () => {
  const { email } = await newOperator(rig)
  const guesser = newVisitor(rig.app, new Map(), '203.0.113.9')
  await guesser.get('/admin/sign-in')
  const statuses = []
  for (let i = 0; i < 6; i++)
    statuses.push((await guesser.post('/admin/sign-in', { email, password: `guess number ${i}` })).status)
  expect(statuses).toEqual([401, 401, 401, 401, 401, 429])
  const blocked = await guesser.post('/admin/sign-in', { email, password })
  expect(blocked.status).toBe(429)
  expect(Number(blocked.headers.get('retry-after'))).toBeGreaterThan(60)
  const elsewhere = newVisitor(rig.app, new Map(), '203.0.113.10')
  await elsewhere.get('/admin/sign-in')
  expect((await elsewhere.post('/admin/sign-in', { email, password })).status).toBe(303)
  await later(16 * minutes)
  expect((await guesser.post('/admin/sign-in', { email, password })).status).toBe(303)
})

test('guessing codes from one address ends after four, with the password known', async () => {
  await join(await invited('guessed@example.com'), 'guessed@example.com')
  const guesser = await withPassword('guessed@example.com')
  const statuses = []
  for (let i = 0; i < 5; i++) statuses.push((await guesser.post('/admin/sign-in/code', { code: `00000${i}` })).status)
  expect(statuses).toEqual([401, 401, 401, 401, 429])
})

test('a session ends after half an hour without a click, and pages that refresh themselves are no clicks', async () => {
  const busy = await newOperator(rig)
  for (let i = 0; i < 3; i++) {
    await later(20 * minutes)
    expect((await busy.get('/admin/account')).status).toBe(200)
  }
  for (let i = 0; i < 2; i++) {
    await later(14 * minutes)
    expect((await busy.get('/admin/overview?auto=1')).status).toBe(200)
  }
  await later(3 * minutes)
  expect((await busy.get('/admin/overview?auto=1')).status).toBe(303)
  expect((await busy.get('/admin/account')).status).toBe(303)
})

test('a session ends after twelve hours, even in use', async () => {
  const operator = await newOperator(rig)
  for (let i = 0; i < 35; i++) {
    await later(20 * minutes)
    expect((await operator.get('/admin/account')).status).toBe(200)
  }
  await later(21 * minutes)
  expect((await operator.get('/admin/account')).status).toBe(303)
})

test('signing out ends this session; signing out everywhere ends all of them', async () => {
  const here = await newOperator(rig)
  const there = newVisitor(rig.app)
  await there.get('/admin/sign-in')
  await there.post('/admin/sign-in', { email: here.email, password })
  await there.post('/admin/second-factor/skip')
  expect((await there.get('/admin/account')).status).toBe(200)
  const kept = new Map(here.cookies)
  await there.post('/admin/account/sessions/end-all')
  expect((await newVisitor(rig.app, kept).get('/admin/account')).status).toBe(303)
  expect((await there.get('/admin/account')).status).toBe(303)
})

test('taking away access ends an operator’s sessions at once; the last admin keeps it', async () => {
  const other = await openTestService()
  const [boss, clerk] = [await newOperator(other), await newOperator(other, 'viewer')]
  expect((await clerk.get('/admin/account')).status).toBe(200)
  expect((await boss.post(`/admin/operators/${clerk.id}/access`, { role: 'viewer' })).status).toBe(303)
  expect((await clerk.get('/admin/account')).status).toBe(303)
  expect((await boss.post(`/admin/operators/${boss.id}/access`, { role: 'viewer', active: 'yes' })).status).toBe(409)
  expect((await boss.post(`/admin/operators/${boss.id}/access`, { role: 'admin' })).status).toBe(409)
  await other.close()
})

test('an operator who lost password and phone gets both again by a link, and old sessions end', async () => {
  const admin = await newOperator(rig)
  const lost = await newOperator(rig)
  await admin.post(`/admin/operators/${lost.id}/reset`)
  await join(await mailedLink(rig.service, lost.email), lost.email)
  expect((await lost.get('/admin/account')).status).toBe(303)
})

test('a password that many have, or that is short, is refused with the reason beside the field', async () => {
  const operator = await newOperator(rig)
  for (const after of ['short', 'password1234', '123456789012', 'aaaaaaaaaaaaaa']) {
    const response = await operator.post('/admin/account/password', { before: password, after })
    expect(response.status).toBe(422)
    expect(await response.text()).toContain('id="field-after-problem"')
  }
  expect(
    (await operator.post('/admin/account/password', { before: 'not this one', after: 'violet tin moon rope' })).status,
  ).toBe(422)
})
