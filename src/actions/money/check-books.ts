/**
 * The books are checked all the time, a small slice after the other, by one process at a time. What is wrong turns the
 * Books page red, raises a metric and writes a line into the log. `npx billfold verify` checks the same and more, at once.
 */
import { Gauge } from 'prom-client'
import { getSides } from '../../store/books.ts'
import {
  beginSlice,
  getBooksState,
  lockBooksState,
  updateBooksState,
  type BooksState,
} from '../../store/verify/books-check.ts'
import { isContention, transact, type Transaction } from '../../store/database.ts'
import type { Fault } from '../../store/verify/fault.ts'
import { nextSlice } from '../../store/verify/slice.ts'
import { verifySlice } from '../../store/verify/verify.ts'
import type { Service } from '../service.ts'

/** A slice of this many entries takes some ten milliseconds; a busy wallet is a slice by itself. */
const entriesPerSlice = 5_000
/** The check takes at most a twentieth of one connection's time. */
const restFactor = 20
const minRestMs = 200
const betweenRoundsMs = 60_000
const maxProblems = 50

/** One slice, if it is time for one and no other process is at it. */
export async function checkBooks(service: Service): Promise<void> {
  const found = await transact(service.db, async (tx) => {
    await beginSlice(tx)
    const state = await lockBooksState(tx)
    if (!state || state.nextSliceAt > service.now()) return undefined
    const next = await carryOn(service, tx, state)
    await updateBooksState(tx, next)
    return { before: state, after: next }
  }).catch((error: unknown) => {
    // Another process took the lock between our look and ours, and has done the slice.
    if (isContention(error)) return undefined
    throw error
  })
  if (found) report(service, found.before, found.after)
  showMetric(service, found?.after ?? (await getBooksState(service.db.pool)))
}

async function carryOn(service: Service, tx: Transaction, state: BooksState): Promise<BooksState> {
  const startedAt = performance.now()
  const now = service.now()
  const round = state.cursor ? state : startRound(state, now)
  const slice = await nextSlice(tx, round.cursor!.from, entriesPerSlice)
  const problems = addProblems(round.problems, await verifySlice(tx, slice))
  const next = {
    ...round,
    cursor: { from: slice.until },
    problems,
    walletsChecked: round.walletsChecked + slice.wallets,
    transfersChecked: round.transfersChecked + slice.entries,
  }
  if (slice.until !== null) {
    const restMs = Math.max(minRestMs, (performance.now() - startedAt) * restFactor)
    return { ...next, nextSliceAt: new Date(now.getTime() + restMs) }
  }
  return await endRound(tx, next, now)
}

function startRound(state: BooksState, now: Date): BooksState {
  return { ...state, cursor: { from: null }, roundStartedAt: now, walletsChecked: 0, transfersChecked: 0, problems: [] }
}

/** With the last slice both sides are held against each other. */
async function endRound(tx: Transaction, state: BooksState, now: Date): Promise<BooksState> {
  const { walletsMinor, positionsMinor } = await getSides(tx)
  const sum = walletsMinor + positionsMinor
  const message = `All wallets hold ${walletsMinor} and all positions ${positionsMinor}; together not zero.`
  const unbalanced: Fault[] = sum === 0n ? [] : [{ check: 'books-unbalanced', walletId: null, sequence: null, message }]
  const problems = addProblems(state.problems, unbalanced)
  return {
    ...state,
    cursor: null,
    problems: [],
    lastProblems: problems,
    lastRoundAt: now,
    lastRoundMs: now.getTime() - state.roundStartedAt!.getTime(),
    lastWallets: state.walletsChecked,
    lastTransfers: state.transfersChecked,
    walletsMinor,
    positionsMinor,
    sumsAt: now,
    nextSliceAt: new Date(now.getTime() + betweenRoundsMs),
  }
}

function addProblems(problems: BooksState['problems'], faults: readonly Fault[]): BooksState['problems'] {
  const found = faults.map(({ check, walletId, message }) => ({ check, walletId, message }))
  return [...problems, ...found].slice(0, maxProblems)
}

/** Red as soon as anything is found, and until a whole round has found nothing. */
export function problemsOf(state: BooksState): BooksState['problems'] {
  return state.problems.length > 0 ? state.problems : state.lastProblems
}

function report(service: Service, before: BooksState, after: BooksState): void {
  const known = new Set([...before.problems, ...before.lastProblems].map(({ message }) => message))
  for (const { check, walletId, message } of problemsOf(after))
    if (!known.has(message)) service.log.error('the books are wrong', { check, walletId, problem: message })
  if (problemsOf(before).length > 0 && problemsOf(after).length === 0) service.log.info('the books are right again')
}

const metricName = 'billfold_books_problems'

function showMetric({ metrics }: Service, state: BooksState): void {
  const known = metrics.registry.getSingleMetric(metricName)
  const gauge =
    known instanceof Gauge
      ? known
      : new Gauge({
          name: metricName,
          help: 'What the continuous check of the books has found wrong; anything but 0 needs a person.',
          registers: [metrics.registry],
        })
  gauge.set(problemsOf(state).length)
}
