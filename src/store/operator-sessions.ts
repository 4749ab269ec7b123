/** Operators' sessions. A token is stored as its hash: whoever reads this table cannot sign in with it. */
import type { Queryable } from './connection/database.ts'
import { toOperator, type Operator, type OperatorRow } from './operators.ts'

/** What the session has still to do: show a code, set one up, or nothing. */
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

type Row = {
  id: string
  stage: Stage
  created_at: Date
  seen_at: Date
  ends_at: Date
  address: string
  browser: string
}

const columns = 's.id, s.stage, s.created_at, s.seen_at, s.ends_at, s.address, s.browser'

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

/** The session and its operator, as long as it has not ended, was seen within the given time, and the operator is active. */
export async function findLiveOperatorSession(
  db: Queryable,
  tokenHash: Buffer,
  idleMs: number,
): Promise<{ session: OperatorSession; operator: Operator; unseenMs: number } | undefined> {
  const { rows } = await db.query<Row & { unseen_ms: number } & Record<string, unknown>>({
    name: 'find-operator-session',
    text: `select ${columns}, (extract(epoch from now() - s.seen_at) * 1000)::float8 as unseen_ms, o.id as o_id, o.email as o_email, o.name as o_name, o.role as o_role,
        o.password_hash as o_password_hash, o.totp_secret as o_totp_secret,
        o.totp_step as o_totp_step, o.is_active as o_is_active, o.created_at as o_created_at, o.signed_in_at as o_signed_in_at
      from operator_sessions s join operators o on o.id = s.operator_id
      where s.token_hash = $1 and s.ends_at > now() and s.seen_at > now() - $2 * interval '1 ms' and o.is_active`,
    values: [tokenHash, idleMs],
  })
  const row = rows[0]
  if (!row) return undefined
  const operator = Object.fromEntries(
    Object.entries(row).flatMap(([name, value]) => (name.startsWith('o_') ? [[name.slice(2), value]] : [])),
  ) as unknown as OperatorRow
  return { session: toSession(row), operator: toOperator(operator), unseenMs: row.unseen_ms }
}

export async function updateOperatorSessionSeen(db: Queryable, id: string): Promise<void> {
  await db.query('update operator_sessions set seen_at = now() where id = $1 and seen_at < now()', [id])
}

export async function listOperatorSessions(
  db: Queryable,
  operatorId: string,
  idleMs: number,
): Promise<OperatorSession[]> {
  const { rows } = await db.query<Row>(
    `select ${columns} from operator_sessions s
     where s.operator_id = $1 and s.stage = 'full' and s.ends_at > now() and s.seen_at > now() - $2 * interval '1 ms'
     order by s.seen_at desc, s.id`,
    [operatorId, idleMs],
  )
  return rows.map(toSession)
}

/** How many there were. Only those of the one operator, so that a guessed id ends nobody else's. */
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

function toSession(row: Row): OperatorSession {
  const { id, stage, address, browser } = row
  return { id, stage, address, browser, createdAt: row.created_at, seenAt: row.seen_at, endsAt: row.ends_at }
}
