/** Endpoints: where an app's events are posted to, how far each has come, and the attempts that people read. */
import type { Queryable, Transaction } from '../connection/database.ts'
import { maybe, one } from '../connection/rows.ts'
import { addWork } from '../work/work.ts'

export type DisabledFor = 'operator' | 'gone' | 'failing' | 'secret-lost'

export type Endpoint = {
  readonly id: string
  readonly clientId: string
  readonly url: string
  /** Null for every type. */
  readonly types: readonly string[] | null
  /** Sealed. Null when its key was lost; then the endpoint is disabled. */
  readonly secret: string | null
  /** Sealed; null when it has ended. */
  readonly oldSecret: string | null
  readonly oldSecretEndsAt: Date | null
  readonly createdAt: Date
  readonly deliveredUpTo: number
  readonly consideredUpTo: number
  readonly failingSince: Date | null
  /** Since then, by the database's clock; 0 while it works. */
  readonly failingMs: number
  readonly failedEvents: number
  readonly probes: number
  readonly nextAttemptAt: Date
  readonly lastError: string | null
  readonly lastSuccessAt: Date | null
  readonly mailsSent: number
  readonly disabledAt: Date | null
  readonly disabledFor: DisabledFor | null
}

const columnsOf = (e: string) => `${e}.id, ${e}.client_id as "clientId", ${e}.url, ${e}.types, ${e}.secret,
  case when ${e}.old_secret_ends_at > clock_timestamp() then ${e}.old_secret end as "oldSecret",
  case when ${e}.old_secret_ends_at > clock_timestamp() then ${e}.old_secret_ends_at end as "oldSecretEndsAt",
  ${e}.created_at as "createdAt", ${e}.delivered_up_to::float8 as "deliveredUpTo",
  ${e}.considered_up_to::float8 as "consideredUpTo", ${e}.failing_since as "failingSince",
  coalesce(extract(epoch from clock_timestamp() - ${e}.failing_since)::float8 * 1000, 0) as "failingMs",
  ${e}.failed_events as "failedEvents", ${e}.probes, ${e}.next_attempt_at as "nextAttemptAt",
  ${e}.last_error as "lastError", ${e}.last_success_at as "lastSuccessAt", ${e}.mails_sent as "mailsSent",
  ${e}.disabled_at as "disabledAt", ${e}.disabled_for as "disabledFor"`

export type NewEndpoint = Pick<Endpoint, 'id' | 'clientId' | 'url' | 'types'> & { readonly secret: string }

/** It gets the events from the app's next one on. */
export async function insertEndpoint(
  tx: Transaction,
  { id, clientId, url, types, secret }: NewEndpoint,
): Promise<void> {
  await tx.query(
    `insert into endpoints (id, client_id, url, types, secret, delivered_up_to)
     values ($1, $2, $3, $4, $5, coalesce((select last from event_heads where client_id = $2), 0))`,
    [id, clientId, url, types, secret],
  )
}

export async function listEndpoints(db: Queryable, clientId: string): Promise<Endpoint[]> {
  const text = `select ${columnsOf('e')} from endpoints e where client_id = $1 order by created_at, id`
  return (await db.query<Endpoint>(text, [clientId])).rows
}

export async function findEndpoint(db: Queryable, id: string): Promise<Endpoint | undefined> {
  return maybe((await db.query<Endpoint>(`select ${columnsOf('e')} from endpoints e where id = $1`, [id])).rows)
}

export async function lockEndpoint(tx: Transaction, id: string): Promise<Endpoint | undefined> {
  const text = `select ${columnsOf('e')} from endpoints e where id = $1 for update`
  return maybe((await tx.query<Endpoint>(text, [id])).rows)
}

/** The old secret signs for that long beside the new one. */
export async function updateEndpointSecret(
  tx: Transaction,
  id: string,
  secret: string,
  overlapMs: number,
): Promise<void> {
  await tx.query(
    `update endpoints set secret = $2, old_secret = case when $3::bigint > 0 then secret end,
       old_secret_ends_at = case when $3::bigint > 0 and secret is not null then clock_timestamp() + $3 * interval '1 ms' end
     where id = $1`,
    [id, secret, overlapMs],
  )
}

/** A run under way loses its lease, so that it ends. */
export async function updateEndpointDisabled(tx: Transaction, id: string, reason: DisabledFor): Promise<void> {
  await tx.query(
    `update endpoints set disabled_at = clock_timestamp(), disabled_for = $2, lease = null, leased_until = null where id = $1`,
    [id, reason],
  )
}

/** Continues where it stood, or with the app's next event. */
export async function updateEndpointEnabled(tx: Transaction, id: string, isFromNow: boolean): Promise<void> {
  await tx.query(
    `update endpoints e set disabled_at = null, disabled_for = null, ${healthySql}, next_attempt_at = clock_timestamp(),
       delivered_up_to = case when $2 then coalesce((select last from event_heads h where h.client_id = e.client_id), 0)
         else delivered_up_to end
     where id = $1`,
    [id, isFromNow],
  )
}

