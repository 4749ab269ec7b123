/**
 * The queue of work that must happen later: one row for each piece, identified by kind and key. Every time is the database's,
 * so that processes with different clocks agree on what is due and which leases have expired.
 */
import type { Queryable, Transaction } from '../connection/database.ts'
import { maybe } from '../connection/rows.ts'

export const workKinds = [
  'resolve-topup',
  'send-mail',
  'send-farewell',
  'send-operator-mail',
  'reconcile-day',
  'post-correction',
  'post-bonus',
  'find-first-payment',
  'deliver-sandbox-webhook',
  'deliver-event',
  'expire-holds',
  'publish-checkpoint',
] as const
export type WorkKind = (typeof workKinds)[number]

export type WorkRequest = {
  readonly kind: WorkKind
  readonly key: string
  readonly payload?: object
  /** Default: now, by the database's clock. */
  readonly dueAt?: Date
  readonly afterMs?: number
}

const dueSql = `coalesce($3::timestamptz, clock_timestamp()) + $4 * interval '1 ms'`

/**
 * Call it in the transaction of the cause. A second request of the same piece pulls its due time earlier. One that arrives while
 * the piece runs makes it run once more.
 */
export async function addWork(
  db: Queryable,
  { kind, key, payload = {}, dueAt, afterMs = 0 }: WorkRequest,
): Promise<void> {
  await db.query(
    `insert into work (kind, key, due_at, payload) values ($1, $2, ${dueSql}, $5)
     on conflict (kind, key) do update set due_at = least(work.due_at, excluded.due_at), payload = excluded.payload,
       is_requested = true, attempts = 0, given_up_at = null`,
    [kind, key, dueAt ?? null, afterMs, JSON.stringify(payload)],
  )
}

/** Adds work for something that failed outside the queue; the queue retries and reports it. Existing work stays unchanged. */
export async function addFailedWork(db: Queryable, { kind, key, afterMs }: WorkRequest, error: string): Promise<void> {
  await db.query(
    `insert into work (kind, key, due_at, attempts, failures, last_error, failed_at)
     values ($1, $2, clock_timestamp() + $3 * interval '1 ms', 1, 1, $4, now()) on conflict (kind, key) do nothing`,
    [kind, key, afterMs ?? 0, error],
  )
}

/** The keys of the pieces whose last run failed. */
export async function listFailedKeys(db: Queryable, kind: WorkKind, limit: number): Promise<string[]> {
  const text = 'select key from work where kind = $1 and failures > 0 limit $2'
  return (await db.query<{ key: string }>(text, [kind, limit])).rows.map(({ key }) => key)
}

/** Sets the due time, also to a later one. The caller holds the lock of the row that the work is about. */
export async function rescheduleWork(
  tx: Transaction,
  { kind, key, dueAt, isReset }: { kind: WorkKind; key: string; dueAt: Date; isReset: boolean },
): Promise<void> {
  await tx.query(
    `insert into work (kind, key, due_at) values ($1, $2, $3)
     on conflict (kind, key) do update set due_at = excluded.due_at, is_requested = true, given_up_at = null,
       attempts = case when $4 then 0 else work.attempts end`,
    [kind, key, dueAt, isReset],
  )
}

/** Removes a piece with nothing left to do. A running piece is removed when its run ends, so that no second run starts beside it. */
export async function dropWork(tx: Transaction, kind: WorkKind, key: string): Promise<void> {
  await tx.query(
    `with dropped as (
       delete from work where kind = $1 and key = $2 and (leased_until is null or leased_until <= now())
     ) update work set is_requested = false where kind = $1 and key = $2 and leased_until > now()`,
    [kind, key],
  )
}

/** Claims since the last request. */
export async function getAttempts(db: Queryable, kind: WorkKind, key: string): Promise<number> {
  const text = 'select attempts from work where kind = $1 and key = $2'
  const { rows } = await db.query<{ attempts: number }>(text, [kind, key])
  return maybe(rows)?.attempts ?? 0
}

export type Piece = {
  readonly kind: WorkKind
  readonly key: string
  readonly payload: unknown
  readonly lease: string
  /** This claim included. */
  readonly attempts: number
  readonly createdAt: Date
  /** Age of the queue's row, by the database's clock. */
  readonly ageMs: number
}

export type Claim = {
  readonly kind: WorkKind
  readonly limit: number
  readonly leaseMs: number
  /** The claim itself marks the pieces as given up: a process that dies loses them, and none runs twice. */
  readonly isAtMostOnce: boolean
  /** Leaves out the pieces whose key begins with one of these and a slash. */
  readonly exceptOf?: readonly string[]
}

