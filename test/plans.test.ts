/**
 * The plans of the frequent statements, on a database of 30,000 users (in the long form 100,000) that was never analysed, as one is
 * just after a restore. Each statement is recorded as the service sends it and explained on the same connection, so with that
 * connection's settings.
 */
import { afterAll, beforeAll, expect, setDefaultTimeout, test } from 'bun:test'
import { Client } from 'pg'
import { checkBooks } from '../src/actions/money/check-books.ts'
import { replaceDevice } from '../src/actions/people/trust-device.ts'
import { createSession } from '../src/actions/people/open-session.ts'
import { connectApp } from '../src/actions/people/manage-links.ts'
import { newId, newServiceUserId } from '../src/actions/tokens.ts'
import { receiptCodeOf } from '../src/ledger/receipt-code.ts'
import { findApp } from '../src/store/apps.ts'
import { closeLedger } from '../src/store/closing/close-ledger.ts'
import { longRunning } from '../src/store/connection/database.ts'
import { openClient } from '../src/store/connection/servers.ts'
import { insertSeed } from '../src/store/seed.ts'
import { findChangedWallets } from '../src/store/wallets.ts'
import { newClient } from './client.ts'
import { holdClient, holdOf, sweepHolds } from './holds.ts'
import { planFor, plansOf, wrongWalks, type Node } from './query-plans.ts'
import { recordQueries, type RecordedQuery } from './recorded-queries.ts'
import { newOperator, type TestOperator } from './operator.ts'
import { newPage } from './page.ts'
import { deviceOf } from './devices.ts'
import { newApp, openTestService, type Credentials, type TestService, type TestUser } from './service.ts'
import { wantsAll } from './wants-all.ts'

setDefaultTimeout(180_000)

const tenThousands = wantsAll ? 10 : 3

/** Tables that grow with the number of people and operations, and the indexes they may be walked by. */
const indexesOf: Record<string, readonly string[]> = {
  links: ['links_pkey'],
  wallets: ['wallets_pkey'],
  users: ['users_pkey', 'users_email_key', 'users_email_search', 'users_name_search', 'users_last_name_search'],
  transfers: ['transfers_pkey', 'transfers_created_at'],
  outcomes: ['outcomes_pkey'],
  repeats: ['repeats_pkey'],
  widget_sessions: ['widget_sessions_pkey'],
  link_codes: ['link_codes_pkey'],
  devices: ['devices_token_hash_key'],
  holds: ['holds_pkey', 'holds_open_of_app', 'holds_closed_of_app', 'holds_notice'],
  hold_steps: ['hold_steps_pkey', 'hold_steps_of_entry'],
}

let opened: TestService
let operator: TestOperator
let credentials: Credentials
const people: TestUser[] = []

beforeAll(async () => {
  opened = await openTestService()
  // Without the service's limit for a statement: rows by the thousand, on a machine that may be busy.
  const db = new Client({ connectionString: opened.databaseUrl })
  await db.connect()
  credentials = await newApp(opened.service)
  operator = await newOperator(opened)
  for (const table of Object.keys(indexesOf)) await db.query(`alter table ${table} set (autovacuum_enabled = false)`)
  for (let slice = 0; slice < tenThousands; slice++) {
    const users = Array.from({ length: 10_000 }, () => {
      const userId = newId()
      const referenceKey = userId.replaceAll('-', '')
      const email = `${userId}@example.com`
      return { userId, email, firstName: 'Ada', serviceUserId: newServiceUserId(), referenceKey, referenceId: userId }
    })
    people.push(...users)
    const gift = { counterAccount: 'bonus', referenceType: 'BONUS', description: 'Seed', writer: 0 }
    await insertSeed(db, users, { ...gift, clientId: credentials.clientId, creditMinor: 10_000n })
  }
  await db.query(
    `insert into widget_sessions (token_hash, client_id, link_id, user_id, parent_origin, created_at, expires_at)
     select sha256(convert_to(id, 'UTF8')), client_id, id, user_id, null, now(), now() + '1 hour' from links`,
  )
  await db.query(
    `insert into link_codes (code_hash, link_id, client_id, expires_at)
     select sha256(convert_to(id, 'UTF8')), id, client_id, now() + '1 hour' from links`,
  )
  await db.query(
    `insert into devices (id, token_hash, user_id, client_id, address_hash, expires_at)
     select gen_random_uuid(), sha256(convert_to(id, 'UTF8')), user_id, client_id, sha256('x'), now() + '1 hour' from links`,
  )
  // Of ten thousand a hold that has ended and one that is open.
  const holders = people.slice(0, 10_000).map(({ userId }) => userId)
  await db.query(
    `insert into holds (wallet_id, id, client_id, reference_type, reference_id, amount, released, created_at, expires_at, closed_at, ended_by)
     select id, gen_random_uuid(), $1, 'ORDER', 'x', 1, case when is_open then 0 else 1 end, now() - interval '1 day', now() + interval '1 day',
       case when not is_open then now() end, case when not is_open then 'void' end
     from unnest($2::uuid[]) id, unnest(array[true, false]) is_open`,
    [credentials.clientId, holders],
  )
  await db.query('update wallets set held = 1 where id = any($1)', [holders])
  await db.query(
    `insert into hold_steps (wallet_id, hold_id, number, kind, amount, actor, at)
     select wallet_id, id, 1, 'extend', 0, 'system', now() from holds`,
  )
  await db.query(
    `insert into repeats (reference_key, wallet_id, amount, times, first_at, last_at)
     select reference_key, wallet_id, amount, 1, now(), now() from outcomes`,
  )
  await db.end()
})

