/**
 * Time that passes. What ends, ends by the database's clock, which no test can set: instead, everything that was written
 * moves into the past, as if that much time had gone by since.
 */
import type { Queryable } from '../src/store/connection/database.ts'

const ageing = [
  'app_secrets',
  'widget_sessions',
  'devices',
  'link_codes',
  'mailed_codes',
  'code_handles',
  'email_changes',
  'sign_ups',
  'paper_links',
  'limits',
  'operator_sessions',
  'operator_invites',
  'operator_grants',
  'oidc_starts',
]

export const topupTables = ['topups', 'topup_movements', 'processor_events', 'work']

/** All their times, including columns that a migration adds. Below zero, time goes back. */
export async function letPass(db: Queryable, ms: number, tables = ageing): Promise<void> {
  const { rows } = await db.query<{ table: string; moments: string[] }>(
    `select table_name as table, array_agg(column_name::text) as moments from information_schema.columns
     where table_schema = 'public' and table_name = any($1) and data_type = 'timestamp with time zone' group by 1`,
    [tables],
  )
  for (const { table, moments } of rows) {
    // In UTC, where a day always has as many hours: a cluster changes rows by nothing that hangs on a time zone.
    const changes = moments.map(
      (moment) => `${moment} = (${moment} at time zone 'UTC' - $1 * interval '1 ms') at time zone 'UTC'`,
    )
    await db.query(`update ${table} set ${changes.join(', ')}`, [ms])
  }
  // A code of an authenticator is taken for good; so is the half minute it belongs to.
  if (tables !== ageing) return
  await db.query(`update operators set totp_pending_until = totp_pending_until - $1 * interval '1 ms'`, [ms])
  await db.query('update operators set totp_step = totp_step - round($1 / 30000.0)::bigint where totp_step > 0', [ms])
}

/** The queue attempts these top-ups now, regardless of their schedule. */
export async function makeTopupsDue(db: Queryable, where: string, values: unknown[] = []): Promise<void> {
  await db.query(
    `insert into work (kind, key, due_at) select 'resolve-topup', id, now() from topups where ${where}
     on conflict (kind, key) do update set due_at = excluded.due_at`,
    values,
  )
}

const dayMs = 86_400_000

/** For what must happen on one day, in UTC: shortly before midnight it waits for the next day. */
export async function beginDayThatStays(forMs = 60_000): Promise<void> {
  const leftMs = dayMs - (Date.now() % dayMs)
  if (leftMs < forMs) await Bun.sleep(leftMs + 100)
}
