/** The two round trips of a batch: one read, and one statement that moves the money. */
import type { Plan, Pending } from '../ledger/plan.ts'
import type { Wallet } from '../ledger/decide.ts'
import { plainArray, textArray } from './array.ts'
import type { Queryable } from './database.ts'
import { findOutcomes, type Outcome } from './outcomes.ts'

/** A debit or credit as it enters the writer. */
export type PostRequest = {
  /** By its link, for an app; by its wallet, for the service itself. */
  readonly by: { readonly clientId: string; readonly serviceUserId: string } | { readonly walletId: string }
  readonly amountMinor: bigint
  readonly isReversal: boolean
  readonly referenceKey: string
  readonly counterAccount: string
  readonly referenceType: string
  readonly referenceId: string
  readonly description: string | null
}

type FoundWallet = Wallet & {
  readonly walletId: string
  /** The app that may reach it by this link; null once the link was disconnected. */
  readonly clientId: string | null
}

export type BatchState = {
  readonly byLink: ReadonlyMap<string, FoundWallet>
  readonly byId: ReadonlyMap<string, FoundWallet>
  readonly outcomes: ReadonlyMap<string, Outcome>
}

type LinkRow = [string | null, string, string | null, bigint, bigint, Wallet['frozenFor']]

const byLinkSql = `select l.id, w.id, case when l.disconnected_at is null then l.client_id end, w.balance, w.sequence, w.frozen_for
  from links l join wallets w on w.id = l.user_id where l.id = any($1::text[])`
const byIdSql = `select null, w.id, null, w.balance, w.sequence, w.frozen_for from wallets w where w.id = any($1::uuid[])`

/** Wallets and outcomes for the batch. The queries leave together, as the connection is in pipeline mode. */
export async function readBatch(db: Queryable, requests: readonly PostRequest[]): Promise<BatchState> {
  const links = new Set<string>()
  const ids = new Set<string>()
  for (const { by } of requests) {
    if ('walletId' in by) ids.add(by.walletId)
    else links.add(by.serviceUserId)
  }
  const [byLink, byId, outcomes] = await Promise.all([
    links.size === 0 ? new Map() : findWallets(db, 'find-by-link', byLinkSql, textArray([...links])),
    ids.size === 0 ? new Map() : findWallets(db, 'find-by-id', byIdSql, plainArray([...ids])),
    findOutcomes(db, plainArray(requests.map((request) => request.referenceKey))),
  ])
  return { byLink, byId, outcomes }
}

async function findWallets(db: Queryable, name: string, text: string, keys: string): Promise<Map<string, FoundWallet>> {
  const { rows } = await db.query<LinkRow>({ name, text, values: [keys], rowMode: 'array' })
  return new Map(
    rows.map(([link, walletId, clientId, balanceMinor, sequence, frozenFor]) => [
      link ?? walletId,
      { walletId, clientId, balanceMinor, sequence: Number(sequence), frozenFor },
    ]),
  )
}

/** A wallet's state just before its change was applied. */
export type Moved = { readonly balanceMinor: bigint; readonly sequence: number; readonly at: Date }

/**
 * The whole batch in one statement, durable when it returns. A wallet that no longer allows its change is left as it
 * is, with all of its operations, and is missing from the answer.
 *
 * Rows are locked in the order of their ids, or two processes could wait for each other: the array is sorted, and the
 * connection has sequential and bitmap scans switched off, so that every plan walks either the array or the key's index.
 * The time is read after the lock is held, so a wallet's transfers never go back in time.
 */
