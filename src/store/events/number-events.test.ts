import { afterAll, beforeAll, expect, setDefaultTimeout, test } from 'bun:test'
import { eventually } from '../../../test/eventually.ts'
import {
  creditOf,
  newAppWithEvents,
  openLane,
  postBatch,
  readAll,
  seeded,
  sequencesOf,
} from '../../../test/events/rig.ts'
import { beginPatiently, lockWaitsSql } from '../../../test/lock-waits.ts'
import {
  linkUser,
  newApp,
  newUser,
  newUsers,
  openTestService,
  type TestService,
  type TestUser,
} from '../../../test/service.ts'
import { freezeWallet, unfreezeWallet } from '../../actions/money/manage-wallets.ts'
import { transact } from '../connection/database.ts'
import type { WriterClient } from '../writer/connection.ts'
import { updateLinkDisconnected } from '../links.ts'
import { lockWallet } from '../wallets.ts'
import { journalPing, journalUserFact } from './journal.ts'
import { deleteOldEvents, hasUnnumbered, numberEvents } from './number-events.ts'
import { listStalledApps } from './stalled-events.ts'

setDefaultTimeout(120_000)

let opened: TestService
beforeAll(async () => void (opened = await openTestService()))
afterAll(() => opened.close())

const query = async <T extends object>(sql: string, values: unknown[] = []) =>
  (await opened.service.db.pool.query<T>(sql, values)).rows
const lastSerial = async () =>
  (
    await query<{ last: string }>(`select pg_sequence_last_value(pg_get_serial_sequence('journal', 'serial')) as last`)
  )[0]!.last
/** Sequences from 1 up to the wallet's last: every entry once, in order. */
const allSequences = async (users: readonly TestUser[]) => {
  const wallets = await query<{ id: string; sequence: bigint }>(
    'select id, sequence from wallets where id = any($1::uuid[]) and sequence > 0',
    [users.map(({ userId }) => userId)],
  )
  return Object.fromEntries(
    wallets.map(({ id, sequence }) => [id, Array.from({ length: Number(sequence) }, (_, i) => i + 1)]),
  )
}

test('a batch that waits for a wallet draws no serial before it has the lock, so the wallet’s entries keep their order', async () => {
  const { service } = opened
  const app = await newAppWithEvents(service)
  const users = (await newUsers(service, app, 2)).toSorted((a, b) => (a.userId < b.userId ? -1 : 1)) as [
    TestUser,
    TestUser,
  ]
  const [a, b] = [await openLane(service), await openLane(service)]
  await a.client.query('begin')
  // A's transaction is older, and B begins with a wallet that A does not need.
  await postBatch(a, [creditOf(app, users[1])])
  const before = await lastSerial()
  const waiting = postBatch(b, [creditOf(app, users[0]), creditOf(app, users[1])])
  await eventually(async () => (await query(lockWaitsSql.text)).length, 1)
  expect(await lastSerial()).toBe(before)
  await a.client.query('commit')
  await waiting
  expect(await lastSerial()).not.toBe(before)
  await numberEvents(service.db)
  const events = (await readAll(service, app.clientId)).filter(({ fact }) => fact === null)
  expect(sequencesOf(events)).toEqual(await allSequences(users))
  expect(events.map(({ serviceUserId }) => serviceUserId)).toEqual(
    [users[1], users[0], users[1]].map(({ serviceUserId }) => serviceUserId),
  )
  await Promise.all([a, b].map(({ client }) => client.end()))
})

test('what waits for its numbers is seen without a lock, an entry as well as a fact', async () => {
  const { service } = opened
  const app = await newAppWithEvents(service)
  const user = await newUser(service, app)
  await numberEvents(service.db)
  expect(await hasUnnumbered(service.db.pool)).toBeFalse()
  const lane = await openLane(service)
  await postBatch(lane, [creditOf(app, user)])
  expect(await hasUnnumbered(service.db.pool)).toBeTrue()
  await numberEvents(service.db)
  expect(await hasUnnumbered(service.db.pool)).toBeFalse()
  await journalUserFact(service.db.pool, 'wallet.frozen', user.userId)
  expect(await hasUnnumbered(service.db.pool)).toBeTrue()
  await numberEvents(service.db)
  expect(await hasUnnumbered(service.db.pool)).toBeFalse()
  await lane.client.end()
})

