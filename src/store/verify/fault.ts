/** Faults of the books, in sentences that identify the row. */

/** All checks. A fault carries the name of the check that found it. */
export const checks = [
  'entry-sequence',
  'entry-running-balance',
  'entry-overdraft',
  'entry-time',
  'entry-reference-key',
  'entry-without-outcome',
  'entry-with-refusal',
  'entry-unlike-outcome',
  'entry-without-link',
  'wallet-missing',
  'wallet-without-user',
  'wallet-balance',
  'wallet-sequence',
  'wallet-last-entry',
  'wallet-overdrawn-active',
  'wallet-frozen-without-debt',
  'wallet-held',
  'hold-steps',
  'hold-entry',
  'hold-without-outcome',
  'link-dangling',
  'outcome-without-entry',
  'outcome-refusal-unfounded',
  'outcome-without-wallet',
  'outcome-without-hold',
  'outcome-twice',
  'position-differs',
  'books-unbalanced',
  'archive-changed',
] as const

/** Those of the comparison with the newest checkpoint. */
type LogCheck = 'sealed-entry' | 'sealed-record' | 'sealed-books' | 'sealed-log'
export type Check = (typeof checks)[number] | LogCheck

export type Fault = {
  readonly check: Check
  readonly walletId: string | null
  /** The wallet's entry. */
  readonly sequence: number | null
  /** A full sentence. */
  readonly message: string
}

export type FormatMoney = (minor: bigint) => string

/** In minor units, as stored. */
export const formatMinor: FormatMoney = String

/** A badly damaged table has millions of faults; this many per statement are enough to act on. */
export const maxFaultsPerStatement = 1_000

export function entryFault(check: Check, walletId: string, sequence: bigint, problem: string): Fault {
  return {
    check,
    walletId,
    sequence: Number(sequence),
    message: `Wallet ${walletId}, entry ${sequence}: ${problem}.`,
  }
}

export function walletFault(check: Check, walletId: string, problem: string): Fault {
  return { check, walletId, sequence: null, message: `Wallet ${walletId}: ${problem}.` }
}

export function bookFault(check: Check, message: string): Fault {
  return { check, walletId: null, sequence: null, message }
}
