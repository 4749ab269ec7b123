/**
 * One run of an endpoint: posts its events, oldest first, several at once but never two of one user, until none is left or the endpoint
 * fails. Progress is saved as it goes, so a process that dies sends again only what it sent last: at least once, with the same id.
 */
import type { BillfoldEvent } from '../../../sdk/contract.ts'
import { transact } from '../../store/connection/database.ts'
import {
  illAfterEvents,
  isProven,
  saveProgress,
  type Attempt,
  type ClaimedEndpoint,
  type Progress,
} from '../../store/events/endpoints.ts'
import { findEvents } from '../../store/events/feed.ts'
import { toEvent } from '../events/event-body.ts'
import type { Service } from '../service.ts'
import { disableIfDue, notifyOfFailure } from './failing-endpoint.ts'
import { firstWidth, isIll, probeAfterMs, widen } from './delivery-rules.ts'
import type { Outcome, Receiver } from './post-event.ts'

export type Delivering = Pick<Service, 'db' | 'config' | 'wakeUps'> & {
  /** Does the work of unproven endpoints in the database one after the other, so that many of them leave it to the others. */
  readonly oneAtATime: <T>(work: () => Promise<T>) => Promise<T>
}

export type Signals = {
  /** Stops new attempts, for the drain; those under way have their usual limit. */
  readonly isEnding: () => boolean
  /** Whether the app has got events since the last call. */
  readonly takeNews: () => boolean
}

const maxPageSize = 200
const saveEveryMs = 1_000
/** Successes that people can read: of each second, the first few. */
const successesShown = 5

type Run = {
  readonly endpoint: ClaimedEndpoint
  readonly receiver: Receiver
  /** Events that are read and neither delivered nor set aside, by number, oldest first. */
  readonly open: Map<number, BillfoldEvent>
  readonly underWay: Map<number, Promise<Outcome>>
  /** Failed since the last success. */
  readonly failed: Map<number, Outcome>
  /** The highest number that was read. */
  readUpTo: number
  /** Of an unproven endpoint the first page has one event: a probe needs no more. */
  pageSize: number
  mayHaveMore: boolean
  width: number
  isStopped: boolean
  hasSucceeded: boolean
  /** Events below it are not tried: their back-off has not ended. */
  triesAbove: number
  /** Not saved yet. */
  setAside: number[]
  attempts: Attempt[]
  isLost: boolean
}

export async function deliverTo(
  service: Delivering,
  endpoint: ClaimedEndpoint,
  receiver: Receiver,
  { isEnding, takeNews }: Signals,
): Promise<void> {
  const run: Run = {
    endpoint,
    receiver,
    open: new Map(),
    underWay: new Map(),
    failed: new Map(),
    readUpTo: endpoint.deliveredUpTo,
    pageSize: isProven(endpoint) ? maxPageSize : 1,
    mayHaveMore: true,
    width: firstWidth(endpoint),
    isStopped: false,
    hasSucceeded: false,
    triesAbove: endpoint.isDue ? 0 : endpoint.consideredUpTo,
    setAside: [],
    attempts: [],
    isLost: false,
  }
  let savedAt = performance.now()
  for (;;) {
    if (isEnding()) run.isStopped = true
    if (takeNews()) run.mayHaveMore = true
    startAttempts(run)
    const isShort = run.underWay.size < run.width && run.open.size < maxPageSize
    if (isShort && run.mayHaveMore && !run.isStopped) {
      await inTurn(service, run, () => readMore(service, run))
      continue
    }
    if (run.underWay.size === 0) break
    accept(run, await Promise.race(run.underWay.values()))
    const isLast = run.isStopped && run.underWay.size === 0
    if (isLast || performance.now() - savedAt < saveEveryMs) continue
    await inTurn(service, run, () => save(service, run, false))
    savedAt = performance.now()
    if (run.isLost) return
  }
  setIllEventsAside(run)
  await inTurn(service, run, () => save(service, run, true))
}

function inTurn({ oneAtATime }: Delivering, run: Run, work: () => Promise<void>): Promise<void> {
  const isWorking = (run.hasSucceeded || isProven(run.endpoint)) && run.failed.size === 0
  return isWorking ? work() : oneAtATime(work)
}

/** An event of a type that the endpoint did not choose counts as delivered. */
async function readMore({ db, config }: Delivering, run: Run): Promise<void> {
  const { clientId, types } = run.endpoint
  const page = await findEvents(db.pool, clientId, { after: run.readUpTo, limit: run.pageSize })
  run.pageSize = maxPageSize
  // The endpoint stood still for longer than events are kept.
  if (page.oldest > run.readUpTo + 1) run.readUpTo = page.oldest - 1
  for (const recorded of page.events) {
    const event = toEvent(recorded, clientId, config.currency)
    run.readUpTo = event.number
    if (types === null || types.includes(event.type)) run.open.set(event.number, event)
  }
  run.mayHaveMore = page.last > run.readUpTo
}