test.each([1, 2, 3])(
  'with seed %p: writers that roll back and commit late, facts beside them and two that number leave every entry once, in order, as 1 to n',
  async (seed) => {
    const { service } = opened
    const app = await newAppWithEvents(service)
    const users = await newUsers(service, app, 12)
    const writing = new AbortController()
    let facts = 0
    const write = async (random: () => number) => {
      const lane = await openLane(service)
      for (let i = 0; i < 25; i++) {
        const batch = Array.from({ length: 4 }, () => creditOf(app, users[Math.floor(random() * users.length)]!))
        await lane.client.query('begin')
        await postBatch(lane, batch)
        if (random() < 0.2) await Bun.sleep(random() * 30)
        await lane.client.query(random() < 0.05 ? 'rollback' : 'commit')
      }
      await lane.client.end()
    }
    const freeze = async (random: () => number) => {
      for (let i = 0; i < 20; i++) {
        const { userId } = users[Math.floor(random() * users.length)]!
        const isKept = random() > 0.2
        await transact(service.db, async (tx) => {
          await lockWallet(tx, userId)
          await journalUserFact(tx, 'wallet.frozen', userId)
          await Bun.sleep(random() * 20)
          if (!isKept) throw new Error('rolled back')
        }).catch(() => {})
        if (isKept) facts++
      }
    }
    const number = async () => {
      while (!writing.signal.aborted) {
        await numberEvents(service.db)
        await Bun.sleep(5)
      }
    }
    const numbering = Promise.all([number(), number()])
    const writers = Array.from({ length: 5 }, (_, i) => write(seeded(seed * 100 + i)))
    await Promise.all([...writers, freeze(seeded(seed * 100 + 50)), freeze(seeded(seed * 100 + 51))])
    writing.abort()
    await numbering
    await numberEvents(service.db)
    const events = await readAll(service, app.clientId)
    expect(sequencesOf(events)).toEqual(await allSequences(users))
    expect(events.filter(({ fact }) => fact === 'wallet.frozen')).toHaveLength(facts)
  },
)

test('an open transaction of another connection delays only its own events', async () => {
  const { service } = opened
  const app = await newAppWithEvents(service)
  const [slow, quick] = (await newUsers(service, app, 2)) as [TestUser, TestUser]
  const [a, b] = [await openLane(service), await openLane(service)]
  const stranger = await service.db.pool.connect()
  await beginPatiently(stranger)
  await stranger.query('select pg_current_xact_id()')
  await journalUserFact(stranger, 'wallet.frozen', slow.userId)
  await a.client.query('begin')
  await postBatch(a, [creditOf(app, slow)])
  await postBatch(b, [creditOf(app, quick)])
  await freezeWallet(service, { name: 'test', address: null }, quick.userId, 'test')
  await numberEvents(service.db)
  const types = async () =>
    (await readAll(service, app.clientId)).slice(3).map(({ fact, serviceUserId }) => [fact, serviceUserId])
  const early = [
    [null, quick.serviceUserId],
    ['wallet.frozen', quick.serviceUserId],
  ]
  expect(await types()).toEqual(early)
  await a.client.query('commit')
  await stranger.query('commit')
  stranger.release()
  await numberEvents(service.db)
  const late = [
    ['wallet.frozen', slow.serviceUserId],
    [null, slow.serviceUserId],
  ]
  expect(await types()).toEqual([...early, ...late])
  await Promise.all([a, b].map(({ client }) => client.end()))
})

test('a writer’s number that is used again after its connection was lost misses nothing', async () => {
  const { service } = opened
  const app = await newAppWithEvents(service)
  const user = await newUser(service, app)
  const lost = await openLane(service)
  await postBatch(lost, [creditOf(app, user)])
  await lost.client.query('begin')
  await postBatch(lost, [creditOf(app, user)])
  lost.client.destroy()
  // The server has ended the transaction when the number is free.
  await eventually(async () => {
    const next = await openLane(service)
    if (next.number === lost.number) await postBatch(next, [creditOf(app, user), creditOf(app, user)])
    await next.client.end()
    await numberEvents(service.db)
    return next.number
  }, lost.number)
  await numberEvents(service.db)
  expect(sequencesOf(await readAll(service, app.clientId))).toEqual({ [user.userId]: [1, 2, 3] })
})

