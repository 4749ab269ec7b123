import { afterAll, beforeAll, describe, expect, setDefaultTimeout, test } from 'bun:test'
import { Client } from 'pg'
import { expectBalancedBooks } from '../../../test/books.ts'
import { callCommand } from '../../../test/command.ts'
import { eventually } from '../../../test/eventually.ts'
import { findCluster, testDatabase } from '../../../test/postgres.ts'
import { newApp, newUser, newUsers, openTestService, type TestService, type TestUser } from '../../../test/service.ts'
import type { Check } from '../../actions/apps/examine-embedding.ts'
import { placeHold, voidHold } from '../../actions/money/manage-holds.ts'
import { postForApp } from '../../actions/money/post.ts'
import { findApp } from '../apps.ts'
import { getSides } from '../books/books.ts'
import { transact, type Connection } from '../connection/database.ts'
import { openClient } from '../connection/servers.ts'
import { locks } from '../locks.ts'
import { beginCheckStep } from '../verify/books-check.ts'
import { verifyBooks } from '../verify/verify.ts'
import { lockWallet } from '../wallets.ts'
import { defaultShards, type Distribution } from './distribution.ts'
import { openNode, readIdentity, refuseForeignNode } from './nodes.ts'

setDefaultTimeout(120_000)

const nodes = await findCluster()
let opened: TestService

beforeAll(async () => {
  // On a cluster, each lane uses another node to coordinate its batches.
  opened = await openTestService({ WRITER_LANES: String(nodes?.length ?? 1) })
})
afterAll(async () => await opened.close())

const distribute = async () => await callCommand(['distribute', '--json'], { DATABASE_URL: opened.databaseUrl })

const query = async (sql: string) => await opened.service.db.longRunning.pool.query(sql)

const letWorkersHold = async (mayHold: boolean) =>
  await query(
    `select citus_set_node_property(nodename, nodeport, 'shouldhaveshards', ${mayHold}) from pg_dist_node where groupid > 0`,
  )

/** Ends the writers' connections, as when a node dies. */
const endWriters = async ({ connectionString }: Connection) => {
  const admin = new Client({ connectionString: connectionString! })
  await admin.connect()
  await admin.query(
    `select pg_terminate_backend(pid) from pg_stat_activity where application_name = 'billfold writer' and datname = $1`,
    [opened.databaseUrl.split('/').at(-1)],
  )
  await admin.end()
}

const newLoad = async ({ service }: TestService = opened) => {
  const { clientId } = await newApp(service)
  const app = (await findApp(service.db.pool, clientId))!
  const users = await newUsers(service, { clientId }, 20)
  const posting = { referenceType: 'T', description: null, direction: 'credit', amountMinor: 100n } as const
  const post = async ({ serviceUserId }: TestUser, reference: string) =>
    await postForApp(service, app, { ...posting, serviceUserId, referenceId: `${serviceUserId} ${reference}` })
  return { app, users, post }
}

/** The transfers by the group of the node that coordinated their batches: each node has its own range of writer numbers. */
const transfersByGroup = async ({ service }: TestService = opened) => {
  const { rows } = await service.db.pool.query(
    `select case when writer > 0 then 0 else -writer / 100000 end as "group", sum(transfers) as transfers
      from positions group by 1 order by 1`,
  )
  return new Map(rows.map(({ group, transfers }) => [Number(group), Number(transfers)]))
}

const coordinating = async (service?: TestService) => [...(await transfersByGroup(service)).keys()]

const countTransfers = async () => Number((await query('select count(*) from transfers')).rows[0]!.count)

const nodesOf = async (table: string) =>
  (
    await query(
      `select string_agg(nodeport || ' ' || shardminvalue, ',' order by shardminvalue) as nodes
       from citus_shards join pg_dist_shard using (shardid) where table_name = '${table}'::regclass`,
    )
  ).rows[0]!.nodes as string | null

test.skipIf(nodes !== undefined)('a database without Citus is refused and left as it is', async () => {
  const { exitCode, stdout } = await distribute()
  expect(exitCode).toBe(1)
  expect(JSON.parse(stdout)).toEqual({
    error: expect.stringMatching(/has no Citus.*CREATE EXTENSION citus.*Nothing was changed/),
  })
})

