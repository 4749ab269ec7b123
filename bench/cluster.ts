/** A database server of the run's own: the embedded one, with the settings the service gives it. */
import { readFileSync } from 'node:fs'
import { rm } from 'node:fs/promises'
import { join } from 'node:path'
import { Client, type ClientConfig } from 'pg'
import { startEmbedded } from '../src/store/embedded/embedded.ts'
import { familyCpuSeconds } from './usage.ts'

export type BenchDatabase = {
  readonly url: string
  readonly connection: ClientConfig
  readonly query: (text: string, values?: unknown[]) => Promise<Record<string, string>[]>
}

export type Cluster = {
  readonly createDatabase: (name: string) => Promise<BenchDatabase>
  /** Of the server and all its processes, since it started. */
  readonly cpuSeconds: () => number
  readonly stop: () => Promise<void>
}

export async function startCluster(dataDir: string): Promise<Cluster> {
  const embedded = await startEmbedded({ dataDir, log: () => {} })
  const { host, port } = embedded.connection
  const connectionOf = (database: string) => ({ host, port, user: 'postgres', database, ssl: false as const })
  const pid = Number.parseInt(readFileSync(join(dataDir, 'postgres', 'postmaster.pid'), 'utf8'), 10)
  return {
    cpuSeconds: () => familyCpuSeconds(pid),
    createDatabase: async (name) => {
      await queryOnce(connectionOf('postgres'), `create database ${name}`)
      const url = `postgres://postgres@${encodeURIComponent(host)}:${port}/${name}`
      const connection = connectionOf(name)
      return { url, connection, query: (text, values) => queryOnce(connection, text, values) }
    },
    stop: async () => {
      await embedded.release()
      await rm(dataDir, { recursive: true, force: true })
    },
  }
}

/** Numbers come as text, so that none is rounded. */
async function queryOnce(
  connection: ClientConfig,
  text: string,
  values: unknown[] = [],
): Promise<Record<string, string>[]> {
  const client = new Client({ ...connection, types: { getTypeParser: () => (value: string) => value } })
  await client.connect()
  try {
    return (await client.query<Record<string, string>>(text, values)).rows
  } finally {
    await client.end()
  }
}
