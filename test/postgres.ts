import { createHash, randomBytes } from 'node:crypto'
import { existsSync } from 'node:fs'
import { appendFile, readFile } from 'node:fs/promises'
import { hostname, tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { Client } from 'pg'
import { distribute, isCluster } from '../src/store/cluster/distribution.ts'
import { sqlState, type Connection } from '../src/store/connection/database.ts'
import { isAlive, readPidFile } from '../src/store/embedded/server-process.ts'
import { startEmbedded, type Embedded } from '../src/store/embedded/embedded.ts'
import { migrate, readMigrations } from '../src/store/migrations/migrate.ts'
import { startService } from './embedded-process.ts'

export type TestDatabase = {
  name: string
  connection: Connection
  /** The same, for a process that is given DATABASE_URL. */
  url: string
  drop: () => Promise<void>
}

const templateLock = 0xb111f02d
const dayMs = 86_400_000
/** A process number means something only on the machine it belongs to. */
const machine = hash(hostname())

let embedded: Promise<Embedded> | null = null
let prepared: Promise<string> | null = null
let cluster: Promise<readonly Connection[] | undefined> | null = null

/**
 * A fresh, migrated database: a clone of a template made once per set of migrations. All test processes of this machine share
 * one embedded server, which stays for the next run; TEST_DATABASE_URL names another server to use instead. Where that is the
 * coordinator of a Citus cluster, the template is distributed and cloned on every node, and the connection names each of them.
 */
export async function testDatabase(): Promise<TestDatabase> {
  const template = await (prepared ??= prepare())
  const name = newName()
  await onEveryNode((admin) => cloneTemplate(admin, template, name))
  return await databaseNamed(name)
}

/** Without a table; on a cluster, that many of its nodes have joined, and the others have the database too. */
export async function emptyDatabase(joined?: number): Promise<TestDatabase> {
  const name = newName()
  await onEveryNode((admin) => admin.query(`create database ${name}`))
  const nodes = await findCluster()
  if (nodes) await joinNodes(nodes, name, joined)
  return await databaseNamed(name)
}

const newName = () =>
  ['billfold_test', Date.now().toString(36), machine, process.pid, randomBytes(4).toString('hex')].join('_')

async function databaseNamed(name: string): Promise<TestDatabase> {
  const nodes = (await findCluster())?.map((node) => inDatabase(node, name))
  const [first = await connectionTo(name), ...others] = nodes ?? []
  const connection = others.length > 0 ? { ...first, others } : first
  return { name, connection, url: urlOf(connection), drop: () => leaveToDrop(name) }
}

/**
 * To drop a database PostgreSQL waits for a checkpoint, a second and more. The caller does not wait: the server finishes the statement
 * after the connection is gone, and `dropStale` finds what is left nevertheless.
 */
async function leaveToDrop(name: string): Promise<void> {
  const nodes = (await findCluster()) ?? [await connectionTo()]
  for (const node of nodes) {
    const admin = new Client(node)
    admin.on('error', () => {})
    await admin.connect()
    void dropDatabase(admin, name)
      .catch(() => {})
      .finally(() => void admin.end())
  }
}

/** Stops the shared server unless another test process uses it; for the end of a whole run. */
export async function releaseTestServer(): Promise<void> {
  const held = embedded
  embedded = null
  prepared = null
  await (await held)?.release()
}

async function connectionTo(database?: string): Promise<Connection> {
  const other = process.env['TEST_DATABASE_URL']
  if (other) return inDatabase({ connectionString: other }, database)
  const { connection } = await (embedded ??= joinShared(testDataDir()))
  return { ...connection, database: database ?? connection.database }
}

function inDatabase({ connectionString = '' }: Connection, database: string | undefined): Connection {
  const url = new URL(connectionString)
  if (database !== undefined) url.pathname = `/${database}`
  return { connectionString: url.href }
}

/** Bun ends the children of a test that takes too long: the server that others share must not be one of them. */
async function joinShared(dataDir: string): Promise<Embedded> {
  const isStopped = (await readPidFile(join(dataDir, 'postgres'))) === null
  if (isStopped) await useFewBuffers(dataDir)
  const starter = isStopped ? await startService(dataDir) : null
  const held = await startEmbedded({ dataDir, log: () => undefined })
  await starter?.kill()
  return held
}

/**
 * To create or drop a database PostgreSQL searches all of its buffers several times. An eighth of the memory, as for a real service,
 * is 400,000 buffers on a machine of 24 GB: to create, use and drop a database then took 70 ms of processor time instead of 29.
 */
async function useFewBuffers(dataDir: string): Promise<void> {
  const file = join(dataDir, 'postgres', 'postgresql.conf')
  if (!existsSync(file)) await (await startService(dataDir)).leave()
  const setting = `shared_buffers = '128MB'`
  if (!(await readFile(file, 'utf8')).includes(setting)) await appendFile(file, `${setting}\n`)
}

function urlOf({ connectionString, host, user, database }: Connection): string {
  return connectionString ?? `postgres://${user}@${encodeURIComponent(host ?? '')}/${database}`
}

/** What a service is given where there is a cluster: each of its nodes may coordinate batches. The same elsewhere. */
export async function nameNodes(url: string): Promise<string> {
  const nodes = await findCluster()
  const hosts = (nodes ?? []).map(({ connectionString }) => new URL(connectionString!).host)
  return hosts[0] === undefined ? url : url.replace(`@${hosts[0]}/`, `@${hosts.join()}/`)
}

/** The folder of one user's tests of one checkout: others on the machine have their own. */
export function testDataDir(): string {
  const project = fileURLToPath(new URL('..', import.meta.url))
  return join(tmpdir(), `billfold-test-${process.getuid?.() ?? 0}-${hash(project)}`)
}

async function prepare(): Promise<string> {
  const migrations = await readMigrations()
  const template = `billfold_template_${hash(migrations.map(({ name, checksum }) => `${name} ${checksum}`).join())}`
  await withAdmin(async (admin) => {
    await admin.query('select pg_advisory_lock($1)', [templateLock])
    await onEveryNode((node) => dropStale(node, template))
    const { rows } = await admin.query('select 1 from pg_database where datname = $1', [template])
    if (rows.length === 0) await buildTemplate(template)
    // When it was last used, for dropStale.
    await onEveryNode((node) => node.query(`comment on database ${template} is '${Date.now()}'`))
  })
  return template
}

/** Built under another name, so that a run cut short leaves no half-migrated template behind. */
async function buildTemplate(template: string): Promise<void> {
  const draft = `${template}_draft`
  await onEveryNode(async (admin) => {
    await dropDatabase(admin, draft)
    await admin.query(`create database ${draft}`)
  })
  const nodes = await findCluster()
  if (nodes) await joinNodes(nodes, draft)
  await withClient(await connectionTo(draft), async (client) => {
    await migrate(client)
    if (nodes) await distribute(client)
  })
  // The first connection after a migration writes what PostgreSQL caches of the catalogs into a file, and clones have its copy.
  await withClient(await connectionTo(draft), (client) => client.query('select 1'))
  await onEveryNode(async (admin) => {
    await admin.query(`alter database ${draft} with allow_connections false`)
    // Each database of a cluster has a process that looks after it.
    if (nodes) await admin.query(`select pg_terminate_backend(pid) from pg_stat_activity where datname = $1`, [draft])
    await admin.query(`alter database ${draft} rename to ${template}`)
  })
}

/** A database of this name on every node is one database of the cluster. */
async function joinNodes(nodes: readonly Connection[], database: string, joined = nodes.length): Promise<void> {
  for (const node of nodes)
    await withClient(inDatabase(node, database), (client) => client.query('create extension citus'))
  await withClient(await connectionTo(database), async (client) => {
    for (const [i, { connectionString = '' }] of nodes.slice(0, joined).entries()) {
      const { hostname, port } = new URL(connectionString)
      const join = i === 0 ? 'citus_set_coordinator_host' : 'citus_add_node'
      await client.query(`select ${join}($1, $2)`, [hostname, Number(port)])
    }
    const { hostname, port } = new URL(nodes[0]!.connectionString!)
    const node = [hostname, Number(port), nodes.length === 1]
    await client.query(`select citus_set_node_property($1, $2, 'shouldhaveshards', $3)`, node)
  })
}

/** Its nodes, the coordinator first; undefined where the database of TEST_DATABASE_URL belongs to no cluster. */
export function findCluster(): Promise<readonly Connection[] | undefined> {
  return (cluster ??= lookForCluster())
}

async function lookForCluster(): Promise<readonly Connection[] | undefined> {
  const coordinator = process.env['TEST_DATABASE_URL']
  if (!coordinator) return undefined
  return await withAdmin(async (admin) => {
    if (!(await isCluster(admin))) return undefined
    const { rows } = await admin.query<{ host: string; port: number }>(
      `select nodename as host, nodeport as port from pg_dist_node where noderole = 'primary' order by groupid`,
    )
    // A cluster of one node may not have named it yet.
    if (rows.length === 0) return [{ connectionString: coordinator }]
    return rows.map(({ host, port }) => {
      const url = new URL(coordinator)
      url.hostname = host
      url.port = String(port)
      return { connectionString: url.href }
    })
  })
}

/** The embedded server copies the files: the other strategy writes every page of the template to the write-ahead log. */
async function cloneTemplate(admin: Client, template: string, name: string): Promise<void> {
  const strategy = process.env['TEST_DATABASE_URL'] ? '' : 'strategy file_copy'
  for (let triesLeft = 20; ; triesLeft--) {
    try {
      await admin.query(`create database ${name} template ${template} ${strategy}`)
      return
    } catch (error) {
      // Object in use: autovacuum happens to work on the template.
      if (triesLeft === 0 || sqlState(error) !== '55006') throw error
    }
  }
}

/** Clones whose process ended without dropping them, and templates of migrations that were since changed. */
async function dropStale(admin: Client, template: string): Promise<void> {
  const { rows } = await admin.query<{ name: string; note: string | null }>(
    `select datname as name, shobj_description(oid, 'pg_database') as note from pg_database
     where datname ~ '^billfold_(test|template)_'`,
  )
  for (const { name, note } of rows) {
    const isStale = name.startsWith('billfold_test_')
      ? isStaleClone(name)
      : name !== template && Number(note) < Date.now() - dayMs
    if (isStale) await dropDatabase(admin, name)
  }
}

function isStaleClone(name: string): boolean {
  const [, , madeAt = '', madeOn, pid] = name.split('_')
  if (Number.parseInt(madeAt, 36) < Date.now() - dayMs) return true
  return madeOn === machine && !isAlive(Number(pid))
}

type Asking = { query(sql: string): Promise<unknown> }

/** The server's own vacuum may be at work in it, which our role may not end; it ends soon. So does a cluster's maintenance process. */
export async function dropDatabase(admin: Asking, name: string, tries = 300): Promise<void> {
  try {
    await admin.query(`drop database if exists ${name} with (force)`)
  } catch (error) {
    if (![insufficientPrivilege, objectInUse].includes(sqlState(error) ?? '') || tries === 1) throw error
    await sleep(100)
    await dropDatabase(admin, name, tries - 1)
  }
}

const insufficientPrivilege = '42501'
const objectInUse = '55006'

async function withAdmin<T>(work: (admin: Client) => Promise<T>): Promise<T> {
  return await withClient(await connectionTo(), work)
}

/** On the one server, or on all of a cluster. */
async function onEveryNode(work: (admin: Client) => Promise<unknown>): Promise<void> {
  const nodes = (await findCluster()) ?? [await connectionTo()]
  await Promise.all(nodes.map((node) => withClient(node, work)))
}

async function withClient<T>(connection: Connection, work: (client: Client) => Promise<T>): Promise<T> {
  const client = new Client(connection)
  await client.connect()
  try {
    return await work(client)
  } finally {
    await client.end()
  }
}

function hash(text: string): string {
  return createHash('sha256').update(text).digest('hex').slice(0, 12)
}
