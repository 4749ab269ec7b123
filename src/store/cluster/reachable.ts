/** Which rows can be read while nodes of the cluster are away. The coordinator knows where each row is. */
import { plainArray } from '../connection/arrays.ts'
import type { Queryable } from '../connection/open-client.ts'

/** Whether the row of the table with this value in its distribution column is on one of the groups of nodes; false for null. */
export const isAwaySql = (table: 'wallets' | 'outcomes', value: string, groups: string) =>
  `exists (select from pg_dist_placement p where p.groupid = any(${groups}::int[])
    and p.shardid = case when ${value} is not null then get_shard_id_for_distribution_column('${table}', ${value}) end)`

/** Every user has a wallet of the same id. */
const walletsSql = `select id, ${isAwaySql('wallets', 'id', '$3')} as "isAway" from users
  where $1::uuid is null or id >= $1 order by id limit $2 + 1`

export type ReachablePage = {
  readonly ids: readonly string[]
  /** The first wallet after the page; null at the end. */
  readonly until: string | null
  /** How many wallets of the page are on nodes that are away. */
  readonly leftOut: number
}

export async function listReachable(
  db: Queryable,
  from: string | null,
  atMost: number,
  away: readonly number[],
): Promise<ReachablePage> {
  const { rows } = await db.query<{ id: string; isAway: boolean }>(walletsSql, [from, atMost, plainArray(away, String)])
  const page = rows.slice(0, atMost)
  const ids = page.flatMap(({ id, isAway }) => (isAway ? [] : [id]))
  return { ids, until: rows[atMost]?.id ?? null, leftOut: page.length - ids.length }
}
