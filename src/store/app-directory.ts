/**
 * All client apps, in memory. Looking one up costs nothing and takes the same time whether it exists or not; a change
 * made by any process is seen here within half a second, because no look-up trusts an older copy.
 */
import { getAppsVersion, listApps, type App } from './apps.ts'
import type { Database } from './connection/database.ts'
import type { Queryable } from './connection/open-client.ts'
import { hedgedRead } from './connection/pool.ts'

export type AppDirectory = {
  /** Answers at once while the copy is fresh, or after one short read. */
  readonly find: (clientId: string) => App | undefined | Promise<App | undefined>
  readonly list: () => Promise<App[]>
  /** Looks for changes that were made before this call. */
  readonly refresh: () => Promise<void>
  /**
   * The database's clock, carried on from the last look by this process's monotonic one: secrets are held in memory, and
   * end at the same moment for every process, whatever the machines' clocks say.
   */
  readonly now: () => Date
}

const freshForMs = 500
/** Of each of the two that are asked: see the limits in database.ts. */
const answerWithinMs = 1_300

export function openAppDirectory(db: Database): AppDirectory {
  let apps = new Map<string, App>()
  let version = -1n
  /** When the question was asked that the copy answers. */
  let copyAskedAt = -Infinity
  let clockAheadMs = Date.now() - performance.now()
  let refreshing: { readonly startedAt: number; readonly done: Promise<void> } | undefined

  async function read(reader: Queryable): Promise<void> {
    const askedAt = performance.now()
    // The number is read before the apps: a change in between makes the next look-up read them again.
    const { version: current, now } = await getAppsVersion(reader)
    clockAheadMs = now.getTime() - askedAt
    const found = current === version ? undefined : await listApps(reader)
    // A question that was asked later may have been answered earlier.
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
    // One that hangs is waited for only by those who came at its beginning: to later ones its answer would be too old.
    return refreshing && refreshing.startedAt > trustedFrom ? refreshing.done : refresh()
  }

  return {
    find: (clientId) => ensureFresh()?.then(() => apps.get(clientId)) ?? apps.get(clientId),
    list: async () => {
      await ensureFresh()
      return [...apps.values()]
    },
    // Whoever comes while one is under way shares the next, which is sure to see what they saw.
    refresh: async () => {
      await refreshing?.done.catch(() => {})
      await (refreshing?.done ?? refresh())
    },
    now: () => new Date(performance.now() + clockAheadMs),
  }
}