// There is a cluster where TEST_DATABASE_URL names a coordinator: CONTRIBUTING.md.
describe.skipIf(nodes === undefined)('on a cluster (TEST_DATABASE_URL names none)', () => {
  test('tables that are already distributed are left as they are, and reported so', async () => {
    const { stdout } = await distribute()
    const said = JSON.parse(stdout) as Pick<Distribution, 'tables' | 'cluster' | 'staying'> & { checks: Check[] }
    const table = { shards: defaultShards, isNew: false }
    expect(said.tables).toContainEqual({ name: 'wallets', by: 'id', ...table })
    expect(said.tables).toContainEqual({ name: 'transfers', by: 'wallet_id', ...table })
    expect(said.tables).toContainEqual({ name: 'holds', by: 'wallet_id', ...table })
    expect(said.tables).toContainEqual({ name: 'hold_steps', by: 'wallet_id', ...table })
    expect(said.tables).toContainEqual({ name: 'outcomes', by: 'reference_key', ...table })
    expect(said.tables).toContainEqual({ name: 'repeats', by: 'reference_key', ...table })
    const holding = said.cluster.nodes.filter(({ shards, bytes }) => shards > 0 && bytes! > 0)
    expect(holding).toHaveLength(Math.max(1, nodes!.length - 1))
    const shards = holding.reduce((sum, node) => sum + node.shards, 0)
    expect(shards).toBe(said.tables.length * defaultShards)
    expect(said.checks.filter(({ state }) => state !== 'good')).toEqual([])
    expect(said.staying).toBeGreaterThan(20)
    const { rows: views } = await query(
      `select distinct result from run_command_on_all_nodes('select to_regclass(''public.all_outcomes'')')`,
    )
    expect(views).toEqual([{ result: 'all_outcomes' }])
  })

  test.skipIf(nodes?.length === 1)(
    'a cluster without a node that may hold shards is refused and left as it is',
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

  test('an interrupted distribution is continued, and existing money is moved', async () => {
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

  test('a migration moves holds to the nodes of their wallets where the ledger was distributed before they were', async () => {
    for (const table of ['hold_steps', 'holds']) await query(`select undistribute_table('${table}')`)
    expect(await nodesOf('holds')).toBeNull()
    await query(await Bun.file(new URL('../migrations/0052_distributed_holds.sql', import.meta.url)).text())
    const wallets = await nodesOf('wallets')
    expect(wallets).not.toBeNull()
    expect([await nodesOf('holds'), await nodesOf('hold_steps')]).toEqual([wallets, wallets])
  })

  test('the second attempt of the continuous check sees one snapshot on all nodes', async () => {
    const { users, post } = await newLoad()
    const over = new AbortController()
    let posted = 0
    const spending = users.map(async (user) => {
      for (let i = 0; !over.signal.aborted; i++, posted++) await post(user, String(i))
    })
    const differences: bigint[] = []
    for (let attempt = 0; attempt < 60; attempt++) {
      const sides = await transact(opened.service.db.longRunning, async (tx) => {
        await beginCheckStep(tx, opened.service.db.connection, true)
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

  const spendEverywhere = async (load: Awaited<ReturnType<typeof newLoad>>) => {
    let posted = 0
    await eventually(async () => {
      await Promise.all(load.users.map((user) => load.post(user, crypto.randomUUID())))
      posted += load.users.length
      return (await coordinating()).length
    }, nodes!.length)
    return posted
  }

  test.skipIf(nodes?.length === 1)('each lane uses another node to coordinate its batches', async () => {
    await spendEverywhere(await newLoad())
    await expectBalancedBooks(opened.service)
    const { faults } = await verifyBooks(opened.service.db.connection)
    expect(faults).toBe(0)
  })

  test.skipIf(nodes?.length === 1)(
    'a node that is lost with batches under way loses none of them, and posts none twice',
    async () => {
      const load = await newLoad()
      await spendEverywhere(load)
      const before = await countTransfers()
      const posts: Promise<unknown>[] = []
      for (let round = 0; round < 10; round++) {
        for (const user of load.users) posts.push(load.post(user, `lost ${round}`))
        await Promise.all(nodes!.slice(1).map((node) => endWriters(node)))
      }
      const results = await Promise.all(posts)
      expect(results).toEqual(results.map(() => expect.objectContaining({ kind: 'outcome' })))
      expect(await countTransfers()).toBe(before + posts.length)
      await expectBalancedBooks(opened.service)
    },
  )

  test.skipIf(nodes?.length === 1)(
    'batches that moved to the coordinator after faults of other nodes return to those nodes',
    async () => {
      const load = await newLoad()
      /** How many nodes coordinate batches within a second. */
      const countNodes = async () => {
        const before = await transfersByGroup()
        for (const endsAt = performance.now() + 1_000; performance.now() < endsAt;)
          await Promise.all(load.users.map((user) => load.post(user, crypto.randomUUID())))
        const after = await transfersByGroup()
        return [...after.keys()].filter((group) => after.get(group) !== before.get(group)).length
      }
      await eventually(async () => {
        await Promise.all(nodes!.slice(1).map((node) => endWriters(node)))
        return await countNodes()
      }, 1)
      await eventually(countNodes, nodes!.length)
      await expectBalancedBooks(opened.service)
    },
  )

  test('batches stay with the coordinator while the nodes that are named cannot be reached', async () => {
    const unreachable = { host: '127.0.0.1', port: 1, user: 'none', database: 'none' }
    const alone = await openTestService(
      { WRITER_LANES: '3' },
      {
        through: (connection) => ({
          ...connection,
          others: [unreachable, unreachable],
        }),
      },
    )
    const { users, post } = await newLoad(alone)
    for (let i = 0; i < 5; i++) await Promise.all(users.map((user) => post(user, String(i))))
    expect(await coordinating(alone)).toEqual([0])
    const said = alone.logged.map((line) => JSON.parse(line).message)
    expect(said).not.toContain('a batch of the writer failed')
    expect(said).toContain('a node that DATABASE_URL names cannot coordinate batches')
    await expectBalancedBooks(alone.service)
    await alone.close()
  })

  test.skipIf(nodes?.length === 1)(
    'batches never go to another database, whose nodes are named by mistake',
    async () => {
      const foreign = await testDatabase()
      const mistaken = await openTestService(
        { WRITER_LANES: '3' },
        {
          through: (connection) => ({
            ...connection,
            others: foreign.connection.others ?? [],
          }),
        },
      )
      const { users, post } = await newLoad(mistaken)
      const refusals = () => mistaken.logged.filter((line) => line.includes('NodeOfAnotherCluster')).length
      await eventually(async () => {
        await Promise.all(users.map((user) => post(user, crypto.randomUUID())))
        return refusals()
      }, 2)
      expect(await coordinating(mistaken)).toEqual([0])
      await expectBalancedBooks(mistaken.service)
      await mistaken.close()
      await foreign.drop()
    },
  )

  test.skipIf(nodes?.length === 1)('a server that is no node of this cluster coordinates nothing', async () => {
    const url = new URL(nodes!.at(-1)!.connectionString!)
    url.pathname = '/postgres'
    const connection = { ...opened.service.db.connection, others: [{ connectionString: url.href }] }
    expect(openNode(connection, 1, { name: 'test' })).rejects.toThrow('no node of the cluster')
    const node = await openNode(opened.service.db.connection, 1, { name: 'test' })
    const identity = await readIdentity(opened.service.db.pool)
    await refuseForeignNode(node, identity)
    expect(refuseForeignNode(node, `${identity}0`)).rejects.toThrow('a node of another cluster')
    await node.end()
  })

  test('rows of the ledger are append-only on every node', async () => {
    const { app, users, post } = await newLoad()
    for (const user of users) {
      await post(user, 'before')
      const made = { ...user, amountMinor: 1n, referenceType: 'T', referenceId: user.userId, description: null }
      const result = await placeHold(opened.service, app, { ...made, seconds: 600, arrivedAt: performance.now() })
      if (result.kind !== 'outcome' || !result.hold) throw new Error(result.kind)
      await voidHold(opened.service, app, result.hold.id, performance.now())
    }
    for (const table of ['transfers', 'outcomes', 'hold_steps'])
      expect(query(`update ${table} set amount = amount + 1`)).rejects.toThrow('append-only')
  })

  test('a transaction that locks a wallet also holds a lock on the coordinator, where the rest of its writes are', async () => {
    const { userId } = await newUser(opened.service, await newApp(opened.service))
    await transact(opened.service.db, async (tx) => {
      await lockWallet(tx, userId)
      const held = `select classid::bigint from pg_locks where locktype = 'advisory' and pid = pg_backend_pid()`
      expect((await tx.query(held)).rows).toContainEqual({ classid: BigInt(locks.wallet) })
    })
  })

  test.skipIf(nodes?.length === 1)('the service refuses to start on a worker', async () => {
    const url = new URL(nodes!.at(-1)!.connectionString!)
    url.pathname = opened.databaseUrl.split('/').at(-1)!
    expect(openClient({ connectionString: url.href }, { name: 'test' })).rejects.toThrow('name the coordinator')
  })
})
