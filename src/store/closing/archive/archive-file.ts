/**
 * The files of a closed period, readable without the service: two of zstd, whose lines are JSON arrays, and a manifest. What follows from
 * other values is not stored: the sequence, the running balance, the key and the outcome of an entry. docs/operations/periods.md describes the lines.
 */
import { referenceKeyOf } from '../../outcomes.ts'
import { serviceNamespace } from '../../../ledger/reference.ts'
import { sha256Hex } from '../../../proof/sha256.ts'

export const archiveFormat = 'billfold archive 1'

/** A sentence for the operator. */
export class ArchiveRefused extends Error {
  override name = 'ArchiveRefused'
}

export type WrittenFile = {
  readonly file: string
  readonly rows: number
  readonly bytes: number
  readonly sha256: string
}

export type AccountSums = {
  readonly account: string
  readonly entries: number
  /** Minor units as texts: they may exceed what a number of JSON holds exactly. */
  readonly debited: string
  readonly credited: string
}

export type Manifest = {
  readonly format: typeof archiveFormat
  readonly period: number
  readonly closedAt: string
  readonly currency: string
  readonly wallets: number
  readonly entries: WrittenFile
  /** References that moved nothing: refusals and holds. */
  readonly outcomes: WrittenFile
  readonly accounts: readonly AccountSums[]
  /** The newest signed state of the log when the files were written; null where nothing was signed. */
  readonly log: { readonly origin: string; readonly size: number; readonly note: string } | null
}

export const manifestName = (period: number) => `period-${period}.json`
export const entriesName = (period: number) => `period-${period}.entries.jsonl.zst`
export const outcomesName = (period: number) => `period-${period}.outcomes.jsonl.zst`

/** Precedes the entries of a wallet: the sequence of the first one, and the balance before it. */
export type WalletLine = readonly [walletId: string, firstSequence: number, balanceBefore: number]

export type Entry = {
  readonly amountMinor: number
  /** Since 1970. */
  readonly microseconds: number
  readonly counterAccount: string
  readonly referenceType: string
  readonly referenceId: string
  readonly description: string | null
  readonly referenceKey: string
  /** Of its outcome. */
  readonly heldMinor: number | null
}

export type OtherOutcome = {
  readonly referenceKey: string
  readonly walletId: string
  readonly amountMinor: number
  readonly balanceMinor: number
  readonly microseconds: number
  readonly result: 'INSUFFICIENT_BALANCE' | 'BALANCE_LIMIT' | 'HOLD'
  readonly heldMinor: number | null
}

/** The key of nearly every entry. A correction on the account of an app is in the namespace of the service. */
function usualKeyOf({ counterAccount, referenceType: type, referenceId: id }: Omit<Entry, 'referenceKey'>): string {
  const namespace = counterAccount.startsWith('app:') ? counterAccount : serviceNamespace
  return referenceKeyOf({ namespace, type, id })
}

export function formatEntry(entry: Entry): string {
  const { amountMinor, microseconds, counterAccount, referenceType, referenceId, description, heldMinor } = entry
  const key = entry.referenceKey === usualKeyOf(entry) ? null : entry.referenceKey
  const values = [amountMinor, microseconds, counterAccount, referenceType, referenceId, description, key, heldMinor]
  while (values.at(-1) === null) values.pop()
  return JSON.stringify(values)
}

export function formatOutcome(outcome: OtherOutcome): string {
  const { referenceKey, walletId, amountMinor, balanceMinor, microseconds, result, heldMinor } = outcome
  const values = [referenceKey, walletId, amountMinor, balanceMinor, microseconds, result]
  return JSON.stringify(heldMinor === null ? values : [...values, heldMinor])
}

const isWhole = (value: unknown): value is number => Number.isSafeInteger(value)
const isText = (value: unknown): value is string => typeof value === 'string'
const isUuid = (value: unknown): value is string =>
  isText(value) && /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/.test(value)
const isKey = (value: unknown): value is string => isText(value) && /^[0-9a-f]{32}$/.test(value)
const isNullOr = <T>(value: unknown, is: (value: unknown) => value is T): value is T | null =>
  value === null || is(value)

function parseArray(line: string): readonly unknown[] | undefined {
  try {
    const value: unknown = JSON.parse(line)
    return Array.isArray(value) ? value : undefined
  } catch {
    return undefined
  }
}

/** Undefined where the line is neither. */
export function parseEntryLine(line: string): { wallet: WalletLine } | { entry: Entry } | undefined {
  const values = parseArray(line)
  if (!values) return undefined
  const [first, second, third] = values
  if (isUuid(first) && isWhole(second) && isWhole(third) && values.length === 3)
    return { wallet: [first, second, third] }
  const [, , counterAccount, referenceType, referenceId, description = null, key = null, heldMinor = null] = values
  if (!isWhole(first) || !isWhole(second) || values.length > 8) return undefined
  if (!isText(counterAccount) || !isText(referenceType) || !isText(referenceId)) return undefined
  if (!isNullOr(description, isText) || !isNullOr(key, isKey) || !isNullOr(heldMinor, isWhole)) return undefined
  const said = { counterAccount, referenceType, referenceId, description, heldMinor }
  const entry = { amountMinor: first, microseconds: second, ...said }
  return { entry: { ...entry, referenceKey: key ?? usualKeyOf(entry) } }
}

const results: readonly unknown[] = ['INSUFFICIENT_BALANCE', 'BALANCE_LIMIT', 'HOLD'] satisfies OtherOutcome['result'][]

export function parseOutcomeLine(line: string): OtherOutcome | undefined {
  const values = parseArray(line)
  if (!values || values.length > 7) return undefined
  const [referenceKey, walletId, amountMinor, balanceMinor, microseconds, result, heldMinor = null] = values
  if (!isKey(referenceKey) || !isUuid(walletId) || !isNullOr(heldMinor, isWhole)) return undefined
  if (!isWhole(amountMinor) || !isWhole(balanceMinor) || !isWhole(microseconds)) return undefined
  if (!results.includes(result)) return undefined
  const known = result as OtherOutcome['result']
  return { referenceKey, walletId, amountMinor, balanceMinor, microseconds, result: known, heldMinor }
}

/** The sums of the other side of the books. */
export type Tally = {
  readonly add: (account: string, amountMinor: number) => void
  readonly sums: () => AccountSums[]
}

export function openTally(): Tally {
  const accounts = new Map<string, { entries: number; debited: bigint; credited: bigint }>()
  return {
    add: (account, amountMinor) => {
      let sums = accounts.get(account)
      if (!sums) accounts.set(account, (sums = { entries: 0, debited: 0n, credited: 0n }))
      sums.entries++
      if (amountMinor < 0) sums.debited -= BigInt(amountMinor)
      else sums.credited += BigInt(amountMinor)
    },
    sums: () =>
      [...accounts]
        .sort(([a], [b]) => (a < b ? -1 : 1))
        .map(([account, { entries, debited, credited }]) => ({
          account,
          entries,
          debited: String(debited),
          credited: String(credited),
        })),
  }
}

/** For the commands, which may not import `proof`. */
export const sha256Of: (text: string) => string = sha256Hex
