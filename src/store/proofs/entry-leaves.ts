/** The leaves of a wallet's tree, hashed from its entries; `sdk/verify/leaves.ts` says what they contain. */
import { setImmediate as nextTurn } from 'node:timers/promises'
import { hashBytes, sha256Into } from '../../proof/sha256.ts'
import { beginning, openScratch, writeBytes, writeHex, writeWhole } from '../../proof/write-bytes.ts'
import type { Queryable } from '../connection/database.ts'
import { readColumns, type EntryColumns, type EntryRange } from './entry-columns.ts'

export type LeafRange = EntryRange & { readonly name: string; readonly salt: Uint8Array }

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
  const found: Uint8Array[][] = ranges.map(() => [])
  for await (const page of hashInPages(db, ranges, currency))
    for (const { ordinal, hashes } of page) found[ordinal]!.push(hashes)
  return found.map((hashes) => (hashes.length === 1 ? hashes[0]! : Buffer.concat(hashes)))
}

/** Of one query, whose texts are in memory at once. With 2,000, sealing took a twelfth more processor time. */
const entriesPerQuery = 10_000
/** Hashing them takes about 3 ms, in which the process does nothing else. */
const entriesAtOnce = 2_000

/** The hashes of consecutive parts of the ranges, in their order; `ordinal` is that of the range. Only those of one query are in memory. */
export async function* hashInPages(
  db: Queryable,
  ranges: readonly LeafRange[],
  currency: string,
  entriesPerPage = entriesPerQuery,
): AsyncGenerator<readonly { readonly ordinal: number; readonly hashes: Uint8Array }[]> {
  for (const pieces of cutIntoPages(ranges, entriesPerPage)) {
    const hashes = await hashPieces(db, pieces, currency)
    yield pieces.map(({ ordinal }, i) => ({ ordinal, hashes: hashes[i]! }))
  }
}

type Piece = LeafRange & { readonly ordinal: number }

function* cutIntoPages(ranges: readonly LeafRange[], entriesPerPage: number): Generator<readonly Piece[]> {
  let page: Piece[] = []
  let left = entriesPerPage
  for (const [ordinal, range] of ranges.entries())
    for (let { after } = range; after < range.until;) {
      const until = Math.min(range.until, after + Math.min(left, entriesAtOnce))
      page.push({ ...range, ordinal, after, until })
      left -= until - after
      after = until
      if (left > 0) continue
      yield page
      page = []
      left = entriesPerPage
    }
  if (page.length > 0) yield page
}

/** Where an entry is missing, the half with the gap is read again until the range that lacks it is alone. */
async function hashPieces(db: Queryable, pieces: readonly Piece[], currency: string): Promise<readonly Uint8Array[]> {
  const hashes =
    (await hashColumns(await readColumns(db, pieces, false), pieces, currency)) ??
    (await hashColumns(await readColumns(db, pieces, true), pieces, currency))
  if (hashes) return hashes
  if (pieces.length === 1) throw new Error(`the entries of wallet ${pieces[0]!.walletId} cannot be read`)
  const middle = Math.ceil(pieces.length / 2)
  return [
    ...(await hashPieces(db, pieces.slice(0, middle), currency)),
    ...(await hashPieces(db, pieces.slice(middle), currency)),
  ]
}

/** Undefined if a text has one of the signs, or the entries of several ranges are not all there. */
async function hashColumns(
  columns: EntryColumns,
  pieces: readonly Piece[],
  currency: string,
): Promise<readonly Uint8Array[] | undefined> {
  const isAlone = pieces.length === 1
  const expected = pieces.reduce((sum, { after, until }) => sum + until - after, 0)
  if (!isAlone && columns.count !== expected) return undefined
  const currencyLine = utf8.encode(`\n${currency}\n`)
  const cursor: Cursor = { columns, currencyLine, entry: 0, amount: 0, starts: [0, 0, 0, 0], absentCount: 0, marks: 0 }
  const hashes: Uint8Array[] = []
  let pausedAt = 0
  for (const [i, piece] of pieces.entries()) {
    if (cursor.entry - pausedAt + piece.until - piece.after > entriesAtOnce) {
      pausedAt = cursor.entry
      await nextTurn()
    }
    const isMarked = skipMark(cursor, i + 1)
    if (!isMarked && !isAlone) return undefined
    hashes.push(hashRange(cursor, isAlone ? columns.count : piece.until - piece.after, piece))
  }
  if (!isAlone && cursor.marks > 0) return undefined
  const isRead = columns.texts.every((bytes, i) => cursor.starts[i] === bytes.length + columns.separator.length)
  return columns.count === 0 || (isRead && cursor.absentCount === columns.absentCount) ? hashes : undefined
}

/** `amount` and `starts` are where the next entry's values begin. */
type Cursor = {
  readonly columns: EntryColumns
  readonly currencyLine: Uint8Array
  entry: number
  amount: number
  readonly starts: number[]
  absentCount: number
  /** How many amounts were marked where no range was to begin. */
  marks: number
}

const [newline, comma, minus, colon] = [10, 44, 45, 58]

/** Whether the next amount is the first of the range with this ordinal. */
function skipMark(cursor: Cursor, ordinal: number): boolean {
  const { amounts } = cursor.columns
  const mark = `${ordinal}:`
  for (let i = 0; i < mark.length; i++) if (amounts[cursor.amount + i] !== mark.charCodeAt(i)) return false
  cursor.amount += mark.length
  return true
}

