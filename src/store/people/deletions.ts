/** Deletions of users that an operator asked for. Times are the database's. */
import type { Queryable, Transaction } from '../connection/database.ts'
import { choicesOf, type Listing } from '../connection/listing.ts'
import { maybe, one } from '../connection/rows.ts'

export type DecidedDeletion = 'approved' | 'declined' | 'withdrawn'

export type RequestedDeletion = {
  readonly id: string
  readonly userId: string
  readonly reason: string
  /** A request that expired counts as such, whether or not its row says so. `overtaken`: the user deleted the account meanwhile. */
  readonly state: 'waiting' | 'expired' | 'overtaken' | DecidedDeletion
  /** Names of actors, as in the audit log. */
  readonly askedBy: string
  readonly askedAt: Date
  readonly expiresAt: Date
  readonly decidedBy: string | null
  readonly decidedAt: Date | null
  readonly decisionReason: string | null
}

export const isWaitingDeletionSql = `state = 'waiting' and expires_at > now()`

const stateSql = `case when state = 'waiting' and expires_at <= now() then 'expired' else state end`

const columns = `id, user_id as "userId", reason, asked_by as "askedBy", asked_at as "askedAt", expires_at as "expiresAt",
  decided_by as "decidedBy", decided_at as "decidedAt", decision_reason as "decisionReason",
  ${stateSql} as state`

export const deletionListing: Listing = {
  table: 'user_deletions',
  alias: 'd',
  columns,
  key: [{ sql: 'd.id', type: 'uuid' }],
  time: { sql: 'd.asked_at', type: 'timestamptz' },
  people: ['d.asked_by', 'd.decided_by'],
  choices: { state: choicesOf(stateSql, ['waiting', 'approved', 'declined', 'withdrawn', 'expired', 'overtaken']) },
  equals: {},
  ids: [{ sql: 'd.id', type: 'uuid' }],
}

/** The caller has locked the user and found no waiting request. */
export async function insertDeletion(
  tx: Transaction,
  {
    id,
    userId,
    reason,
    askedBy,
    lifetimeMs,
  }: Pick<RequestedDeletion, 'id' | 'userId' | 'reason' | 'askedBy'> & {
    readonly lifetimeMs: number
  },
): Promise<RequestedDeletion> {
  await tx.query(
    `update user_deletions set state = 'expired', decided_at = now()
     where user_id = $1 and state = 'waiting' and expires_at <= now()`,
    [userId],
  )
  const { rows } = await tx.query<RequestedDeletion>(
    `insert into user_deletions (id, user_id, reason, asked_by, expires_at)
     values ($1, $2, $3, $4, now() + $5 * interval '1 ms') returning ${columns}`,
    [id, userId, reason, askedBy, lifetimeMs],
  )
  return one(rows)
}

export async function findDeletion(db: Queryable, id: string): Promise<RequestedDeletion | undefined> {
  const { rows } = await db.query<RequestedDeletion>(`select ${columns} from user_deletions where id = $1`, [id])
  return maybe(rows)
}

/** Lock the user before, so that requests and deletions of one user take their locks in the same order. */
export async function lockDeletion(tx: Transaction, id: string): Promise<RequestedDeletion | undefined> {
  const text = `select ${columns} from user_deletions where id = $1 for update`
  const { rows } = await tx.query<RequestedDeletion>(text, [id])
  return maybe(rows)
}

/** The newest request about the user, in any state. */
export async function findNewestDeletion(db: Queryable, userId: string): Promise<RequestedDeletion | undefined> {
  const { rows } = await db.query<RequestedDeletion>(
    `select ${columns} from user_deletions where user_id = $1 order by asked_at desc, id desc limit 1`,
    [userId],
  )
  return maybe(rows)
}

export async function countWaitingDeletions(db: Queryable): Promise<number> {
  const { rows } = await db.query<{ count: number }>(
    `select count(*)::int as count from user_deletions where ${isWaitingDeletionSql}`,
  )
  return one(rows).count
}

export async function updateDeletionDecided(
  tx: Transaction,
  id: string,
  { state, by, reason }: { state: DecidedDeletion; by: string; reason: string | null },
): Promise<void> {
  await tx.query(
    'update user_deletions set state = $2, decided_by = $3, decided_at = now(), decision_reason = $4 where id = $1',
    [id, state, by, reason],
  )
}

/** The user deleted the account: a waiting request has no use any more. */
export async function updateDeletionOvertaken(tx: Transaction, userId: string, by: string): Promise<void> {
  await tx.query(
    `update user_deletions set state = case when expires_at > now() then 'overtaken' else 'expired' end,
       decided_by = case when expires_at > now() then $2 end, decided_at = now()
     where user_id = $1 and state = 'waiting'`,
    [userId, by],
  )
}