/** Each makes the numbering wait at one of its steps, until the key is free. */
const steps = {
  'before the numbers of the apps':
    'create trigger held before insert on event_heads for each row execute function hold()',
  'before the numbers of the events':
    'create trigger held before insert on event_pages for each row execute function hold()',
  'after everything, before its commit':
    'create constraint trigger held after insert or update on event_cursors deferrable initially deferred for each row execute function hold()',
}

test.each(Object.entries(steps))(
  'a numbering process that is killed %s loses nothing and doubles nothing',
  async (_, sql) => {
    const { service } = opened
    const app = await newAppWithEvents(service)
    const users = await newUsers(service, app, 3)
    const lane = await openLane(service)
    await numberEvents(service.db)
    const key = await service.db.pool.connect()
    await key.query('select pg_advisory_lock(77)')
    await query(`create or replace function hold() returns trigger language plpgsql as
    'begin perform pg_advisory_xact_lock(77); return new; end'`)
    await query(sql)
    for (const user of users) await postBatch(lane, [creditOf(app, user), creditOf(app, user)])
    const script = new URL('../../../test/events/number-process.ts', import.meta.url).pathname
    const child = Bun.spawn([process.execPath, script, opened.databaseUrl], { stdout: 'ignore' })
    await eventually(async () => (await query(lockWaitsSql.text)).length, 1)
    child.kill('SIGKILL')
    await child.exited
    await key.query('select pg_advisory_unlock(77)')
    key.release()
    for (const table of ['event_heads', 'event_pages', 'event_cursors'])
      await query(`drop trigger if exists held on ${table}`)
    await eventually(
      async () => {
        await numberEvents(service.db)
        return sequencesOf(await readAll(service, app.clientId))
      },
      Object.fromEntries(users.map(({ userId }) => [userId, [1, 2]])),
    )
    await lane.client.end()
  },
)

test('what 512 credits of a batch give is in rows of at most 64, in order', async () => {
  const { service } = opened
  const app = await newAppWithEvents(service)
  const users = await newUsers(service, app, 3)
  const lane = await openLane(service)
  await postBatch(
    lane,
    Array.from({ length: 512 }, (_, i) => creditOf(app, users[i % 3]!)),
  )
  await lane.client.end()
  await numberEvents(service.db)
  expect(sequencesOf(await readAll(service, app.clientId))).toEqual(await allSequences(users))
  const rows = await query<{ count: number }>(
    'select cardinality(sequences) as count from journal where client_id = $1 and fact is null order by serial',
    [app.clientId],
  )
  expect(rows.map(({ count }) => count)).toEqual(Array(8).fill(64))
})

const linkOf = ({ serviceUserId }: TestUser) => serviceUserId.slice(3)

test('a batch of several apps has a row for each app with events, without postings that were refused', async () => {
  const { service } = opened
  const [first, second, without] = [
    await newAppWithEvents(service),
    await newAppWithEvents(service),
    await newApp(service),
  ]
  const [a, b, poor] = (await newUsers(service, first, 3)) as [TestUser, TestUser, TestUser]
  const [c, d] = [await newUser(service, second), await newUser(service, without)]
  const refused = { ...creditOf(first, poor), amountMinor: -1_000_000n }
  const lane = await openLane(service)
  await postBatch(lane, [
    creditOf(first, a),
    creditOf(second, c),
    refused,
    { ...creditOf(without, d), hasEvents: false },
    creditOf(second, c),
    creditOf(first, b),
    creditOf(first, a),
  ])
  await lane.client.end()
  const rows = await query<{ client_id: string; link_ids: string[]; sequences: bigint[] }>(
    'select client_id, link_ids, sequences from journal where client_id = any($1) and fact is null order by serial',
    [[first, second, without].map(({ clientId }) => clientId)],
  )
  const expected = [
    [first.clientId, [a, a, b].map(linkOf), [1, 2, 1]],
    [second.clientId, [c, c].map(linkOf), [1, 2]],
  ]
  const found = rows.map((row) => [
    row.client_id,
    row.link_ids.map((id) => id.replaceAll('-', '')),
    row.sequences.map(Number),
  ])
  expect(found).toEqual(expected)
})

