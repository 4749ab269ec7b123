/** Finds the wallets with holds that have expired or whose notice is due. */
import type { Queryable } from '../connection/database.ts'

export type DueHold = { readonly walletId: string; readonly clientId: string }

export type ExpiredHold = DueHold & { readonly id: string; readonly steps: number; readonly remainingMinor: bigint }

export type DueSearch = {
  /** Wallets to leave out. */
  readonly except: readonly string[]
  readonly limit: number
}

const columns = 'h.wallet_id as "walletId", h.client_id as "clientId"'
const expiredColumns = `${columns}, h.id, h.steps, h.amount - h.captured - h.released as "remainingMinor"`
const isWanted = 'h.closed_at is null and h.wallet_id <> all($1::uuid[])'

/** In each app the first to expire first. The order makes the planner read the index of open holds by app and end. */
const expiredSql = {
  text: `select ${expiredColumns} from unnest($3::text[]) as a(client_id) cross join lateral (
    select * from holds h where h.client_id = a.client_id and h.expires_at <= now() and ${isWanted} order by h.expires_at limit $2) h limit $2`,
  // A server of a cluster does not know the apps. The limit ends its search early, so nothing is sorted.
  onCluster: `select ${expiredColumns} from holds h
    where h.client_id = any($3::text[]) and h.expires_at <= now() and ${isWanted} limit $2`,
}

/** By their index, which has no other holds. */
const noticeSql = `select ${columns} from holds h where h.notice_at is not null and h.notice_at <= now() and ${isWanted}
  order by h.notice_at limit $2`

export async function listExpiredHolds(
  db: Queryable,
  { clientIds, except, limit }: DueSearch & { readonly clientIds: readonly string[] },
): Promise<ExpiredHold[]> {
  return (await db.query<ExpiredHold>({ ...expiredSql, values: [except, limit, clientIds] })).rows
}

export async function listDueNotices(db: Queryable, { except, limit }: DueSearch): Promise<DueHold[]> {
  return (await db.query<DueHold>(noticeSql, [except, limit])).rows
}
