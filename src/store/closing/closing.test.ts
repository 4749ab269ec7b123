/** A closed period: everything reaches it, its references are answered, and no batch around the closing counts twice. */
import { afterAll, beforeAll, describe, expect, setDefaultTimeout, test } from 'bun:test'
import { PassThrough } from 'node:stream'
import { expectBalancedBooks } from '../../../test/books.ts'
import { newClient, type Client, type Reply } from '../../../test/client.ts'
import { holdClient, holdOf } from '../../../test/holds.ts'
import { testDatabase } from '../../../test/postgres.ts'
import {
  newApp,
  newUser,
  openTestService,
  operator,
  type Credentials,
  type TestService,
} from '../../../test/service.ts'
import { closePeriod } from '../../actions/money/close-period.ts'
import { openClient } from '../connection/servers.ts'
import { exportBooks } from '../copy/export.ts'
import { importBooks } from '../copy/import.ts'
import { describeSchema } from '../migrations/schema.ts'
import { verifyBooks } from '../verify/verify.ts'
import { readServerInfo } from '../connection/server-info.ts'
import { isUpgradingSql } from './close-ledger.ts'
import { listClosings } from './closings.ts'

setDefaultTimeout(180_000)

let opened: TestService
let credentials: Credentials
let client: Client
let holder: ReturnType<typeof holdClient>

beforeAll(async () => {
  opened = await openTestService()
  credentials = await newApp(opened.service)
  client = newClient(opened.app.fetch, credentials)
  holder = holdClient(client, credentials)
})
afterAll(async () => {
  await expectBalancedBooks(opened.service)
  await opened.close()
})

const connection = () => opened.service.db.connection
const query = async <T>(sql: string, values: unknown[] = []) =>
  (await opened.service.db.pool.query(sql, values)).rows as T[]
const close = () => closePeriod(connection(), operator)
const faultsOf = async () => {
  const faults: string[] = []
  const result = await verifyBooks(connection(), { onFault: ({ check }) => void faults.push(check) })
  return { ...result, named: faults }
}
const fundedUser = async () => {
  const user = await newUser(opened.service, credentials)
  await client.credit(user.serviceUserId, 100)
  return user
}
const tablesOf = (schema: string) => schema.slice(0, schema.indexOf('create view all_outcomes'))
/** Without what differs between a first answer and its repeat. */
const withoutReplay = ({ status, body }: Reply) => ({ status, ...body, replayed: undefined, requestId: undefined })