test('a batch of one app has one row, without postings that were refused, and none if all were', async () => {
  const { service } = opened
  const app = await newAppWithEvents(service)
  const [a, b, poor] = (await newUsers(service, app, 3)) as [TestUser, TestUser, TestUser]
  const refused = () => ({ ...creditOf(app, poor), amountMinor: -1_000_000n })
  const lane = await openLane(service)
  await postBatch(lane, [creditOf(app, b), refused(), creditOf(app, a), creditOf(app, b)])
  await postBatch(lane, [refused()])
  // An id of an older version: its user has no events.
  await query(`update links set id = 'old_' || id where id = $1`, [a.serviceUserId])
  await postBatch(lane, [creditOf(app, { ...a, serviceUserId: `old_${a.serviceUserId}` })])
  await lane.client.end()
  const rows = await query<{ link_ids: string[]; sequences: bigint[] }>(
    'select link_ids, sequences from journal where client_id = $1 and fact is null order by serial',
    [app.clientId],
  )
  const found = rows.map((row) => row.link_ids.map((id, i) => [id.replaceAll('-', ''), Number(row.sequences[i])]))
  // The postings of a user follow each other.
  expect(found).toEqual([
    [
      [linkOf(b), 1],
      [linkOf(b), 2],
      [linkOf(a), 1],
    ],
  ])
})

test('more rows than one step numbers keep the order of a wallet, whichever writers they are of', async () => {
  const { service } = opened
  const app = await newAppWithEvents(service)
  const [shared, other] = (await newUsers(service, app, 2)) as [TestUser, TestUser]
  const lanes = [await openLane(service), await openLane(service)].toSorted((a, b) => a.number - b.number)
  const [lower, higher] = lanes as [WriterClient, WriterClient]
  await postBatch(higher, [creditOf(app, shared)])
  await postBatch(lower, [creditOf(app, shared)])
  await Promise.all(Array.from({ length: 1_010 }, () => postBatch(lower, [creditOf(app, other)])))
  await numberEvents(service.db)
  expect(sequencesOf(await readAll(service, app.clientId))).toEqual(await allSequences([shared, other]))
  await Promise.all(lanes.map(({ client }) => client.end()))
})

test('the database gives no row of the journal its numbers twice', async () => {
  const { service } = opened
  const app = await newAppWithEvents(service)
  await numberEvents(service.db)
  const again = query(
    `insert into event_pages select client_id, first + 100, count, writer, serial, at from event_pages where client_id = $1`,
    [app.clientId],
  )
  expect(await again.catch((error: { constraint?: string }) => error.constraint)).toBe('event_pages_writer_serial_key')
})

