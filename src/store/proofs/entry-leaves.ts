/**
 * The leaves of a wallet's tree, hashed from its entries; `sdk/verify/leaves.ts` says what they contain. The database sends the columns
 * as they are stored: hashing in the service costs a third of hashing in SQL.
 */
import { hashBytes, sha256Into } from '../../proof/sha256.ts'
import { beginning, openScratch, writeBytes, writeHex, writeWhole, type Scratch } from '../../proof/write-bytes.ts'
import { plainArray } from '../connection/arrays.ts'
import type { Queryable } from '../connection/database.ts'

/** Entries after `after` up to `until` of one wallet. */
export type LeafRange = {
  readonly walletId: string
  readonly name: string
  readonly salt: Uint8Array
  readonly after: number
  readonly until: number
}

/** No text has a zero byte, and no text in UTF-8 has the byte of an absent one. */
const zero = `'\\x00'::bytea`
const entrySql = `int8send(t.amount) || timestamptz_send(t.created_at) || textsend(t.counter_account) || ${zero} || textsend(t.reference_type)
  || ${zero} || textsend(t.reference_id) || ${zero} || coalesce(textsend(t.description), '\\xff'::bytea) || ${zero}`

const rangesSql = `unnest($1::uuid[], $2::bigint[], $3::bigint[]) with ordinality as s(wallet_id, after, until, ordinal)`
const isInRange = 't.wallet_id = s.wallet_id and t.sequence > s.after and t.sequence <= s.until'

/** `$4` ranges in a row: the driver reads a row for each range slower than it is hashed, and copies a row of megabytes several times. */
const joinedSql = `select string_agg(l.ordinal::text, ',') as ordinals, string_agg(l.count::text, ',') as counts,
  string_agg(l.entries, ''::bytea) as entries`

/** The entries of each range in the order of the primary key, so that PostgreSQL sorts nothing. */
const entriesSql = `
${joinedSql} from (
  select s.ordinal, e.count, e.entries from ${rangesSql}
  cross join lateral (
    select count(bytes) as count, string_agg(bytes, ''::bytea) as entries
    from (select ${entrySql} as bytes from all_transfers t where ${isInRange} order by t.sequence) t
  ) e
) l group by (l.ordinal - 1) / $4::bigint`

const entriesOnCluster = `
with entry as materialized (
  select s.ordinal, t.sequence, ${entrySql} as bytes from (select * from ${rangesSql}) s join all_transfers t on ${isInRange}
  where t.wallet_id = any($1::uuid[])
)
${joinedSql} from (
  select ordinal, count(bytes) as count, string_agg(bytes, ''::bytea order by sequence) as entries from entry group by ordinal
) l group by (l.ordinal - 1) / $4::bigint`

/** The hashes of the leaves of each range, in the order of the ranges. Those of a range are in one array. */
export async function hashEntries(
  db: Queryable,
  ranges: readonly LeafRange[],
  currency: string,
): Promise<readonly Uint8Array[]> {
  const found = await hashFoundEntries(db, ranges, currency)
  return ranges.map(({ walletId, after, until }, i) => {
    const hashes = found[i]!
    // A gap would shift every later leaf. The check of the books names it.
    if (hashes.length !== (until - after) * hashBytes)
      throw new Error(`entries ${after + 1} to ${until} of wallet ${walletId} are not all there`)
    return hashes
  })
}

/** The same without a complaint about missing entries. */
export async function hashFoundEntries(
  db: Queryable,
  ranges: readonly LeafRange[],
  currency: string,
): Promise<readonly Uint8Array[]> {
  const hashes: Uint8Array[] = ranges.map(() => new Uint8Array())
  if (ranges.length === 0) return hashes
  const { rows } = await db.query<{ ordinals: string; counts: string; entries: Uint8Array | null }>({
    name: 'entries-of-ranges',
    text: entriesSql,
    onCluster: entriesOnCluster,
    values: [
      plainArray(ranges, ({ walletId }) => walletId),
      plainArray(ranges, ({ after }) => after),
      plainArray(ranges, ({ until }) => until),
      rangesPerRow(ranges),
    ],
  })
  for (const { ordinals, counts, entries } of rows) {
    if (entries === null) continue
    const sent: Sent = { entries, at: 0, texts: openScratch(hashBytes + entries.length + textsPerEntry * wholeBytes) }
    const numbers = counts.split(',')
    for (const [i, ordinal] of ordinals.split(',').entries()) {
      const range = Number(ordinal) - 1
      hashes[range] = hashRange(sent, Number(numbers[i]), ranges[range]!, currency)
    }
  }
  return hashes
}

