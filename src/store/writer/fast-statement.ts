/**
 * The usual batch, in one round trip and without a look before: every operation posts, or is alone on its wallet and
 * finds too little money there. What is not that simple is left without a result, for the careful way.
 */
import { maxBalanceMinor } from '../../ledger/money.ts'
import { planWallet, type PlannedOperation, type WalletChange } from '../../ledger/plan.ts'
import { plainArray, textArray } from '../arrays.ts'
import { operationArrays, queryArrays, type PostRequest } from './careful-statement.ts'
import type { Queryable } from '../database.ts'
import type { Waiting } from './settle.ts'

/**
 * Wallets move unless a reference of theirs has an outcome, or their limits forbid it. They are locked in the order of
 * their ids, or two processes could wait for each other: hence the sort, and see writeBatch. A refusal is read, not
 * locked: the wallet lacked the money at a moment when the request was under way. Should it have moved at that same
 * moment, then the outcome's key says no, and the batch is none.
 */
export const postAtOnceSql = `
with change as (
  select c.n, c.net, c.count, c.lowest, c.highest, l.user_id as wallet_id
  from unnest($1::text[], $2::text[], $3::bigint[], $4::integer[], $5::bigint[], $6::bigint[]) with ordinality
    as c(link_id, client_id, net, count, lowest, highest, n)
  join links l on l.id = c.link_id and l.client_id = c.client_id and l.disconnected_at is null
), repeated as (
  select o.n from unnest($7::bigint[], $11::uuid[]) as o(n, reference_key)
  join outcomes k on k.reference_key = o.reference_key
), moved as (
  update wallets w set balance = w.balance + c.net, sequence = w.sequence + c.count
  from (select * from change where n not in (select n from repeated) order by wallet_id) as c
  where w.id = c.wallet_id and w.frozen_for is null
    and w.balance + c.lowest >= 0 and w.balance + c.highest <= 999999999999999
  returning c.n, w.id as wallet_id, w.balance - c.net as balance, w.sequence - c.count as sequence, clock_timestamp() as at
), refused as (
  select c.n, w.id as wallet_id, w.balance, clock_timestamp() as at from change c join wallets w on w.id = c.wallet_id
  where c.n not in (select n from moved) and c.n not in (select n from repeated)
    and c.count = 1 and w.frozen_for is null and w.balance + c.lowest < 0
), operation as (
  select m.wallet_id, m.sequence + o.sequence_offset as sequence, m.balance + o.balance_offset as balance, m.at,
    o.amount, o.reference_key, o.counter_account, o.reference_type, o.reference_id, o.description
  from unnest($7::bigint[], $8::integer[], $9::bigint[], $10::bigint[], $11::uuid[], $12::text[], $13::text[], $14::text[], $15::text[])
    as o(n, sequence_offset, balance_offset, amount, reference_key, counter_account, reference_type, reference_id, description)
  join moved m on m.n = o.n
), transfer as (
  insert into transfers (wallet_id, sequence, amount, balance_after, reference_key, created_at, counter_account, reference_type, reference_id, description)
  select wallet_id, sequence, amount, balance, reference_key, at, counter_account, reference_type, reference_id, description
  from operation
), outcome as (
  insert into outcomes (reference_key, wallet_id, amount, balance, sequence, created_at, refusal)
  select reference_key, wallet_id, amount, balance, sequence, at, null from operation
  union all
  select o.reference_key, r.wallet_id, o.amount, r.balance, null, r.at, 'INSUFFICIENT_BALANCE'
  from refused r join unnest($7::bigint[], $10::bigint[], $11::uuid[]) as o(n, amount, reference_key) on o.n = r.n
), position as (
  insert into positions as p (counter_account, day, writer, debited, credited, transfers)
  select counter_account, (at at time zone 'UTC')::date, $16::integer,
    sum(greatest(-amount, 0))::bigint, sum(greatest(amount, 0))::bigint, count(*)
  from operation group by 1, 2
  on conflict (counter_account, day, writer) do update set
    debited = p.debited + excluded.debited, credited = p.credited + excluded.credited, transfers = p.transfers + excluded.transfers
)
select array_agg(n), array_agg(wallet_id), array_agg(balance), array_agg(is_refused) from (
  select n, wallet_id, balance, false as is_refused from moved union all select n, wallet_id, balance, true from refused) as settled`

/** Enough for anything, and room for more: a plan made for it holds for every wallet that stays within its limits. */
const plenty = { balanceMinor: maxBalanceMinor / 2n, sequence: 0, frozenFor: null }

export async function postAtOnce(db: Queryable, batch: readonly Waiting[], writer: number): Promise<void> {
  const { links, changes, operations } = planForPlenty(batch)
  if (changes.length === 0) return
  const [places, walletIds, balances, refused] = await queryArrays(db, 'post-at-once', postAtOnceSql, [
    textArray(links, (link) => link.serviceUserId),
    textArray(links, (link) => link.clientId),
    plainArray(changes, (change) => change.netMinor),
    plainArray(changes, (change) => change.count),
    plainArray(changes, (change) => change.lowestMinor ?? 0n),
    plainArray(changes, (change) => change.highestMinor),
    ...operationArrays(operations),
    String(writer),
  ])
  const placeOf: number[] = []
  for (let i = 0; i < places!.length; i++) placeOf[Number(places![i]) - 1] = i
  for (const { operation, changeIndex, balanceOffsetMinor } of operations) {
    const place = placeOf[changeIndex]
    if (place === undefined) continue
    const isRefused = refused![place] === 't'
    const { referenceKey, amountMinor } = operation
    const outcome = {
      referenceKey,
      walletId: walletIds![place]!,
      amountMinor,
      balanceMinor: BigInt(balances![place]!) + (isRefused ? 0n : balanceOffsetMinor),
      refusal: isRefused ? ('INSUFFICIENT_BALANCE' as const) : null,
    }
    operation.settle({ kind: 'recorded', outcome })
  }
}

type Link = Extract<PostRequest['by'], { readonly serviceUserId: string }>

function planForPlenty(batch: readonly Waiting[]) {
  const byLink = new Map<string, { readonly link: Link; readonly operations: Waiting[] }>()
  for (const request of batch) {
    if ('walletId' in request.by) continue
    const key = `${request.by.serviceUserId} ${request.by.clientId}`
    const group = byLink.get(key)
    if (group) group.operations.push(request)
    else byLink.set(key, { link: request.by, operations: [request] })
  }
  const links: Link[] = []
  const changes: WalletChange[] = []
  const operations: PlannedOperation<Waiting>[] = []
  for (const group of byLink.values()) {
    const planned: PlannedOperation<Waiting>[] = []
    const change = planWallet(plenty, group.operations, changes.length, planned)
    // Something in it holds for one state of a wallet alone.
    if (change.onlyFromSequence !== null) continue
    links.push(group.link)
    changes.push(change)
    operations.push(...planned)
  }
  return { links, changes, operations }
}
