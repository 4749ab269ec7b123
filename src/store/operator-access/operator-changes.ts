/** Changes of operators that need a second admin. Times are the database's. */
import type { Queryable, Transaction } from '../connection/database.ts'
import { maybe, one } from '../connection/rows.ts'
import { choicesOf, type Listing } from '../connection/listing.ts'
import type { Role } from '../operators.ts'

export type Change =
  | { readonly kind: 'invite'; readonly email: string; readonly role: Role }
  | { readonly kind: 'role'; readonly operatorId: string; readonly role: Role }
  | { readonly kind: 'reset' | 'remove' | 'restore'; readonly operatorId: string }

export type DecidedState = 'approved' | 'declined' | 'withdrawn'

export type WaitingChange = {
  readonly id: string
  readonly change: Change
  readonly askedBy: string
  readonly askedAt: Date
  readonly expiresAt: Date
  /** A change that expired counts as such, whether or not its row says so. */
  readonly state: 'waiting' | 'expired' | DecidedState
}

type Row = Omit<WaitingChange, 'change'> & {
  readonly kind: Change['kind']
  readonly operatorId: string | null
  readonly email: string | null
  readonly role: Role | null
}

const stateSql = `case when state = 'waiting' and expires_at <= now() then 'expired' else state end`

const columns = `id, kind, operator_id as "operatorId", email, role, asked_by as "askedBy", asked_at as "askedAt",
  expires_at as "expiresAt", ${stateSql} as state`

export const changeListing: Listing = {
  table: 'operator_changes',
  alias: 'c',
  columns: `${columns}, decided_by as "decidedBy", decided_at as "decidedAt"`,
  key: [{ sql: 'c.id', type: 'uuid' }],
  time: { sql: 'c.asked_at', type: 'timestamptz' },
  people: ['c.asked_by', 'c.decided_by', `'operator:' || c.operator_id`],
  choices: {
    kind: choicesOf('c.kind', ['invite', 'reset', 'role', 'remove', 'restore']),
    state: choicesOf(stateSql, ['waiting', 'approved', 'declined', 'withdrawn', 'expired']),
  },
  equals: {},
  ids: [{ sql: 'c.id', type: 'uuid' }],
}

export type ListedChange = Row & { readonly decidedBy: string | null; readonly decidedAt: Date | null }

export function toChange({ kind, operatorId, email, role, ...rest }: Row): WaitingChange {
  if (kind === 'invite') return { ...rest, change: { kind, email: email!, role: role! } }
  if (kind === 'role') return { ...rest, change: { kind, operatorId: operatorId!, role: role! } }
  return { ...rest, change: { kind, operatorId: operatorId! } }
}

const subjectOf = (change: Change) => ('operatorId' in change ? change.operatorId : change.email)

/** Undefined when one of this kind already waits for the same operator. */
export async function insertChange(
  tx: Transaction,
  { id, change, askedBy, lifetimeMs }: { id: string; change: Change; askedBy: string; lifetimeMs: number },
): Promise<WaitingChange | undefined> {
  await tx.query(
    `update operator_changes set state = 'expired', decided_at = now() where state = 'waiting' and expires_at <= now()`,
  )
  const operatorId = 'operatorId' in change ? change.operatorId : null
  const { rows } = await tx.query<Row>(
    `insert into operator_changes (id, kind, operator_id, email, role, asked_by, expires_at)
     values ($1, $2, $3, $4, $5, $6, now() + $7 * interval '1 ms') on conflict do nothing returning ${columns}`,
    [
      id,
      change.kind,
      operatorId,
      operatorId === null ? subjectOf(change) : null,
      'role' in change ? change.role : null,
      askedBy,
      lifetimeMs,
    ],
  )
  const row = maybe(rows)
  return row && toChange(row)
}

export async function findWaitingChange(db: Queryable, change: Change): Promise<WaitingChange | undefined> {
  const { rows } = await db.query<Row>(
    `select ${columns} from operator_changes
     where state = 'waiting' and expires_at > now() and kind = $1 and coalesce(operator_id::text, email) = $2`,
    [change.kind, subjectOf(change)],
  )
  const row = maybe(rows)
  return row && toChange(row)
}

export async function findChange(db: Queryable, id: string): Promise<WaitingChange | undefined> {
  const { rows } = await db.query<Row>(`select ${columns} from operator_changes where id = $1`, [id])
  const row = maybe(rows)
  return row && toChange(row)
}

export async function lockChange(tx: Transaction, id: string): Promise<WaitingChange | undefined> {
  const { rows } = await tx.query<Row>(`select ${columns} from operator_changes where id = $1 for update`, [id])
  const row = maybe(rows)
  return row && toChange(row)
}

export async function countWaitingChanges(db: Queryable): Promise<number> {
  const { rows } = await db.query<{ count: number }>(
    `select count(*)::int as count from operator_changes where state = 'waiting' and expires_at > now()`,
  )
  return one(rows).count
}

/** Oldest first. */
export async function listWaitingChanges(db: Queryable, limit: number): Promise<WaitingChange[]> {
  const { rows } = await db.query<Row>(
    `select ${columns} from operator_changes where state = 'waiting' and expires_at > now() order by asked_at, id limit $1`,
    [limit],
  )
  return rows.map(toChange)
}

export async function updateChangeDecided(
  tx: Transaction,
  id: string,
  { state, by }: { state: DecidedState; by: string },
): Promise<void> {
  await tx.query('update operator_changes set state = $2, decided_by = $3, decided_at = now() where id = $1', [
    id,
    state,
    by,
  ])
}

/** The change was made without the waiting request, which has no use any more. */
export async function updateChangeOvertaken(tx: Transaction, change: Change, by: string): Promise<void> {
  await tx.query(
    `update operator_changes set state = 'withdrawn', decided_by = $3, decided_at = now()
     where state = 'waiting' and kind = $1 and coalesce(operator_id::text, email) = $2`,
    [change.kind, subjectOf(change), by],
  )
}

/** Withdraws all requests of an actor who may no longer ask, and returns how many. */
export async function updateChangesAskedBy(tx: Transaction, askedBy: string, by: string): Promise<number> {
  const { rowCount } = await tx.query(
    `update operator_changes set state = 'withdrawn', decided_by = $2, decided_at = now()
     where state = 'waiting' and asked_by = $1`,
    [askedBy, by],
  )
  return rowCount ?? 0
}
