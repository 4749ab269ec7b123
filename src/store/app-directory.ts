/**
 * All client apps, in memory. A look-up takes the same time whether or not the app exists. A change by another process is
 * visible here within half a second while the database answers. Reads use a separate connection, because every call needs
 * the apps: no tenant can make it wait behind other queries. While the database cannot be asked, the last copy is used
 * for up to ten seconds. An old copy may accept an app, but never refuses one: refusals are confirmed by a new read.
 */
import { setTimeout as sleep } from 'node:timers/promises'
import { getAppsVersion, listApps, type App } from './apps.ts'
import { DatabaseUnavailable } from './connection/database-unavailable.ts'
import { within, type Connection, type Queryable } from './connection/open-client.ts'
import { openClient, reportSilence } from './connection/servers.ts'
import { openPool } from './connection/pool.ts'

type Found = App | undefined

export type AppDirectory = {
  /**
   * From the copy alone, so `undefined` may be out of date: call `refresh` and look again before a refusal. Synchronous while
   * the copy is fresh.
   */
  readonly known: (clientId: string) => Found | Promise<Found>
  /** Reads the apps again before the answer is `undefined`. */
  readonly find: (clientId: string) => Promise<Found>
  /** The same for an inactive app: it may have been activated. */
  readonly findActive: (clientId: string) => Promise<Found>
  readonly list: () => Promise<App[]>
  /** Resolves once every change made before this call is visible. */
  readonly refresh: () => Promise<void>
  /** This process changed the app: from now on no older copy answers for it. Does not fail when the apps cannot be read. */
  readonly changed: (clientId: string) => Promise<void>
  /**
   * The database's clock, extrapolated by this process's monotonic clock since the last read. Secrets in memory expire
   * at the same instant in every process, even where the clocks of the machines differ.
   */
  readonly now: () => Date
  /** How old the copy is that is used because the apps cannot be read; 0 while they can. */
  readonly staleMs: () => number
  readonly close: () => Promise<void>
}

type Read = {
  readonly done: Promise<void>
  /** Resolves with `done`, whether it fails or not, and at the latest after `patienceMs`. */
  readonly settled: Promise<unknown>
}

const freshForMs = 500
const staleForMs = 10_000
/** How long a call waits for a read while an old copy could be used instead. */
const patienceMs = 1_000
/** The limits of the two attempts of a read. The second one uses a new connection. */
const attemptsMs = [650, 1_300] as const
/** Wrong secrets cause reads. This bounds them to fifty a second per process, which callers share. */
const minIntervalMs = 20

export function openAppDirectory(connection: Connection, onFault: (error: unknown) => void): AppDirectory {
  const settings = { statement_timeout: String(attemptsMs[1] - 100) }
  const open = () => openClient(connection, { name: 'billfold apps', settings })
  const pool = openPool(open, 1, attemptsMs[1])
  let apps = new Map<string, App>()
  let version = -1n
  /** When the read began that produced the current copy. */
  let copyAskedAt = -Infinity
  let clockAheadMs = Date.now() - performance.now()
  let reading: Read | undefined
  let nextRead: Promise<void> | undefined
  let startedAt = -Infinity
  /** Whether the last read succeeded. If not, calls with an old copy do not wait for the next read. */
  let isAnswering = true
  /** Apps that this process changed, with the time: copies read before it are not used for them. */
  const changedAt = new Map<string, number>()

  async function read(reader: Queryable): Promise<void> {
    const askedAt = performance.now()
    // The version is read before the apps: a change in between makes the next look-up read them again.
    const { version: current, now } = await getAppsVersion(reader)
    clockAheadMs = now.getTime() - askedAt
    if (current !== version) {
      apps = new Map((await listApps(reader)).map((app) => [app.clientId, app]))
      version = current
    }
    copyAskedAt = askedAt
    for (const [clientId, at] of changedAt) if (at <= askedAt) changedAt.delete(clientId)
  }

  async function attempt(limitMs: number): Promise<void> {
    const client = await pool.connect()
    let fault: unknown
    try {
      await within(client, limitMs, read(client))
    } catch (error) {
      fault = error
      throw error
    } finally {
      client.release(fault)
    }
  }

  async function readOrRetry(): Promise<void> {
    const since = performance.now()
    try {
      await attempt(attemptsMs[0]).catch(async (error: unknown) => {
        if (!(error instanceof DatabaseUnavailable)) throw error
        await attempt(attemptsMs[1])
        // A new connection works and the old one did not: others without an answer since then are probably dead too.
        reportSilence(connection, since)
      })
      isAnswering = true
    } catch (error) {
      if (isAnswering) onFault(error)
      isAnswering = false
      throw error
    }
  }

  function startRead(): Read {
    startedAt = performance.now()
    const done = readOrRetry()
    const patience = new AbortController()
    const quietly = done.catch(() => {})
    const settled = Promise.race([quietly, sleep(patienceMs, undefined, { signal: patience.signal }).catch(() => {})])
    const mine = { done, settled }
    reading = mine
    void quietly.then(() => {
      patience.abort()
      if (reading === mine) reading = undefined
    })
    return mine
  }

  async function waitForTurn(): Promise<void> {
    for (;;) {
      const waitMs = startedAt + minIntervalMs - performance.now()
      if (reading) await reading.done.catch(() => {})
      else if (waitMs > 0) await sleep(waitMs)
      else return
    }
  }

  async function readNext(): Promise<void> {
    await waitForTurn()
    // Callers that come from here on may know of changes that this read does not see.
    nextRead = undefined
    await startRead().done
  }

  const refresh = () => (nextRead ??= readNext())

  /** Undefined when the copy can be used without waiting. */
  function prepareCopy(clientId?: string): Promise<unknown> | undefined {
    const usableFrom = performance.now()
    if (changedAt.size > 0 && clientId !== undefined && changedAt.has(clientId)) return refresh()
    if (copyAskedAt > usableFrom - freshForMs) return undefined
    const { done, settled } = reading ?? startRead()
    if (copyAskedAt <= usableFrom - staleForMs) return done
    return isAnswering ? settled : undefined
  }

  const known = (clientId: string) => prepareCopy(clientId)?.then(() => apps.get(clientId)) ?? apps.get(clientId)

  async function findWhere(clientId: string, accepts: (app: Found) => boolean): Promise<Found> {
    const found = await known(clientId)
    if (accepts(found)) return found
    await refresh()
    return apps.get(clientId)
  }

  return {
    known,
    find: (clientId) => findWhere(clientId, (app) => app !== undefined),
    findActive: async (clientId) => {
      const found = await findWhere(clientId, (app) => app?.isActive === true)
      return found?.isActive ? found : undefined
    },
    list: async () => {
      await prepareCopy()
      return [...apps.values()]
    },
    refresh,
    changed: async (clientId) => {
      changedAt.set(clientId, performance.now())
      await refresh().catch(() => {})
    },
    now: () => new Date(performance.now() + clockAheadMs),
    staleMs: () => (isAnswering ? 0 : performance.now() - copyAskedAt),
    close: pool.end,
  }
}