const writeSql = `
with moved as (
  update wallets w set
    balance = w.balance + c.net,
    sequence = w.sequence + c.count,
    frozen_for = c.frozen_after,
    frozen_reason = case when w.frozen_for is not distinct from c.frozen_after then w.frozen_reason end
  from unnest($1::uuid[], $2::bigint[], $3::integer[], $4::bigint[], $5::bigint[], $6::bigint[], $7::text[], $8::text[])
    with ordinality as c(wallet_id, net, count, lowest, highest, only_from, frozen_before, frozen_after, n)
  where w.id = c.wallet_id
    and w.frozen_for is not distinct from c.frozen_before
    and case when c.only_from is not null then w.sequence = c.only_from
        else (c.lowest is null or w.balance + c.lowest >= 0) and w.balance + c.highest <= 999999999999999 end
  returning c.n, w.id as wallet_id, w.balance - c.net as balance, w.sequence - c.count as sequence, clock_timestamp() as at
), operation as (
  select m.wallet_id, m.sequence + o.sequence_offset as sequence, m.balance + o.balance_offset as balance, m.at,
    o.amount, o.reference_key, o.counter_account, o.reference_type, o.reference_id, o.description, o.refusal
  from unnest($9::bigint[], $10::integer[], $11::bigint[], $12::bigint[], $13::uuid[], $14::text[], $15::text[], $16::text[], $17::text[], $18::text[])
    as o(n, sequence_offset, balance_offset, amount, reference_key, counter_account, reference_type, reference_id, description, refusal)
  join moved m on m.n = o.n
), transfer as (
  insert into transfers (wallet_id, sequence, amount, balance_after, reference_key, created_at, counter_account, reference_type, reference_id, description)
  select wallet_id, sequence, amount, balance, reference_key, at, counter_account, reference_type, reference_id, description
  from operation where refusal is null
), outcome as (
  insert into outcomes (reference_key, wallet_id, amount, balance, sequence, created_at, refusal)
  select reference_key, wallet_id, amount, balance, case when refusal is null then sequence end, at, refusal
  from operation where refusal is distinct from 'WALLET_INACTIVE'
), position as (
  insert into positions as p (counter_account, day, writer, debited, credited, transfers)
  select counter_account, (at at time zone 'UTC')::date, $19::integer,
    sum(greatest(-amount, 0))::bigint, sum(greatest(amount, 0))::bigint, count(*)
  from operation where refusal is null group by 1, 2
  on conflict (counter_account, day, writer) do update set
    debited = p.debited + excluded.debited, credited = p.credited + excluded.credited, transfers = p.transfers + excluded.transfers
)
select n, balance, sequence, at from moved`

export async function writeBatch(
  db: Queryable,
  plan: Plan<Pending & PostRequest>,
  writer: number,
): Promise<ReadonlyMap<string, Moved>> {
  const { changes, operations } = plan
  const numberOf = new Map(changes.map((change, i) => [change, i + 1]))
  const asked = operations.map((planned) => planned.operation)
  const { rows } = await db.query<[bigint, bigint, bigint, Date]>({
    name: 'write-batch',
    text: writeSql,
    rowMode: 'array',
    values: [
      plainArray(changes.map((change) => change.walletId)),
      plainArray(changes.map((change) => change.netMinor)),
      plainArray(changes.map((change) => change.count)),
      plainArray(changes.map((change) => change.lowestMinor)),
      plainArray(changes.map((change) => change.highestMinor)),
      plainArray(changes.map((change) => change.onlyFromSequence)),
      plainArray(changes.map((change) => change.frozenForBefore)),
      plainArray(changes.map((change) => change.frozenForAfter)),
      plainArray(operations.map((planned) => numberOf.get(planned.change)!)),
      plainArray(operations.map((planned) => planned.sequenceOffset)),
      plainArray(operations.map((planned) => planned.balanceOffsetMinor)),
      plainArray(asked.map((request) => request.amountMinor)),
      plainArray(asked.map((request) => request.referenceKey)),
      textArray(asked.map((request) => request.counterAccount)),
      textArray(asked.map((request) => request.referenceType)),
      textArray(asked.map((request) => request.referenceId)),
      textArray(asked.map((request) => request.description)),
      plainArray(operations.map((planned) => planned.refusal)),
      writer,
    ],
  })
  return new Map(
    rows.map(([n, balanceMinor, sequence, at]) => [
      changes[Number(n) - 1]!.walletId,
      { balanceMinor, sequence: Number(sequence), at },
    ]),
  )
}
