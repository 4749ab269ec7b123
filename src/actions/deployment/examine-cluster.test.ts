/** Doctor on a cluster, on one server that only claims to be one: what it reads, and what it makes of it. */
import { afterAll, beforeAll, expect, setDefaultTimeout, test } from 'bun:test'
import { callCommand } from '../../../test/command.ts'
import { asSuperuser, imitate } from '../../../test/imitated-cluster.ts'
import { openTestService, secretsKey, type TestService } from '../../../test/service.ts'
import { findClusterState, type ClusterNode, type ClusterState } from '../../store/cluster/state.ts'
import type { Check } from '../apps/examine-embedding.ts'
import { examineCluster } from './examine-cluster.ts'

setDefaultTimeout(120_000)

// Another server may have a real cluster, and its superuser is unknown.
const isOtherServer = process.env['TEST_DATABASE_URL'] !== undefined
let opened: TestService
beforeAll(async () => {
  if (!isOtherServer) opened = await openTestService({}, { through: imitate })
})
afterAll(async () => await opened?.close())

const change = async (sql: string) => await asSuperuser(opened.service.db.connection, sql)

async function checksNow(): Promise<Map<string, string>> {
  const state = await findClusterState(opened.service.db.pool)
  return new Map(examineCluster(state!).map((check) => [check.name, `${check.state}: ${check.text}`]))
}

const twoShards = `insert into pg_dist_partition values ('wallets'::regclass, 'h');
  insert into pg_dist_shard values (1, 'wallets'::regclass), (2, 'wallets'::regclass);
  insert into pg_dist_placement values (1, 1), (2, 1);
  insert into citus_shards values (1, 'worker1', 5432, 'distributed', 1000000), (2, 'worker1', 5432, 'distributed', 500000)`

test.skipIf(isOtherServer)('doctor says which node holds what, and which is empty', async () => {
  expect((await checksNow()).get('Shards')).toBe('warn: The database has Citus, but the ledger is not distributed.')
  await change(twoShards)
  const checks = await checksNow()
  expect(checks.get('Shards')).toBe('warn: worker1:5432 has 2 shards of 1.5 MB, worker2:5432 is empty.')
  expect(checks.get('Nodes')).toBe('good: All 3 nodes of the cluster answer.')
  expect(checks.get('Clocks of the nodes')).toStartWith('good')
  await change(`update pg_dist_placement set groupid = 2 where shardid = 2;
    update citus_shards set nodename = 'worker2', shard_size = null where shardid = 2`)
  expect((await checksNow()).get('Shards')).toBe(
    'good: worker1:5432 has 1 shard of 1.0 MB, worker2:5432 has 1 shard of unknown size.',
  )
  await change(`update pg_dist_node set shouldhaveshards = false where nodename = 'worker2'`)
  expect((await checksNow()).get('Shards')).toEndWith('although it should have none.')
  const doctor = await callCommand(['doctor', '--json'], {
    DATABASE_URL: opened.databaseUrl,
    SECRETS_KEY: secretsKey,
    DEMO: '0',
    CARD_PROCESSOR: 'none',
  })
  const { checks: printed } = JSON.parse(doctor.stdout) as { checks: Check[] }
  expect(printed.find(({ name }) => name === 'Shards')).toMatchObject({ state: 'warn' })
})

test.skipIf(isOtherServer)(
  'a rebalance that fails is named with its reason, also while it is tried again',
  async () => {
    expect((await checksNow()).get('Rebalance')).toBe('good: No shards are to move.')
    await change(`insert into pg_dist_background_job values (7, 'rebalance', 'running');
    insert into pg_dist_background_task values (7, 1, 'done', null, ''), (7, 2, 'running', null, '')`)
    expect((await checksNow()).get('Rebalance')).toBe('good: 1 of 2 moves of shards are done.')
    await change(
      `update pg_dist_background_task set status = 'runnable', retry_count = 2, message = 'ERROR: no slot' where task_id = 2`,
    )
    expect((await checksNow()).get('Rebalance')).toBe(
      'bad: 1 of 2 moves of shards are done. A move fails and is tried again: ERROR: no slot',
    )
    await change(
      `update pg_dist_background_job set state = 'failed'; update pg_dist_background_task set status = 'error' where task_id = 2`,
    )
    expect((await checksNow()).get('Rebalance')).toEndWith('The rest was given up: ERROR: no slot')
    await change(`update pg_dist_background_job set state = 'finished'`)
    expect((await checksNow()).get('Rebalance')).toBe('good: No shards are to move.')
  },
)

test.skipIf(isOtherServer)('a node that does not answer is named', async () => {
  await change(`update pg_dist_node set nodename = 'away' where nodeid = 3`)
  const checks = await checksNow()
  await change(`update pg_dist_node set nodename = 'worker2' where nodeid = 3`)
  expect(checks.get('Nodes')).toBe('bad: Of 3 nodes, 1 cannot be asked. away:5432: failed to connect.')
})

const report = {
  walLevel: 'logical',
  maxPreparedTransactions: 200,
  maxConnections: 200,
  recoverAfterMs: 5_000,
  prepared: { count: 0, oldestSeconds: 0 },
}
const node: ClusterNode = { name: 'w:1', isCoordinator: true, mayHold: true, shards: 8, bytes: 1e6, report }
const good: ClusterState = { nodes: [node], clocksApartSeconds: 0.5, rebalance: undefined }
const problems = (changes: Partial<typeof report>, rest: Partial<ClusterState> = {}) =>
  examineCluster({ ...good, nodes: [{ ...node, report: { ...report, ...changes } }], ...rest })
    .filter(({ state }) => state !== 'good')
    .map(({ name, state, text, fix }) => `${name} ${state} ${text} ${fix}`)

test('missing settings, prepared transactions that are left and clocks that differ are named', () => {
  expect(problems({})).toEqual([])
  expect(problems({ walLevel: 'replica' })).toEqual([
    'Settings of the nodes warn w:1: wal_level is replica, so its shards cannot move while the service works. w:1: wal_level = logical',
  ])
  expect(problems({ maxPreparedTransactions: 199 })).toEqual([
    expect.stringContaining('w:1: max_prepared_transactions = 200'),
  ])
  for (const recoverAfterMs of [-1, 60_000])
    expect(problems({ recoverAfterMs })).toEqual([expect.stringContaining('citus.recover_2pc_interval = 5s')])
  expect(problems({ prepared: { count: 3, oldestSeconds: 59 } })).toEqual([])
  expect(problems({ prepared: { count: 3, oldestSeconds: 600 } })).toEqual([
    expect.stringContaining('Prepared transactions bad w:1 has 3, the oldest for 10 minutes: their wallets wait.'),
  ])
  expect(problems({}, { clocksApartSeconds: 2.5 })).toEqual([
    expect.stringContaining('Clocks of the nodes warn They are at least 2.5 s apart'),
  ])
  expect(problems({}, { clocksApartSeconds: 90 })).toEqual([expect.stringContaining('Clocks of the nodes bad')])
})
