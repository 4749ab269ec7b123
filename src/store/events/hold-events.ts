/** The holds of events, as they were then: from values that are written once, so an event is the same at every read. */
import type { HoldStatus, HoldView } from '../../ledger/hold.ts'
import type { Queryable } from '../connection/database.ts'
import { referenceKeyOfUuid } from '../outcomes.ts'
import type { StepKind } from '../writer/hold-book.ts'
import { inEitherState } from '../writer/stored-holds.ts'

/** A hold as apps see it. */
export type HoldState = Pick<
  HoldView,
  | 'id'
  | 'status'
  | 'amountMinor'
  | 'referenceType'
  | 'referenceId'
  | 'description'
  | 'createdAt'
  | 'expiresAt'
  | 'closedAt'
> & {
  /** What captures took, including what they took beyond the amount. */
  readonly takenMinor: bigint
  readonly remainingMinor: bigint
}

export type HoldEvent = {
  /** Null when the hold was made. */
  readonly step: StepKind | null
  readonly at: Date
  readonly hold: HoldState
}

/** The number of the step, 0 when the hold was made. */
export type HoldEventKey = { readonly walletId: string; readonly holdId: string; readonly number: number }

type Row = {
  readonly step: StepKind | null
  readonly at: Date
  readonly hold: Omit<HoldState, 'status' | 'closedAt'>
}

const eventsSqlOf = (sources: string) => `
select e.ordinal::int as ordinal, s.kind as step, coalesce(s.at, h.created_at) as at, h.id, h.amount as "amountMinor",
  h.reference_type as "referenceType", h.reference_id as "referenceId", h.description, h.created_at as "createdAt",
  case when e.number = 0 then coalesce(h.initial_expires_at, h.expires_at) else s.expires_at end as "expiresAt",
  case when e.number = 0 then 0 else s.captured end as "takenMinor",
  case when e.number = 0 then h.amount else s.remaining end as "remainingMinor"
from unnest($1::uuid[], $2::uuid[], $3::integer[]) with ordinality as e(wallet_id, hold_id, number, ordinal) ${sources}
where e.number = 0 or s.captured is not null`

const eventsSql = {
  name: 'find-hold-events',
  // By their keys: the limits make the planner look them up, also on tables that were never analysed.
  text: eventsSqlOf(`
cross join lateral (select * from holds where wallet_id = e.wallet_id and ${inEitherState} and id = e.hold_id limit 1) as h
left join lateral (
  select * from hold_steps where wallet_id = e.wallet_id and hold_id = e.hold_id and number = e.number limit 1) as s on true`),
  // One server has a hold and its steps.
  onCluster: eventsSqlOf(`
join holds h on h.wallet_id = e.wallet_id and h.${inEitherState} and h.id = e.hold_id and h.wallet_id = any($1::uuid[])
left join hold_steps s on s.wallet_id = h.wallet_id and s.hold_id = h.id and s.number = e.number`),
}

/** In the order of the keys; undefined where the step is missing. */
export async function findHoldEvents(
  db: Queryable,
  keys: readonly HoldEventKey[],
): Promise<readonly (HoldEvent | undefined)[]> {
  const { rows } = await db.query<Omit<Row, 'hold'> & Row['hold'] & { ordinal: number }>({
    ...eventsSql,
    values: [keys.map(({ walletId }) => walletId), keys.map(({ holdId }) => holdId), keys.map(({ number }) => number)],
  })
  const found = new Map(rows.map(({ ordinal, step, at, ...hold }) => [ordinal, { step, at, hold }]))
  return keys.map((_, i) => {
    const row = found.get(i + 1)
    return row && toHoldEvent(row)
  })
}

function toHoldEvent({ step, at, hold }: Row): HoldEvent {
  const status = statusAfter(step, hold.remainingMinor)
  const closedAt = { OPEN: null, CAPTURED: at, VOIDED: at, EXPIRED: hold.expiresAt }[status]
  return { step, at, hold: { ...hold, id: referenceKeyOfUuid(hold.id), status, closedAt } }
}

function statusAfter(step: StepKind | null, remainingMinor: bigint): HoldStatus {
  if (step === 'void') return 'VOIDED'
  if (step === 'expiry') return 'EXPIRED'
  return step === 'capture' && remainingMinor === 0n ? 'CAPTURED' : 'OPEN'
}
