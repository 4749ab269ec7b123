/** How far endpoints are behind, and which of them need a person. */
import type { Queryable } from '../connection/database.ts'
import { one } from '../connection/rows.ts'
import { illAfterEvents } from './endpoints.ts'
import { maxEntriesPerRow } from './journal.ts'

export const endpointStates = ['working', 'failing', 'ill', 'disabled-by-operator', 'disabled-by-service'] as const
export type EndpointState = (typeof endpointStates)[number]

const stateSql = `case when e.disabled_for = 'operator' then 'disabled-by-operator' when e.disabled_at is not null then 'disabled-by-service'
  when e.failing_since is null then 'working' when e.failed_events >= ${illAfterEvents} then 'ill' else 'failing' end`

/** An event waits since it was recorded. The next page is found by its key, among the pages that can have the event after the cursor. */
const lagSql = `select e.id, e.client_id, ${stateSql} as state, greatest(0, coalesce(h.last, 0) - e.delivered_up_to)::float8 as events,
    greatest(0, coalesce(extract(epoch from clock_timestamp() - p.at), 0))::float8 as seconds,
    greatest(0, coalesce(extract(epoch from clock_timestamp() - e.failing_since), 0))::float8 as failing_seconds
  from endpoints e left join event_heads h on h.client_id = e.client_id
  left join lateral (select at from event_pages where client_id = e.client_id and first > e.delivered_up_to - ${maxEntriesPerRow}
    and first + count - 1 > e.delivered_up_to order by first limit 1) as p on true`

export type EndpointLag = { readonly events: number; readonly seconds: number }

/** By the id of the endpoint. */
export async function findEndpointLags(db: Queryable, clientId: string): Promise<ReadonlyMap<string, EndpointLag>> {
  const { rows } = await db.query<EndpointLag & { id: string }>(
    `select id, events, seconds from (${lagSql}) as lag where client_id = $1`,
    [clientId],
  )
  return new Map(rows.map(({ id, events, seconds }) => [id, { events, seconds }]))
}

/** Of the endpoints in one state: how many, and the largest values among them. */
export type EndpointLevel = EndpointLag & { readonly count: number; readonly failingSeconds: number }

export async function getEndpointLevels(db: Queryable): Promise<Readonly<Record<EndpointState, EndpointLevel>>> {
  const { rows } = await db.query<EndpointLevel & { state: EndpointState }>(
    `select state, count(*)::int as count, max(events) as events, max(seconds) as seconds, max(failing_seconds) as "failingSeconds"
     from (${lagSql}) as lag group by state`,
  )
  const levelOf = (state: EndpointState) => {
    const { count = 0, events = 0, seconds = 0, failingSeconds = 0 } = rows.find((row) => row.state === state) ?? {}
    return [state, { count, events, seconds, failingSeconds }] as const
  }
  return Object.fromEntries(endpointStates.map(levelOf)) as Record<EndpointState, EndpointLevel>
}

export async function countPlainEndpoints(db: Queryable): Promise<number> {
  const { rows } = await db.query<{ count: number }>(
    `select count(*)::int as count from endpoints where url not like 'https:%'`,
  )
  return one(rows).count
}

export type TroubledApp = { readonly clientId: string; readonly name: string; readonly endpoints: number }

/** Apps with endpoints that are ill or that the service disabled, and how many. */
export async function listTroubledApps(db: Queryable, limit: number): Promise<TroubledApp[]> {
  const { rows } = await db.query<TroubledApp>(
    `select client_id as "clientId", a.name, count(*)::int as endpoints from (select e.client_id, ${stateSql} as state from endpoints e) as e
     join apps a using (client_id) where state in ('ill', 'disabled-by-service')
     group by 1, 2 order by endpoints desc, 1 limit $1`,
    [limit],
  )
  return rows
}
