/** A separate database server for the run: the embedded one, with the settings the service gives it. */
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
  /** An existing database of that name is opened unchanged. */
  readonly openDatabase: (name: string) => Promise<BenchDatabase>
  readonly dropDatabase: (name: string) => Promise<void>
  /** On the server's own database. */
  readonly query: BenchDatabase['query']
  /** Of the server and all its processes, since its start. */
  readonly cpuSeconds: () => number
  /** With `keep` the data stays, and the next run resumes with it. */
  readonly stop: (keep?: boolean) => Promise<void>
}

export async function startCluster(dataDir: string): Promise<Cluster> {
  const embedded = await startEmbedded({ dataDir, log: () => {} })
  const { host, port } = embedded.connection
  const connectionOf = (database: string) => ({ host, port, user: 'postgres', database, ssl: false as const })
  const pid = Number.parseInt(readFileSync(join(dataDir, 'postgres', 'postmaster.pid'), 'utf8'), 10)
  return {
    cpuSeconds: () => familyCpuSeconds(pid),
    query: (text, values) => queryOnce(connectionOf('postgres'), text, values),
    dropDatabase: async (name) => {
      await queryOnce(connectionOf('postgres'), `drop database if exists ${name} with (force)`)
    },
    openDatabase: async (name) => {
      const known = await queryOnce(connectionOf('postgres'), 'select 1 from pg_database where datname = $1', [name])
      if (known.length === 0) await queryOnce(connectionOf('postgres'), `create database ${name}`)
      const url = `postgres://postgres@${encodeURIComponent(host)}:${port}/${name}`
      return databaseOn(url, connectionOf(name))
    },
    stop: async (keep = false) => {
      await embedded.release()
      if (!keep) await rm(dataDir, { recursive: true, force: true })
    },
  }
}

export function databaseOn(url: string, connection: ClientConfig): BenchDatabase {
  return { url, connection, query: (text, values) => queryOnce(connection, text, values) }
}

/** Returns numbers as text, so that none is rounded. */
async function queryOnce(
  connection: ClientConfig,
  text: string,
  values: unknown[] = [],
): Promise<Record<string, string>[]> {
  const client = new Client({ ...connection, types: { getTypeParser: () => (value: string) => value } })
  // The query fails too; without a listener, the process would end as well.
  client.on('error', () => {})
  await client.connect()
  try {
    return (await client.query<Record<string, string>>(text, values)).rows
  } finally {
    await client.end()
  }
}
