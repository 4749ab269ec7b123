import { afterAll, beforeAll, expect, test } from 'bun:test'
import { newId } from '../../actions/tokens.ts'
import { newApp, newUser, openTestService, type TestService } from '../../../test/service.ts'
import { transact, type Queryable } from '../connection/database.ts'
import { findFirstSequenceAt } from '../transfers.ts'
import { findPerson, listNewestPeople, searchPeople } from './user-search.ts'
import { insertUser } from './users.ts'

let rig: TestService
let db: Queryable

beforeAll(async () => {
  rig = await openTestService()
  db = rig.service.db.pool
  const people = [
    ['ann@example.com', 'Ann', 'Lee'],
    ['annika@example.com', 'Annika', 'Berg'],
    ['b@example.com', 'Ann', 'Bo'],
    ['c@example.com', 'Lee', 'Anning'],
    ['d@example.com', 'Zoë', 'Ångström'],
    ['e%_x@example.com', 'E', 'X'],
    ['other@example.com', 'Joann', 'Mann'],
  ] as const
  await transact(rig.service.db, async (tx) => {
    for (const [email, firstName, lastName] of people)
      await insertUser(tx, { id: newId(), email, passwordHash: null, firstName, lastName })
  })
})
afterAll(() => rig.close())

/** Every page, with the given number of rows in each. */
async function searchAll(prefix: string, limit: number): Promise<string[]> {
  const emails: string[] = []
  let after: { key: string; id: string } | undefined
  for (;;) {
    const page = await searchPeople(db, prefix, { after, limit })
    emails.push(...page.map(({ person }) => person.email!))
    const last = page.at(-1)
    if (!last || page.length < limit) return emails
    after = { key: last.key, id: last.person.id }
  }
}

test.each([1, 2, 3, 50])('a search finds everyone once, with %d on a page', async (limit) => {
  const found = await searchAll('ANN', limit)
  expect(found.toSorted()).toEqual(['ann@example.com', 'annika@example.com', 'b@example.com', 'c@example.com'])
})

test.each([
  ['ann l', ['ann@example.com']],
  ['lee', ['ann@example.com', 'c@example.com']],
  ['lee ann', ['ann@example.com', 'c@example.com']],
  ['ÅNGSTRÖM z', ['d@example.com']],
  ['e%_', ['e%_x@example.com']],
  ['%', []],
  ['nobody', []],
])('a search for %j finds %j', async (prefix, emails) => {
  expect((await searchAll(prefix, 50)).toSorted()).toEqual(emails)
})

test('paging through the newest shows everyone once, newest first', async () => {
  const ids: string[] = []
  for (let after: string | undefined; ;) {
    const page = await listNewestPeople(db, { after: after === undefined ? undefined : { id: after }, limit: 3 })
    ids.push(...page.map(({ id }) => id))
    if (page.length < 3) break
    after = page.at(-1)!.id
  }
  expect(ids).toEqual(ids.toSorted().toReversed())
  expect(new Set(ids).size).toBe(7)
})

test('a serviceUserId finds its user, also after it was disconnected', async () => {
  const { userId, serviceUserId } = await newUser(rig.service, await newApp(rig.service))
  await db.query('update links set disconnected_at = now() where id = $1', [serviceUserId])
  expect((await findPerson(db, { serviceUserId }))?.id).toBe(userId)
  expect(await findPerson(db, { serviceUserId: `${serviceUserId}0` })).toBeUndefined()
})

test('the first entry at an instant is found among any number of entries', async () => {
  const { userId } = await newUser(rig.service, await newApp(rig.service))
  await db.query(
    `insert into transfers (wallet_id, sequence, amount, balance_after, reference_key, created_at, counter_account, reference_type, reference_id)
     select $1, n, 1, n, gen_random_uuid(), '2025-01-01'::timestamptz + ((n / 2) || ' hours')::interval, 'bonus', 'T', n::text
     from generate_series(1, 1001) n`,
    [userId],
  )
  await db.query('update wallets set sequence = 1001, balance = 1001 where id = $1', [userId])
  const at = (hours: number) => findFirstSequenceAt(db, userId, new Date(Date.UTC(2025, 0, 1, hours)))
  expect(await Promise.all([at(-1), at(0), at(1), at(250), at(500), at(501)])).toEqual([1, 1, 2, 500, 1000, 1002])
  const { userId: empty } = await newUser(rig.service, await newApp(rig.service))
  expect(await findFirstSequenceAt(db, empty, new Date())).toBe(1)
})
