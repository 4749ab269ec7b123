/**
 * Calls that wait for an app's next event. A waiting call holds no connection and nothing of the writer: while any call waits, this
 * process asks for the last numbers of the apps concerned, in one query. It also gives numbers soon after its own batches.
 */
import type { NumberedEvents } from '../../store/events/number-events.ts'

export type EventWaits = {
  /**
   * Resolves when the app has an event above this number, after the time, when the caller hangs up or when the process ends. Undefined
   * when too many calls of the app wait already.
   */
  readonly wait: (clientId: string, above: number, limitMs: number, signal: AbortSignal) => Promise<void> | undefined
  /** This process has just written the journal. */
  readonly written: () => void
  /** Calls it when a round has given numbers to events of apps with endpoints that are known to work, with these apps. */
  readonly onNumbered: (listener: (clientIds: readonly string[]) => void) => void
  /** Whether a round of this process has succeeded within that time. It gave every visible event its number. */
  readonly hasNumberedWithin: (ms: number) => boolean
  readonly count: () => number
  /** Ends every wait and takes no more. */
  readonly close: () => void
}

export type EventQueries = {
  readonly findHeads: (clientIds: readonly string[]) => Promise<ReadonlyMap<string, number>>
  readonly number: () => Promise<NumberedEvents>
}

type Waiting = { readonly above: number; readonly end: () => void }

/** Of one app in this process: one for each of its receivers, and those whose connection was lost. */
export const maxWaitingPerApp = 20
const maxWaiting = 2_000
const pollMs = 250
/** What is posted together gets its numbers together. */
const numberAfterMs = 30
const numberEveryMs = 100
/**
 * From 2,000 events a second on, in two rounds one after the other: a burst is no load. A round costs 2 ms of the service and the
 * database, and 20 µs for each batch, so fewer rounds leave both to the debits. An event then gets its number within about a quarter of
 * a second, or half a second while no call and no endpoint waits for it.
 */
const numberEveryMsUnderLoad = 250
const numberEveryMsUnawaited = 500
const loadPerMs = 2

export function roundEveryMs({ isUnderLoad, isAwaited }: { isUnderLoad: boolean; isAwaited: boolean }): number {
  if (!isUnderLoad) return numberEveryMs
  return isAwaited ? numberEveryMsUnderLoad : numberEveryMsUnawaited
}

export function openEventWaits(queries: EventQueries, fault: (error: unknown) => void): EventWaits {
  const apps = new Map<string, Set<Waiting>>()
  let total = 0
  let isClosed = false
  let pollTimer: ReturnType<typeof setTimeout> | undefined
  let numberTimer: ReturnType<typeof setTimeout> | undefined
  let isPolling = false
  let isNumbering = false
  /** Written while numbers are given, which may have begun too early to see it. */
  let isDue = false
  let roundEndedAt = -Infinity
  let succeededAt = -Infinity
  let everyMs = numberEveryMs
  let wasLoaded = false
  let numbered: ((clientIds: readonly string[]) => void) | undefined

  async function poll(): Promise<void> {
    pollTimer = undefined
    isPolling = true
    try {
      const heads = await queries.findHeads([...apps.keys()])
      for (const [clientId, waiting] of apps)
        for (const each of waiting) if ((heads.get(clientId) ?? 0) > each.above) each.end()
    } catch (error) {
      fault(error)
    }
    isPolling = false
    schedule(pollMs)
  }

  function schedule(ms: number): void {
    if (total > 0 && !isPolling && !isClosed) pollTimer ??= setTimeout(() => void poll(), ms)
  }

  async function number(): Promise<void> {
    numberTimer = undefined
    isNumbering = true
    isDue = false
    const before = roundEndedAt
    try {
      const { events, toDeliver } = await queries.number()
      succeededAt = performance.now()
      const isLoaded = events >= (succeededAt - before) * loadPerMs
      everyMs = roundEveryMs({ isUnderLoad: isLoaded && wasLoaded, isAwaited: total > 0 || toDeliver.length > 0 })
      wasLoaded = isLoaded
      if (toDeliver.length > 0) numbered?.(toDeliver)
    } catch (error) {
      // The job tries again, and reports what keeps failing.
      fault(error)
    }
    isNumbering = false
    roundEndedAt = performance.now()
    clearTimeout(pollTimer)
    pollTimer = undefined
    schedule(0)
    if (isDue) written()
  }

  function written(): void {
    if (isClosed) return
    if (isNumbering) isDue = true
    else numberTimer ??= setTimeout(() => void number(), untilNumbering())
  }

  function untilNumbering(): number {
    return Math.max(numberAfterMs, roundEndedAt + everyMs - performance.now())
  }

  return {
    count: () => total,
    onNumbered: (listener) => void (numbered = listener),
    hasNumberedWithin: (ms) => performance.now() - succeededAt < ms,
    written,
    wait: (clientId, above, limitMs, signal) => {
      if (isClosed || signal.aborted) return Promise.resolve()
      const waiting = apps.get(clientId) ?? new Set()
      if (waiting.size >= maxWaitingPerApp || total >= maxWaiting) return undefined
      const { promise, resolve } = Promise.withResolvers<void>()
      const end = () => {
        if (!waiting.delete(mine)) return
        total--
        if (waiting.size === 0) apps.delete(clientId)
        clearTimeout(timer)
        signal.removeEventListener('abort', end)
        resolve()
      }
      const mine = { above, end }
      const timer = setTimeout(end, limitMs)
      signal.addEventListener('abort', end)
      apps.set(clientId, waiting.add(mine))
      total++
      // The event may have got its number between the caller's read and now.
      schedule(0)
      return promise
    },
    close: () => {
      isClosed = true
      for (const waiting of apps.values()) for (const { end } of waiting) end()
      clearTimeout(pollTimer)
      clearTimeout(numberTimer)
    },
  }
}
