/**
 * Captures in one statement. Each was planned on its hold as it was seen; here it posts only if the hold is still like that under the lock of
 * the wallet. Every other capture gets no answer, and the careful lane decides it: a repeat, an ended hold, more than remains, a debt, and a
 * second capture of one wallet in a batch.
 */
import { planCapture, viewHold, type Hold } from '../../ledger/hold.ts'
import { plainArray, queryArrays, textArray, zip } from '../connection/arrays.ts'
import type { Queryable } from '../connection/database.ts'
import type { WriterClient } from './connection.ts'
import type { FastAnswers } from './fast-statement.ts'
import { ledgerRowsSql } from './ledger-rows.ts'
import type { PendingPosting, PostingResult } from './posting.ts'

/**
 * `moved` locks the wallets in the order of their ids, as the other statements do. What it takes is within the hold, so nothing is taken from
 * what is available: an operator's freeze does not stop it, and only the balance can be too low, after a charge-back.
 *
 * Every change of a hold adds a step, so their count says whether it is as it was seen. The snapshot may show a hold as it was before the
 * wait for its wallet. Hence `hold` asks again, of the row as it is now: if the hold has changed or has expired meanwhile, its step has no
 * number, and nothing of the batch is written.
 */
export const captureStatement = {
  name: 'post-fast-captures',
  text: `
with change as (
  select * from unnest($1::uuid[], $2::uuid[], $3::integer[], $4::bigint[], $5::bigint[], $6::bigint[], $7::bigint[], $8::uuid[]) with ordinality
    as c(wallet_id, hold_id, steps, amount, net_held, captured, released, reference_key, n)
), moved as (
  update wallets w set balance = w.balance + c.amount, held = w.held + c.net_held, open_holds = w.open_holds - c.closed, sequence = w.sequence + 1
  from (
    select change.*, (change.captured + change.released = h.promised)::integer as closed from change cross join lateral (
      select amount as promised from holds where wallet_id = change.wallet_id and not is_closed and id = change.hold_id
        and steps = change.steps and expires_at > clock_timestamp() limit 1) as h
    where reference_key not in (
      select o.reference_key from unnest($8::uuid[]) as a(reference_key) join all_outcomes o on o.reference_key = a.reference_key
      union all select reference_key from archived_outcomes($8::uuid[]))
    order by wallet_id
  ) as c
  where w.id = c.wallet_id and coalesce(w.frozen_for, 'operator') = 'operator' and w.balance + c.amount >= 0
  returning c.*, w.balance, w.held, w.sequence, clock_timestamp() as at
), hold as (
  update holds h set captured = m.captured, released = m.released, steps = m.steps + 1,
    is_closed = m.captured + m.released = h.amount,
    closed_at = case when m.captured + m.released = h.amount then date_trunc('milliseconds', m.at) end,
    ended_by = case when m.captured + m.released = h.amount then 'capture' end
  from moved m where h.wallet_id = m.wallet_id and not h.is_closed and h.id = m.hold_id and h.steps = m.steps and h.expires_at > m.at
  returning m.n, h.steps, h.captured + h.extra as captured, h.amount - h.captured - h.released as remaining, h.expires_at
), operation as (
  select m.wallet_id, m.hold_id, m.sequence, m.balance, m.held, m.at, m.amount, m.reference_key, o.counter_account, o.reference_type, o.reference_id,
    o.description, null as refusal, m.n
  from unnest($9::text[], $10::text[], $11::text[], $12::text[]) with ordinality
    as o(counter_account, reference_type, reference_id, description, n) join moved m on m.n = o.n
), step as (
  insert into hold_steps (wallet_id, hold_id, number, kind, amount, sequence, actor, captured, remaining, expires_at, at)
  select o.wallet_id, o.hold_id, h.steps, 'capture', -o.amount, o.sequence, o.counter_account, h.captured, h.remaining, h.expires_at,
    date_trunc('milliseconds', o.at)
  from operation o left join hold h on h.n = o.n
), ${ledgerRowsSql('$13', { hasHolds: false })}
select array_agg(n), array_agg(balance), array_agg(held), array_agg(floor(extract(epoch from at) * 1000)::bigint),
  case when current_setting('synchronous_standby_names') <> '' then '{t}' end
from moved`,
}

type MovedRow = readonly [n: string, balance: string, held: string, atMs: string]

