/**
 * The books at the end of a day: a tree with a line for each account, and its root as one leaf of the log. The first line has the sum of all
 * wallets. Each line has its own salt, so that one account is proven without showing the others.
 */
import { createHash } from 'node:crypto'
import { accountLeaf, booksLeaf } from '../../sdk/verify/position.ts'
import { addLeaves, hashLeaf, noPeaks, rootOf } from './merkle.ts'

/** Sums of an account, as whole numbers in text: they may have more digits than a bigint. */
export type AccountLine = {
  readonly account: string
  readonly debited: string
  readonly credited: string
  readonly transfers: string
}

export type DayLines = {
  readonly salt: Uint8Array
  /** The sum of all wallets. */
  readonly walletsMinor: bigint
  readonly lines: readonly AccountLine[]
}

/** The salt of one line, which reveals nothing about another line's salt. The first line uses the empty name, which no account has. */
export const lineSalt = (account: string, salt: Uint8Array): Uint8Array =>
  createHash('sha256').update(account).update(salt).digest()

export function positionOf({ account, debited, credited, transfers }: AccountLine, currency: string) {
  return {
    account,
    currency,
    debitedMinor: BigInt(debited),
    creditedMinor: BigInt(credited),
    entries: BigInt(transfers),
  }
}

/** Line 0 has the sum of all wallets; line 1 is the first account. */
export function hashDayLines({ lines, salt, walletsMinor }: DayLines, currency: string): readonly Uint8Array[] {
  const sum = ['billfold-wallets/v2', Buffer.from(lineSalt('', salt)).toString('hex'), currency, walletsMinor]
  return [
    hashLeaf(Buffer.from(sum.join('\n'))),
    ...lines.map((line) => hashLeaf(accountLeaf(positionOf(line, currency), lineSalt(line.account, salt)))),
  ]
}

export function hashDay(day: string, hashes: readonly Uint8Array[]): Uint8Array {
  return hashLeaf(booksLeaf({ day, lines: hashes.length, root: rootOf(addLeaves(noPeaks, hashes)) }))
}

/** A day of version 1, which has only the accounts that moved since the sealed day before, `after`. */
export function hashFirstLines(lines: readonly AccountLine[], salt: Uint8Array): readonly Uint8Array[] {
  return lines.map(({ account, debited, credited, transfers }) => {
    const accountSalt = Buffer.from(lineSalt(account, salt)).toString('hex')
    const named = `${Buffer.byteLength(account)}:${account}`
    return hashLeaf(Buffer.from(['billfold-account/v1', accountSalt, named, debited, credited, transfers].join('\n')))
  })
}

export function hashFirstDay(
  { day, after, walletsMinor }: { readonly day: string; readonly after: string | null; readonly walletsMinor: bigint },
  hashes: readonly Uint8Array[],
): Uint8Array {
  const root = Buffer.from(rootOf(addLeaves(noPeaks, hashes))).toString('base64')
  return hashLeaf(Buffer.from(['billfold-books/v1', day, after ?? '-', walletsMinor, hashes.length, root].join('\n')))
}
