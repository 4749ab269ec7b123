/** Expiries in one statement, of wallets that are not frozen: what is given back there repays no debt and changes no freeze. */
import { plainArray } from '../connection/arrays.ts'
import type { Transaction } from '../connection/database.ts'
import type { ExpiredHold } from './due-holds.ts'

/**
 * `moved` locks the wallets in the order of their ids, as the other statements do: hence the settings, as of a connection of the writer.
 * Every change of a hold adds a step, so their count says whether it is as it was seen. If one has changed while its wallet was waited for,
 * its step has no number, and nothing of the batch is written.
 */
const sql = `
with due as (
  select * from unnest($1::uuid[], $2::uuid[], $3::integer[], $4::bigint[]) as d(wallet_id, hold_id, steps, remaining)
), moved as (
  update wallets w set held = w.held - c.remaining, open_holds = w.open_holds - c.count
  from (
    select wallet_id, sum(remaining)::bigint as remaining, count(*)::integer as count from due group by wallet_id order by wallet_id
  ) as c
  where w.id = c.wallet_id and w.frozen_for is null
  returning w.id as wallet_id, clock_timestamp() as at
), hold as (
  update holds h set released = h.amount - h.captured, closed_at = h.expires_at, is_closed = true, ended_by = 'expiry', steps = d.steps + 1
  from due d join moved m on m.wallet_id = d.wallet_id
  where h.wallet_id = d.wallet_id and not h.is_closed and h.id = d.hold_id and h.steps = d.steps and h.expires_at <= m.at
  returning h.id, h.steps, h.captured + h.extra as captured, h.expires_at
), step as (
  insert into hold_steps (wallet_id, hold_id, number, kind, amount, actor, captured, remaining, expires_at, at)
  select d.wallet_id, d.hold_id, h.steps, 'expiry', d.remaining, 'system', h.captured, 0, h.expires_at, date_trunc('milliseconds', m.at)
  from due d join moved m on m.wallet_id = d.wallet_id left join hold h on h.id = d.hold_id
)
select wallet_id as "walletId" from moved`

export const expiryStatement = {
  text: sql,
  // The careful lane closes them there, because each server has its own clock.
  onCluster: `select d.wallet_id as "walletId" from unnest($1::uuid[], $2::uuid[], $3::integer[], $4::bigint[]) as d(wallet_id, hold_id, steps, remaining)
    where false`,
}

const settingsSql = `select set_config('enable_seqscan', 'off', true), set_config('enable_bitmapscan', 'off', true),
  set_config('lock_timeout', '200', true)`

/** Returns the wallets whose holds it closed. Throws if one was locked for long or does not allow the change: then it closed none. */
export async function expireFast(tx: Transaction, due: readonly ExpiredHold[]): Promise<ReadonlySet<string>> {
  await tx.query(settingsSql)
  const { rows } = await tx.query<{ walletId: string }>({
    ...expiryStatement,
    values: [
      plainArray(due, ({ walletId }) => walletId),
      plainArray(due, ({ id }) => id),
      plainArray(due, ({ steps }) => steps),
      plainArray(due, ({ remainingMinor }) => remainingMinor),
    ],
  })
  return new Set(rows.map(({ walletId }) => walletId))
}