afterAll(async () => await opened.close())

/** On a separate connection of the same pool: a job that shared it would end the transaction, and the setting with it. */
async function plansWith(setting: RecordedQuery, query: RecordedQuery): Promise<Node[]> {
  const pooled = await opened.service.db.pool.connect()
  const client = pooled as unknown as Client
  await client.query(`begin; ${setting.text}`)
  const plans = await plansOf({ ...query, client })
  await client.query('rollback')
  pooled.release()
  return plans
}

/** What a transaction sets for itself holds for the statements after it: they are explained with it too. */
const isSetting = ({ text }: RecordedQuery) => /^select set_config\('\w+', '\w+', true\)/.test(text)

const tables = [...Object.keys(indexesOf), 'closed_transfers_1', 'closed_outcomes_1']
const allowedIndexes = Object.values(indexesOf)
  .flat()
  .flatMap((index) => [index, `closed_1_${index}`])
const readsOneOf = (some: readonly string[]) => (query: RecordedQuery) =>
  some.some((table) => query.text.includes(` ${table} `) || query.text.includes(` all_${table} `))

async function search(q: string): Promise<void> {
  const { status } = await operator.get(`/admin/search?q=${encodeURIComponent(q)}`)
  expect([200, 303]).toContain(status)
}

const ok = (reply: { status: number; body: unknown }) => expect(reply.status, JSON.stringify(reply.body)).toBe(200)

/** What is asked all day, and how many different statements on large tables that takes at least. */
type Path = [
  name: string,
  statements: number,
  work: (client: ReturnType<typeof newClient>) => Promise<void>,
  /** What a page may walk by besides. */
  also?: readonly string[],
]

