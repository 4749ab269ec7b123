/** A wallet's holds as its user's pages need them, of all apps. */
import { ofWallet } from '../cluster/guarded-read.ts'
import type { Queryable } from '../connection/database.ts'
import type { StepKind } from '../writer/hold-book.ts'
import {
  holdClockSql,
  holdColumns,
  isUnclosed,
  toSeenHold,
  type HoldRow,
  type SeenHold,
} from '../writer/stored-holds.ts'

const isOpenSql = `h.wallet_id = $1 and ${isUnclosed} and h.expires_at > clock_timestamp()`

/** The open holds, newest first. */
export async function listOpenHolds(db: Queryable, walletId: string, limit: number): Promise<SeenHold[]> {
  const { rows } = await db.query<HoldRow>({
    name: 'list-open-holds',
    text: `select ${holdColumns}, ${holdClockSql} as at from holds h where ${isOpenSql}
      order by h.created_at desc, h.id desc limit $2`,
    values: [walletId, limit],
    findAway: ofWallet(walletId),
  })
  return rows.map(toSeenHold)
}

/** By clientId, what the app's open holds reserve. */
export async function sumOpenHolds(db: Queryable, walletId: string): Promise<Map<string, bigint>> {
  const { rows } = await db.query<[string, bigint]>({
    name: 'sum-open-holds',
    text: `select h.client_id, sum(h.amount - h.captured - h.released)::bigint from holds h where ${isOpenSql} group by h.client_id`,
    values: [walletId],
    findAway: ofWallet(walletId),
    rowMode: 'array',
  })
  return new Map(rows)
}

export type HoldStep = {
  readonly holdId: string
  readonly kind: StepKind
  readonly amountMinor: bigint
  /** Of a capture's entry. */
  readonly sequence: number | null
  readonly actor: string
  readonly at: Date
}

/** All holds in the order of their ids, after the given one, and what happened to each. */
export async function listHoldsWithSteps(
  db: Queryable,
  walletId: string,
  { after, limit }: { readonly after: string | undefined; readonly limit: number },
): Promise<readonly (SeenHold & { readonly steps: readonly HoldStep[] })[]> {
  const { rows } = await db.query<HoldRow>(
    `select ${holdColumns}, ${holdClockSql} as at from (
       (select * from holds where wallet_id = $1 and not is_closed and id > $2 order by id limit $3)
       union all (select * from holds where wallet_id = $1 and is_closed and id > $2 order by id limit $3)
     ) h order by h.id limit $3`,
    [walletId, after ?? '00000000-0000-0000-0000-000000000000', limit],
  )
  const steps = await db.query<HoldStep>(
    `select s.hold_id as "holdId", s.kind, s.amount as "amountMinor", s.sequence::float8 as sequence, s.actor, s.at
     from hold_steps s where s.wallet_id = $1 and s.hold_id = any($2::uuid[]) order by s.hold_id, s.number`,
    [walletId, rows.map(({ id }) => id)],
  )
  const byHold = Map.groupBy(steps.rows, ({ holdId }) => holdId)
  return rows.map((row) => ({ ...toSeenHold(row), steps: byHold.get(row.id) ?? [] }))
}
