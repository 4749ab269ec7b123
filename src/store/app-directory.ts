/**
 * All client apps, in memory. A look-up takes the same time whether or not the app exists. Changes by any process are
 * visible here within half a second, because no look-up uses an older copy.
 */
import { getAppsVersion, listApps, type App } from './apps.ts'
import type { Database } from './connection/database.ts'
import type { Queryable } from './connection/open-client.ts'
import { hedgedRead } from './connection/pool.ts'

export type AppDirectory = {
  /** Synchronous while the copy is fresh; otherwise after one short read. */
  readonly find: (clientId: string) => App | undefined | Promise<App | undefined>
  readonly list: () => Promise<App[]>
  /** Resolves once every change made before this call is visible. */
  readonly refresh: () => Promise<void>
  /**
   * The database's clock, extrapolated by this process's monotonic clock since the last read. Secrets in memory expire
   * at the same instant in every process, even where the clocks of the machines differ.
   */
  readonly now: () => Date
}

const freshForMs = 500
/** The limit of each of the two reads: see the limits in database.ts. */
const answerWithinMs = 1_300

export function openAppDirectory(db: Database): AppDirectory {
  let apps = new Map<string, App>()
  let version = -1n
  /** When the read began that produced the current copy. */
  let copyAskedAt = -Infinity
  let clockAheadMs = Date.now() - performance.now()
  let refreshing: { readonly startedAt: number; readonly done: Promise<void> } | undefined

  async function read(reader: Queryable): Promise<void> {
    const askedAt = performance.now()
    // The version is read before the apps: a change in between makes the next look-up read them again.
    const { version: current, now } = await getAppsVersion(reader)
    clockAheadMs = now.getTime() - askedAt
    const found = current === version ? undefined : await listApps(reader)
    // Two reads may finish in the other order.
    if (askedAt < copyAskedAt) return
    if (found) {
      apps = new Map(found.map((app) => [app.clientId, app]))
      version = current
    }
    copyAskedAt = askedAt
  }

  function refresh(): Promise<void> {
    const done = hedgedRead(db.pool, answerWithinMs, read)
    const mine = { startedAt: performance.now(), done }
    refreshing = mine
    const forget = () => {
      if (refreshing === mine) refreshing = undefined
    }
    done.then(forget, forget)
    return done
  }

  function ensureFresh(): Promise<void> | undefined {
    const trustedFrom = performance.now() - freshForMs
    if (copyAskedAt > trustedFrom) return undefined
    // A read that hangs is shared only with callers that came when it began: for later callers its answer would be too
    // old.
    return refreshing && refreshing.startedAt > trustedFrom ? refreshing.done : refresh()
  }

  return {
    find: (clientId) => ensureFresh()?.then(() => apps.get(clientId)) ?? apps.get(clientId),
    list: async () => {
      await ensureFresh()
      return [...apps.values()]
    },
    // Callers that come during a refresh share the next one, which sees every change made before they called.
    refresh: async () => {
      await refreshing?.done.catch(() => {})
      await (refreshing?.done ?? refresh())
    },
    now: () => new Date(performance.now() + clockAheadMs),
  }
}