describe('a closed period', () => {
  test('an empty one is refused, and nothing changes', async () => {
    const before = await describeSchema(opened.service.db.pool)
    expect(await close().catch((error: Error) => error.message)).toContain('There is nothing to close')
    expect(await describeSchema(opened.service.db.pool)).toBe(before)
    expect(await listClosings(opened.service.db.pool)).toEqual([])
  })

  test('is refused within an hour of an upgrade, and not right after an installation', async () => {
    const setApplied = (age: string) =>
      query(`update billfold_migrations set applied_at = now() - interval '${age}'
        where number = (select max(number) from billfold_migrations)`)
    await query(`update billfold_migrations set applied_at = now() - interval '1 year'`)
    await fundedUser()
    await setApplied('59 minutes')
    expect(await close().catch((error: Error) => error.message)).toContain('within the last hour')
    expect(await listClosings(opened.service.db.pool)).toEqual([])
    // The installation was an upgrade later: an earlier process may still run.
    await query(`update billfold_migrations set applied_at = now() - interval '50 minutes'`)
    await setApplied('45 minutes')
    expect(await close().catch((error: Error) => error.message)).toContain('within the last hour')
    // Migrations that followed each other are one installation.
    await query(`update billfold_migrations set applied_at = now() - (1000 - number) * interval '2 seconds'`)
    expect(await query(isUpgradingSql)).toEqual([])
    await query(`update billfold_migrations set applied_at = now() - interval '1 year'`)
    await setApplied('61 minutes')
  })

  test('leaves the tables of the ledger as they were, and empty', async () => {
    const user = await fundedUser()
    const before = await describeSchema(opened.service.db.pool)
    const [closed] = await close()
    expect(closed).toMatchObject({ id: 1, transfers: 2, outcomes: 2, filterBytes: 32 })
    const after = await describeSchema(opened.service.db.pool)
    expect(tablesOf(after)).toBe(tablesOf(before))
    expect(await query('select 1 from transfers union all select 1 from outcomes')).toEqual([])
    expect(await client.balance(user.serviceUserId)).toBe(100)
    expect((await readServerInfo(opened.service.db.pool)).role.closedTables).toEqual([])
    expect(await query(`select actor, subject from audit where action = 'period.close'`)).toEqual([
      { actor: operator.name, subject: 'period:1' },
    ])
  })

  test('accepts no change of a row', async () => {
    await fundedUser()
    await close()
    // A superuser, as on a cluster, has every right.
    const [role] = await query<{ isSuper: boolean }>(
      'select rolsuper as "isSuper" from pg_roles where rolname = current_user',
    )
    for (const change of ['delete from', 'truncate', 'insert into'])
      for (const name of ['transfers', 'outcomes']) {
        const sql = `${change} closed_${name}_1${change === 'insert into' ? ` select * from closed_${name}_1` : ''}`
        expect(await query(sql).catch((error: Error) => error.message)).toMatch(
          role!.isSuper ? /append-only|duplicate key/ : /permission denied/,
        )
      }
  })

  test('answers its references as before: debits, credits, refusals, holds and captures, one by one and in lists', async () => {
    const user = await fundedUser()
    const other = await fundedUser()
    const su = user.serviceUserId
    const held = holdOf(await holder.place(su, 10, { referenceId: 'closed-hold' }))
    const calls: Record<string, () => Promise<Reply>> = {
      debit: () => client.debit(su, 5, 'closed-debit'),
      credit: () => client.credit(su, 7, 'closed-credit'),
      refusal: () => client.debit(su, 5_000, 'closed-refusal'),
      capture: () =>
        holder.capture(held.id, { amount: 4, final: false, referenceType: 'ORDER', referenceId: 'closed-capture' }),
      hold: () => holder.place(su, 10, { referenceId: 'closed-hold' }),
      'of another user': () => client.debit(other.serviceUserId, 5, 'closed-debit'),
    }
    const before = new Map<string, Reply>()
    for (const [name, call] of Object.entries(calls)) before.set(name, await call())
    const figures = async () => [(await client.wallet(su)).body, await client.balance(other.serviceUserId)]
    const wallets = await figures()
    await close()
    for (const [name, call] of Object.entries(calls)) {
      const reply = await call()
      expect([name, withoutReplay(reply)]).toEqual([name, withoutReplay(before.get(name)!)])
      expect(reply.body['replayed'] ?? reply.body['code']).toBeTruthy()
    }
    expect(await figures()).toEqual(wallets)
    const list = Array.from({ length: 12 }, (_, i) => ({
      serviceUserId: su,
      amount: 5,
      referenceType: 'ORDER',
      referenceId: i === 9 ? 'closed-debit' : `list-${i}`,
      direction: 'debit',
    }))
    const bulk = await client.post('/api/server/wallet/bulk', { ...credentials, operations: list })
    expect(bulk.status).toBeLessThan(300)
    expect(await client.balance(su)).toBe((wallets[0] as { balance: number }).balance - 11 * 5)
    expect((await faultsOf()).named).toEqual([])
  })

  test('is read by the wallet, its statement, its search and its proofs', async () => {
    const user = await fundedUser()
    const debit = await client.debit(user.serviceUserId, 1, 'read-closed')
    await close()
    await client.debit(user.serviceUserId, 2, 'read-open')
    const wallet = (await client.wallet(user.serviceUserId)).body as { transactions: { referenceId: string }[] }
    expect(wallet.transactions.map(({ referenceId }) => referenceId).slice(0, 2)).toEqual(['read-open', 'read-closed'])
    const found = await client.get('/api/server/proof', { referenceType: 'ORDER', referenceId: 'read-closed' })
    expect(found.status).not.toBe(404)
    expect(debit.status).toBe(200)
  })

  test('a change of its rows is found by a verification, and a reference that is used in two periods', async () => {
    const user = await fundedUser()
    await client.debit(user.serviceUserId, 1, 'to-be-doubled')
    await close()
    const [{ id } = { id: 0 }] = await query<{ id: number }>('select max(id) as id from closings')
    const table = `closed_transfers_${id}`
    await query(`grant update on ${table} to current_user`)
    await query(`alter table ${table} disable trigger user`)
    const change = (by: number) =>
      query(`update ${table} set amount = amount + ${by} where wallet_id = $1 and sequence = 2`, [user.userId])
    await change(1)
    expect((await faultsOf()).named).toContain('entry-unlike-outcome')
    await change(-1)
    expect((await faultsOf()).faults).toBe(0)
    // As if the second use of a reference had been counted.
    await query(`insert into outcomes select * from closed_outcomes_${id} where wallet_id = $1 and sequence = 2`, [
      user.userId,
    ])
    expect((await faultsOf()).named).toEqual(['outcome-twice'])
    await query('grant delete on outcomes to current_user')
    await query('alter table outcomes disable trigger user')
    await query('delete from outcomes where wallet_id = $1', [user.userId])
    await query('alter table outcomes enable trigger user')
    await query('revoke delete on outcomes from current_user')
    await query(`alter table ${table} enable trigger user`)
    await query(`revoke update on ${table} from current_user`)
  })

  test('a copy has all periods, and where it is restored they are open', async () => {
    const before = await faultsOf()
    const output = new PassThrough()
    const chunks: Buffer[] = []
    output.on('data', (chunk: Buffer) => chunks.push(chunk))
    await exportBooks(connection(), output, { currency: 'USD', now: new Date() })
    const target = await testDatabase()
    const input = PassThrough.from([Buffer.concat(chunks)])
    const { verified } = await importBooks(target.connection, input, { currency: 'USD' })
    expect(verified).toMatchObject({ transfers: before.transfers, balanceMinor: before.balanceMinor, faults: 0 })
    const restored = await openClient(target.connection, { name: 'restored' })
    expect(await listClosings(restored)).toEqual([])
    await restored.end()
    await target.drop()
    // And into a database whose open period is empty, nothing is restored.
    await fundedUser()
    await close()
    const again = PassThrough.from([Buffer.concat(chunks)])
    const refused = await importBooks(connection(), again, { currency: 'USD' }).catch((error: Error) => error.message)
    expect(refused).toContain('is not empty')
  })
})
