/**
 * The full round, from the first entry of each ledger: verified rows may have been changed since, and the pass over changes does
 * not see all of that. It runs in small slices. At the end it compares each account's entries with its positions.
 */
import type { Transaction } from '../../store/connection/database.ts'
import {
  addSums,
  noSum,
  sumArchived,
  sumEntries,
  sumPositions,
  type AccountSums,
} from '../../store/verify/account-sums.ts'
import type { BooksState, Problem } from '../../store/verify/books-check.ts'
import { verifyStretchEntries } from '../../store/verify/entries.ts'
import { bookFault, type Fault, type FormatMoney } from '../../store/verify/fault.ts'
import { nextSlice, type Slice } from '../../store/verify/slice.ts'
import { deleteCheckpoints } from '../../store/verify/verified-wallets.ts'
import { verifyExceptEntries, verifySlice } from '../../store/verify/verify.ts'
import { laterBy, replaceProblems, type Step } from './check-step.ts'

/** A slice takes a few hundred milliseconds; a wallet with more entries is checked in several slices. */
const entriesPerSlice = 10_000
/** The round uses a twentieth of one connection's time; a hurried round uses four fifths. */
const restFactor = 20
const hurriedRestFactor = 1 / 4
const minRestMs = 200
const betweenRoundsMs = 60_000
/** So long after midnight no open transaction can still post to the day before. */
const dayEndsAfterMs = 10 * 60_000

export const roundStep: Step = {
  name: 'round',
  dueAt: ({ nextSliceAt }) => nextSliceAt,
  check: async (tx, before, words) => {
    const state = before.cursor ? before : startRound(before)
    const { from, sequence = 0 } = state.cursor!
    const slice = await nextSlice(tx, from, entriesPerSlice)
    if (slice.wallets === 1 && slice.entries - sequence > entriesPerSlice)
      return await checkCut(tx, state, slice, sequence, words)
    const found =
      sequence === 0
        ? await verifySlice(tx, slice, words)
        : [
            ...(await verifyCut(tx, slice, sequence, slice.entries, words)),
            ...(await verifyExceptEntries(tx, slice, words)),
          ]
    const sums = addSums(readSums(state), await sumEntries(tx, slice, state.roundDay!))
    const isLast = slice.until === null
    const positions = isLast ? await comparePositions(tx, sums, state.roundDay!, words) : []
    return {
      faults: [...found, ...positions],
      entries: slice.entries - sequence,
      keep: async (writing, confirmed, tookMs) => {
        await dropCheckpoints(writing, found)
        const isChecked = (problem: Problem) =>
          isIn(slice, problem, sequence) || (isLast && problem.check === 'position-differs')
        const next = {
          ...state,
          problems: replaceProblems(state, isChecked, confirmed),
          cursor: { from: slice.until },
          walletsChecked: state.walletsChecked + slice.wallets,
          transfersChecked: state.transfersChecked + slice.entries - sequence,
          roundSums: writeSums(sums),
          nextSliceAt: restAfter(state, tookMs),
        }
        return isLast ? endRound(next, tookMs) : next
      },
    }
  },
}

/** Checks the next entries of a wallet that is too large for one slice. */
async function checkCut(tx: Transaction, state: BooksState, slice: Slice, sequence: number, words: FormatMoney) {
  const until = sequence + entriesPerSlice
  const faults = await verifyCut(tx, slice, sequence, until, words)
  return {
    faults,
    entries: entriesPerSlice,
    keep: async (writing: Transaction, confirmed: readonly Fault[], tookMs: number) => {
      await dropCheckpoints(writing, faults)
      return {
        ...state,
        problems: replaceProblems(state, () => false, confirmed),
        cursor: { from: state.cursor!.from, sequence: until },
        transfersChecked: state.transfersChecked + entriesPerSlice,
        nextSliceAt: restAfter(state, tookMs),
      }
    },
  }
}

async function verifyCut(tx: Transaction, { first }: Slice, sequence: number, until: number, words: FormatMoney) {
  const stretch = { walletId: first!, sequence: BigInt(sequence), balanceMinor: 0n, until: BigInt(until) }
  return await verifyStretchEntries(tx, [stretch], words)
}

function startRound(state: BooksState): BooksState {
  const roundDay = new Date(state.now.getTime() - dayEndsAfterMs).toISOString().slice(0, 10)
  const empty = { walletsChecked: 0, transfersChecked: 0, roundSums: {} }
  return { ...state, ...empty, cursor: { from: null }, roundStartedAt: state.now, roundDay }
}

function endRound(state: BooksState, tookMs: number): BooksState {
  return {
    ...state,
    cursor: null,
    isHurried: false,
    lastRoundAt: state.now,
    lastRoundMs: state.now.getTime() - state.roundStartedAt!.getTime() + Math.round(tookMs),
    lastWallets: state.walletsChecked,
    lastTransfers: state.transfersChecked,
    nextSliceAt: laterBy(state.now, betweenRoundsMs),
  }
}

function restAfter({ now, isHurried }: BooksState, tookMs: number): Date {
  return laterBy(now, tookMs + (isHurried ? tookMs * hurriedRestFactor : Math.max(minRestMs, tookMs * restFactor)))
}

/** Entry problems that earlier slices of a cut wallet found stay until a pass clears them. */
function isIn({ from, until }: Slice, { check, walletId }: Problem, sequence: number): boolean {
  // The comparison with the log finds and clears its own.
  if (walletId === null || check.startsWith('sealed-') || (sequence > 0 && check.startsWith('entry-'))) return false
  return (from === null || walletId >= from) && (until === null || walletId < until)
}

async function dropCheckpoints(tx: Transaction, faults: readonly Fault[]): Promise<void> {
  await deleteCheckpoints(tx, [...new Set(faults.flatMap(({ walletId }) => walletId ?? []))])
}

async function comparePositions(tx: Transaction, found: AccountSums, day: string, words: FormatMoney) {
  const kept = await sumPositions(tx, day)
  const entered = addSums(found, await sumArchived(tx, day))
  const faults: Fault[] = []
  for (const account of [...new Set([...entered.keys(), ...kept.keys()])].sort()) {
    const says = kept.get(account) ?? noSum
    const is = entered.get(account) ?? noSum
    if (says.debited === is.debited && says.credited === is.credited && says.transfers === is.transfers) continue
    faults.push(
      bookFault(
        'position-differs',
        `Position of ${account} before ${day}: it says ${words(says.debited)} debited, ${words(says.credited)} credited in ${says.transfers} transfers, but the entries are ${words(is.debited)}, ${words(is.credited)} in ${is.transfers}.`,
      ),
    )
  }
  return faults
}

function readSums({ roundSums }: BooksState): AccountSums {
  return new Map(
    Object.entries(roundSums).map(([account, { debited, credited, transfers }]) => [
      account,
      { debited: BigInt(debited), credited: BigInt(credited), transfers: BigInt(transfers) },
    ]),
  )
}

function writeSums(sums: AccountSums): BooksState['roundSums'] {
  const texts = [...sums].map(([account, { debited, credited, transfers }]) => [
    account,
    { debited: String(debited), credited: String(credited), transfers: String(transfers) },
  ])
  return Object.fromEntries(texts) as BooksState['roundSums']
}
