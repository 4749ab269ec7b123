import { afterAll, beforeAll, beforeEach, expect, setDefaultTimeout, test } from 'bun:test'
import { createHash } from 'node:crypto'
import { openIdentityRig, type IdentityRig } from '../../../test/identity-rig.ts'
import { secretsKey } from '../../../test/service.ts'
import { listTables, quoted } from '../../store/migrations/tables.ts'
import { upsertAddress } from '../../store/people/addresses.ts'
import { getIdentity } from '../../store/people/users.ts'
import { addressHashes } from '../limits.ts'
import { openSecrets } from '../secrets/open-secrets.ts'
import { keyPlainAddresses } from './key-addresses.ts'

setDefaultTimeout(180_000)

const plainHash = (text: string) => createHash('sha256').update(text).digest()
const otherKey = Buffer.alloc(32, 'other key').toString('base64')
const secretsOf = (...secretsKeys: string[]) => ({ secrets: openSecrets({ secretsKeys, dataDir: '/nowhere' }) })

let rig: IdentityRig
let person: ReturnType<IdentityRig['newPerson']>
let address: string
beforeAll(async () => {
  rig = await openIdentityRig()
})
beforeEach(() => {
  person = rig.newPerson()
  rig.move()
  address = rig.move()
  rig.move(address)
})
afterAll(() => rig.close())

const pool = () => rig.opened.service.db.pool

async function userIdOf(email: string): Promise<string> {
  return (await pool().query<{ id: string }>('select id from users where email = $1', [email])).rows[0]!.id
}

/** As a process of the previous release stores it. */
async function storePlain(userId: string, from: string, lastAt = 'now()'): Promise<void> {
  await pool().query(
    `insert into user_addresses (user_id, address_hash, last_at) values ($1, $2, ${lastAt})
     on conflict (user_id, address_hash) do update set last_at = excluded.last_at`,
    [userId, plainHash(from)],
  )
}

const addressesOf = async (userId: string) =>
  (
    await pool().query<{ hash: Buffer; isKeyed: boolean }>(
      'select address_hash as hash, is_keyed as "isKeyed" from user_addresses where user_id = $1 order by last_at desc',
      [userId],
    )
  ).rows

const isKnown = async (here: Parameters<typeof addressHashes>[0], from = address) =>
  (await getIdentity(pool(), person.email, await addressHashes(here, from))).isKnownAddress

test('no plain hash of an address or an email is in the database after everything that a person can do', async () => {
  const { body } = await person.newAccount()
  await person.logIn({ password: 'not this one' })
  await rig.page.auth('forgot', person.who)
  const { serviceUserId } = body
  const session = await rig.client.post('/api/widget/session', { ...rig.credentials, serviceUserId })
  expect((await rig.page.wallet(session.body['sessionToken'])).status).toBe(200)
  const rules = ['password-here', 'password-anywhere', 'password-address', 'mail-here', 'mail-anywhere', 'mail-a-day']
  const parts = [address, person.email, `${person.email}\0${address}`]
  const guesses = [...parts, ...rules.flatMap((rule) => parts.map((part) => `${rule}\0${part}`))]
  const hashes = guesses.map((guess) => plainHash(guess).toString('hex'))
  let size = 0
  for (const { name } of await listTables(pool())) {
    const { rows } = await pool().query<{ text: string }>(`select row_to_json(t)::text as text from ${quoted(name)} t`)
    const text = rows.map((row) => row.text).join('\n')
    size += text.length
    expect([name, hashes.filter((hash) => text.includes(hash))]).toEqual([name, []])
  }
  expect(size).toBeGreaterThan(1_000)
})

test('an address that an older release stored becomes a keyed one that is still known, in two processes at once', async () => {
  await person.newAccount()
  const userId = await userIdOf(person.email)
  const elsewhere = '10.77.0.1'
  await storePlain(userId, elsewhere)
  // Also stored by this release: the newer time stays.
  await storePlain(userId, address, `now() + interval '1 hour'`)
  expect(await isKnown(rig.opened.service, elsewhere)).toBeFalse()
  await Promise.all([keyPlainAddresses(rig.opened.service), keyPlainAddresses(rig.opened.service)])
  const [here] = await addressHashes(rig.opened.service, address)
  const [there] = await addressHashes(rig.opened.service, elsewhere)
  expect(await addressesOf(userId)).toEqual([
    { hash: here, isKeyed: true },
    { hash: there, isKeyed: true },
  ])
  expect(await isKnown(rig.opened.service, elsewhere)).toBeTrue()
  rig.move(elsewhere)
  const mails = (await person.mails(1)).length
  expect((await person.logIn()).status).toBe(200)
  expect((await person.mails(mails)).length).toBe(mails)
})

test('an address of an operator is converted too', async () => {
  const { rows } = await pool().query<{ id: string }>(
    `insert into operators (id, email, name, password_hash, role) values (gen_random_uuid(), 'grace@example.com', 'Grace', 'x', 'viewer')
     returning id`,
  )
  const { id } = rows[0]!
  await pool().query('insert into operator_addresses (operator_id, address_hash, last_at) values ($1, $2, now())', [
    id,
    plainHash(address),
  ])
  await keyPlainAddresses(rig.opened.service)
  const stored = await pool().query('select address_hash as hash from operator_addresses where operator_id = $1', [id])
  expect(stored.rows).toEqual([{ hash: (await addressHashes(rig.opened.service, address))[0] }])
})

test('after a new key was put first an address is still known, and the next sign-in stores it with that key', async () => {
  await person.newAccount()
  const userId = await userIdOf(person.email)
  const rotated = secretsOf(otherKey, secretsKey)
  expect(await isKnown(rotated)).toBeTrue()
  await storePlain(userId, '10.77.0.2')
  await keyPlainAddresses(rig.opened.service)
  expect(await upsertAddress(pool(), 'user', userId, await addressHashes(rotated, address))).toBeFalse()
  expect((await addressesOf(userId)).map(({ hash }) => hash)).toContainEqual(
    (await addressHashes(secretsOf(otherKey), address))[0],
  )
  expect(await addressesOf(userId)).toHaveLength(2)
  // Without the old key, what it hashed is unknown.
  expect([await isKnown(secretsOf(otherKey)), await isKnown(secretsOf(otherKey), '10.77.0.2')]).toEqual([true, false])
})

test('keyed hashes differ by key and by purpose, and are the same in every process', async () => {
  const [one] = await secretsOf(secretsKey).secrets.hashes('address', 'x')
  const [again] = await secretsOf(secretsKey).secrets.hashes('address', 'x')
  const [limit] = await secretsOf(secretsKey).secrets.hashes('limit', 'x')
  const both = await secretsOf(otherKey, secretsKey).secrets.hashes('address', 'x')
  expect(again).toEqual(one)
  expect(both[1]).toEqual(one)
  expect(new Set([one, limit, both[0]].map((hash) => hash.toString('hex'))).size).toBe(3)
})