/** Every event after this number is sent again. A run under way loses its lease, so that it does not move the cursor on. */
export async function updateEndpointCursor(tx: Transaction, id: string, deliveredUpTo: number): Promise<void> {
  await tx.query('update endpoints set delivered_up_to = $2, lease = null, leased_until = null where id = $1', [
    id,
    deliveredUpTo,
  ])
}

export async function deleteEndpoint(tx: Transaction, id: string): Promise<void> {
  await tx.query(`delete from work where kind = 'deliver-event' and key like $1 || '/%'`, [id])
  await tx.query('delete from endpoints where id = $1', [id])
}

const healthySql = `failing_since = null, failed_events = 0, probes = 0, last_error = null, mails_sent = 0`

/** From which number of different failed events on an endpoint is ill. */
export const illAfterEvents = 3

export type ClaimedEndpoint = Endpoint & {
  readonly lease: string
  /** Whether the back-off has ended; otherwise only events above `consideredUpTo` may be tried. */
  readonly isDue: boolean
}

const leaseSql = `clock_timestamp() + interval '30 s'`

/** Whether the last attempt succeeded. A new endpoint is unproven, and so is one that fails. */
export function isProven({ failingSince, lastSuccessAt }: Pick<Endpoint, 'failingSince' | 'lastSuccessAt'>): boolean {
  return failingSince === null && lastSuccessAt !== null
}

export const provenSql = `(e.failing_since is null and e.last_success_at is not null)`

/**
 * New events are tried during the back-off, to find out whether the endpoint or one event is ill: so many events after the cursor. Without
 * this bound, each further event of a user whose first one failed would begin a run that has nothing to try.
 */
const triedEarly = 8

const dueSql = `select e.id from endpoints e join event_heads h on h.client_id = e.client_id
  where e.disabled_at is null and h.last > e.delivered_up_to and (e.leased_until is null or e.leased_until <= now())
    and (e.next_attempt_at <= now() or (e.failed_events < ${illAfterEvents} and h.last > e.considered_up_to
      and e.considered_up_to < e.delivered_up_to + ${triedEarly}))`

const leaseClaimedSql = (due: string) => `update endpoints e set lease = gen_random_uuid(), leased_until = ${leaseSql}
  from ${due} as due where e.id = due.id
  returning ${columnsOf('e')}, e.lease, e.next_attempt_at <= now() as "isDue"`

/** Claims endpoints with something to deliver, the longest due first, and at most so many of each sort. */
export async function claimEndpoints(
  db: Queryable,
  limits: { readonly proven: number; readonly unproven: number },
): Promise<ClaimedEndpoint[]> {
  const { rows } = await db.query<ClaimedEndpoint>({
    name: 'claim-endpoints',
    text: `with proven as materialized (
        ${dueSql} and ${provenSql} order by e.next_attempt_at, e.id limit $1 for update of e skip locked
      ), unproven as materialized (
        ${dueSql} and not ${provenSql} order by e.next_attempt_at, e.id limit $2 for update of e skip locked
      )
      ${leaseClaimedSql('(select id from proven union all select id from unproven)')}`,
    values: [limits.proven, limits.unproven],
  })
  return rows
}

/** Claims endpoints of these apps that are known to work: a few rows by the index, however many endpoints there are. */
export async function claimEndpointsOf(
  db: Queryable,
  clientIds: readonly string[],
  limit: number,
): Promise<ClaimedEndpoint[]> {
  const { rows } = await db.query<ClaimedEndpoint>({
    name: 'claim-endpoints-of-apps',
    text: `with proven as materialized (
        ${dueSql} and ${provenSql} and e.client_id = any($1::text[]) order by e.next_attempt_at, e.id limit $2 for update of e skip locked
      )
      ${leaseClaimedSql('proven')}`,
    values: [clientIds, limit],
  })
  return rows
}

export type Attempt = {
  readonly number: number
  readonly at: Date
  /** Null when there was no answer. */
  readonly status: number | null
  readonly tookMs: number
  /** Null for a success. */
  readonly error: string | null
}

export type Progress = {
  readonly deliveredUpTo: number
  /** Up to this number, nothing is tried before the back-off ends: what the run read, or everything. */
  readonly consideredUpTo: number
  /** Events that failed although the endpoint works: each is tried again as a piece of work. */
  readonly setAside: readonly number[]
  readonly attempts: readonly Attempt[]
  readonly hasSucceeded: boolean
  /** Undefined while the endpoint works. */
  readonly failure?: {
    readonly failedEvents: number
    readonly retryAfterMs: number
    readonly error: string
  }
  /** The run has ended: other processes may claim the endpoint. */
  readonly isLast: boolean
}

const setAsideKey = (endpointId: string, number: number) => `${endpointId}/${number}`

/** The first retry of an event that was set aside. */
const firstRetryMs = 5_000

