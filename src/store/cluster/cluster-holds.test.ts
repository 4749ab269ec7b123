/** Holds on a cluster: a real one where TEST_DATABASE_URL names one, otherwise one server that claims to be one. */
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, setDefaultTimeout, test } from 'bun:test'
import { expectBalancedBooks } from '../../../test/books.ts'
import { newClient, type Client, type Reply } from '../../../test/client.ts'
import { newAppWithEvents, numberAll, openLane, postBatch, creditOf, readAll } from '../../../test/events/rig.ts'
import { holdClient, holdOf, letHoldsAge, sweepHolds } from '../../../test/holds.ts'
import { imitate } from '../../../test/imitated-cluster.ts'
import { newApp, newUser, newUsers, openTestService } from '../../../test/service.ts'
import type { Credentials, TestService, TestUser } from '../../../test/service.ts'
import { numberEvents } from '../events/number-events.ts'
import { verifyBooks } from '../verify/verify.ts'

setDefaultTimeout(180_000)

const isOtherServer = process.env['TEST_DATABASE_URL'] !== undefined
let opened: TestService
let app: Credentials
let client: Client
let holds: ReturnType<typeof holdClient>
let user: TestUser
beforeAll(async () => {
  opened = await openTestService({ WRITER_LANES: '3' }, { through: isOtherServer ? undefined : imitate })
  app = await newApp(opened.service)
  client = newClient(opened.app.fetch, app)
  holds = holdClient(client, app)
  // The tests take rows away that one node shows and another does not yet.
  for (const table of ['outcomes', 'hold_steps']) {
    await query(`grant all on ${table} to current_user`)
    await query(`alter table ${table} disable trigger user`)
  }
})
afterAll(() => opened.close())
beforeEach(async () => {
  user = await newUser(opened.service, app)
  await client.credit(user.serviceUserId, 100)
})
afterEach(async () => {
  await expectBalancedBooks(opened.service)
  expect(await verifyBooks(opened.service.db.connection)).toMatchObject({ faults: 0 })
})

const query = async (sql: string, values: unknown[] = []) => await opened.service.db.pool.query(sql, values)
const figures = async ({ serviceUserId }: TestUser) => {
  const { balance, available, held } = (await client.wallet(serviceUserId)).body
  return [balance, available, held]
}

test('holds are made beside debits in the same batches, captured, voided, extended and ended by their time', async () => {
  const users = await newUsers(opened.service, app, 10)
  await Promise.all(users.map(({ serviceUserId }) => client.credit(serviceUserId, 100)))
  const made = await Promise.all(
    users.flatMap(({ serviceUserId }) => [
      ...[10, 20, 30].map((amount) => holds.place(serviceUserId, amount, { expiresIn: 3_600 })),
      client.debit(serviceUserId, 5),
    ]),
  )
  expect(made.map(({ status }) => status)).toEqual(made.map(() => 200))
  const refused = await Promise.all(users.map(({ serviceUserId }) => holds.place(serviceUserId, 35.01)))
  expect(refused.map(({ body }) => body['code'])).toEqual(users.map(() => 'INSUFFICIENT_BALANCE'))
  for (const [i] of users.entries()) {
    const [first, second, third] = made.slice(4 * i, 4 * i + 3).map(holdOf)
    expect((await holds.capture(first!.id)).status).toBe(200)
    expect((await holds.void(second!.id)).status).toBe(200)
    expect((await holds.extend(third!.id, 7_200)).status).toBe(200)
    const left = 95 - first!.amount
    expect(await figures(users[i]!)).toEqual([left, left - third!.amount, third!.amount])
  }
  await letHoldsAge(opened, 7_201)
  for (const each of users) {
    const [balance] = await figures(each)
    expect(await figures(each)).toEqual([balance, balance, 0])
  }
  await sweepHolds(opened)
  expect((await query('select 1 from holds where closed_at is null')).rowCount).toBe(0)
  expect((await query(`select 1 from work where kind = 'expire-holds'`)).rowCount).toBe(0)
  // Any node can write a batch with a new hold.
  expect(opened.logged.filter((line) => line.includes('a batch of the writer failed'))).toEqual([])
})

/**
 * The row as text, so that it can be put back as it was. An outcome is there all the time, uncommitted, as on a node that has prepared it:
 * no other session sees it, and a second one of its key waits for it.
 */
async function takeAway(table: string, where: string, values: unknown[]): Promise<() => Promise<unknown>> {
  const { rows } = await query(`select to_jsonb(t) as row from ${table} t where ${where}`, values)
  expect(rows).toHaveLength(1)
  await query(`delete from ${table} where ${where}`, values)
  const { row } = rows[0] as { row: Record<string, unknown> }
  const columns = Object.keys(row)
  const sql = `insert into ${table} (${columns.join()}) values (${columns.map((_, i) => `$${i + 1}`).join()})`
  const rowValues = columns.map((column) => row[column])
  if (table !== 'outcomes') return () => query(sql, rowValues)
  const node = await opened.service.db.pool.connect()
  await node.query('begin')
  await node.query(sql, rowValues)
  return async () => {
    await node.query('commit')
    node.release()
  }
}

/** Whether it waits, which nothing but `restore` ends; then its answer. */
async function whileMissing(asked: Promise<Reply>, restore: () => Promise<unknown>): Promise<Reply> {
  const isAnswered = await Promise.race([asked.then(() => true), Bun.sleep(300).then(() => false)])
  expect(isAnswered).toBe(false)
  await restore()
  return await asked
}

const keyOfLast = async () => {
  const sql = 'select reference_key as key from transfers where wallet_id = $1 order by sequence desc limit 1'
  return (await query(sql, [user.userId])).rows[0].key as string
}