const paths: Path[] = [
  ['a debit', 1, async (client) => ok(await client.debit(people[1]!.serviceUserId, 1, 'first'))],
  [
    'many debits at once, refused and repeated ones and strangers among them',
    2,
    async (client) => {
      const { serviceUserId } = people[2]!
      await Promise.all([
        ...people.slice(100, 200).map((person) => client.debit(person.serviceUserId, 1)),
        ...[60, 60, 30].map((amount) => client.debit(serviceUserId, amount)),
        client.debit(people[1]!.serviceUserId, 1, 'first'),
        client.debit(people[3]!.serviceUserId, 1_000),
        client.debit(newServiceUserId(), 1),
        client.credit(people[4]!.serviceUserId, 1),
      ])
    },
  ],
  [
    'a repeated debit, noted',
    2,
    async (client) => {
      ok(await client.debit(people[1]!.serviceUserId, 1, 'first'))
      await opened.service.repeats.close()
    },
  ],
  ['GET wallet', 2, async (client) => ok(await client.wallet(people[5]!.serviceUserId))],
  [
    'a hold, its capture, its extension, its end, and their list',
    6,
    async (client) => {
      const holds = holdClient(client, credentials)
      const { serviceUserId } = people[20]!
      const { id } = holdOf(await holds.place(serviceUserId, 5))
      for (const reply of [
        await holds.extend(id, 1_000_000),
        await holds.capture(id, { amount: 1, final: false, referenceType: 'PART', referenceId: 'plans' }),
        await holds.void(id),
        await holds.read(id),
        await holds.list(serviceUserId),
        await holds.list(serviceUserId, { status: 'OPEN', before: id }),
      ])
        ok(reply)
      // Refused in the careful lane, after a look for expired holds.
      expect((await client.debit(serviceUserId, 1_000)).status).toBe(400)
      await sweepHolds(opened)
    },
    // A capture is reported to the apps with a live link to the wallet.
    ['links_live'],
  ],
  ['check-balance', 1, async (client) => ok(await client.checkBalance(people[5]!.serviceUserId, '1'))],
  [
    'a session, and the wallet in its widget',
    3,
    async () => {
      const app = await findApp(opened.service.db.pool, credentials.clientId)
      const made = await createSession(opened.service, app!, { ...people[6]!, parentOrigin: null })
      if (made.kind !== 'created') throw new Error(made.kind)
      ok(await newPage(opened.app.fetch).wallet(made.sessionToken))
    },
  ],
  [
    'the wallet in a widget on a device, and a sign-in there',
    4,
    async () => {
      const app = await findApp(opened.service.db.pool, credentials.clientId)
      const made = await createSession(opened.service, app!, { ...people[6]!, parentOrigin: null })
      if (made.kind !== 'created') throw new Error(made.kind)
      const owner = { userId: people[6]!.userId, clientId: credentials.clientId }
      const { deviceToken, cookie } = await deviceOf(opened.service, owner)
      const seen = await newPage(opened.app.fetch, undefined, { cookie }).wallet(made.sessionToken)
      expect(seen.body['proof']).toBe('presence')
      await replaceDevice(opened.service.db.pool, people[6]!.userId, { address: '', userAgent: null, deviceToken })
    },
    ['devices_user_id', 'devices_pkey'],
  ],
  [
    'the search of a wallet’s entries by text, month and amount, and their sum',
    4,
    async () => {
      const app = await findApp(opened.service.db.pool, credentials.clientId)
      const made = await createSession(opened.service, app!, { ...people[6]!, parentOrigin: null })
      if (made.kind !== 'created') throw new Error(made.kind)
      const owner = { userId: people[6]!.userId, clientId: credentials.clientId }
      const { cookie } = await deviceOf(opened.service, owner)
      const month = { from: '2026-03-01T00:00:00.000Z', until: '2999-01-01T00:00:00.000Z' }
      const query = { session: made.sessionToken, search: 'seed', min: '1', max: '500', amount: '100', ...month }
      for (const path of ['activity', 'activity/sums'])
        ok(
          await newPage(opened.app.fetch, undefined, { cookie }).get(
            `/api/widget/${path}?${new URLSearchParams(query)}`,
          ),
        )
    },
    ['links_live', 'devices_user_id', 'devices_pkey'],
  ],
  [
    'the proof of a link',
    1,
    async (client) => {
      const app = await findApp(opened.service.db.pool, credentials.clientId)
      const { linkCode } = (await connectApp(opened.service.db.pool, app!, people[7]!.userId, '10.0.0.1'))!
      ok(await client.post('/api/server/link/verify', { ...credentials, linkCode }))
    },
  ],
  ['a search for an email', 4, () => search(`${people[8]!.userId}@example.com`)],
  ['a search for a name', 3, () => search('Ada')],
  ['a search for a user id', 3, () => search(people[8]!.userId)],
  ['a search for a serviceUserId', 2, () => search(people[8]!.serviceUserId)],
  [
    'a search for a transaction, a receipt’s code and a reference id',
    4,
    async (client) => {
      const { body } = await client.debit(people[1]!.serviceUserId, 1, 'first')
      const transactionId = String(body['transactionId'])
      await opened.service.referenceTypes.close()
      for (const q of [transactionId, receiptCodeOf(transactionId.slice('txn_'.length)), 'first']) await search(q)
    },
  ],
  ['a search for an amount on a day', 1, () => search('100 today')],
  ['a search for an amount without a day that many entries have', 1, () => search('100')],
  ['a search for an amount without a day that no entry has', 5, () => search('77.77')],
  ['a search for the middle of an email that many users have', 1, () => search('xample.co')],
  ['a search for the middle of an email that no user has', 1, () => search('@nowhere')],
  ['a search for a correction, a payout, an operator, an invitation or a note by id', 3, () => search(newId())],
  ['a search for a payout’s reference', 3, () => search('SEPA 4711')],
  ['a search for a secret’s fingerprint and for a request id', 3, () => search('a2f9').then(() => search('req_0'))],
  [
    'the page of a wallet',
    5,
    async () => expect((await operator.get(`/admin/wallets/${people[9]!.userId}?ref=x`)).status).toBe(200),
    ['links_live', 'widget_sessions_user_id'],
  ],
  [
    'a check of the wallets of 15,000 open widgets',
    1,
    async () => {
      const seen = people
        .slice(0, 15_000)
        .map(({ userId }) => ({ walletId: userId, sequence: 1, heldMinor: 0n, frozenFor: null }))
      await findChangedWallets(opened.service.db.pool, seen)
    },
  ],
]