/** Null when the lease is lost: another process delivers, or an operator changed the endpoint. */
export async function saveProgress(
  tx: Transaction,
  { id, lease }: Pick<ClaimedEndpoint, 'id' | 'lease'>,
  { deliveredUpTo, consideredUpTo, setAside, attempts, hasSucceeded, failure, isLast }: Progress,
): Promise<Endpoint | undefined> {
  const health = failure
    ? `failing_since = coalesce(failing_since, clock_timestamp()), failed_events = $7, probes = probes + 1, last_error = $8,
       next_attempt_at = clock_timestamp() + $9 * interval '1 ms'`
    : `next_attempt_at = case when failing_since is null then next_attempt_at else clock_timestamp() end, ${healthySql}`
  const { rows } = await tx.query<Endpoint>({
    name: `save-progress-${failure ? 'failing' : hasSucceeded ? 'working' : 'unknown'}`,
    text: `update endpoints e set delivered_up_to = greatest(delivered_up_to, $3), considered_up_to = $6, ${failure || hasSucceeded ? `${health},` : ''}
       last_success_at = case when $4 then clock_timestamp() else last_success_at end,
       lease = case when $5 then null else lease end, leased_until = case when $5 then null else ${leaseSql} end
     where id = $1 and lease = $2 returning ${columnsOf('e')}`,
    values: [
      id,
      lease,
      deliveredUpTo,
      hasSucceeded,
      isLast,
      consideredUpTo,
      ...(failure ? [failure.failedEvents, failure.error, failure.retryAfterMs] : []),
    ],
  })
  const endpoint = maybe(rows)
  if (!endpoint) return undefined
  for (const number of setAside)
    await addWork(tx, { kind: 'deliver-event', key: setAsideKey(id, number), afterMs: firstRetryMs })
  await insertAttempts(tx, id, attempts)
  return endpoint
}

/** For each endpoint. */
const maxAttemptsKept = 1_000

export async function insertAttempts(db: Queryable, endpointId: string, attempts: readonly Attempt[]): Promise<void> {
  if (attempts.length === 0) return
  const kept = attempts.slice(-maxAttemptsKept)
  await db.query({
    name: 'insert-attempts',
    text: `with expired as (
       delete from endpoint_attempts where endpoint_id = $1 and serial <= (
         select serial from endpoint_attempts where endpoint_id = $1 order by serial desc offset $7 limit 1)
     )
     insert into endpoint_attempts (endpoint_id, number, at, status, took_ms, error)
     select $1, * from unnest($2::bigint[], $3::timestamptz[], $4::integer[], $5::integer[], $6::text[])`,
    values: [
      endpointId,
      kept.map(({ number }) => number),
      kept.map(({ at }) => at),
      kept.map(({ status }) => status),
      kept.map(({ tookMs }) => Math.round(tookMs)),
      kept.map(({ error }) => error),
      // Of the older ones.
      maxAttemptsKept - kept.length,
    ],
  })
}

/** Newest first. */
export async function listAttempts(db: Queryable, endpointId: string, limit: number): Promise<Attempt[]> {
  const { rows } = await db.query<Attempt>(
    `select number::float8 as number, at, status, took_ms as "tookMs", error from endpoint_attempts
     where endpoint_id = $1 order by serial desc limit $2`,
    [endpointId, limit],
  )
  return rows
}

/** Records which mails about the failure were sent. */
export async function updateMailsSent(tx: Transaction, id: string, mailsSent: number): Promise<void> {
  await tx.query('update endpoints set mails_sent = $2 where id = $1', [id, mailsSent])
}

/** The numbers of the app's events of this time, the first and the last one; undefined when there are none. */
export async function findNumbersBetween(
  db: Queryable,
  clientId: string,
  from: Date,
  to?: Date,
): Promise<{ readonly first: number; readonly last: number } | undefined> {
  const { rows } = await db.query<{ first: number | null; last: number | null }>(
    `select min(first)::float8 as first, max(first + count - 1)::float8 as last from event_pages
     where client_id = $1 and at >= $2 and at < coalesce($3, 'infinity'::timestamptz)`,
    [clientId, from, to ?? null],
  )
  const [{ first, last } = { first: null, last: null }] = rows
  return first === null || last === null ? undefined : { first, last }
}

/** How many events of the app wait to be sent again, counted up to the limit. */
export async function countWaitingEvents(db: Queryable, clientId: string, limit: number): Promise<number> {
  const { rows } = await db.query<{ count: number }>(
    `select count(*)::int as count from (
       select from endpoints e join work w on w.kind = 'deliver-event' and w.key > e.id || '/' and w.key < e.id || '0'
       where e.client_id = $1 and w.given_up_at is null limit $2) as waiting`,
    [clientId, limit],
  )
  return one(rows).count
}

/** Asks for these events again, each as a piece of work. */
export async function insertReplay(tx: Transaction, id: string, first: number, last: number): Promise<void> {
  await tx.query(
    `insert into work (kind, key, due_at)
     select 'deliver-event', $1 || '/' || number, clock_timestamp() from generate_series($2::bigint, $3::bigint) as number
     on conflict (kind, key) do update set due_at = least(work.due_at, excluded.due_at), is_requested = true, attempts = 0,
       given_up_at = null`,
    [id, first, last],
  )
}
