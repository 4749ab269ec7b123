/**
 * Compares entries with their outcomes, which are on any node, without moving them: each node adds up a hash of each of its rows, by
 * slice of wallets, and the coordinator compares the sums. One row that differs changes the sums of its slice.
 */
import type { OpenClient, Queryable } from '../connection/open-client.ts'
import type { Slice } from '../verify/slice.ts'
import { plainArray } from '../connection/arrays.ts'
import { one } from '../connection/rows.ts'

/** A connection that says whether it leads to a cluster, in the snapshot of a check or for work on a closed period. */
export type Checking = Queryable & Partial<Pick<OpenClient, 'isCluster'>>

/** Whether outcomes may be on another server than their entries. */
export function isSpread(db: Checking): boolean {
  return db.isCluster?.() === true
}

type SliceSum = { slice: number; rows: bigint; first: bigint; second: bigint }

/** The number of rows, and two sums of their hashes of 64 bits, with different seeds. */
const sumsOf = (balance: string, filter = '') => {
  const hash = (seed: number) =>
    `sum(hash_record_extended(row(reference_key, wallet_id, sequence, amount, ${balance}, created_at), ${seed})::numeric) ${filter}`
  return `count(*) ${filter} as rows, ${hash(1)} as first, ${hash(2)} as second`
}

const isEntered = 'refusal is null and is_hold is null'

/** `$1` has the first wallet of every slice except the first one. */
const bySlice = (sums: string, rows: string) =>
  `select width_bucket(wallet_id, $1::uuid[]) as slice, ${sums} from ${rows} group by 1`

const entriesSql = bySlice(sumsOf('balance_after'), 'all_transfers')
const outcomesSql = bySlice(sumsOf('balance'), `all_outcomes where ${isEntered}`)

/** What each node found in the entries that it has, added up, and the keys of their outcomes. */
export type Entered = Omit<SliceSum, 'slice'> & {
  /** How many are wrong in themselves. */
  readonly wrong: bigint
  /** Keys of one shard of outcomes, as an array of PostgreSQL. */
  readonly keys: string
}

/** Fewer keys than this are sent to all nodes that have one of them, in one statement. */
const fewKeys = 500

/** `isRight` is a condition on the row of an entry. Each wallet's node adds up its entries. The keys are sorted by the shard that has the outcome. */
export const enteredSql = (entries: string, isRight: string) => `
with entered as materialized (
  select wallet_id, ${sumsOf('balance_after')}, count(*) filter (where (${isRight}) is not true) as wrong, array_agg(reference_key) as keys
  from (${entries}) e where is_checked group by wallet_id
), total as materialized (
  select sum(rows) as rows, sum(first) as first, sum(second) as second, sum(wrong) as wrong from entered
), key as (
  select k, case when t.rows < ${fewKeys} then 0 else width_bucket(worker_hash(k), s.starts) end as shard
  from entered e cross join unnest(e.keys) as k cross join total t cross join (
    select array_agg(shardminvalue::int order by shardminvalue::int) as starts from pg_dist_shard where logicalrelid = 'outcomes'::regclass
  ) s
)
select t.*, k.keys from total t cross join (select array_agg(k)::text as keys from key group by shard) k`

const recordedSql = `select ${sumsOf('balance')} from all_outcomes where reference_key = any($1::uuid[]) and ${isEntered}`

/** Whether every entry is right, and has an outcome that says the same. */
export async function areRight(db: Queryable, entered: readonly Entered[]): Promise<boolean> {
  const [total] = entered
  if (!total) return true
  if (total.wrong !== 0n) return false
  let [rows, first, second] = [0n, 0n, 0n]
  for (const { keys } of entered) {
    const found = await db.query<Omit<SliceSum, 'slice'>>(recordedSql, [keys])
    const recorded = one(found.rows)
    rows += recorded.rows
    first += recorded.first ?? 0n
    second += recorded.second ?? 0n
  }
  return rows === total.rows && first === total.first && second === total.second
}

/** By ordinal: whether every entry of the slice has its outcome, and every outcome that is not a refusal or a hold its entry. */
export async function findAgreement(
  [first, second = first]: readonly [Queryable, ...Queryable[]],
  slices: readonly Slice[],
): Promise<readonly boolean[]> {
  const starts = [plainArray(slices.slice(1), ({ from }) => from)]
  const [entries, outcomes] = await Promise.all([
    first.query<SliceSum>(entriesSql, starts),
    second.query<SliceSum>(outcomesSql, starts),
  ])
  const sums = ({ rows }: { readonly rows: readonly SliceSum[] }) =>
    new Map(rows.map(({ slice, ...sum }) => [slice, `${sum.rows} ${sum.first} ${sum.second}`]))
  const [entered, recorded] = [sums(entries), sums(outcomes)]
  return slices.map((_, i) => entered.get(i) === recorded.get(i))
}