/** The digits of a number, a sign, and what is between two numbers. */
const wholeBytes = 20
/** PostgreSQL counts microseconds from the year 2000. */
const epochMicros = Date.UTC(2000, 0) * 1_000

const leaf = openScratch(512)
const usualTexts = openScratch(8_192)
const digest = new Uint8Array(hashBytes)
/** Where `hashTexts` needs it. */
const ownSalt = usualTexts.bytes.subarray(0, hashBytes)

function hashRange(cursor: Cursor, count: number, { name, salt, after }: LeafRange): Uint8Array {
  const hashes = new Uint8Array(count * hashBytes)
  const { bytes } = leaf
  const { columns, currencyLine } = cursor
  const named = utf8.encodeInto(`\0billfold-entry/v1\n${name}\n`, bytes).written
  salted.bytes.set(salt, wholeBytes)
  for (let i = 0; i < count; i++) {
    const sequence = after + 1 + i
    let end = writeWhole(bytes, named, sequence)
    bytes[end++] = newline
    end = writeAmount(cursor, end)
    end = writeBytes(bytes, end, currencyLine, 0, currencyLine.length)
    end = writeWhole(bytes, end, readWhole(columns.times, cursor.entry++ * 8) + epochMicros)
    bytes[end++] = newline
    hashSalt(sequence, ownSalt)
    hashTexts(cursor)
    end = writeHex(bytes, end, digest)
    sha256Into(beginning(leaf, end), digest)
    hashes.set(digest, i * hashBytes)
  }
  return hashes
}

function writeAmount(cursor: Cursor, at: number): number {
  const { amounts } = cursor.columns
  const { bytes } = leaf
  let end = at
  let from = cursor.amount
  for (; from < amounts.length && amounts[from] !== comma; from++) {
    if (amounts[from] === colon) cursor.marks++
    bytes[end++] = amounts[from]!
  }
  cursor.amount = from + 1
  return end
}

/** The salt of one entry, which reveals nothing about another entry's salt. */
export function entrySalt({ salt }: Pick<LeafRange, 'salt'>, sequence: number): Uint8Array {
  const hash = new Uint8Array(hashBytes)
  salted.bytes.set(salt, wholeBytes)
  hashSalt(sequence, hash)
  return hash
}

/** Room for the digits of a sequence, and after it the salt of a wallet. */
const salted = openScratch(wholeBytes + hashBytes)

/** Of the sequence and the salt in `salted`. The digits end where the salt begins, so that it need not be written for each entry. */
function hashSalt(sequence: number, to: Uint8Array): void {
  const end = writeWhole(digits, 0, sequence)
  const from = wholeBytes - end
  for (let i = 0; i < end; i++) salted.bytes[from + i] = digits[i]!
  sha256Into((salted.views[end] ??= salted.bytes.subarray(from)), to)
}

const digits = new Uint8Array(wholeBytes)

/** Of the salt of the entry and its texts. The hash is in `digest`. */
function hashTexts(cursor: Cursor): void {
  const { columns, starts } = cursor
  const { texts, separator, absent } = columns
  let length = hashBytes + texts.length * wholeBytes
  for (let i = 0; i < texts.length; i++) {
    ends[i] = endOf(texts[i]!, starts[i]!, separator)
    length += ends[i]! - starts[i]!
  }
  const scratch = length > usualTexts.bytes.length ? openScratch(length) : usualTexts
  const { bytes } = scratch
  if (scratch !== usualTexts) bytes.set(ownSalt)
  let end = hashBytes
  for (let i = 0; i < texts.length; i++) {
    const text = texts[i]!
    const from = starts[i]!
    const until = ends[i]!
    if (i > 0) bytes[end++] = newline
    if (i === texts.length - 1 && isAt(text, from, until, absent)) {
      cursor.absentCount++
      bytes[end++] = minus
    } else {
      end = writeWhole(bytes, end, until - from)
      bytes[end++] = colon
      end = writeBytes(bytes, end, text, from, until)
    }
    starts[i] = until + separator.length
  }
  sha256Into(beginning(scratch, end), digest)
}

const ends = [0, 0, 0, 0]

/** Where the text that begins at `from` ends. */
function endOf(bytes: Uint8Array, from: number, separator: Uint8Array): number {
  const first = separator[0]!
  for (let at = from; at < bytes.length; at++)
    if (bytes[at] === first && isAt(bytes, at, at + separator.length, separator)) return at
  return bytes.length
}

function isAt(bytes: Uint8Array, from: number, until: number, sign: Uint8Array): boolean {
  if (until - from !== sign.length) return false
  for (let i = 0; i < sign.length; i++) if (bytes[from + i] !== sign[i]) return false
  return true
}

const utf8 = new TextEncoder()

/** A signed number of eight bytes. Times have at most 16 digits, which a number holds. */
const readWhole = (bytes: Uint8Array, at: number) => readHalf(bytes, at) * 2 ** 32 + (readHalf(bytes, at + 4) >>> 0)
const readHalf = (bytes: Uint8Array, at: number) =>
  (bytes[at]! << 24) | (bytes[at + 1]! << 16) | (bytes[at + 2]! << 8) | bytes[at + 3]!
