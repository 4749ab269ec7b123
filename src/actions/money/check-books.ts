/**
 * The continuous check of the books, in one process at a time: both sides against each other, changed wallets, and everything
 * from the first entry. A problem turns the Books page red, raises a metric and writes a line to the log.
 * `npx billfold verify` checks the same and more, in one run.
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
import { isContention, isUnavailable, transact } from '../../store/connection/database.ts'
import type { Service } from '../service.ts'
import { logStep } from '../proofs/check-log.ts'
import { booksMetrics } from './books-metrics.ts'
import { changesStep } from './check-changes.ts'
import { roundStep } from './check-round.ts'
import { problemKey, type Step } from './check-step.ts'
import { sumsStep } from './check-sums.ts'

/** Takes the steps that are due, unless another process takes them. Where none is due, this is one statement. */
export async function checkBooks(service: Service): Promise<void> {
  let state = await getBooksState(service.db.pool)
  for (const step of [sumsStep, changesStep, roundStep, logStep(service)])
    if (isDue(step, state)) state = (await takeReachable(service, step)) ?? state
  booksMetrics(service.metrics.registry).update(await hurry(service, state))
}

function isDue({ dueAt }: Step, state: BooksState): boolean {
  return dueAt(state) <= state.now
}

/** After this time the other steps run again. */
const hurriesForMs = 5_000

/** A hurried round takes its slices here, without waiting for the next run of the job. */
async function hurry(service: Service, before: BooksState): Promise<BooksState> {
  const until = performance.now() + hurriesForMs
  let state = before
  while (state.isHurried && performance.now() < until) {
    // If another process holds the lock, this one only reads the progress.
    await sleep(Math.min(500, Math.max(20, roundStep.dueAt(state).getTime() - state.now.getTime())))
    await takeReachable(service, roundStep)
    state = await getBooksState(service.db.pool)
  }
  return state
}

/** A server that is away delays the check of its wallets, and the steps that need all servers; the wallets of the other servers are checked. */
async function takeReachable(service: Service, step: Step): Promise<BooksState | undefined> {
  const { outage } = service.writer
  if (!outage.isOn())
    try {
      return await takeStep(service, step, [])
    } catch (error) {
      if (!isUnavailable(error)) throw error
      await outage.ask()
      if (!outage.isOn()) throw error
    }
  return step.mayLeaveOut ? await takeStep(service, step, outage.away()) : undefined
}

/**
 * Faults of a first check are checked again in a second transaction, on a fresh snapshot; only faults found both times are
 * reported. Nothing is stored between the two, so another process may make the second check. Undefined where another one took the step.
 */
async function takeStep(service: Service, step: Step, away: readonly number[]): Promise<BooksState | undefined> {
  const first = await checkOnce(service, step, away, undefined)
  const done = first?.candidates ? await checkOnce(service, step, away, first.candidates) : first
  if (!done?.after) return undefined
  report(service, done.before, done.after)
  booksMetrics(service.metrics.registry).count(step.name, done.entries, done.tookMs)
  return done.after
}

type Taken = {
  readonly before: BooksState
  /** Undefined after a first check that found a fault. */
  readonly after: BooksState | undefined
  readonly candidates: ReadonlySet<string> | undefined
  readonly entries: number
  readonly tookMs: number
}

async function checkOnce(
  service: Service,
  step: Step,
  away: readonly number[],
  candidates: ReadonlySet<string> | undefined,
): Promise<Taken | undefined> {
  const words = (minor: bigint) => moneyText(minor, service.config.currency).replace('-', '−')
  return await transact(service.db, async (tx): Promise<Taken | undefined> => {
    const isSecond = candidates !== undefined
    // A snapshot of all servers waits for every one of them.
    await beginCheckStep(tx, service.db.connection, isSecond && away.length === 0)
    const before = await lockBooksState(tx)
    if (!before || !isDue(step, before)) return undefined
    const startedAt = performance.now()
    const { faults, entries, keep } = await step.check(tx, before, words, { isSecond, away })
    const tookMs = performance.now() - startedAt
    if (!candidates && faults.length > 0)
      return { before, after: undefined, candidates: new Set(faults.map(problemKey)), entries, tookMs }
    const confirmed = faults.filter((fault) => candidates?.has(problemKey(fault)))
    const after = await keep(tx, confirmed, tookMs)
    await updateBooksState(tx, after)
    return { before, after, candidates: undefined, entries, tookMs: performance.now() - startedAt }
  }).catch((error: unknown) => {
    // Another process took the lock between our two checks, and has taken the step.
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

/** The sums and the pass over changes are due every few seconds; a round ends within a day, even of very large books. */
const lateAfterMs = 2 * 60_000
const roundLateAfterMs = 24 * 60 * 60_000

export type BooksHealth = 'wrong' | 'late' | 'right' | 'first'

/** `late`: no check ended for too long. `first`: the first pass has not ended yet. */
export function healthOf(state: BooksState): BooksHealth {
  const { now, problems, checkedUpTo, sumsAt, lastRoundAt, roundStartedAt } = state
  const isOld = (at: Date | null, limitMs: number) => at !== null && now.getTime() - at.getTime() > limitMs
  if (problems.length > 0) return 'wrong'
  if (isOld(checkedUpTo, lateAfterMs) || isOld(sumsAt, lateAfterMs)) return 'late'
  if (isOld(lastRoundAt ?? roundStartedAt, roundLateAfterMs)) return 'late'
  return checkedUpTo ? 'right' : 'first'
}