type Planned = {
  readonly posting: PendingPosting
  readonly seen: Hold
  readonly after: Hold
  readonly amountMinor: bigint
  readonly netHeldMinor: bigint
}

/** Posts captures by a second statement. If one of the two fails, the postings of the other are answered. */
export async function postWithCaptures(
  { client, number }: Pick<WriterClient, 'client' | 'number'>,
  batch: readonly PendingPosting[],
  postOthers: (others: readonly PendingPosting[]) => Promise<FastAnswers>,
): Promise<FastAnswers> {
  const captures = batch.filter(isCapture)
  if (captures.length === 0) return await postOthers(batch)
  if (captures.length === batch.length) return await postCaptures(client, captures, number)
  const others = batch.filter((posting) => !isCapture(posting))
  const [posted, captured] = await Promise.allSettled([postOthers(others), postCaptures(client, captures, number)])
  if (posted.status === 'rejected') {
    if (captured.status === 'rejected') throw posted.reason
    return { ...captured.value, fault: posted.reason }
  }
  if (captured.status === 'rejected') return { ...posted.value, fault: captured.reason }
  // A capture is answered only when its statement wrote, so `hasWritten` is asked of the others.
  const { answers, holdSteps } = captured.value
  return { ...posted.value, answers: [...posted.value.answers, ...answers], ...(holdSteps && { holdSteps }) }
}

export function isCapture({ hold }: PendingPosting): boolean {
  return hold?.kind === 'capture'
}

/** Does not answer the callers, as `postFast`. */
export async function postCaptures(
  db: Queryable,
  batch: readonly PendingPosting[],
  writer: number,
): Promise<FastAnswers> {
  const planned = batch.flatMap(plan)
  if (planned.length === 0) return { answers: [], hasWritten: true, hasStandby: false, hasRepeats: false }
  const asked = planned.map(({ posting }) => posting)
  const columns = await queryArrays(db, captureStatement, [
    plainArray(planned, ({ seen }) => seen.walletId),
    plainArray(planned, ({ seen }) => seen.id),
    plainArray(planned, ({ seen }) => seen.steps),
    plainArray(planned, ({ amountMinor }) => amountMinor),
    plainArray(planned, ({ netHeldMinor }) => netHeldMinor),
    plainArray(planned, ({ after }) => after.capturedMinor),
    plainArray(planned, ({ after }) => after.releasedMinor),
    plainArray(asked, ({ referenceKey }) => referenceKey),
    textArray(asked, ({ counterAccount }) => counterAccount),
    textArray(asked, ({ referenceType }) => referenceType),
    textArray(asked, ({ referenceId }) => referenceId),
    textArray(asked, ({ description }) => description),
    String(writer),
  ])
  const moved = zip<MovedRow>(columns.slice(0, 4))
  const answers = moved.map((row) => {
    const each = planned[Number(row[0]) - 1]!
    return [each.posting, resultOf(each, row)] as const
  })
  const holdSteps = moved.map(() => 'capture' as const)
  const hasStandby = columns[4]?.[0] === 't'
  return { answers, hasWritten: moved.length > 0, hasStandby, hasRepeats: false, holdSteps }
}

/** Planned as if no time had passed since the hold was made; the statement asks the clock. */
function plan(posting: PendingPosting): Planned[] {
  if (posting.hold?.kind !== 'capture') return []
  const { seen, ...capture } = posting.hold
  const planned = planCapture(seen, seen.createdAt, capture)
  if ('refusal' in planned) return []
  const { operation, hold: after } = planned
  const { amountMinor, heldMinor: netHeldMinor = 0n } = operation
  return amountMinor < netHeldMinor ? [] : [{ posting, seen, after, amountMinor, netHeldMinor }]
}

function resultOf({ posting, after, amountMinor }: Planned, [, balance, held, atMs]: MovedRow): PostingResult {
  const at = new Date(Number(atMs))
  const { walletId } = after
  const [balanceMinor, heldMinor] = [BigInt(balance), BigInt(held)]
  const { referenceKey } = posting
  const outcome = { referenceKey, walletId, amountMinor, balanceMinor, heldMinor, refusal: null, isHold: false }
  return { kind: 'outcome', outcome, hold: viewHold(after.closedAt ? { ...after, closedAt: at } : after, at) }
}
