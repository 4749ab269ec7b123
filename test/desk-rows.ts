/** Rows in every table that people write to, each with its own time, amount and state. */
import type { Queryable } from '../src/store/connection/database.ts'

export type DeskPeople = {
  readonly userId: string
  readonly clientId: string
  /** Two operators, by id. */
  readonly asker: string
  readonly decider: string
}

/** Row n is n hours, or n days, older than the first, which is of 2026-10-31. The amount of row n is n + 1, in minor units. */
const at = `timestamptz '2026-10-31 12:00:00.123456Z' - n * interval '1 hour'`
const day = `date '2026-10-31' - n`
const user = '$1::text::uuid'
const asker = `'operator:' || $3::text`
const decider = `'operator:' || $4::text`

const statements: Readonly<Record<string, string>> = {
  corrections: `insert into corrections (id, wallet_id, amount, counter_account, reason, state, needs_approval, asked_by, asked_at, decided_by, decided_at)
    select gen_random_uuid(), ${user}, (n + 1) * (case when n % 2 = 0 then 1 else -1 end), 'adjustments', '=1+' || n,
      case when n % 3 = 0 then 'declined' else 'done' end, true, ${asker}, ${at}, ${decider}, ${at}`,
  settlements: `insert into settlements (id, client_id, number, through_day, amount, reference, made_by, made_at)
    select gen_random_uuid(), $2::text, n + 1, ${day}, n + 1, 'SEPA ' || n, ${asker}, ${at}`,
  notes: `insert into notes (id, user_id, operator_id, text, written_at)
    select gen_random_uuid(), ${user}, $3::text::uuid, 'Note ' || n, ${at}`,
  user_deletions: `insert into user_deletions (id, user_id, reason, state, asked_by, asked_at, expires_at, decided_by, decided_at)
    select gen_random_uuid(), ${user}, 'A letter, number ' || n, 'approved', ${asker}, ${at}, ${at}, ${decider}, ${at}`,
  operator_changes: `insert into operator_changes (id, kind, email, role, state, asked_by, asked_at, expires_at, decided_by)
    select gen_random_uuid(), 'invite', 'invited' || n || '@example.com', 'viewer', 'approved', ${asker}, ${at}, ${at}, ${decider}`,
  operator_invites: `insert into operator_invites (token_hash, role, created_by, approved_by, created_at, expires_at, id, email)
    select sha256(('token ' || n)::bytea), 'viewer', ${asker}, ${decider}, ${at}, now() + interval '1 day', gen_random_uuid(),
      'invited' || n || '@example.com'`,
  operator_grants: `insert into operator_grants (operator_id, kind, at, made_by, approved_by)
    select $4::text::uuid, 'role', ${at}, ${asker}, null`,
  reconciliation_days: `insert into reconciliation_days (day, source, next_try_at, finished_at)
    select ${day}, 'processor', 'infinity', ${at}`,
  reconciliation_differences: `insert into reconciliation_differences (payment_intent_id, kind, day, processor_amount, ledger_amount, found_at,
      settled_at, settled_by, settled_reason)
    select 'pi_' || n, 'charge', ${day}, n + 1, 0, ${at}, ${at}, ${asker}, 'Accepted'`,
  report_contradictions: `insert into report_contradictions (line_id, day, file_said, read_by, read_at)
    select 'txn_' || n, ${day}, '{"kind":"charge","payment":null,"amount":"100","fee":"0","at":"2026-10-01 00:00:00"}', ${asker}, ${at}`,
}

export const deskTables = Object.keys(statements)

export async function insertDeskRows(
  db: Queryable,
  table: string,
  { userId, clientId, asker: first, decider: second }: DeskPeople,
  { count }: { count: number },
): Promise<void> {
  // A statement must name every parameter.
  await db.query(
    `with people as (select $1::text, $2::text, $3::text, $4::text),
       given as (${statements[table]} from generate_series(0, $5::int) n returning 1)
     select from given, people limit 0`,
    [userId, clientId, first, second, count - 1],
  )
}
