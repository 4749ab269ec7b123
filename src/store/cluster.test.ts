import { afterAll, beforeAll, describe, expect, setDefaultTimeout, test } from 'bun:test'
import { expectBalancedBooks } from '../../test/books.ts'
import { callCommand } from '../../test/command.ts'
import { findCluster } from '../../test/postgres.ts'
import { newApp, newUser, openTestService, type TestService, type TestUser } from '../../test/service.ts'
import { postForApp } from '../actions/money/post.ts'
import { findApp } from './apps.ts'
import { getSides } from './books.ts'
import { transact } from './database.ts'
import { locks } from './locks.ts'
import { openClient } from './open-client.ts'
import { beginStep } from './verify/books-check.ts'
import { verifyBooks } from './verify/verify.ts'
import { lockWallet } from './wallets.ts'

setDefaultTimeout(120_000)

const nodes = await findCluster()
let opened: TestService

beforeAll(async () => {
  opened = await openTestService()
})
afterAll(async () => await opened.close())

const distribute = async () => await callCommand(['distribute', '--json'], { DATABASE_URL: opened.databaseUrl })

const query = async (sql: string) => await opened.service.db.patient.pool.query(sql)

const letWorkersHold = async (mayHold: boolean) =>
  await query(
    `select citus_set_node_property(nodename, nodeport, 'shouldhaveshards', ${mayHold}) from pg_dist_node where groupid > 0`,
  )

const newLoad = async () => {
  const { clientId } = await newApp(opened.service)
  const app = (await findApp(opened.service.db.pool, clientId))!
  const users = await Promise.all(Array.from({ length: 20 }, () => newUser(opened.service, { clientId })))
  const posting = { referenceType: 'T', description: null, direction: 'credit', amountMinor: 100n } as const
  const post = async ({ serviceUserId }: TestUser, reference: string) =>
    await postForApp(opened.service, app, { ...posting, serviceUserId, referenceId: `${serviceUserId} ${reference}` })
  return { users, post }
}

test.skipIf(nodes !== undefined)('a database without Citus is refused, and left as it is', async () => {
  const { exitCode, stdout } = await distribute()
  expect(exitCode).toBe(1)
  expect(JSON.parse(stdout)).toEqual({
    error: expect.stringMatching(/has no Citus.*CREATE EXTENSION citus.*Nothing was changed/),
  })
})

// There is a cluster where TEST_DATABASE_URL names a coordinator: CONTRIBUTING.md.
describe.skipIf(nodes === undefined)('on a cluster (TEST_DATABASE_URL names none)', () => {
  test('what is spread already is left as it is, and said', async () => {
    const { stdout } = await distribute()
    const workers = Math.max(1, nodes!.length - 1)
    const said = JSON.parse(stdout) as { tables: unknown[]; nodes: string[]; staying: number }
    expect(said.tables).toEqual([
      { name: 'wallets', by: 'id', shards: workers, isNew: false },
      { name: 'transfers', by: 'wallet_id', shards: workers, isNew: false },
      { name: 'outcomes', by: 'reference_key', shards: workers, isNew: false },
      { name: 'repeats', by: 'reference_key', shards: workers, isNew: false },
    ])
    expect(said.nodes).toHaveLength(workers)
    expect(said.staying).toBeGreaterThan(20)
  })

  test.skipIf(nodes?.length === 1)(
    'where no node may hold a part of the ledger, it is refused and left as it is',
    async () => {
      await letWorkersHold(false)
      const { exitCode, stdout } = await distribute()
      await letWorkersHold(true)
      expect(exitCode).toBe(1)
      expect(JSON.parse(stdout)).toEqual({
        error: expect.stringMatching(/No node of the cluster may hold.*citus_add_node.*Nothing was changed/),
      })
      expect((await distribute()).exitCode).toBe(0)
    },
  )

  test('one that was interrupted is gone on with, and the money that is there goes along', async () => {
    const { users, post } = await newLoad()
    for (const user of users) await post(user, 'before')
    for (const table of ['repeats', 'outcomes']) await query(`select undistribute_table('${table}')`)
    const { stdout } = await distribute()
    const { tables } = JSON.parse(stdout) as { tables: { name: string; isNew: boolean }[] }
    expect(tables.filter(({ isNew }) => isNew).map(({ name }) => name)).toEqual(['outcomes', 'repeats'])
    for (const user of users) for (const reference of ['after', 'before']) await post(user, reference)
    await expectBalancedBooks(opened.service)
    const { faults, transfers } = await verifyBooks(opened.service.db.connection)
    expect({ faults, transfers }).toEqual({ faults: 0, transfers: 2 * users.length })
  })

  test('the second look of the continuous check sees one moment on all nodes', async () => {
    const { users, post } = await newLoad()
    const over = new AbortController()
    let posted = 0
    const spending = users.map(async (user) => {
      for (let i = 0; !over.signal.aborted; i++, posted++) await post(user, String(i))
    })
    const differences: bigint[] = []
    for (let look = 0; look < 60; look++) {
      const sides = await transact(opened.service.db.patient, async (tx) => {
        await beginStep(tx, true)
        return await getSides(tx)
      })
      differences.push(sides.walletsMinor + sides.positionsMinor)
    }
    over.abort()
    await Promise.all(spending)
    expect(differences).toEqual(differences.map(() => 0n))
    expect(posted).toBeGreaterThan(0)
    await expectBalancedBooks(opened.service)
  })

  test('rows of the ledger are append-only on every node', async () => {
    for (const table of ['transfers', 'outcomes'])
      expect(query(`update ${table} set amount = amount + 1`)).rejects.toThrow('append-only')
  })

  test('who locks a wallet is waited for on the coordinator too, where the rest of what it writes is', async () => {
    const { userId } = await newUser(opened.service, await newApp(opened.service))
    await transact(opened.service.db, async (tx) => {
      await lockWallet(tx, userId)
      const held = `select classid::bigint from pg_locks where locktype = 'advisory' and pid = pg_backend_pid()`
      expect((await tx.query(held)).rows).toContainEqual({ classid: BigInt(locks.wallet) })
    })
  })

  test.skipIf(nodes?.length === 1)('a worker is no place for the service', async () => {
    const url = new URL(nodes!.at(-1)!.connectionString!)
    url.pathname = new URL(opened.databaseUrl).pathname
    expect(openClient({ connectionString: url.href }, { name: 'test' })).rejects.toThrow('name the coordinator')
  })
})
