/**
 * Entries as sealing reads them: for each column the values of all entries in one text. A row for each entry would cost more than its
 * hashes, and so would joining the columns of an entry in SQL.
 */
import { randomUUID } from 'node:crypto'
import { plainArray } from '../connection/arrays.ts'
import type { Queryable } from '../connection/database.ts'
import { one } from '../connection/rows.ts'

/** Entries after `after` up to `until` of one wallet. */
export type EntryRange = { readonly walletId: string; readonly after: number; readonly until: number }

/** What is between two texts, and what an absent text is sent as. */
type Signs = { readonly separator: string; readonly absent: string }

const usualSigns: Signs = { separator: '\u0001', absent: '\u0002' }

export type EntryColumns = {
  readonly count: number
  /** Account, reference type, reference id, description. */
  readonly texts: readonly Uint8Array[]
  readonly separator: Uint8Array
  readonly absent: Uint8Array
  readonly absentCount: number
  /** With commas between. The first entry after `after` has the ordinal of its range and a colon before it. */
  readonly amounts: Uint8Array
  /** Eight bytes each: microseconds since the year 2000. */
  readonly times: Uint8Array
}

const rangesSql = `unnest($1::uuid[], $2::bigint[], $3::bigint[]) with ordinality as s(wallet_id, after, until, ordinal)`
const isInRange = 't.wallet_id = s.wallet_id and t.sequence > s.after and t.sequence <= s.until'

const columnsSql = `select count(*)::int as count, count(*)::int - count(description)::int as "absentCount",
  string_agg(counter_account, $4::text) as accounts, string_agg(reference_type, $4::text) as types, string_agg(reference_id, $4::text) as ids,
  string_agg(coalesce(description, $5::text), $4::text) as descriptions,
  string_agg(case when sequence = after + 1 then concat(ordinal, ':', amount) else amount::text end, ',') as amounts,
  string_agg(timestamptz_send(created_at), ''::bytea) as times`

/** The entries of each range in the order of the primary key, so that PostgreSQL sorts nothing. */
const entriesSql = `${columnsSql} from ${rangesSql}
cross join lateral (select t.* from all_transfers t where ${isInRange} order by t.sequence) e`

const entriesOnCluster = `
with entry as materialized (
  select s.ordinal, s.after, t.* from (select * from ${rangesSql}) s join all_transfers t on ${isInRange} where t.wallet_id = any($1::uuid[])
)
${columnsSql} from (select * from entry order by ordinal, sequence) e`

type ColumnsRow = { readonly count: number; readonly absentCount: number; readonly times: Uint8Array | null } & Record<
  'accounts' | 'types' | 'ids' | 'descriptions' | 'amounts',
  string | null
>

/** With `isOdd`, a text has the usual signs: they are others then, which no text can have. */
export async function readColumns(db: Queryable, ranges: readonly EntryRange[], isOdd: boolean): Promise<EntryColumns> {
  const { separator, absent } = isOdd ? { separator: randomUUID(), absent: randomUUID() } : usualSigns
  const { rows } = await db.query<ColumnsRow>({
    name: 'entries-of-ranges',
    text: entriesSql,
    onCluster: entriesOnCluster,
    values: [
      plainArray(ranges, ({ walletId }) => walletId),
      plainArray(ranges, ({ after }) => after),
      plainArray(ranges, ({ until }) => until),
      separator,
      absent,
    ],
  })
  const { count, absentCount, accounts, types, ids, descriptions, amounts, times } = one(rows)
  return {
    count,
    texts: [accounts, types, ids, descriptions].map(toBytes),
    separator: toBytes(separator),
    absent: toBytes(absent),
    absentCount,
    amounts: toBytes(amounts),
    times: times ?? new Uint8Array(),
  }
}

const utf8 = new TextEncoder()
const toBytes = (text: string | null) => utf8.encode(text ?? '')
