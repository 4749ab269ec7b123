/** A wallet's holds as its user's pages need them, of all apps. */
import type { Queryable } from '../connection/database.ts'
import { holdClockSql, holdColumns, toSeenHold, type HoldRow, type SeenHold } from '../writer/stored-holds.ts'

const isOpenSql = 'h.wallet_id = $1 and h.closed_at is null and h.expires_at > clock_timestamp()'

/** The open holds, newest first. */
export async function listOpenHolds(db: Queryable, walletId: string, limit: number): Promise<SeenHold[]> {
  const { rows } = await db.query<HoldRow>({
    name: 'list-open-holds',
    text: `select ${holdColumns}, ${holdClockSql} as at from holds h where ${isOpenSql}
      order by h.created_at desc, h.id desc limit $2`,
    values: [walletId, limit],
  })
  return rows.map(toSeenHold)
}
