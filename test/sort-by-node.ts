/** Which rows a node of a cluster has, for tests that take it away. */
import { expect } from 'bun:test'
import type { Queryable } from '../src/store/connection/open-client.ts'

export type Placed = {
  readonly client: Queryable
  readonly clientId: string
  /** Their serviceUserIds. */
  readonly users: readonly string[]
}

const isThereSql = (shard: string, port: string) =>
  `(select n.nodeport = ${port} from pg_dist_placement p join pg_dist_node n on n.groupid = p.groupid where p.shardid = ${shard})`

/** Wallets of users, and unused references, by whether the worker has their row. */
export async function sortByNode({ client, clientId, users }: Placed, port: number) {
  const sort = async (sql: string, values: readonly unknown[]) => {
    const { rows } = await client.query<{ name: string; isThere: boolean }>(sql, [...values, port])
    const pick = (isThere: boolean) => rows.flatMap((row) => (row.isThere === isThere ? [row.name] : []))
    const sorted = { living: pick(false), lost: pick(true) }
    for (const names of Object.values(sorted)) expect(names.length).toBeGreaterThan(0)
    return sorted
  }
  const wallets = await sort(
    `select l.id as name, ${isThereSql(`get_shard_id_for_distribution_column('wallets', l.user_id)`, '$2')} as "isThere" from links l
     where l.id = any($1)`,
    [users],
  )
  const key = `encode(substring(sha256(convert_to('app:' || $2, 'UTF8') || '\\x00'::bytea || convert_to('ORDER', 'UTF8')
    || '\\x00'::bytea || convert_to(r, 'UTF8')) from 1 for 16), 'hex')::uuid`
  const references = await sort(
    `select r as name, ${isThereSql(`get_shard_id_for_distribution_column('outcomes', ${key})`, '$3')} as "isThere"
     from unnest($1::text[]) as r`,
    [Array.from({ length: 2_000 }, (_, i) => `${port} ${i}`), clientId],
  )
  return { wallets, references }
}
