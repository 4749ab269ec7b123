/** Calls of apps and their answers: counted in memory, with a few map look-ups per call, and written every minute. */
import { plainArray, textArray } from '../connection/arrays.ts'
import type { Queryable } from '../connection/database.ts'
import { maybe } from '../connection/rows.ts'

export type AppCalls = {
  /** `at` is the performance.now() of the answer. The clientId must belong to a known app. */
  readonly record: (clientId: string, route: string, code: string, at: number) => void
  /** Returns the counts since the last call, and resets them. */
  readonly take: () => CountedCall[]
  /** Adds counts back that could not be written. */
  readonly putBack: (counted: readonly CountedCall[]) => void
}

export type CountedCall = {
  readonly clientId: string
  readonly route: string
  readonly code: string
  calls: number
  lastAt: number
}

/** The maps stay small: operators create apps by hand, and the routes and codes are fixed in the program. */
export function openAppCalls(): AppCalls {
  let byApp = new Map<string, Map<string, Map<string, CountedCall>>>()

  function find(clientId: string, route: string, code: string): CountedCall {
    let routes = byApp.get(clientId)
    if (!routes) byApp.set(clientId, (routes = new Map<string, Map<string, CountedCall>>()))
    let codes = routes.get(route)
    if (!codes) routes.set(route, (codes = new Map<string, CountedCall>()))
    let counted = codes.get(code)
    if (!counted) codes.set(code, (counted = { clientId, route, code, calls: 0, lastAt: 0 }))
    return counted
  }

  return {
    record: (clientId, route, code, at) => {
      const counted = find(clientId, route, code)
      counted.calls++
      counted.lastAt = at
    },
    take: () => {
      const all = [...byApp.values()].flatMap((routes) => [...routes.values()].flatMap((codes) => [...codes.values()]))
      byApp = new Map()
      return all
    },
    putBack: (counted) => {
      for (const { clientId, route, code, calls, lastAt } of counted) {
        const again = find(clientId, route, code)
        again.calls += calls
        again.lastAt = Math.max(again.lastAt, lastAt)
      }
    },
  }
}

/** Adds to the rows of the current hour, by the database's clock. `now` is the current performance.now(). */
export async function addAppCalls(db: Queryable, counted: readonly CountedCall[], now: number): Promise<void> {
  await db.query(
    `insert into app_calls as c (client_id, hour, route, code, calls, last_at)
     select client_id, date_trunc('hour', now(), 'UTC'), route, code, calls, now() - age * interval '1 ms'
     from unnest($1::text[], $2::text[], $3::text[], $4::bigint[], $5::float8[]) as n(client_id, route, code, calls, age)
     order by 1, 3, 4
     on conflict (client_id, hour, route, code) do update set
       calls = c.calls + excluded.calls, last_at = greatest(c.last_at, excluded.last_at)`,
    [
      textArray(counted, (each) => each.clientId),
      textArray(counted, (each) => each.route),
      textArray(counted, (each) => each.code),
      plainArray(counted, (each) => each.calls),
      plainArray(counted, (each) => Math.max(0, now - each.lastAt)),
    ],
  )
}

export type CallSum = {
  readonly route: string
  readonly code: string
  readonly day: number
  readonly week: number
  readonly lastAt: Date
}

/**
 * One app's calls by route and code: the sums of the last 24 hours and 7 days, in whole hours, and the last call within
 * 31 days.
 */
export async function listAppCalls(db: Queryable, clientId: string): Promise<CallSum[]> {
  const { rows } = await db.query<CallSum>(
    `select route, code, max(last_at) as "lastAt",
       coalesce(sum(calls) filter (where hour > now() - interval '24 hours'), 0)::float8 as day,
       coalesce(sum(calls) filter (where hour > now() - interval '7 days'), 0)::float8 as week
     from app_calls where client_id = $1 and hour > now() - interval '31 days'
     group by route, code order by "lastAt" desc`,
    [clientId],
  )
  return rows
}

export type RefusedApp = { readonly clientId: string; readonly name: string; readonly calls: number }

/** The apps whose calls were refused with this code most often in this hour and the last one, at least `least` times. */
export async function listRefusedApps(
  db: Queryable,
  code: 'RATE_LIMITED' | 'INVALID_CLIENT',
  { least, limit }: { least: number; limit: number },
): Promise<RefusedApp[]> {
  const { rows } = await db.query<RefusedApp>(
    `select c.client_id as "clientId", a.name, sum(c.calls)::float8 as calls
     from app_calls c join apps a using (client_id)
     where c.code = $1 and c.hour > now() - interval '2 hours'
     group by 1, 2 having sum(c.calls) >= $2 order by calls desc, 1 limit $3`,
    [code, least, limit],
  )
  return rows
}

/** Counts the live links of all apps in one table scan, unless another process did so within `everyMs`. */
export async function countAppLinks(db: Queryable, everyMs: number): Promise<void> {
  await db.query(
    `insert into app_links as c (client_id, links, counted_at)
     select a.client_id, coalesce(l.links, 0), now()
     from apps a left join (select client_id, count(*) as links from links where disconnected_at is null group by 1) l using (client_id)
     where not exists (select from app_links c where c.counted_at > now() - $1 * interval '1 ms')
     order by 1
     on conflict (client_id) do update set links = excluded.links, counted_at = excluded.counted_at`,
    [everyMs],
  )
}

/** Undefined until the first count. */
export async function findAppLinks(
  db: Queryable,
  clientId: string,
): Promise<{ links: number; countedAt: Date } | undefined> {
  const { rows } = await db.query<{ links: number; countedAt: Date }>(
    'select links::float8 as links, counted_at as "countedAt" from app_links where client_id = $1',
    [clientId],
  )
  return maybe(rows)
}
