import { afterAll, beforeAll, beforeEach, expect, setDefaultTimeout, test } from 'bun:test'
import { openIdentityRig, password, type IdentityRig } from '../../test/identity-rig.ts'
import { mailsTo, newEmail } from '../../test/page.ts'
import { hashPassword, passwordCounts } from '../actions/people/passwords.ts'
import { newId } from '../actions/tokens.ts'
import { transact } from '../store/connection/database.ts'
import { insertUser } from '../store/people/users.ts'

// Passwords are slow to check on purpose, and slower on a busy machine.
setDefaultTimeout(240_000)

let rig: IdentityRig
let passwordHash: string

beforeAll(async () => {
  rig = await openIdentityRig()
  countMails(rig.opened)
  passwordHash = await hashPassword(rig.opened.service, password)
})
beforeEach(() => void rig.move())

/** The number of mails queued per address. They are queued before the answer and sent after it. */
const given = new Map<string, number>()
function countMails({ service }: IdentityRig['opened']): void {
  const { mail } = service
  const { send } = mail
  // In the object itself: the routes of the widget have a copy of the service.
  Object.assign(mail, {
    send: (letter: Parameters<typeof send>[0]) => {
      given.set(letter.to, (given.get(letter.to) ?? 0) + 1)
      send(letter)
    },
  })
}
/** Waits until all of them have been sent, and returns them. */
const mailsOf = (email: string) => mailsTo(email, rig.opened.logged, given.get(email) ?? 0)

afterAll(() => rig.close())

/** The steps that a stranger can try with a known email, without the account's password and without access to its mail. */
const guess = 'the stranger’s own words'
const names = { firstName: 'Ada', lastName: 'Lovelace' }
const steps = {
  'sign-up': { route: 'sign-up', fields: { password: guess, ...names } },
  'sign-up otherwise': { route: 'sign-up', fields: { password: 'some quite other words', ...names } },
  login: { route: 'login', fields: { password: guess } },
  'login otherwise': { route: 'login', fields: { password: 'not this one at all' } },
  forgot: { route: 'forgot', fields: {} },
  reset: { route: 'reset', fields: { code: 'wrong', password: guess } },
  resend: { route: 'resend', fields: {} },
  confirm: { route: 'confirm', fields: { code: 'wrong' } },
} as const
type Step = keyof typeof steps
const stepNames = Object.keys(steps) as Step[]

/** The emails whose handle the stranger's browser holds. */
const handles = new Set<string>()

async function newAccount(): Promise<string> {
  const email = newEmail()
  const user = { id: newId(), email, passwordHash, ...names }
  await transact(rig.opened.service.db, async (tx) => expect(await insertUser(tx, user)).toBe(true))
  return email
}

/** Everything that a stranger can observe: the answer, and the number of slow hashes behind it. */
async function take(step: Step, email: string) {
  const { route, fields } = steps[step]
  const before = passwordCounts().started
  const code = 'code' in fields && { code: await wrongCode(email) }
  const who = { clientId: rig.credentials.clientId, email }
  // A stranger without a handle makes one up.
  const handle = 'code' in fields && !handles.has(email) && { handle: `ch_${'x'.repeat(32)}` }
  const { status, headers, body } = await rig.page.auth(route, { ...who, ...fields, ...code, ...handle })
  const { requestId: _, handle: given, ...rest } = body
  if (given !== undefined) handles.add(email)
  // Rounded to minutes: it counts from the first attempt of the sequence, and the machine's speed varies.
  const retryAfter = Math.ceil(Number(headers.get('retry-after')) / 60)
  return {
    step,
    status,
    body: rest,
    handle: String(given).length,
    retryAfter,
    hashes: passwordCounts().started - before,
  }
}

/** A code that was not mailed to this address. */
async function wrongCode(email: string): Promise<string> {
  const mailed = (await mailsOf(email)).map(({ text }) => /\b\d{6}\b/.exec(text)?.[0])
  return ['000000', '000001', '000002', '000003'].find((code) => !mailed.includes(code))!
}

async function takeAll(sequence: readonly Step[], email: string) {
  rig.move()
  const seen = []
  for (const step of sequence) seen.push(await take(step, email))
  return seen
}

/** An email without an account or a pending sign-up gets no mail about a forgotten password. */
function unsent(sequence: readonly Step[]): number {
  const first = sequence.findIndex((step) => step.startsWith('sign-up'))
  return sequence.slice(0, first < 0 ? sequence.length : first).filter((step) => step === 'forgot').length
}

async function expectSame(sequences: readonly (readonly Step[])[]): Promise<void> {
  const pairs = []
  for (const sequence of sequences) {
    const [known, unknown] = [await newAccount(), newEmail()]
    const seen = await takeAll(sequence, known)
    expect(await takeAll(sequence, unknown)).toEqual(seen)
    pairs.push({ sequence, known, unknown })
  }
  for (const { sequence, known, unknown } of pairs) {
    const [some, others] = [await mailsOf(known), await mailsOf(unknown)]
    expect([sequence, others.length + unsent(sequence)]).toEqual([sequence, some.length])
  }
}

test.each(stepNames)(
  '%s and then any other step answer the same for an email with an account and one without',
  async (first) => {
    await expectSame(stepNames.map((second) => [first, second]))
  },
)

test.each(['sign-up otherwise', 'login'] as const)(
  'sign-up, %s and then any other step answer the same with an account and without',
  async (second) => {
    await expectSame(stepNames.map((third) => ['sign-up', second, third]))
  },
)

test('a sign-up’s password does not reset the count of wrong guesses, with an account or without', async () => {
  const sequence: Step[] = ['sign-up', ...Array<Step>(9).fill('login otherwise'), 'login', 'login otherwise']
  const seen = await takeAll(sequence, await newAccount())
  expect(seen.map(({ status }) => status)).toEqual([202, ...Array<number>(9).fill(401), 202, 429])
  expect(await takeAll(sequence, newEmail())).toEqual(seen)
})

test('a stranger’s sign-up changes nothing for the account’s own password, and costs it no second hash', async () => {
  const email = await newAccount()
  await takeAll(['sign-up', 'login', 'confirm'], email)
  rig.move()
  const before = passwordCounts().started
  const { status } = await rig.page.auth('login', { clientId: rig.credentials.clientId, email, password })
  expect([status, passwordCounts().started - before]).toEqual([200, 1])
  const { rows } = await rig.opened.service.db.pool.query('select password_hash from users where email = $1', [email])
  expect(rows).toEqual([{ password_hash: passwordHash }])
})
