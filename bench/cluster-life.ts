/**
 * `npm run bench -- cluster-life --bin DIR [--user postgres]`: the life of a cluster, rehearsed on separate servers. Two workers become
 * four while users spend, one of them is killed and comes back, a migration changes a distributed table, and one leaves. After each step
 * every acknowledged operation must be in the books exactly once, and `verify` must find no fault. DIR has the programs of a PostgreSQL
 * with Citus.
 */
import { setTimeout as sleep } from 'node:timers/promises'
import { parseArgs } from 'node:util'
import { postForApp } from '../src/actions/money/post.ts'
import { findApp, type App } from '../src/store/apps.ts'
import { distribute } from '../src/store/cluster/distribution.ts'
import { readClusterState } from '../src/store/cluster/state.ts'
import { openClient } from '../src/store/connection/servers.ts'
import type { OpenClient } from '../src/store/connection/open-client.ts'
import { migrate, parseMigration, readMigrations } from '../src/store/migrations/migrate.ts'
import { verifyBooks } from '../src/store/verify/verify.ts'
import { newApp, newUsers, openTestService, type TestService } from '../test/service.ts'
import { createDatabases, startNodes, type CitusNode } from '../test/citus-nodes.ts'

const database = 'life'
const users = 48

type Traffic = {
  readonly acknowledged: () => number
  readonly failed: () => number
  /** Returns once no operation is under way. */
  readonly pause: () => Promise<void>
  readonly resume: (opened: TestService) => void
}

export async function rehearseLife(args: readonly string[]): Promise<boolean> {
  const { values } = parseArgs({
    args: [...args],
    options: { bin: { type: 'string' }, user: { type: 'string', default: 'postgres' } },
  })
  if (!values.bin) throw new Error('--bin DIR: where are the programs of a PostgreSQL with Citus?')
  const { nodes, remove } = await startNodes(values.bin, 5, values.user)
  try {
    return await rehearse(nodes)
  } finally {
    await remove()
  }
}

async function rehearse(nodes: readonly CitusNode[]): Promise<boolean> {
  await createDatabases(nodes, database)
  const [coordinator, , second, third, fourth] = nodes as [CitusNode, CitusNode, CitusNode, CitusNode, CitusNode]
  const connection = { connectionString: `${coordinator.url}${database}` }
  const client = await openClient(connection, { name: 'life', settings: { statement_timeout: '0' } })
  await client.query(`select citus_set_coordinator_host('127.0.0.1', ${coordinator.port})`)
  await client.query(`select citus_set_node_property('127.0.0.1', ${coordinator.port}, 'shouldhaveshards', false)`)
  for (const { port } of nodes.slice(1, 3)) await addNode(client, port)
  await migrate(client)
  await distribute(client)
  let opened = await openTestService({ WRITER_LANES: '2' }, { through: () => connection })
  const { clientId } = await newApp(opened.service)
  const app = (await findApp(opened.service.db.pool, clientId))!
  const people = await newUsers(opened.service, { clientId }, users)
  const traffic = openTraffic(
    app,
    people.map(({ serviceUserId }) => serviceUserId),
  )
  let isExact = true
  const step = async (name: string, work: () => Promise<void>) => {
    traffic.resume(opened)
    const [before, failedBefore] = [traffic.acknowledged(), traffic.failed()]
    await more(traffic)
    await work()
    await more(traffic)
    await traffic.pause()
    const { rows } = await client.query<{ count: number; once: number }>(
      'select count(*)::int as count, count(distinct reference_id)::int as once from transfers',
    )
    const { count, once } = rows[0]!
    const { faults } = await verifyBooks(connection)
    const all = traffic.acknowledged()
    const isRight = count === all && once === all && faults === 0
    isExact &&= isRight
    console.log(
      `${name}: ${all - before} acknowledged, ${traffic.failed() - failedBefore} attempts without an answer, repeated; in the books ${count} of ${all}, each once: ${once === count}, faults ${faults}${isRight ? '' : '  ← WRONG'}`,
    )
  }
  await step('two workers', () => sleep(3_000))
  await step('two more join', async () => {
    for (const { port } of [third, fourth]) await addNode(client, port)
    await rebalance(client, `rebalance_strategy := 'by_shard_count'`)
  })
  await step('one of four is killed', async () => {
    await second.kill()
    await sleep(1_000)
    const [acknowledged, failed] = [traffic.acknowledged(), traffic.failed()]
    await sleep(8_000)
    console.log(
      `  while it is away: ${traffic.acknowledged() - acknowledged} acknowledged, ${traffic.failed() - failed} refused`,
    )
    await second.start()
  })
  await step('an upgrade with a migration', async () => {
    const migrations = await readMigrations()
    const number = String(migrations.length + 1).padStart(4, '0')
    const added = parseMigration(`${number}_life.sql`, 'alter table transfers add column life text;')
    await migrate(client, { migrations: [...migrations, added] })
    await distribute(client)
    await traffic.pause()
    await opened.close()
    opened = await openTestService({ WRITER_LANES: '2' }, { through: () => connection })
    traffic.resume(opened)
  })
  await step('one leaves', async () => {
    await client.query(`select citus_set_node_property('127.0.0.1', ${fourth.port}, 'shouldhaveshards', false)`)
    await rebalance(client, 'drain_only := true')
    await client.query(`select citus_remove_node('127.0.0.1', ${fourth.port})`)
  })
  await opened.close()
  await client.end()
  console.log(isExact ? 'exact after every step' : 'NOT EXACT')
  return isExact
}

async function addNode(client: OpenClient, port: number): Promise<void> {
  await client.query(`select citus_add_node('127.0.0.1', ${port})`)
}

async function rebalance(client: OpenClient, how: string): Promise<void> {
  await client.query(`select citus_rebalance_start(${how})`)
  for (;;) {
    const { rebalance: running } = await readClusterState(client)
    if (!running) return
    if (running.error !== undefined) throw new Error(running.error)
    await sleep(200)
  }
}

/** Until about five operations of each user are acknowledged. */
async function more({ acknowledged }: Traffic): Promise<void> {
  const before = acknowledged()
  while (acknowledged() < before + 5 * users) await sleep(20)
}

/** Each user has one operation under way. Those without an answer may be in the books: they are repeated until all have one. */
function openTraffic(app: App, people: readonly string[]): Traffic {
  let [acknowledged, failed, made] = [0, 0, 0]
  let over = new AbortController()
  let running: Promise<unknown> = Promise.resolve()
  const spend = async ({ service }: TestService, serviceUserId: string, signal: AbortSignal) => {
    const posting = { referenceType: 'T', description: null, direction: 'credit', amountMinor: 1n } as const
    const owed: string[] = []
    for (let turn = 0; owed.length > 0 || !signal.aborted; turn++) {
      // Not more often: what needs a lost node fails until the node is back, and would take the place of what does not.
      const isRepeat = owed.length > 0 && (signal.aborted || turn % 4 === 0)
      const referenceId = isRepeat ? owed.shift()! : `life ${made++}`
      const result = await postForApp(service, app, { ...posting, serviceUserId, referenceId }).catch(() => undefined)
      if (result?.kind === 'outcome') acknowledged++
      else {
        failed++
        owed.push(referenceId)
        await sleep(100)
      }
    }
  }
  return {
    acknowledged: () => acknowledged,
    failed: () => failed,
    pause: async () => {
      over.abort()
      await running
    },
    resume: (opened) => {
      if (!over.signal.aborted && made > 0) return
      const { signal } = (over = new AbortController())
      running = Promise.all(people.map((id) => spend(opened, id, signal)))
    },
  }
}