const uuid = '00000000-0000-0000-0000-000000000001'
const arrayOf = (count: number, value: string) => `{${Array.from({ length: count }, () => value).join()}}`
test.each([
  ['no event', { link_ids: '{}', sequences: '{}' }],
  ['65 events', { link_ids: arrayOf(65, uuid), sequences: arrayOf(65, '1') }],
  ['a movement without its sequence', { link_ids: `{${uuid},${uuid}}`, sequences: '{1}' }],
  ['a fact with a sequence', { link_ids: `{${uuid}}`, sequences: '{1}', fact: 'wallet.frozen' }],
  ['an unknown fact', { link_ids: `{${uuid}}`, sequences: '{}', fact: 'wallet.melted' }],
  ['fewer holds than events', { link_ids: `{${uuid},${uuid}}`, sequences: '{1,2}', hold_ids: `{${uuid}}` }],
  ['a fact with a hold', { link_ids: `{${uuid}}`, sequences: '{}', fact: 'wallet.frozen', hold_ids: `{${uuid}}` }],
  ['a batch that waits for its number by itself', { link_ids: `{${uuid}}`, sequences: '{1}', awaits_number: true }],
  ['an app that does not exist', { client_id: 'app_none', link_ids: `{${uuid}}`, sequences: '{1}' }],
])('a row of the journal with %s stops the numbers of its app alone, until an operator deletes it', async (_, row) => {
  const { service } = opened
  const { clientId: other } = await newAppWithEvents(service)
  const clientId = 'client_id' in row ? row.client_id : (await newAppWithEvents(service)).clientId
  const isKnown = clientId !== 'app_none'
  const insert = (writer: number, whose: string, columns: object = { link_ids: `{${uuid}}`, sequences: '{1}' }) => {
    const values = Object.entries({ ...columns, writer, client_id: whose })
    return query(
      `insert into journal (${values.map(([name]) => name).join()}) values (${values.map((__, i) => `$${i + 1}`).join()})`,
      values.map(([, value]) => value),
    )
  }
  const number = async () => (await numberEvents(service.db)).events
  const stalled = async () => (await listStalledApps(service.db.pool, 10)).map((app) => app.clientId)
  await number()
  // The broken row is before one of the same writer, and after one of its app.
  if (isKnown) await insert(99997, clientId)
  await insert(99998, clientId, row)
  await insert(99998, other)
  expect(await number()).toBe(isKnown ? 2 : 1)
  expect([await stalled(), await hasUnnumbered(service.db.pool)]).toEqual([[clientId], true])
  expect((await listStalledApps(service.db.pool, 10))[0]!.row).toMatch(/^99998\/\d+$/)
  // Later rows of the app wait, facts too; those of the other app do not.
  for (const whose of [clientId, other]) {
    await insert(99997, whose)
    await journalPing(service.db.pool, whose)
  }
  expect([await number(), await number()]).toEqual([2, 0])
  while ((await transact(service.db, (tx) => deleteOldEvents(tx, 0, 1_000))) > 0) continue
  await query('delete from journal where writer = 99998 and client_id = $1', [clientId])
  if (!isKnown) {
    expect([await number(), await stalled()]).toEqual([0, [clientId]])
    await query('delete from journal where client_id = $1', [clientId])
  }
  expect(await number()).toBe(isKnown ? 2 : 0)
  expect([await stalled(), await hasUnnumbered(service.db.pool)]).toEqual([[], false])
  await query('delete from journal where writer in (99997, 99998)')
})

test('a row that is repaired gets its numbers, before the later rows of its app, up to the next one that is not sound', async () => {
  const { service } = opened
  const { clientId } = await newAppWithEvents(service)
  await numberEvents(service.db)
  const serials: bigint[] = []
  for (const sequences of ['{}', '{1}', '{}', '{1}'])
    serials.push(
      (
        await query<{ serial: bigint }>(
          `insert into journal (writer, client_id, link_ids, sequences) values (99998, $1, '{${uuid}}', $2) returning serial`,
          [clientId, sequences],
        )
      )[0]!.serial,
    )
  const repair = (serial: bigint) =>
    query(`update journal set sequences = '{1}' where writer = 99998 and serial = $1`, [serial])
  const pages = async () =>
    (
      await query<{ serial: bigint; first: bigint }>(
        'select serial, first from event_pages where client_id = $1 and writer = 99998 order by first',
        [clientId],
      )
    ).map(({ serial, first }) => [serial, Number(first)])
  await numberEvents(service.db)
  expect(await pages()).toEqual([])
  await repair(serials[0]!)
  await numberEvents(service.db)
  expect(await pages()).toEqual([
    [serials[0]!, 2],
    [serials[1]!, 3],
  ])
  await repair(serials[2]!)
  await numberEvents(service.db)
  expect(await pages()).toEqual(serials.map((serial, i) => [serial, i + 2]))
  expect(await hasUnnumbered(service.db.pool)).toBeFalse()
  await query('delete from journal where writer = 99998')
})

test('a link, its end and a freeze are reported once, and a freeze that changes nothing is not', async () => {
  const { service } = opened
  const app = await newAppWithEvents(service)
  const actor = { name: 'test', address: null }
  const { userId, serviceUserId } = await newUser(service, app)
  await linkUser(service, app, userId)
  await freezeWallet(service, actor, userId, 'a')
  await freezeWallet(service, actor, userId, 'b')
  await unfreezeWallet(service, actor, userId, 'c')
  await transact(service.db, (tx) => updateLinkDisconnected(tx, userId, serviceUserId))
  await transact(service.db, (tx) => updateLinkDisconnected(tx, userId, serviceUserId))
  await freezeWallet(service, actor, userId, 'd')
  await numberEvents(service.db)
  const facts = (await readAll(service, app.clientId)).map(({ fact }) => fact)
  expect(facts).toEqual(['test.ping', 'link.created', 'wallet.frozen', 'wallet.unfrozen', 'link.disconnected'])
})
