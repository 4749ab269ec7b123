import { afterAll, beforeAll, expect, setDefaultTimeout, test } from 'bun:test'
import { generateSync } from 'otplib'
import { addressHashes, operatorPasswords, takeGuess, takeLimit } from '../../actions/limits.ts'
import { transact } from '../../store/connection/database.ts'
import { upsertAddress } from '../../store/people/addresses.ts'
import { newOperator, newVisitor, password, type Visitor } from '../../../test/operator.ts'
import { openTestService, type TestService } from '../../../test/service.ts'
import { letPass } from '../../../test/time.ts'

// Passwords are slow to check on purpose, and slower on a busy machine.
setDefaultTimeout(180_000)

let rig: TestService
const minutes = 60_000

beforeAll(async () => {
  rig = await openTestService()
})
afterAll(() => rig.close())

async function signIn(email: string, address: string, words = password): Promise<{ status: number; visitor: Visitor }> {
  const visitor = newVisitor(rig.app, new Map(), address)
  await visitor.get('/admin/sign-in')
  const { status } = await visitor.post('/admin/sign-in', { email, password: words })
  return { status, visitor }
}

/** An operator who has signed in from the address before, and has no second factor. */
async function knownAt(address: string): Promise<string> {
  const { email } = await newOperator(rig)
  const { visitor } = await signIn(email, address)
  expect((await visitor.post('/admin/second-factor/skip')).status).toBe(303)
  return email
}

async function flood(email: string, address: string, posts: number): Promise<number[]> {
  const visitor = newVisitor(rig.app, new Map(), address)
  await visitor.get('/admin/sign-in')
  const guess = { email, password: 'not this one at all' }
  return await Promise.all(
    Array.from({ length: posts }, async () => (await visitor.post('/admin/sign-in', guess)).status),
  )
}

test('215 wrong passwords from one address lock an operator out nowhere else, at a new address or a known one', async () => {
  const email = await knownAt('198.51.100.1')
  const statuses = await flood(email, '203.0.113.66', 215)
  expect(statuses.filter((status) => status === 401)).toHaveLength(5)
  expect((await signIn(email, '198.51.100.1')).status).toBe(303)
  expect((await signIn(email, '198.51.100.2')).status).toBe(303)
})

test('guesses from thirty addresses hold up an operator at a new address, and not at one they signed in from', async () => {
  const email = await knownAt('198.51.100.3')
  // Thirty addresses with five attempts each, counted without computing the password hashes.
  for (let i = 0; i < 150; i++) await takeLimit(rig.service, operatorPasswords.anywhere, email)
  expect((await signIn(email, '198.51.100.4')).status).toBe(429)
  expect((await signIn(email, '198.51.100.3')).status).toBe(303)
  await letPass(rig.service.db.pool, 16 * minutes)
  expect((await signIn(email, '198.51.100.4')).status).toBe(303)
})

test('all addresses of one IPv6 network share an operator’s tries', async () => {
  const { email } = await newOperator(rig)
  const statuses: number[] = []
  for (let i = 0; i < 6; i++) statuses.push((await signIn(email, `2001:db8:7:7::${i + 1}`, 'not this one')).status)
  expect(statuses).toEqual([401, 401, 401, 401, 401, 429])
  expect((await signIn(email, '2001:db8:7:8::1')).status).toBe(303)
})

async function guessCodes(email: string, address: string, tries: number): Promise<number> {
  const thief = (await signIn(email, address)).visitor
  let judged = 0
  for (let i = 0; i < tries; i++) {
    const { status } = await thief.post('/admin/sign-in/code', { code: `00000${i}` })
    expect([401, 429]).toContain(status)
    if (status === 401) judged++
  }
  return judged
}

test('an attacker who has the password and guesses codes elsewhere does not lock the operator out of a known address', async () => {
  const { email, secret } = await withSecondFactor('198.51.100.5')
  expect(await guessCodes(email, '203.0.113.77', 5)).toBe(4)
  await letPass(rig.service.db.pool, 1 * minutes)
  const owner = (await signIn(email, '198.51.100.5')).visitor
  const code = generateSync({ secret })
  expect((await owner.post('/admin/sign-in/code', { code })).status).toBe(303)
})

test('eight codes of an operator are judged in a quarter of an hour, over all addresses, known ones and others', async () => {
  const { email, id } = await withSecondFactor('198.51.100.6')
  for (const known of ['198.51.100.7', '198.51.100.8'])
    await transact(rig.service.db, async (tx) =>
      upsertAddress(tx, 'operator', id, await addressHashes(rig.service, known)),
    )
  const judged: number[] = []
  for (const address of ['203.0.113.78', '203.0.113.79', '198.51.100.6', '198.51.100.7', '198.51.100.8'])
    judged.push(await guessCodes(email, address, 3))
  expect(judged).toEqual([3, 1, 3, 1, 0])
  await letPass(rig.service.db.pool, 16 * minutes)
  expect(await guessCodes(email, '203.0.113.80', 1)).toBe(1)
})

/** Makes six attempts from each address; returns how many were checked. */
async function guessPasswords(isKnownAddress: boolean, addresses: number): Promise<number> {
  const tries = Array.from({ length: addresses * 6 }, async (_, i) => {
    const guess = {
      whose: 'ada@example.com',
      address: `192.0.${Number(isKnownAddress)}.${i % addresses}`,
      isKnownAddress,
    }
    return await takeGuess(rig.service, operatorPasswords, guess)
  })
  return (await Promise.all(tries)).filter((refused) => refused === undefined).length
}

test('two hundred passwords of an operator are judged in a quarter of an hour, over all addresses, known ones and others', async () => {
  expect([await guessPasswords(true, 2), await guessPasswords(false, 40), await guessPasswords(true, 20)]).toEqual([
    10, 150, 40,
  ])
})

async function withSecondFactor(address: string): Promise<{ id: string; email: string; secret: string }> {
  const { id, email } = await newOperator(rig)
  const { visitor } = await signIn(email, address)
  const page = await (await visitor.get('/admin/second-factor')).text()
  const secret = /<code>([A-Z2-7 ]{32,})<\/code>/.exec(page)![1]!.replaceAll(' ', '')
  expect((await visitor.post('/admin/second-factor', { code: generateSync({ secret }) })).status).toBe(200)
  return { id, email, secret }
}