const isFreeSql = `given_up_at is null and due_at <= now() and (leased_until is null or leased_until <= now())`

/** The given kinds that have work to claim, by one statement for all kinds. */
export async function findDueKinds(db: Queryable, kinds: readonly WorkKind[]): Promise<WorkKind[]> {
  const { rows } = await db.query<{ kind: WorkKind }>({
    name: 'find-due-kinds',
    text: `select k.kind from unnest($1::text[]) as k(kind) cross join lateral (
       select from work w where w.kind = k.kind and ${isFreeSql} order by due_at, key limit 1) as due`,
    values: [kinds],
  })
  return rows.map(({ kind }) => kind)
}

/** Claims the pieces due first. No other process gets them until the lease expires. */
export async function claimWork(
  db: Queryable,
  { kind, limit, leaseMs, isAtMostOnce, exceptOf = [] }: Claim,
): Promise<Piece[]> {
  const { rows } = await db.query<Piece>(
    `with due as materialized (
       select key from work where kind = $1 and ${isFreeSql} and split_part(key, '/', 1) <> all($5::text[])
       order by due_at, key limit $2 for update skip locked
     )
     update work w set lease = gen_random_uuid(), leased_until = clock_timestamp() + $3 * interval '1 ms',
       is_requested = false, attempts = attempts + 1, given_up_at = case when $4 then now() end
     from due where w.kind = $1 and w.key = due.key
     returning w.kind, w.key, payload, lease, attempts, created_at as "createdAt",
       extract(epoch from now() - created_at)::float8 * 1000 as "ageMs"`,
    [kind, limit, leaseMs, isAtMostOnce, exceptOf],
  )
  return rows
}

const mineSql = `w.kind = $1 and w.key = m.key and w.lease = m.lease`
const freeSql = 'lease = null, leased_until = null'

const namesOf = (pieces: readonly Piece[]) => [
  pieces[0]!.kind,
  pieces.map(({ key }) => key),
  pieces.map(({ lease }) => lease),
]

/** All pieces are of one kind. A piece requested since its claim stays, due as requested. */
export async function finishWork(db: Queryable, pieces: readonly Piece[]): Promise<void> {
  if (pieces.length === 0) return
  const { rowCount } = await db.query(
    `delete from work w using unnest($2::text[], $3::uuid[]) m(key, lease) where ${mineSql} and not is_requested`,
    namesOf(pieces),
  )
  // A request may commit between the two statements, so release every row that was not deleted.
  if (rowCount !== pieces.length)
    await db.query(
      `update work w set ${freeSql}, failures = 0, last_error = null, failed_at = null
       from unnest($2::text[], $3::uuid[]) m(key, lease) where ${mineSql}`,
      namesOf(pieces),
    )
}

export type Retry = {
  readonly piece: Piece
  readonly afterMs: number
  /** Why the run failed; absent when it did not fail and has more to do. */
  readonly error?: string | undefined
  /** False when the attempt does not lengthen the back-off. */
  readonly isCounted?: boolean | undefined
}

/** All pieces are of one kind. A request that arrived since the claim may be due earlier. */
export async function retryWork(db: Queryable, retries: readonly Retry[]): Promise<void> {
  if (retries.length === 0) return
  await db.query(
    `update work w set ${freeSql}, given_up_at = null,
       due_at = case when is_requested then least(w.due_at, m.due_at) else m.due_at end,
       attempts = greatest(attempts - m.uncounted, 0),
       failures = case when m.error is null then 0 else failures + 1 end, last_error = m.error,
       failed_at = case when m.error is not null then now() end
     from (select key, lease, clock_timestamp() + after_ms * interval '1 ms' as due_at, error, uncounted
       from unnest($2::text[], $3::uuid[], $4::float8[], $5::text[], $6::int[]) m(key, lease, after_ms, error, uncounted)) m
     where ${mineSql}`,
    [
      ...namesOf(retries.map(({ piece }) => piece)),
      retries.map(({ afterMs }) => afterMs),
      retries.map(({ error }) => error ?? null),
      retries.map(({ isCounted }) => (isCounted === false ? 1 : 0)),
    ],
  )
}

/** The row stays until the cleanup removes it, so that an operator can see it and run it again. */
export async function giveUpWork(db: Queryable, piece: Piece, error: string): Promise<void> {
  await db.query(
    `update work w set ${freeSql}, given_up_at = case when not is_requested then now() end, failures = failures + 1, last_error = $4,
       failed_at = now()
     from unnest($2::text[], $3::uuid[]) m(key, lease) where ${mineSql}`,
    [...namesOf([piece]), error],
  )
}
