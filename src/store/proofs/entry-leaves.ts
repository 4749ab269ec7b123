/**
 * The leaves of a wallet's tree, hashed from its entries; `sdk/verify/leaves.ts` says what they contain. The database sends the columns
 * as they are stored: hashing in the service costs a third of hashing in SQL.
 */
import { sha256 } from '../../proof/sha256.ts'
import { writeBytes, writeHex, writeWhole } from '../../proof/write-bytes.ts'
import { plainArray } from '../connection/arrays.ts'
import type { Queryable } from '../connection/database.ts'
import { one } from '../connection/rows.ts'

/** Entries after `after` up to `until` of one wallet. */
export type LeafRange = {
  readonly walletId: string
  readonly name: string
  readonly salt: Uint8Array
  readonly after: number
  readonly until: number
}

/** The salt of one entry, which reveals nothing about another entry's salt. */
export function entrySalt({ salt }: Pick<LeafRange, 'salt'>, sequence: number): Uint8Array {
  const bytes = new Uint8Array(wholeBytes + salt.length)
  const end = writeWhole(bytes, 0, sequence)
  return sha256(bytes.subarray(0, writeBytes(bytes, end, salt, 0, salt.length)))
}

/** No text has a zero byte, and no text in UTF-8 has the byte of an absent one. */
const zero = `'\\x00'::bytea`
const entrySql = `int8send(t.amount) || timestamptz_send(t.created_at) || textsend(t.counter_account) || ${zero} || textsend(t.reference_type)
  || ${zero} || textsend(t.reference_id) || ${zero} || coalesce(textsend(t.description), '\\xff'::bytea) || ${zero}`

const rangesSql = `unnest($1::uuid[], $2::bigint[], $3::bigint[]) with ordinality as s(wallet_id, after, until, ordinal)`
const isInRange = 't.wallet_id = s.wallet_id and t.sequence > s.after and t.sequence <= s.until'

/** One row with all of it: reading a row for each range would cost more than hashing its entries. */
const joinedSql = `select string_agg(l.ordinal::text, ',') as ordinals, string_agg(l.count::text, ',') as counts,
  string_agg(l.entries, ''::bytea) as entries`

/** The entries of each range in the order of the primary key, so that PostgreSQL sorts nothing. */
const entriesSql = `
${joinedSql} from (
  select s.ordinal, e.count, e.entries from ${rangesSql}
  cross join lateral (
    select count(bytes) as count, string_agg(bytes, ''::bytea) as entries
    from (select ${entrySql} as bytes from transfers t where ${isInRange} order by t.sequence) t
  ) e
) l`

const entriesOnCluster = `
with entry as materialized (
  select s.ordinal, t.sequence, ${entrySql} as bytes from (select * from ${rangesSql}) s join transfers t on ${isInRange}
  where t.wallet_id = any($1::uuid[])
)
${joinedSql} from (
  select ordinal, count(bytes) as count, string_agg(bytes, ''::bytea order by sequence) as entries from entry group by ordinal
) l`

/** The hashes of the leaves of each range, in the order of the ranges. */
export async function hashEntries(
  db: Queryable,
  ranges: readonly LeafRange[],
  currency: string,
): Promise<readonly (readonly Uint8Array[])[]> {
  const found = await hashFoundEntries(db, ranges, currency)
  return ranges.map(({ walletId, after, until }, i) => {
    const hashes = found[i]!
    // A gap would shift every later leaf. The check of the books names it.
    if (hashes.length !== until - after)
      throw new Error(`entries ${after + 1} to ${until} of wallet ${walletId} are not all there`)
    return hashes
  })
}

/** The same without a complaint about missing entries. */
export async function hashFoundEntries(
  db: Queryable,
  ranges: readonly LeafRange[],
  currency: string,
): Promise<readonly (readonly Uint8Array[])[]> {
  const hashes: (readonly Uint8Array[])[] = ranges.map(() => [])
  if (ranges.length === 0) return hashes
  const { rows } = await db.query<{ ordinals: string | null; counts: string; entries: Uint8Array | null }>({
    name: 'entries-of-ranges',
    text: entriesSql,
    onCluster: entriesOnCluster,
    values: [
      plainArray(ranges, ({ walletId }) => walletId),
      plainArray(ranges, ({ after }) => after),
      plainArray(ranges, ({ until }) => until),
    ],
  })
  const { ordinals, counts, entries } = one(rows)
  if (ordinals === null || entries === null) return hashes
  const sent: Sent = { entries, at: 0, texts: new Uint8Array(saltBytes + entries.length + textsPerEntry * wholeBytes) }
  const numbers = counts.split(',')
  for (const [i, ordinal] of ordinals.split(',').entries()) {
    const range = Number(ordinal) - 1
    hashes[range] = hashRange(sent, Number(numbers[i]), ranges[range]!, currency)
  }
  return hashes
}

/** `at` is where the next entry begins. `texts` has room for the salt and the texts of any entry, with their lengths. */
type Sent = { readonly entries: Uint8Array; at: number; readonly texts: Uint8Array }

const [newline, minus, colon, absent] = [10, 45, 58, 255]
const saltBytes = 32
const textsPerEntry = 4
/** The digits of a number, a sign, and what is between two numbers. */
const wholeBytes = 20
/** PostgreSQL counts microseconds from the year 2000. */
const epochMicros = Date.UTC(2000, 0) * 1_000

function hashRange(sent: Sent, count: number, { name, salt, after }: LeafRange, currency: string): Uint8Array[] {
  const first = utf8.encode(`\0billfold-entry/v1\n${name}\n`)
  const middle = utf8.encode(`\n${currency}\n`)
  const leaf = new Uint8Array(first.length + middle.length + 3 * wholeBytes + 64)
  leaf.set(first)
  const hashes: Uint8Array[] = []
  for (let sequence = after + 1; sequence <= after + count; sequence++) {
    const { entries, at } = sent
    let end = writeWhole(leaf, first.length, sequence)
    leaf[end++] = newline
    end = writeWhole(leaf, end, readWhole(entries, at))
    end = writeBytes(leaf, end, middle, 0, middle.length)
    end = writeWhole(leaf, end, readWhole(entries, at + 8) + epochMicros)
    leaf[end++] = newline
    sent.at = at + 16
    end = writeHex(leaf, end, hashTexts(sent, entrySalt({ salt }, sequence)))
    hashes.push(sha256(leaf.subarray(0, end)))
  }
  return hashes
}

function hashTexts(sent: Sent, salt: Uint8Array): Uint8Array {
  const { entries, texts } = sent
  texts.set(salt)
  let [at, end] = [sent.at, saltBytes]
  for (let i = 0; i < textsPerEntry; i++) {
    if (i > 0) texts[end++] = newline
    let until = at
    while (until < entries.length && entries[until] !== 0) until++
    if (entries[at] === absent) texts[end++] = minus
    else {
      end = writeWhole(texts, end, until - at)
      texts[end++] = colon
      end = writeBytes(texts, end, entries, at, until)
    }
    at = until + 1
  }
  sent.at = at
  return sha256(texts.subarray(0, end))
}

const utf8 = new TextEncoder()

/** A signed number of eight bytes. Amounts and times have at most 16 digits, which a number holds. */
const readWhole = (bytes: Uint8Array, at: number) => readHalf(bytes, at) * 2 ** 32 + (readHalf(bytes, at + 4) >>> 0)
const readHalf = (bytes: Uint8Array, at: number) =>
  (bytes[at]! << 24) | (bytes[at + 1]! << 16) | (bytes[at + 2]! << 8) | bytes[at + 3]!
