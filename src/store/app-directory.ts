/**
 * All client apps, in memory. Looking one up costs nothing and takes the same time whether it exists or not; a change
 * made by any process is seen here within half a second, because no look-up trusts an older copy.
 */
import { getAppsVersion, listApps, type App } from './apps.ts'
import type { Database } from './database.ts'

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

export function openAppDirectory(db: Database): AppDirectory {
  let apps = new Map<string, App>()
  let version = -1n
  let freshUntil = 0
  let clockAheadMs = Date.now() - performance.now()
  let refreshing: Promise<void> | undefined

  async function refresh(): Promise<void> {
    const askedAt = performance.now()
    // The number is read before the apps: a change in between makes the next look-up read them again.
    const { version: current, now } = await getAppsVersion(db.pool)
    clockAheadMs = now.getTime() - askedAt
    if (current !== version) {
      apps = new Map((await listApps(db.pool)).map((app) => [app.clientId, app]))
      version = current
    }
    freshUntil = askedAt + freshForMs
  }

  /** One read at a time; whoever comes while one is under way shares the next, which is sure to see what they saw. */
  async function refreshAfterThis(): Promise<void> {
    await refreshing?.catch(() => {})
    await (refreshing ??= refresh().finally(() => (refreshing = undefined)))
  }

  function ensureFresh(): Promise<void> | undefined {
    if (performance.now() < freshUntil) return undefined
    return (refreshing ??= refresh().finally(() => (refreshing = undefined)))
  }

  return {
    find: (clientId) => ensureFresh()?.then(() => apps.get(clientId)) ?? apps.get(clientId),
    list: async () => {
      await ensureFresh()
      return [...apps.values()]
    },
    refresh: refreshAfterThis,
    now: () => new Date(performance.now() + clockAheadMs),
  }
}
