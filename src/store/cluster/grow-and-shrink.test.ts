/** The commands of docs/operations/cluster.md that add a node and take it away, on a cluster of the tests, while users spend. */
import { describe, expect, setDefaultTimeout, test } from 'bun:test'
import { openClusterLedger } from '../../../test/cluster-ledger.ts'
import { box, play } from '../../../test/deploy/runbooks.ts'
import { eventually } from '../../../test/eventually.ts'
import { emptyDatabase, findCluster } from '../../../test/postgres.ts'
import { operator } from '../../../test/service.ts'
import { examineCluster } from '../../actions/deployment/examine-cluster.ts'
import { closePeriod } from '../../actions/money/close-period.ts'
import { readClusterState } from './state.ts'

setDefaultTimeout(600_000)

/** The statements of a block, for the node of the test instead of worker3. */
const statementsOf = (block: 'add-node' | 'remove-node', host: string, port: string) =>
  box(block, 'sql')
    .filter((line) => !line.startsWith('--'))
    .map((line) => line.replaceAll('worker3.internal', host).replaceAll('5432', port))

test('the documented commands are there', () => {
  expect(statementsOf('add-node', 'h', '7')).toEqual([
    `select citus_add_node('h', 7);`,
    expect.stringContaining('citus_rebalance_start'),
  ])
  expect(statementsOf('remove-node', 'h', '7')).toHaveLength(3)
})

const nodes = await findCluster()

describe.skipIf(nodes === undefined || nodes.length < 3)(
  'on a cluster with two workers (TEST_DATABASE_URL names none)',
  () => {
    test('a node joins and leaves, and two periods are closed, while users spend, and every acknowledged operation is there once', async () => {
      const database = await emptyDatabase(2)
      // Not the worker that has not joined yet.
      const { others: _, ...connection } = database.connection
      const ledger = await openClusterLedger(connection, { users: 20 })
      // The ledger is distributed already: both commands find nothing to do and no fault.
      for (const { exitCode } of await play('distribute-ledger', { DATABASE_URL: database.url }))
        expect(exitCode).toBe(0)
      const { client, users, backend } = ledger
      const over = new AbortController()
      let posted = 0
      const spending = users.map(async (user) => {
        for (let i = 0; !over.signal.aborted;) {
          // An operation without an answer is tried again, with the same reference.
          const { status } = await backend.credit(user, 1, `${user} ${i}`)
          if (status === 200) [i, posted] = [i + 1, posted + 1]
        }
      })
      const moreIsPosted = async () => {
        const before = posted
        await eventually(() => posted > before + users.length, true)
      }
      const url = new URL(nodes![2]!.connectionString!)
      const shardsThere = async () => {
        const { nodes: all } = await readClusterState(client)
        return all.find(({ name }) => name === url.host)?.shards
      }
      /** Each move takes seconds on a busy machine; one that fails is tried again for hours. */
      const shardsHaveMoved = async () => {
        for (;;) {
          const { rebalance } = await readClusterState(client)
          if (!rebalance) return
          expect(rebalance).toMatchObject({ state: 'running', error: undefined })
          await Bun.sleep(200)
        }
      }
      const checkShards = async () =>
        examineCluster(await readClusterState(client)).find(({ name }) => name === 'Shards')
      try {
        await moreIsPosted()
        await closePeriod(connection, operator)
        await moreIsPosted()
        const [add, rebalance] = statementsOf('add-node', url.hostname, url.port)
        await client.query(add!)
        expect(await checkShards()).toMatchObject({
          state: 'warn',
          text: expect.stringContaining(`${url.host} is empty`),
        })
        await client.query(rebalance!)
        await shardsHaveMoved()
        expect(await shardsThere()).toBeGreaterThan(0)
        expect(await checkShards()).toMatchObject({ state: 'good' })
        await moreIsPosted()
        await closePeriod(connection, operator)
        await moreIsPosted()
        const [leave, drain, remove] = statementsOf('remove-node', url.hostname, url.port)
        await client.query(leave!)
        await client.query(drain!)
        await shardsHaveMoved()
        expect(await shardsThere()).toBe(0)
        await client.query(remove!)
        await moreIsPosted()
      } finally {
        over.abort()
        await Promise.all(spending)
      }
      await ledger.expectExact(posted)
      await ledger.close()
      await database.drop()
    })
  },
)