const walksByKeys = async (...[, statements, work, also = []]: Path) => {
  const client = newClient(opened.app.fetch, credentials)
  const recorded = await recordQueries(() => work(client))
  const large = recorded.filter(readsOneOf(tables))
  expect(large.length).toBeGreaterThanOrEqual(statements)
  const wrong: string[] = []
  for (const each of large) {
    const setting = recorded.findLast(
      (other, i) => isSetting(other) && i < recorded.indexOf(each) && other.client === each.client,
    )
    for (const plan of setting ? await plansWith(setting, each) : await plansOf(each))
      wrong.push(
        ...wrongWalks(plan, tables, [...allowedIndexes, ...also]).map(
          (walk) => `${walk}: ${each.text.trim().slice(0, 150)}`,
        ),
      )
  }
  expect(wrong).toEqual([])
}

test.each(paths)('without statistics %s walks large tables by their keys', walksByKeys)

const ofBooks = (recorded: RecordedQuery[]) => recorded.filter(readsOneOf(['transfers', 'outcomes', 'wallets']))

test('without statistics the check of the books walks what it reads by its keys', async () => {
  const service = longRunning(opened.service)
  /** The parts of the check that are due, once. */
  const check = async (...parts: ('next_pass_at' | 'next_slice_at')[]) => {
    const columns = ['next_sums_at', 'next_pass_at', 'next_slice_at'].map(
      (part) => `${part} = ${parts.some((due) => due === part) ? `'-infinity'` : `'infinity'`}`,
    )
    await service.db.pool.query(`update books_check set ${columns.join(', ')}`)
    return await recordQueries(() => checkBooks(service))
  }
  // Every wallet is new to the first pass: it follows thousands of them, each by its key.
  const stretches = ofBooks(await check('next_pass_at')).filter(({ text }) => text.includes('unnest($1::uuid[]'))
  expect(stretches.length).toBeGreaterThanOrEqual(3)
  // The first slice of a round has no beginning and the last one no end; those between are what a large ledger is made of.
  await check('next_slice_at')
  const slices = ofBooks(await check('next_slice_at'))
  expect(slices.length).toBeGreaterThanOrEqual(5)
  expect(slices.filter(({ values }) => values[0] === null)).toEqual([])
  const wrong: string[] = []
  for (const each of [...stretches, ...slices])
    for (const walk of wrongWalks(await planFor(each), tables, [
      ...allowedIndexes,
      'links_live',
      'verified_wallets_pkey',
    ]))
      wrong.push(`${walk}: ${each.text.trim().slice(0, 150)}`)
  expect(wrong).toEqual([])
})

test('nothing was analysed on the way', async () => {
  const { rows } = await opened.service.db.pool.query(
    'select distinct tablename from pg_stats where tablename = any($1)',
    [Object.keys(indexesOf)],
  )
  expect(rows).toEqual([])
})

test('without statistics the same paths walk a closed period by its keys', async () => {
  const client = await openClient(opened.service.db.connection, { name: 'test' })
  await closeLedger(opened.service.db.connection, client, { record: async () => {} })
  await client.end()
  for (const [name, statements, work, also] of paths) {
    // Some ask less the second time.
    await walksByKeys(name, Math.min(statements, 1), work, also).catch((error: unknown) => {
      throw new Error(name, { cause: error })
    })
  }
})