describe('between the commits of two nodes', () => {
  const order = { referenceType: 'ORDER', referenceId: '' }
  let id: string
  beforeEach(async () => {
    order.referenceId = crypto.randomUUID()
    id = holdOf(await holds.place(user.serviceUserId, 60, order)).id
  })

  test('a capture whose outcome is not visible yet is repeated as one that posted, not refused for a closed hold', async () => {
    const first = await holds.capture(id)
    const restore = await takeAway('outcomes', 'reference_key = $1', [await keyOfLast()])
    const again = await whileMissing(holds.capture(id), restore)
    expect(again.body).toMatchObject({ transactionId: first.body['transactionId'], replayed: true })
    expect(await figures(user)).toEqual([40, 40, 0])
  })

  test('a part of a hold is captured once while its outcome is not visible yet', async () => {
    const part = { amount: 10, final: false, referenceType: 'PART', referenceId: id }
    const first = await holds.capture(id, part)
    const restore = await takeAway('outcomes', 'reference_key = $1', [await keyOfLast()])
    const again = await whileMissing(holds.capture(id, part), restore)
    expect(again.body).toMatchObject({ transactionId: first.body['transactionId'], replayed: true })
    expect(await figures(user)).toEqual([90, 40, 50])
  })

  test('a hold whose outcome is not visible yet is made once', async () => {
    const restore = await takeAway('outcomes', 'reference_key = $1', [id.slice(5)])
    const again = await whileMissing(holds.place(user.serviceUserId, 60, order), restore)
    expect(again.body).toMatchObject({ replayed: true, hold: { id, status: 'OPEN' } })
    expect(await figures(user)).toEqual([100, 40, 60])
  })

  test('a hold that ended is not made again while its outcome is not visible yet', async () => {
    await holds.void(id)
    const restore = await takeAway('outcomes', 'reference_key = $1', [id.slice(5)])
    const again = await whileMissing(holds.place(user.serviceUserId, 60, order), restore)
    expect(again.body).toMatchObject({ replayed: true, hold: { id, status: 'VOIDED' } })
    expect(await figures(user)).toEqual([100, 100, 0])
  })

  test('a repeat of a hold that is not visible yet waits for it', async () => {
    const restore = await takeAway('holds', 'wallet_id = $1 and id = $2', [user.userId, id.slice(5)])
    await query('update wallets set held = 0 where id = $1', [user.userId])
    const again = await whileMissing(holds.place(user.serviceUserId, 60, order), async () => {
      await query('update wallets set held = 6000 where id = $1', [user.userId])
      await restore()
    })
    expect(again.body).toMatchObject({ replayed: true, hold: { id, status: 'OPEN' } })
    expect(await figures(user)).toEqual([100, 40, 60])
  })

  test('a repeat of a capture waits for the wallet, whose node may not have committed it yet', async () => {
    await holds.capture(id)
    const other = await opened.service.db.pool.connect()
    await other.query('begin')
    await other.query('select 1 from wallets where id = $1 for update', [user.userId])
    const again = await whileMissing(holds.capture(id), () => other.query('commit'))
    other.release()
    expect(again.body).toMatchObject({ replayed: true, hold: { id, status: 'CAPTURED' } })
  })
})

test('an event of a hold waits until the node shows it, with the later ones of its writer', async () => {
  const { service } = opened
  const reporting = await newAppWithEvents(service)
  const [late, behind] = (await newUsers(service, reporting, 2)) as [TestUser, TestUser]
  await numberAll(service)
  const before = (await readAll(service, reporting.clientId)).length
  const reported = async () =>
    (await readAll(service, reporting.clientId))
      .slice(before)
      .map((event) => ('hold' in event ? (event.hold.step ?? 'made') : 'transfer' in event && event.serviceUserId))
  const lane = await openLane(service)
  const holdId = crypto.randomUUID()
  const journal = (number: number) =>
    query(
      `insert into journal (writer, client_id, link_ids, sequences, hold_ids) values ($1, $2, array[$3::uuid], array[$4::bigint], array[$5::uuid])`,
      [lane.number, reporting.clientId, late.serviceUserId.slice(3), number, holdId],
    )
  await journal(0)
  await journal(1)
  await lane.client.query('begin')
  await postBatch(lane, [creditOf(reporting, behind)])
  await lane.client.query('commit')
  await numberEvents(service.db)
  expect(await reported()).toEqual([])
  const ended = `captured = 0, released = 1, steps = 1, closed_at = now(), is_closed = true, ended_by = 'void'`
  const outcome = `insert into outcomes (reference_key, wallet_id, amount, balance, created_at, is_hold) values ($2, $1, -1, 0, now(), true)`
  await query(
    `insert into holds (wallet_id, id, client_id, reference_type, reference_id, amount, created_at, expires_at)
     values ($1, $2, $3, 'T', 'one', 1, now(), now() + interval '1 hour')`,
    [late.userId, holdId, reporting.clientId],
  )
  await query(outcome, [late.userId, holdId])
  await numberEvents(service.db)
  expect(await reported()).toEqual(['made'])
  await query(
    `insert into hold_steps (wallet_id, hold_id, number, kind, amount, actor, captured, remaining, expires_at, at)
     values ($1, $2, 1, 'void', 1, 'system', 0, 0, now(), now())`,
    [late.userId, holdId],
  )
  await query(`update holds set ${ended} where wallet_id = $1 and id = $2`, [late.userId, holdId])
  await numberEvents(service.db)
  expect(await reported()).toEqual(['made', 'void', behind.serviceUserId])
  await lane.client.end()
})
