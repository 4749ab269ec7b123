/**
 * The rows of a closed period on a cluster, in pages by their key. The coordinator collects the whole result of a cursor, so each page is a
 * statement. It names a part of the space of the keys: every node returns the rows that it has of the page, and no others. The rows of
 * a closed period never change, so the statements need no common snapshot.
 */
import { plainArray } from '../connection/arrays.ts'
import type { Queryable } from '../connection/database.ts'
import { one } from '../connection/rows.ts'

const mostRows = 8_000

/** Uuids that divide all of them into parts of one size, each the last one of its part. */
function endsOfParts(count: number): string[] {
  const all = 2n ** 128n
  return Array.from({ length: count }, (_, i) => {
    const hex = ((all * BigInt(i + 1)) / BigInt(count) - 1n).toString(16).padStart(32, '0')
    return hex.replace(/^(.{8})(.{4})(.{4})(.{4})(.{12})$/, '$1-$2-$3-$4-$5')
  })
}

async function endsOf(db: Queryable, table: string, rowsPerPage: number): Promise<string[]> {
  const { rows } = await db.query<{ count: number }>(`select count(*)::float8 as count from ${table}`)
  return endsOfParts(Math.ceil(one(rows).count / rowsPerPage))
}

type Keyed = { readonly pageKey: readonly (string | number)[] }

/** `pageSql` has the rows after the key `$1, $2 …` up to the uuid in the last parameter. Fewer rows than a page end a part. */
async function* readPages<Row extends Keyed>(
  db: Queryable,
  table: string,
  first: Keyed['pageKey'],
  pageSql: string,
  rowsPerPage: number,
): AsyncGenerator<Row[]> {
  let after = first
  for (const end of await endsOf(db, table, rowsPerPage))
    for (let isFull = true; isFull;) {
      const { rows } = await db.query<Row>(`${pageSql} limit ${rowsPerPage}`, [...after, end])
      isFull = rows.length === rowsPerPage
      after = rows.at(-1)?.pageKey ?? after
      if (rows.length > 0) yield rows
    }
}

/** No wallet and no reference has this one. */
const noUuid = '00000000-0000-0000-0000-000000000000'

/** By wallet and sequence. `columns` are of `t`. */
export function readEntriesOnNodes<Row>(
  db: Queryable,
  transfers: string,
  columns: string,
  rowsPerPage = mostRows,
): AsyncGenerator<(Row & Keyed)[]> {
  return readPages(
    db,
    transfers,
    [noUuid, 0],
    `select ${columns}, json_build_array(t.wallet_id, t.sequence) as "pageKey" from ${transfers} t
     where (t.wallet_id, t.sequence) > ($1::uuid, $2::bigint) and t.wallet_id <= $3::uuid order by t.wallet_id, t.sequence`,
    rowsPerPage,
  )
}

/** By a uuid that only one row has. `columns` are of `o`, and so is the condition. */
export function readOnNodes<Row>(
  db: Queryable,
  table: string,
  uuid: 'reference_key' | 'wallet_id',
  columns: string,
  condition = 'true',
  rowsPerPage = mostRows,
): AsyncGenerator<(Row & Keyed)[]> {
  return readPages(
    db,
    table,
    [noUuid],
    `select ${columns}, json_build_array(o.${uuid}) as "pageKey" from ${table} o
     where o.${uuid} > $1::uuid and o.${uuid} <= $2::uuid and ${condition} order by o.${uuid}`,
    rowsPerPage,
  )
}

const byShardSql = (outcomes: string) => `select array_agg(k)::text as keys from unnest($1::uuid[]) as k cross join (
    select array_agg(shardminvalue::int order by shardminvalue::int) as starts from pg_dist_shard where logicalrelid = '${outcomes}'::regclass
  ) s group by width_bucket(worker_hash(k), s.starts)`

/** The outcomes with these keys. A node is asked for the keys of one shard at a time: it would look every other key up in vain. */
export async function findOutcomesOnNodes<Row extends object>(
  db: Queryable,
  outcomes: string,
  columns: string,
  keys: readonly string[],
): Promise<Row[]> {
  const sorted = await db.query<{ keys: string }>(byShardSql(outcomes), [plainArray(keys, (key) => key)])
  const found: Row[] = []
  for (const shard of sorted.rows) {
    const { rows } = await db.query<Row>(
      `select ${columns} from ${outcomes} o where o.reference_key = any($1::uuid[])`,
      [shard.keys],
    )
    found.push(...rows)
  }
  return found
}
