/**
 * What an account had moved by the end of a day. The books of a day are a tree with a leaf for each account, and its root is one leaf of
 * the log. Each leaf has its own salt: a proof of one says nothing about the others.
 */
import { isCount, isCurrency, isSum, isText, parseHash, parseHashes } from './fields.ts'
import { toBase64, toHex } from './note.ts'
import { hashLeaf, rootFromLeaf } from './tree.ts'

/** All amounts are in minor units, from the first day to the end of this one. */
export type ProvenPosition = {
  /** In UTC, such as 2026-03-31. */
  readonly day: string
  readonly account: string
  readonly currency: string
  /** What wallets paid to the account. */
  readonly debitedMinor: bigint
  /** What the account paid to wallets. */
  readonly creditedMinor: bigint
  readonly entries: bigint
}

export type PositionPart = {
  readonly position: ProvenPosition
  readonly salt: Uint8Array
  /** Its place in the tree of the day, which has `lines` leaves, and the path from it to the root. */
  readonly line: number
  readonly lines: number
  readonly linePath: readonly Uint8Array[]
}

const utf8 = (text: string) => new TextEncoder().encode(text)

export function accountLeaf(position: Omit<ProvenPosition, 'day'>, salt: Uint8Array): Uint8Array {
  const { account, currency, debitedMinor, creditedMinor, entries } = position
  const named = `${utf8(account).length}:${account}`
  return utf8(['billfold-account/v2', toHex(salt), named, currency, debitedMinor, creditedMinor, entries].join('\n'))
}

export function booksLeaf({ day, lines, root }: { day: string; lines: number; root: Uint8Array }): Uint8Array {
  return utf8(['billfold-books/v2', day, lines, toBase64(root)].join('\n'))
}

export function positionFields({ position, salt, line, lines, linePath }: PositionPart) {
  const { debitedMinor, creditedMinor, entries, ...texts } = position
  return {
    ...texts,
    debitedMinor: String(debitedMinor),
    creditedMinor: String(creditedMinor),
    entries: String(entries),
    salt: toBase64(salt),
    line,
    lines,
    linePath: linePath.map(toBase64),
  }
}

export function parsePosition(fields: Record<string, unknown>): PositionPart | null {
  const { day, account, currency, debitedMinor, creditedMinor, entries, line, lines } = fields
  const salt = parseHash(fields['salt'])
  const linePath = parseHashes(fields['linePath'])
  if (salt === null || linePath === null || !isText(account) || !isCurrency(currency)) return null
  if (typeof day !== 'string' || !/^\d{4}-\d{2}-\d{2}$/.test(day) || Number.isNaN(Date.parse(day))) return null
  if (!isSum(debitedMinor) || !isSum(creditedMinor) || !isSum(entries) || !isCount(line) || !isCount(lines)) return null
  const sums = {
    debitedMinor: BigInt(debitedMinor),
    creditedMinor: BigInt(creditedMinor),
    entries: BigInt(entries),
  }
  return { position: { day, account, currency, ...sums }, salt, line, lines, linePath }
}

/** The leaf of the log that has it. Null if the path fits no tree. */
export async function hashBooksOf({ position, salt, line, lines, linePath }: PositionPart): Promise<Uint8Array | null> {
  const leaf = await hashLeaf(accountLeaf(position, salt))
  const root = await rootFromLeaf(leaf, { index: line, size: lines, path: linePath })
  return root && (await hashLeaf(booksLeaf({ day: position.day, lines, root })))
}