const entriesPerRow = 1000

function rangesPerRow(ranges: readonly LeafRange[]): number {
  const entries = ranges.reduce((sum, { after, until }) => sum + until - after, 0)
  return Math.ceil((ranges.length * entriesPerRow) / Math.max(1, entries))
}

/** `at` is where the next entry begins. `texts` has room for the salt and the texts of any entry, with their lengths. */
type Sent = { readonly entries: Uint8Array; at: number; readonly texts: Scratch }

const [newline, minus, colon, absent] = [10, 45, 58, 255]
const textsPerEntry = 4
/** The digits of a number, a sign, and what is between two numbers. */
const wholeBytes = 20
/** PostgreSQL counts microseconds from the year 2000. */
const epochMicros = Date.UTC(2000, 0) * 1_000

const salted = openScratch(wholeBytes + hashBytes)
const leaf = openScratch(512)
const digest = new Uint8Array(hashBytes)

function hashRange(sent: Sent, count: number, { name, salt, after }: LeafRange, currency: string): Uint8Array {
  const hashes = new Uint8Array(count * hashBytes)
  const { bytes } = leaf
  const first = utf8.encode(`\0billfold-entry/v1\n${name}\n`)
  const middle = utf8.encode(`\n${currency}\n`)
  bytes.set(first)
  for (let i = 0; i < count; i++) {
    const { entries, at } = sent
    let end = writeWhole(bytes, first.length, after + 1 + i)
    bytes[end++] = newline
    end = writeWhole(bytes, end, readWhole(entries, at))
    end = writeBytes(bytes, end, middle, 0, middle.length)
    end = writeWhole(bytes, end, readWhole(entries, at + 8) + epochMicros)
    bytes[end++] = newline
    sent.at = at + 16
    hashSalt(salt, after + 1 + i, beginning(sent.texts, hashBytes))
    hashTexts(sent)
    end = writeHex(bytes, end, digest)
    sha256Into(beginning(leaf, end), digest)
    writeBytes(hashes, i * hashBytes, digest, 0, hashBytes)
  }
  return hashes
}

/** The salt of one entry, which reveals nothing about another entry's salt. */
export function entrySalt({ salt }: Pick<LeafRange, 'salt'>, sequence: number): Uint8Array {
  const hash = new Uint8Array(hashBytes)
  hashSalt(salt, sequence, hash)
  return hash
}

function hashSalt(salt: Uint8Array, sequence: number, to: Uint8Array): void {
  const end = writeWhole(salted.bytes, 0, sequence)
  sha256Into(beginning(salted, writeBytes(salted.bytes, end, salt, 0, salt.length)), to)
}

/** Of the salt that `texts` begins with, and the texts of the next entry. The hash is in `digest`. */
function hashTexts(sent: Sent): void {
  const { entries } = sent
  const { bytes } = sent.texts
  // Not as one destructuring, which took as long as everything else here.
  let at = sent.at
  let end = hashBytes
  for (let i = 0; i < textsPerEntry; i++) {
    if (i > 0) bytes[end++] = newline
    let until = at
    while (until < entries.length && entries[until] !== 0) until++
    if (entries[at] === absent) bytes[end++] = minus
    else {
      end = writeWhole(bytes, end, until - at)
      bytes[end++] = colon
      end = writeBytes(bytes, end, entries, at, until)
    }
    at = until + 1
  }
  sent.at = at
  sha256Into(beginning(sent.texts, end), digest)
}

const utf8 = new TextEncoder()

/** A signed number of eight bytes. Amounts and times have at most 16 digits, which a number holds. */
const readWhole = (bytes: Uint8Array, at: number) => readHalf(bytes, at) * 2 ** 32 + (readHalf(bytes, at + 4) >>> 0)
const readHalf = (bytes: Uint8Array, at: number) =>
  (bytes[at]! << 24) | (bytes[at + 1]! << 16) | (bytes[at + 2]! << 8) | bytes[at + 3]!
