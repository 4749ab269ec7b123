/** Compares the sealed days with the positions of today, and names the accounts whose positions were changed. */
import { hashDay, hashDayLines, hashFirstDay, hashFirstLines, type AccountLine } from '../../proof/day-tree.ts'
import type { Queryable } from '../../store/connection/database.ts'
import { listAccountLines, listDayLeaves, type DayLeaf, type SealedDay } from '../../store/proofs/day-leaves.ts'
import { joinHashes } from '../../store/proofs/subtrees.ts'
import { walletsAfter } from './seal-day.ts'

/** What this account moved up to the day is not what was sealed. Undefined where only the log's own row of the day was changed. */
export type DayFault = {
  readonly kind: 'books'
  readonly day: string | undefined
  readonly account: string | undefined
}

const daysPerPage = 100

export async function* verifyDays(db: Queryable, logSize: number, currency: string): AsyncGenerator<DayFault> {
  let before: SealedDay | null = null
  const totals = new Map<string, AccountLine>()
  const named = new Set<string>()
  for (let from = 0; ;) {
    const leaves: readonly DayLeaf[] = await listDayLeaves(db, from, logSize, daysPerPage)
    for (const { number, hash, day } of leaves) {
      from = number + 1
      if (!day) {
        yield { kind: 'books', day: undefined, account: undefined }
        continue
      }
      const moved = await listAccountLines(db, before?.day ?? null, day.day)
      for (const line of moved) totals.set(line.account, addTo(totals.get(line.account), line))
      const lines = day.version === 1 ? moved : [...totals.values()].sort(byBytes)
      const found = day.version === 1 ? recomputeFirst(day, before, lines) : recompute(day, lines, currency)
      yield* nameFaults(day, found, hash, named)
      before = day
    }
    if (leaves.length < daysPerPage) return
  }
}

const byBytes = (a: AccountLine, b: AccountLine) => Buffer.compare(Buffer.from(a.account), Buffer.from(b.account))

const sum = (a: string, b: string) => String(BigInt(a) + BigInt(b))

function addTo(total: AccountLine | undefined, line: AccountLine): AccountLine {
  if (!total) return line
  return {
    account: line.account,
    debited: sum(total.debited, line.debited),
    credited: sum(total.credited, line.credited),
    transfers: sum(total.transfers, line.transfers),
  }
}

type Recomputed = {
  readonly leaf: Uint8Array
  readonly walletsMinor: bigint
  readonly accounts: readonly string[]
  readonly marks: Uint8Array
  /** The mark of an account, among these or those that were stored. */
  readonly markOf: (marks: Uint8Array, index: number) => Uint8Array
}

function recompute({ day, salt }: SealedDay, lines: readonly AccountLine[], currency: string): Recomputed {
  const walletsMinor = walletsAfter(0n, lines)
  const hashes = hashDayLines({ salt, walletsMinor, lines }, currency)
  return {
    leaf: hashDay(day, hashes),
    walletsMinor,
    accounts: lines.map(({ account }) => account),
    marks: joinHashes(hashes),
    markOf: (marks, index) => marks.subarray((index + 1) * 32, (index + 2) * 32),
  }
}

const firstMarkBytes = 6

/** Of version 1. */
function recomputeFirst({ day, salt }: SealedDay, before: SealedDay | null, lines: readonly AccountLine[]): Recomputed {
  const walletsMinor = walletsAfter(before?.walletsMinor ?? 0n, lines)
  const hashes = hashFirstLines(lines, salt)
  return {
    leaf: hashFirstDay({ day, after: before?.day ?? null, walletsMinor }, hashes),
    walletsMinor,
    accounts: lines.map(({ account }) => account),
    marks: joinHashes(hashes.map((hash) => hash.subarray(0, firstMarkBytes))),
    markOf: (marks, index) => marks.subarray(index * firstMarkBytes, (index + 1) * firstMarkBytes),
  }
}

const isSame = (a: Uint8Array, b: Uint8Array) => Buffer.compare(a, b) === 0

/** Names each account once, with the first day on which it differs: all later days differ with it. */
function* nameFaults(
  day: SealedDay,
  found: Recomputed,
  hash: Uint8Array,
  alreadyNamed: Set<string>,
): Generator<DayFault> {
  const { markOf } = found
  const isRow =
    isSame(found.marks, day.marks) &&
    found.walletsMinor === day.walletsMinor &&
    found.accounts.length === day.accounts.length &&
    found.accounts.every((account, i) => account === day.accounts[i])
  if (isRow && isSame(found.leaf, hash)) return
  const indexes = new Map(found.accounts.map((account, i) => [account, i]))
  const changed = day.accounts.filter((account, i) => {
    const index = indexes.get(account)
    return index === undefined || !isSame(markOf(found.marks, index), markOf(day.marks, i))
  })
  const sealed = new Set(day.accounts)
  const named = [...changed, ...found.accounts.filter((account) => !sealed.has(account))]
  for (const account of named)
    if (!alreadyNamed.has(account)) {
      alreadyNamed.add(account)
      yield { kind: 'books', day: day.day, account }
    }
  if (named.length === 0) yield { kind: 'books', day: day.day, account: undefined }
}
