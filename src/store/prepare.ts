/** The database that DATABASE_URL names, or the embedded one: migrated, or as it is. */
import type { Config } from '../config.ts'
import { checkConnections } from './connection/connection-limit.ts'
import { commandConnectMs, type Connection, type Queryable } from './connection/open-client.ts'
import { openClient } from './connection/servers.ts'
import { hasDatabase, startEmbedded } from './embedded/embedded.ts'
import { findReadProblem, migrate } from './migrations/migrate.ts'
import { refuseSharingPooler } from './connection/pooler.ts'
import { asUnreachable } from './connection/unreachable.ts'

/** A database as it is, without migrations. */
export type Reached = { readonly connection: Connection; readonly release: () => Promise<void> }

export type Prepared = Reached & {
  /** The names of the migrations that this call applied. */
  readonly applied: readonly string[]
}

/** `connections`: if given, checks that the server has room for that many. */
export async function prepareDatabase(
  config: Pick<Config, 'databaseUrls' | 'dataDir'>,
  log: (message: string) => void,
  connections?: number,
): Promise<Prepared> {
  const reached = await reachDatabase(config, log)
  try {
    const applied = await prepareServer(config, reached.connection, log, connections)
    return { ...reached, applied }
  } catch (error) {
    await reached.release()
    throw error
  }
}

/** A sentence for the operator: this database cannot be read, and nothing was changed. */
export class DatabaseRefused extends Error {
  override name = 'DatabaseRefused'
}

/** A database of exactly this schema. Nothing is created or migrated. */
export async function openForReading(config: Pick<Config, 'databaseUrls' | 'dataDir'>): Promise<Reached> {
  const reached = await reachExisting(config)
  try {
    const problem = await withClient(config, reached.connection, findReadProblem)
    if (problem !== null) throw new DatabaseRefused(problem)
    return reached
  } catch (error) {
    await reached.release()
    throw error
  }
}

/** The database as it is, for a command that creates its tables itself. An embedded server is created if there is none. */
export async function openAsIs(config: Pick<Config, 'databaseUrls' | 'dataDir'>): Promise<Reached> {
  const reached = await reachDatabase(config, () => {})
  try {
    await withClient(config, reached.connection, async () => {})
    return reached
  } catch (error) {
    await reached.release()
    throw error
  }
}

/** Does not create a database in the data folder. */
export async function reachExisting(config: Pick<Config, 'databaseUrls' | 'dataDir'>): Promise<Reached> {
  const { databaseUrls, dataDir } = config
  if (databaseUrls.length === 0 && !(await hasDatabase(dataDir)))
    throw new DatabaseRefused(
      `There is no database in ${dataDir}: "npm start" creates one. Check DATA_DIR and DATABASE_URL.`,
    )
  return await reachDatabase(config, () => {})
}

async function reachDatabase(
  { databaseUrls, dataDir }: Pick<Config, 'databaseUrls' | 'dataDir'>,
  log: (message: string) => void,
): Promise<Reached> {
  const [first, ...others] = databaseUrls
  return first === undefined
    ? await startEmbedded({ dataDir, log })
    : { connection: connectionTo(first, others), release: async () => {} }
}

function connectionTo(first: string, others: readonly string[]): Connection {
  return { connectionString: first, others: others.map((connectionString) => ({ connectionString })) }
}

async function prepareServer(
  config: Pick<Config, 'databaseUrls'>,
  connection: Connection,
  log: (message: string) => void,
  connections: number | undefined,
): Promise<readonly string[]> {
  return await withClient(config, connection, async (client) => {
    const warning = connections && (await checkConnections(client, connections))
    if (warning) log(warning)
    const { applied } = await migrate(client)
    for (const name of applied) log(`migration ${name} applied`)
    return applied
  })
}

async function withClient<T>(
  { databaseUrls }: Pick<Config, 'databaseUrls'>,
  connection: Connection,
  work: (client: Queryable) => Promise<T>,
): Promise<T> {
  const opening = openClient(connection, { name: 'billfold start', connectWithinMs: commandConnectMs })
  const client = await opening.catch((error: unknown) => {
    throw databaseUrls.length === 0 ? error : asUnreachable(error, databaseUrls)
  })
  try {
    await refuseSharingPooler(connection, client)
    return await work(client)
  } finally {
    await client.end()
  }
}
