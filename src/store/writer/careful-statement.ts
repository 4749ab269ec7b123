/** The two round trips of a batch: one read, and one statement that moves the money. Arrays go in, arrays come out. */
import type { Operation, Wallet } from '../../ledger/decide.ts'
import type { Plan, PlannedOperation } from '../../ledger/plan.ts'
import { plainArray, readArray, textArray } from '../arrays.ts'
import type { Queryable } from '../database.ts'
import { findOutcomes, type Outcome } from '../outcomes.ts'

/** A debit or credit as it enters the writer. */
export type PostRequest = Operation & {
  /** By its link, for an app; by its wallet, for the service itself. */
  readonly by: { readonly clientId: string; readonly serviceUserId: string } | { readonly walletId: string }
  readonly referenceKey: string
  readonly counterAccount: string
  readonly referenceType: string
  readonly referenceId: string
  readonly description: string | null
}

export type FoundWallet = {
  readonly walletId: string
  readonly wallet: Wallet
  /** The link is another app's, or was disconnected: there is a wallet, but not for this request. */
  readonly isReachable: boolean
}

export type BatchState = {
  /** For each request, in the same order. */
  readonly wallets: readonly (FoundWallet | undefined)[]
  readonly outcomes: ReadonlyMap<string, Outcome>
}

const columnsSql = `array_agg(c.n), array_agg(w.id), array_agg(w.balance), array_agg(w.sequence), array_agg(w.frozen_for)`
const byLinkSql = `select ${columnsSql}, array_agg(l.disconnected_at is null and l.client_id = c.client_id)
  from unnest($1::text[], $2::text[]) with ordinality as c(link_id, client_id, n)
  join links l on l.id = c.link_id join wallets w on w.id = l.user_id`
const byIdSql = `select ${columnsSql}, array_agg(true)
  from unnest($1::uuid[]) with ordinality as c(wallet_id, n) join wallets w on w.id = c.wallet_id`

/** Wallets and outcomes for the batch. The queries leave together, as the connection is in pipeline mode. */
export async function readBatch(db: Queryable, requests: readonly PostRequest[]): Promise<BatchState> {
  const links = new Map<string, number>()
  const linkIds: string[] = []
  const clientIds: string[] = []
  const walletIds: string[] = []
  // Below zero a wallet asked for by its id, else one asked for by its link.
  const places = requests.map(({ by }) => {
    if ('walletId' in by) return -walletIds.push(by.walletId)
    const key = `${by.serviceUserId} ${by.clientId}`
    let place = links.get(key)
    if (place === undefined) {
      links.set(key, (place = linkIds.push(by.serviceUserId) - 1))
      clientIds.push(by.clientId)
    }
    return place
  })
  const [byLink, byId, outcomes] = await Promise.all([
    linkIds.length === 0
      ? []
      : findWallets(db, 'find-by-link', byLinkSql, [textArray(linkIds, (id) => id), textArray(clientIds, (id) => id)]),
    walletIds.length === 0 ? [] : findWallets(db, 'find-by-id', byIdSql, [plainArray(walletIds, (id) => id)]),
    findOutcomes(
      db,
      plainArray(requests, (request) => request.referenceKey),
    ),
  ])
  return { wallets: places.map((place) => (place < 0 ? byId[-place - 1] : byLink[place])), outcomes }
}

async function findWallets(db: Queryable, name: string, text: string, values: string[]): Promise<FoundWallet[]> {
  const [places, ids, balances, sequences, freezes, reachable] = await queryArrays(db, name, text, values)
  const found: FoundWallet[] = []
  places!.forEach((place, i) => {
    const frozenFor = freezes![i] === 'NULL' ? null : (freezes![i] as Wallet['frozenFor'])
    found[Number(place) - 1] = {
      walletId: ids![i]!,
      wallet: { balanceMinor: BigInt(balances![i]!), sequence: Number(sequences![i]), frozenFor },
      isReachable: reachable![i] === 't',
    }
  })
  return found
}

/**
 * The whole batch in one statement, durable when it returns. A wallet that no longer allows its change is left as it
 * is, with all of its operations, and is missing from the answer.
 *
 * Rows are locked in the order of their ids, or two processes could wait for each other: the array is sorted, and the
 * connection has sequential and bitmap scans switched off, so that every plan walks either the array or the key's index.
 * The time is read after the lock is held, so a wallet's transfers never go back in time.
 */
export const writeBatchSql = `
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
select array_agg(n), array_agg(balance) from moved`

/** For each of the plan's changes the balance before it; undefined where the wallet did not allow it. */
export async function writeBatch(
  db: Queryable,
  { walletIds, changes, operations }: Plan<PostRequest>,
  writer: number,
): Promise<(bigint | undefined)[]> {
  const [places, balances] = await queryArrays(db, 'write-batch', writeBatchSql, [
    plainArray(walletIds, (id) => id),
    plainArray(changes, (change) => change.netMinor),
    plainArray(changes, (change) => change.count),
    plainArray(changes, (change) => change.lowestMinor),
    plainArray(changes, (change) => change.highestMinor),
    plainArray(changes, (change) => change.onlyFromSequence),
    plainArray(changes, (change) => change.frozenForBefore),
    plainArray(changes, (change) => change.frozenForAfter),
    ...operationArrays(operations),
    plainArray(operations, (planned) => planned.refusal),
    String(writer),
  ])
  const before: (bigint | undefined)[] = []
  places!.forEach((place, i) => (before[Number(place) - 1] = BigInt(balances![i]!)))
  return before
}

/** The operations of a plan as both statements take them: of which change, by how much, and what was asked. */
export function operationArrays(operations: readonly PlannedOperation<PostRequest>[]): string[] {
  const asked = operations.map((planned) => planned.operation)
  return [
    plainArray(operations, (planned) => planned.changeIndex + 1),
    plainArray(operations, (planned) => planned.sequenceOffset),
    plainArray(operations, (planned) => planned.balanceOffsetMinor),
    plainArray(asked, (request) => request.amountMinor),
    plainArray(asked, (request) => request.referenceKey),
    textArray(asked, (request) => request.counterAccount),
    textArray(asked, (request) => request.referenceType),
    textArray(asked, (request) => request.referenceId),
    textArray(asked, (request) => request.description),
  ]
}

/** The one row of a query that gathers its columns into arrays of plain values. A row for each would cost far more to read. */
export async function queryArrays(db: Queryable, name: string, text: string, values: string[]): Promise<string[][]> {
  const { rows } = await db.query<(string | null)[]>({ name, text, values, rowMode: 'array', types: asText })
  return rows[0]!.map(readArray)
}

const asText = { getTypeParser: () => (value: string) => value }