function startAttempts(run: Run): void {
  const busy = new Set<string>()
  for (const [number, event] of run.open) {
    if (run.isStopped || run.underWay.size >= run.width) return
    const user = userOf(event)
    const isFree = user === undefined || !busy.has(user)
    if (isFree && number > run.triesAbove && !run.underWay.has(number) && !run.failed.has(number))
      run.underWay.set(number, run.receiver.post(event))
    // Later events of the user wait for this one, until it has failed in a second run: otherwise one ill event would stop an app of one user.
    const isPassed = run.failed.has(number) && run.endpoint.probes > 0
    if (user !== undefined && !isPassed) busy.add(user)
  }
}

function userOf(event: BillfoldEvent | undefined): string | undefined {
  return event && 'serviceUserId' in event.data ? event.data.serviceUserId : undefined
}

function accept(run: Run, outcome: Outcome): void {
  const { number, error } = outcome
  run.underWay.delete(number)
  record(run, outcome)
  if (error === null) {
    run.open.delete(number)
    run.width = widen(run.width)
    run.hasSucceeded = true
    run.triesAbove = 0
    // The endpoint works, so these events are ill.
    for (const failed of run.failed.keys()) setAside(run, failed)
    return
  }
  run.failed.set(number, outcome)
  run.width = 1
  const isProbe = isIll(run.endpoint) && !run.hasSucceeded
  const isAskedToWait = outcome.retryAfterMs !== undefined
  if (isProbe || isAskedToWait || outcome.isGone || countFailed(run) >= illAfterEvents) run.isStopped = true
}

/** Different events since the last success. Those of earlier runs count, as long as this run tried other ones. */
function countFailed({ endpoint, failed, hasSucceeded, triesAbove }: Run): number {
  return failed.size + (hasSucceeded || triesAbove === 0 ? 0 : endpoint.failedEvents)
}

/** An event that failed in an earlier run as well, while others of this run succeeded. */
function setIllEventsAside(run: Run): void {
  if (run.hasSucceeded && run.endpoint.failedEvents > 0 && !run.isStopped)
    for (const number of run.failed.keys()) setAside(run, number)
}

function setAside(run: Run, number: number): void {
  run.open.delete(number)
  run.failed.delete(number)
  run.setAside.push(number)
}

function record(run: Run, { number, at, status, tookMs, error }: Outcome): void {
  const second = Math.floor(at.getTime() / 1_000)
  const isShown = (other: Attempt) => other.error === null && Math.floor(other.at.getTime() / 1_000) === second
  if (error !== null || run.attempts.filter(isShown).length < successesShown)
    run.attempts.push({ number, at, status, tookMs, error })
}

async function save(service: Delivering, run: Run, isLast: boolean): Promise<void> {
  const { endpoint, failed, open, setAside, attempts } = run
  const [lowest] = open.keys()
  const [firstFailure] = failed.values()
  const isFailing = isLast && firstFailure !== undefined
  const askedMs = isFailing ? Math.max(...[...failed.values()].map(({ retryAfterMs = 0 }) => retryAfterMs)) : 0
  const progress: Progress = {
    deliveredUpTo: lowest === undefined ? run.readUpTo : lowest - 1,
    // A receiver that asked for a wait gets no new event either.
    consideredUpTo: askedMs > 0 ? Number.MAX_SAFE_INTEGER : run.readUpTo,
    setAside,
    attempts,
    hasSucceeded: run.hasSucceeded,
    ...(isFailing && {
      failure: {
        failedEvents: Math.max(countFailed(run), run.hasSucceeded ? 0 : endpoint.failedEvents),
        retryAfterMs: probeAfterMs(run.hasSucceeded ? 0 : endpoint.probes, askedMs, Math.random()),
        error: firstFailure.error!,
      },
    }),
    isLast,
  }
  run.setAside = []
  run.attempts = []
  const isGone = [...failed.values()].some((outcome) => outcome.isGone)
  const mailed = await transact(service.db, async (tx) => {
    const saved = await saveProgress(tx, endpoint, progress)
    if (!saved) return undefined
    return await notifyOfFailure(tx, saved, await disableIfDue(tx, saved, isGone))
  })
  if (mailed === undefined) run.isLost = true
  else if (mailed) service.wakeUps.wake('send-operator-mail')
}
