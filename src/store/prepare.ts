/** A migrated database to work on: the one that was named, or the embedded one. */
import { Client } from 'pg'
import type { Config } from '../config.ts'
import type { Connection } from './database.ts'
import { startEmbedded } from './embedded/embedded.ts'
import { migrate } from './migrations/migrate.ts'

export type Prepared = {
  readonly connection: Connection
  /** The names of the migrations that this call brought. */
  readonly applied: readonly string[]
  readonly release: () => Promise<void>
}

export async function prepareDatabase(
  config: Pick<Config, 'databaseUrl' | 'dataDir'>,
  log: (message: string) => void,
): Promise<Prepared> {
  const prepared = config.databaseUrl
    ? { connection: { connectionString: config.databaseUrl }, release: async () => {} }
    : await startEmbedded({ dataDir: config.dataDir, log })
  const client = new Client(prepared.connection)
  let applied: readonly string[]
  try {
    await client.connect()
    applied = (await migrate(client)).applied
    for (const name of applied) log(`migration ${name} applied`)
  } catch (error) {
    await client.end().catch(() => {})
    await prepared.release()
    throw error
  }
  await client.end()
  return { ...prepared, applied }
}
