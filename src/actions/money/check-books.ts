/**
 * The books are checked all the time, by one process at a time: both sides against each other, the wallets that changed, and
 * everything from the beginning. What is wrong turns the Books page red, raises a metric and writes a line into the log.
 * `npx billfold verify` checks the same and more, at once.
 */
import { setTimeout as sleep } from 'node:timers/promises'
import { moneyText } from '../../ledger/money.ts'
import {
  beginCheckStep,
  getBooksState,
  lockBooksState,
  updateBooksState,
  type BooksState,
} from '../../store/verify/books-check.ts'
import { isContention, transact } from '../../store/connection/database.ts'
import type { Service } from '../service.ts'
import { booksMetrics } from './books-metrics.ts'
import { changesStep } from './check-changes.ts'
import { roundStep } from './check-round.ts'
import { problemKey, type Step } from './check-step.ts'
import { sumsStep } from './check-sums.ts'

/** What it is time for, unless another process is at it. */
export async function checkBooks(service: Service): Promise<void> {
  for (const step of [sumsStep, changesStep, roundStep]) await takeStep(service, step)
  const state = await hurry(service)
  booksMetrics(service.metrics.registry).update(state)
}

/** Then it is the turn of the other parts again. */
const hurriesForMs = 5_000

/** A round that hurries does not wait until the job comes round for each of its slices. */
async function hurry(service: Service): Promise<BooksState> {
  const until = performance.now() + hurriesForMs
  let state = await getBooksState(service.db.pool)
  while (state.isHurried && performance.now() < until) {
    // Another process may be at it: then this one only looks how far it is.
    await sleep(Math.min(500, Math.max(20, roundStep.dueAt(state).getTime() - state.now.getTime())))
    await takeStep(service, roundStep)
    state = await getBooksState(service.db.pool)
  }
  return state
}

/**
 * What a first look finds is looked at again, in a transaction of its own and so at a fresh snapshot, and only what is there
 * both times is called a fault. Nothing is written down between the two: another process may as well do the second.
 */
async function takeStep(service: Service, step: Step): Promise<void> {
  const first = await checkOnce(service, step, undefined)
  const done = first?.candidates ? await checkOnce(service, step, first.candidates) : first
  if (!done?.after) return
  report(service, done.before, done.after)
  booksMetrics(service.metrics.registry).count(step.name, done.entries, done.tookMs)
}

type Taken = {
  readonly before: BooksState
  /** Undefined after a first look that has found something. */
  readonly after: BooksState | undefined
  readonly candidates: ReadonlySet<string> | undefined
  readonly entries: number
  readonly tookMs: number
}

async function checkOnce(
  service: Service,
  step: Step,
  candidates: ReadonlySet<string> | undefined,
): Promise<Taken | undefined> {
  const words = (minor: bigint) => moneyText(minor, service.config.currency).replace('-', '−')
  return await transact(service.db, async (tx): Promise<Taken | undefined> => {
    await beginCheckStep(tx, candidates !== undefined)
    const before = await lockBooksState(tx)
    if (!before || step.dueAt(before) > before.now) return undefined
    const startedAt = performance.now()
    const { faults, entries, keep } = await step.check(tx, before, words, candidates !== undefined)
    const tookMs = performance.now() - startedAt
    if (!candidates && faults.length > 0)
      return { before, after: undefined, candidates: new Set(faults.map(problemKey)), entries, tookMs }
    const confirmed = faults.filter((fault) => candidates?.has(problemKey(fault)))
    const after = await keep(tx, confirmed, tookMs)
    await updateBooksState(tx, after)
    return { before, after, candidates: undefined, entries, tookMs: performance.now() - startedAt }
  }).catch((error: unknown) => {
    // Another process took the lock between our look and ours, and has taken the step.
    if (isContention(error)) return undefined
    throw error
  })
}

function report(service: Service, before: BooksState, after: BooksState): void {
  const known = new Set(before.problems.map(problemKey))
  for (const problem of after.problems) {
    const { check, walletId, message } = problem
    if (!known.has(problemKey(problem))) service.log.error('the books are wrong', { check, walletId, problem: message })
  }
  if (after.isHurried && !before.isHurried)
    service.log.warn('rows of the ledger were changed: all of it is checked again', {
      rows: after.rewrites! - before.rewrites!,
    })
  if (before.problems.length > 0 && after.problems.length === 0) service.log.info('the books are right again')
}

/** The sums and the pass over changes are due every few seconds, a round every day even of very large books. */
const lateAfterMs = 2 * 60_000
const roundLateAfterMs = 24 * 60 * 60_000

export type BooksHealth = 'wrong' | 'late' | 'right' | 'first'

/** Whether they are right now: `late` when nobody has looked for too long, `first` before the first look at everything. */
export function healthOf(state: BooksState): BooksHealth {
  const { now, problems, checkedUpTo, sumsAt, lastRoundAt, roundStartedAt } = state
  const isOld = (at: Date | null, limitMs: number) => at !== null && now.getTime() - at.getTime() > limitMs
  if (problems.length > 0) return 'wrong'
  if (isOld(checkedUpTo, lateAfterMs) || isOld(sumsAt, lateAfterMs)) return 'late'
  if (isOld(lastRoundAt ?? roundStartedAt, roundLateAfterMs)) return 'late'
  return checkedUpTo ? 'right' : 'first'
}
