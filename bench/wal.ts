/** The bytes that one database wrote to the write-ahead log of its server, found by the tables in the records. */
import { Client } from 'pg'
import type { BenchDatabase } from './cluster.ts'

export type LogBytes = {
  /** Of all tables and indexes of the database. */
  readonly all: number
  /** Of the tables of events and their indexes alone. */
  readonly events: number
}

export type LogReader = {
  readonly position: () => Promise<string>
  readonly bytesSince: (position: string) => Promise<LogBytes>
  readonly close: () => Promise<void>
}

/** A record may change several blocks. Those of this database are of one table and its index, so any of them has the table. */
const bytesSql = `select coalesce(sum(length), 0)::float8 as all,
    coalesce(sum(length) filter (where relation ~ '^(journal|event_)'), 0)::float8 as events
  from (
    select max(b.record_length) as length, max(c.relname::text) as relation
    from pg_get_wal_block_info($1, pg_current_wal_flush_lsn(), false) as b
    left join pg_class c on pg_relation_filenode(c.oid) = b.relfilenode
    where b.reldatabase = (select oid from pg_database where datname = current_database()) group by b.start_lsn
  ) as record`

export async function openLogReader({ connection }: BenchDatabase): Promise<LogReader> {
  const client = new Client(connection)
  await client.connect()
  await client.query('create extension if not exists pg_walinspect')
  return {
    position: async () => {
      const { rows } = await client.query<{ at: string }>('select pg_current_wal_flush_lsn()::text as at')
      return rows[0]!.at
    },
    bytesSince: async (position) => (await client.query<LogBytes>(bytesSql, [position])).rows[0]!,
    close: () => client.end(),
  }
}
