/**
 * Compares entries with their outcomes, which are on any node, without moving them: each node adds up a hash of each of its rows, by
 * slice of wallets, and the coordinator compares the sums. One row that differs changes the sums of its slice.
 */
import type { OpenClient, Queryable } from '../connection/open-client.ts'
import type { Slice } from '../verify/slice.ts'
import { plainArray } from '../connection/arrays.ts'

/** A connection in the snapshot of a check. */
export type Checking = Queryable & Partial<Pick<OpenClient, 'isCluster'>>

/** Whether outcomes may be on another server than their entries. */
export function isSpread(db: Checking): boolean {
  return db.isCluster?.() === true
}

type SliceSum = { slice: number; rows: bigint; first: bigint; second: bigint }

/** Two hashes of 64 bits, with different seeds. `$1` has the first wallet of every slice except the first one. */
const sumsSql = (rows: string, balance: string) => {
  const hash = (seed: number) =>
    `sum(hash_record_extended(row(reference_key, wallet_id, sequence, amount, ${balance}, created_at), ${seed})::numeric)`
  return `select width_bucket(wallet_id, $1::uuid[]) as slice, count(*) as rows, ${hash(1)} as first, ${hash(2)} as second
  from ${rows} group by 1`
}

const entriesSql = sumsSql('transfers', 'balance_after')
const outcomesSql = sumsSql('outcomes where refusal is null and is_hold is null', 'balance')

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
