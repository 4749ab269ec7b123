/** Operators' sessions. Tokens are stored hashed: reading this table does not let anyone sign in. */
import type { Queryable } from '../connection/database.ts'
import { operatorColumns, type Operator } from '../operators.ts'
import { maybe } from '../connection/rows.ts'

/** What the operator must still do: enter a code, set up a second factor, or nothing. */
export type Stage = 'code' | 'enrol' | 'full'

export type OperatorSession = {
  readonly id: string
  readonly stage: Stage
  readonly createdAt: Date
  readonly seenAt: Date
  readonly endsAt: Date
  readonly address: string
  readonly browser: string
}

const columns = `s.id, s.stage, s.created_at as "createdAt", s.seen_at as "seenAt", s.ends_at as "endsAt", s.address, s.browser`

export type NewOperatorSession = Pick<OperatorSession, 'id' | 'stage' | 'address' | 'browser'> & {
  readonly lifetimeMs: number
}

export async function insertOperatorSession(
  db: Queryable,
  operatorId: string,
  tokenHash: Buffer,
  session: NewOperatorSession,
): Promise<void> {
  const { id, stage, lifetimeMs, address, browser } = session
  await db.query(
    `insert into operator_sessions (id, token_hash, operator_id, stage, created_at, seen_at, ends_at, address, browser)
     values ($1, $2, $3, $4, now(), now(), now() + $5 * interval '1 ms', $6, $7)`,
    [id, tokenHash, operatorId, stage, lifetimeMs, address, browser],
  )
}

/** The session and its operator, while the session has not ended or been idle too long, and the operator is active. */
export async function findLiveOperatorSession(
  db: Queryable,
  tokenHash: Buffer,
  idleMs: number,
): Promise<{ session: OperatorSession; operator: Operator; unseenMs: number } | undefined> {
  const { rows } = await db.query<
    Operator & Omit<OperatorSession, 'id' | 'createdAt'> & { sessionId: string; openedAt: Date; unseenMs: number }
  >({
    name: 'find-operator-session',
    text: `select s.id as "sessionId", s.stage, s.created_at as "openedAt", s.seen_at as "seenAt", s.ends_at as "endsAt", s.address,
          s.browser, (extract(epoch from now() - s.seen_at) * 1000)::float8 as "unseenMs", ${operatorColumns('o')}
        from operator_sessions s join operators o on o.id = s.operator_id
        where s.token_hash = $1 and s.ends_at > now() and s.seen_at > now() - $2 * interval '1 ms' and o.is_active`,
    values: [tokenHash, idleMs],
  })
  const found = maybe(rows)
  if (!found) return undefined
  const { sessionId: id, stage, openedAt: createdAt, seenAt, endsAt, address, browser, unseenMs, ...operator } = found
  return { session: { id, stage, createdAt, seenAt, endsAt, address, browser }, operator, unseenMs }
}

/** The active operator of a full session that has not ended. */
export async function findSessionOperator(db: Queryable, id: string): Promise<Operator | undefined> {
  const { rows } = await db.query<Operator>(
    `select ${operatorColumns('o')} from operator_sessions s join operators o on o.id = s.operator_id
     where s.id = $1 and s.stage = 'full' and s.ends_at > now() and o.is_active`,
    [id],
  )
  return maybe(rows)
}

export async function updateOperatorSessionSeen(db: Queryable, id: string): Promise<void> {
  await db.query('update operator_sessions set seen_at = now() where id = $1 and seen_at < now()', [id])
}

export async function listOperatorSessions(
  db: Queryable,
  operatorId: string,
  idleMs: number,
): Promise<OperatorSession[]> {
  const { rows } = await db.query<OperatorSession>(
    `select ${columns} from operator_sessions s
     where s.operator_id = $1 and s.stage = 'full' and s.ends_at > now() and s.seen_at > now() - $2 * interval '1 ms'
     order by s.seen_at desc, s.id`,
    [operatorId, idleMs],
  )
  return rows
}

/** Returns how many. Restricted to one operator, so that a guessed id cannot end another operator's session. */
export async function deleteOperatorSessions(
  db: Queryable,
  operatorId: string,
  which: { only?: string; except?: string } = {},
): Promise<number> {
  const { rowCount } = await db.query(
    `delete from operator_sessions where operator_id = $1
       and ($2::uuid is null or id = $2) and ($3::uuid is null or id <> $3)`,
    [operatorId, which.only ?? null, which.except ?? null],
  )
  return rowCount ?? 0
}
