/** The faults of a fault run: each breaks something, names it, and repairs it after a while. */
import { closePeriod } from '../../src/actions/money/close-period.ts'
import { ClosingRefused } from '../../src/store/closing/close-ledger.ts'
import { isUnavailable } from '../../src/store/connection/database.ts'
import { readFile } from 'node:fs/promises'
import { setTimeout as sleep } from 'node:timers/promises'
import { Client, type ClientConfig } from 'pg'
import type { Random } from './random.ts'
import type { Node } from './node.ts'

export type Scene = {
  readonly nodes: readonly Node[]
  readonly admin: ClientConfig
  /** The same database; on a cluster on each of its nodes. */
  readonly servers: readonly ClientConfig[]
  readonly random: Random
  /** Undefined if no process would restart the server. */
  readonly postmasterPid: (() => Promise<number>) | undefined
  /** Wallets that the load uses. */
  readonly walletIds: readonly string[]
}

type Fault = (scene: Scene) => Promise<void>

export const faultOfPostmaster = 'kill -9 of the database server'

export const faults: Readonly<Record<string, Fault>> = {
  'kill -9 of a service': async ({ nodes, random }) => await random.pick(nodes).killAndRestart(),

  'SIGTERM and restart of a service': async ({ nodes, random }) => await random.pick(nodes).stopAndRestart(),

  [faultOfPostmaster]: async ({ postmasterPid }) => {
    process.kill(await postmasterPid!(), 'SIGKILL')
    await sleep(1_000)
  },

  'kill -9 of a backend, and recovery': async (scene) => {
    const [pid] = await backends(scene, `application_name = 'billfold writer' or ${isOfCitus}`)
    // The process ids of a server on another machine mean something else here.
    if (pid !== undefined && (scene.postmasterPid || (await isPostgres(pid)))) process.kill(pid, 'SIGKILL')
  },

  'backends terminated': async (scene) =>
    await repeat(
      10,
      100,
      async () => await onAll(scene, 'pg_terminate_backend', `application_name like 'billfold%' or ${isOfCitus}`),
    ),

  'statements cancelled': async (scene) =>
    await repeat(20, 50, async () => await onAll(scene, 'pg_cancel_backend', "state = 'active'")),

  'a wire that forgets its connections': async ({ nodes, random }) => {
    const { wire } = random.pick(nodes)
    wire.goSilent()
    await sleep(random.between(1_000, 4_000))
    wire.mend()
  },

  'a wire that is cut': async ({ nodes, random }) => {
    const { wire } = random.pick(nodes)
    wire.cut()
    await sleep(random.between(200, 4_000))
    wire.mend()
  },

  'connections reset in the middle of everything': async ({ nodes, random }) => {
    const { wire } = random.pick(nodes)
    await repeat(30, 40, async () => {
      wire.cut()
      wire.mend()
    })
  },

  'answers to commits cut off': async ({ nodes, random }) => {
    const { wire } = random.pick(nodes)
    wire.cutCommits()
    await sleep(random.between(500, 2_000))
    wire.mend()
  },

  'a slow wire': async ({ nodes, random }) => {
    const { wire } = random.pick(nodes)
    wire.slowDown(random.between(20, 300))
    await sleep(random.between(500, 2_000))
    wire.mend()
  },

  'wallets held by a stranger': async ({ admin, random, walletIds }) =>
    await withClient(admin, async (client) => {
      const held = Array.from({ length: 5 }, () => random.pick(walletIds))
      await client.query('begin')
      for (const id of held.toSorted()) await client.query('select 1 from wallets where id = $1 for update', [id])
      await sleep(random.between(500, 5_000))
      await client.query('rollback')
    }),

  'a table locked': async ({ admin, random }) =>
    await withClient(admin, async (client) => {
      await client.query('begin')
      await client.query(`set local lock_timeout = '2s'`)
      await client.query(`lock table ${random.pick(['wallets', 'outcomes', 'links', 'apps'])} in access exclusive mode`)
      await sleep(random.between(200, 2_000))
      await client.query('rollback')
    }),

  /** Refused where nothing was posted since the last one, and on a cluster. */
  'a period closed': async ({ admin }) =>
    await closePeriod(admin, { name: 'cli:faults', address: null }).then(
      () => {},
      (error: Error) => {
        if (!(error instanceof ClosingRefused) && !isUnavailable(error)) throw error
        console.log(`  (not closed: ${error.message.slice(0, 160)})`)
      },
    ),
}

async function isPostgres(pid: number): Promise<boolean> {
  return (await readFile(`/proc/${pid}/comm`, 'utf8').catch(() => '')).startsWith('postgres')
}

async function repeat(times: number, everyMs: number, act: () => Promise<void>): Promise<void> {
  for (let i = 0; i < times; i++) {
    await act()
    await sleep(everyMs)
  }
}

/** The connections that a coordinator opens to the other nodes. */
const isOfCitus = `application_name like 'citus_internal%'`

async function backends({ servers, random }: Scene, condition: string): Promise<number[]> {
  return await withClient(random.pick(servers), async (client) => {
    const { rows } = await client.query<{ pid: number }>(
      `select pid from pg_stat_activity where datname = current_database() and pid <> pg_backend_pid() and (${condition})
       order by random()`,
    )
    return rows.map((row) => row.pid)
  })
}

async function onAll({ servers, random }: Scene, act: string, condition: string): Promise<void> {
  await withClient(random.pick(servers), async (client) => {
    await client.query(
      `select ${act}(pid) from pg_stat_activity where datname = current_database() and pid <> pg_backend_pid() and (${condition})`,
    )
  })
}

/** Does nothing while the database is down. */
async function withClient<T>(config: ClientConfig, work: (client: Client) => Promise<T>): Promise<T> {
  const client = new Client({ ...config, connectionTimeoutMillis: 5_000, application_name: 'fault run' })
  client.on('error', () => {})
  await client.connect()
  try {
    return await work(client)
  } finally {
    await client.end().catch(() => {})
  }
}
