/** A migrated database: the one that DATABASE_URL names, or the embedded one. */
import type { Config } from '../config.ts'
import { checkConnections } from './connection/connection-limit.ts'
import type { Connection } from './connection/open-client.ts'
import { openClient } from './connection/servers.ts'
import { startEmbedded } from './embedded/embedded.ts'
import { migrate } from './migrations/migrate.ts'
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

export async function reachDatabase(
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
  { databaseUrls }: Pick<Config, 'databaseUrls'>,
  connection: Connection,
  log: (message: string) => void,
  connections: number | undefined,
): Promise<readonly string[]> {
  const opening = openClient(connection, { name: 'billfold start', connectWithinMs: 5_000 })
  const client = await opening.catch((error: unknown) => {
    throw databaseUrls.length === 0 ? error : asUnreachable(error, databaseUrls)
  })
  try {
    await refuseSharingPooler(connection, client)
    const warning = connections && (await checkConnections(client, connections))
    if (warning) log(warning)
    const { applied } = await migrate(client)
    for (const name of applied) log(`migration ${name} applied`)
    return applied
  } finally {
    await client.end()
  }
}
