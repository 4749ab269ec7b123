/** The books are checked in slices: ranges of wallet ids with about the same number of entries. */
import type { Queryable } from '../connection/database.ts'
import { maybe, one } from '../connection/rows.ts'

/** Half-open; null is the beginning or the end. Adjacent ranges leave no id out. */
export type WalletRange = { readonly from: string | null; readonly until: string | null }

/** The condition that a column is within `$1` and `$2`. The values are known at planning time, so a null costs nothing. */
export function inRange(column: string): string {
  return `(($1::uuid is null or ${column} >= $1) and ($2::uuid is null or ${column} < $2))`
}

export type Slice = WalletRange & {
  /** The first wallet; null when there is none. */
  readonly first: string | null
  readonly wallets: number
  /** By the sequences of the wallets, which the checks have yet to confirm. */
  readonly entries: number
}

const maxWallets = 50_000

const boundarySql = `
select id from (
  select id, sequence, row_number() over (order by id) as number, sum(sequence) over (order by id) - sequence as entries_before
  from wallets where $1::uuid is null or id >= $1 order by id limit ${maxWallets + 1}
) w where number > ${maxWallets} or (number > 1 and (entries_before >= $2 or sequence > $2)) order by id limit 1`

/** The slice from here on. A wallet is never split: one with more entries than fit is a slice by itself. */
export async function nextSlice(db: Queryable, from: string | null, entriesAtMost: number): Promise<Slice> {
  const boundary = await db.query<{ id: string }>(boundarySql, [from, entriesAtMost])
  const until = maybe(boundary.rows)?.id ?? null
  const { rows } = await db.query<{ first: string | null; wallets: number; entries: number }>(
    `select min(id::text) as first, count(*)::float8 as wallets, coalesce(sum(sequence), 0)::float8 as entries from wallets
     where ${inRange('id')}`,
    [from, until],
  )
  return { from, until, ...one(rows) }
}
