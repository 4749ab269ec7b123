/** Checks across slices: both sides of the books against each other, and outcomes without an entry. */
import { listArchives, type CarriedTable } from '../closing/archive/archived-periods.ts'
import { computeCarried } from '../closing/archive/carried-checksums.ts'
import { hashFilter } from '../closing/archive/carried-filter.ts'
import { closedTable, listClosings, periodsIn } from '../closing/closings.ts'
import type { Checking } from '../cluster/agreement.ts'
import type { Queryable } from '../connection/database.ts'
import { archivedSumsSql } from './account-sums.ts'
import { bookFault, maxFaultsPerStatement, type Fault } from './fault.ts'
import { inParallel, type Connections } from './in-parallel.ts'
import { one } from '../connection/rows.ts'

export type Totals = {
  readonly transfers: number
  readonly archived: number
  readonly refusals: number
  readonly faults: Fault[]
}

/** With `isEntriesClean` every entry is known to have its outcome, so equal counts mean that no outcome lacks an entry. */
export async function verifyTotals(all: Connections, { isEntriesClean }: { isEntriesClean: boolean }): Promise<Totals> {
  const faults: Fault[] = []
  let counts: Counts = noCounts
  const tasks: ((db: Checking) => Promise<unknown>)[] = [
    async (db) => (counts = await countAll(db)),
    async (db) => faults.push(...(await verifyPositions(db))),
    async (db) => faults.push(...(await verifyRefusals(db))),
    async (db) => faults.push(...(await verifyPeriods(db))),
    async (db) => faults.push(...(await verifyArchives(db))),
  ]
  await inParallel(all, async (db) => {
    const task = tasks.shift()
    await task?.(db)
    return task !== undefined
  })
  faults.push(...verifySum(counts))
  if (!isEntriesClean || counts.posted !== counts.transfers) faults.push(...(await verifyOrphans(all[0])))
  if (counts.held !== counts.holds) faults.push(...(await verifyHoldOutcomes(all[0])))
  const archived = Number(counts.archived)
  return { transfers: Number(counts.transfers) + archived, archived, refusals: Number(counts.refusals), faults }
}

type Counts = Record<
  'transfers' | 'archived' | 'posted' | 'refusals' | 'held' | 'holds' | 'balances' | 'positions',
  bigint
>
const noCounts: Counts = {
  transfers: 0n,
  archived: 0n,
  posted: 0n,
  refusals: 0n,
  held: 0n,
  holds: 0n,
  balances: 0n,
  positions: 0n,
}

const countsSql = `
    select transfers, archived, posted, o.refusals + a.refusals as refusals, held + a.holds as held, h.holds, balances, positions from
      (select count(*) as transfers from all_transfers where not is_archived) t,
      (select coalesce(sum(refusals), 0)::bigint as refusals, coalesce(sum(holds), 0)::bigint as holds from archives) a,
      (select coalesce(sum(transfers), 0) as archived from (${archivedSumsSql}) s) s,
      (select count(sequence) as posted, count(refusal) as refusals, count(is_hold) as held from all_outcomes) o,
      (select count(*) as holds from holds) h,
      (select coalesce(sum(balance), 0) as balances from wallets) w,
      (select coalesce(sum(debited::numeric - credited), 0) as positions from positions) p`

async function countAll(db: Queryable): Promise<Counts> {
  const { rows } = await db.query<Record<keyof Counts, bigint | number>>(countsSql)
  return Object.fromEntries(Object.entries(one(rows)).map(([name, count]) => [name, BigInt(count)])) as Counts
}

function verifySum({ balances, positions }: Counts): Fault[] {
  if (balances + positions === 0n) return []
  return [
    bookFault('books-unbalanced', `All wallets hold ${balances} and all positions ${positions}; together not zero.`),
  ]
}

type Position = {
  counter_account: string
  day: string
  kept_debited: bigint
  kept_credited: bigint
  kept_transfers: bigint
  debited: bigint
  credited: bigint
  transfers: bigint
}

const positionsSql = `
with kept as (
  select counter_account, day, sum(debited) as debited, sum(credited) as credited, sum(transfers) as transfers
  from positions group by counter_account, day
), entered as (
  select counter_account, (created_at at time zone 'UTC')::date as day, sum(greatest(-amount, 0)) as debited,
    sum(greatest(amount, 0)) as credited, count(*)::numeric as transfers
  from all_transfers where not is_archived group by 1, 2
), all_entered as (
  select counter_account, day, sum(debited) as debited, sum(credited) as credited, sum(transfers) as transfers from (
    select * from entered union all ${archivedSumsSql}) e group by 1, 2
)
select counter_account, day, coalesce(k.debited, 0) as kept_debited, coalesce(k.credited, 0) as kept_credited,
  coalesce(k.transfers, 0) as kept_transfers, coalesce(e.debited, 0) as debited, coalesce(e.credited, 0) as credited,
  coalesce(e.transfers, 0) as transfers
from kept k full join all_entered e using (counter_account, day)
where coalesce(k.debited, 0) <> coalesce(e.debited, 0) or coalesce(k.credited, 0) <> coalesce(e.credited, 0)
  or coalesce(k.transfers, 0) <> coalesce(e.transfers, 0)
order by 1, 2 limit ${maxFaultsPerStatement}`

async function verifyPositions(db: Queryable): Promise<Fault[]> {
  const { rows } = await db.query<Position>(positionsSql)
  return rows.map((row) =>
    bookFault(
      'position-differs',
      `Position of ${row.counter_account} on ${row.day}: it says ${row.kept_debited} debited, ${row.kept_credited} credited in ${row.kept_transfers} transfers, but the entries are ${row.debited}, ${row.credited} in ${row.transfers}.`,
    ),
  )
}

type OutcomeRow = { reference_key: string; wallet_id: string; amount: bigint; balance: bigint; refusal: string | null }

const refusalsSql = (sources: string, refusals: string, wallets: string) => `${sources}
select o.reference_key, o.wallet_id, o.amount, o.balance, o.refusal, w.id is null as lacks_wallet
from ${refusals} o left join ${wallets} w on w.id = o.wallet_id
where o.refusal is not null and (w.id is null or not case o.refusal
  when 'INSUFFICIENT_BALANCE' then o.amount < 0 and o.balance - coalesce(o.held, 0) + o.amount < 0
  else abs(o.balance + o.amount) > 999999999999999 end)
order by 1 limit ${maxFaultsPerStatement}`

/** On a cluster an outcome and its wallet may be on different servers: both are collected first. */
const refusals = {
  text: refusalsSql('', 'all_outcomes', 'wallets'),
  onCluster: refusalsSql(
    `with refusal as materialized (select * from all_outcomes where refusal is not null), wallet as materialized (
      select w.id from wallets w where w.id in (select wallet_id from refusal))`,
    'refusal',
    'wallet',
  ),
}

async function verifyRefusals(db: Queryable): Promise<Fault[]> {
  const { rows } = await db.query<OutcomeRow & { lacks_wallet: boolean }>(refusals)
  return rows.map((row) => ({
    ...(row.lacks_wallet
      ? bookFault('outcome-without-wallet', `Outcome ${row.reference_key}: there is no wallet ${row.wallet_id}.`)
      : bookFault(
          'outcome-refusal-unfounded',
          `Outcome ${row.reference_key} of wallet ${row.wallet_id}: ${row.amount} at a balance of ${row.balance} was no case of ${row.refusal}.`,
        )),
    walletId: row.wallet_id,
  }))
}

/** Within one period the key of the table refuses a second outcome of a reference. */
async function verifyPeriods(db: Queryable): Promise<Fault[]> {
  const periods = [
    'outcomes',
    ...periodsIn(await listClosings(db), 'database').map((id) => closedTable('outcomes', id)),
  ]
  const pairs = periods.flatMap((one, i) => periods.slice(i + 1).map((other) => [one, other] as const))
  if (pairs.length === 0) return []
  const twiceSql = pairs.map(
    ([one, other]) =>
      `select o.reference_key, o.wallet_id from ${one} o join ${other} p on p.reference_key = o.reference_key`,
  )
  const { rows } = await db.query<Pick<OutcomeRow, 'reference_key' | 'wallet_id'>>(
    `${twiceSql.join(' union all ')} limit ${maxFaultsPerStatement}`,
  )
  return rows.map((row) => ({
    ...bookFault('outcome-twice', `Outcome ${row.reference_key} of wallet ${row.wallet_id}: two periods have it.`),
    walletId: row.wallet_id,
  }))
}

const carriedNames: Record<CarriedTable, string> = {
  entries: 'last entries',
  references: 'references',
  wallet_ids: 'wallets',
  sums: 'sums',
}

/** What stays in the database of archived periods. */
async function verifyArchives(db: Checking): Promise<Fault[]> {
  const faults: Fault[] = []
  for (const { id, carried } of await listArchives(db)) {
    const found = await computeCarried(db, id)
    for (const [name, words] of Object.entries(carriedNames) as [CarriedTable, string][])
      if (found[name] !== carried[name])
        faults.push(
          bookFault(
            'archive-changed',
            `Archived period ${id}: its ${words} in the database are not those that were archived.`,
          ),
        )
    if (carried.filter !== undefined && (await hashFilter(db, id)) !== carried.filter)
      faults.push(
        bookFault(
          'archive-changed',
          `Archived period ${id}: the filter of its references is not the one that was archived.`,
        ),
      )
  }
  return faults
}

const holdOutcomesSql = `
with o as materialized (select reference_key, wallet_id from all_outcomes where is_hold)
select o.reference_key, o.wallet_id from o left join holds h on h.wallet_id = o.wallet_id and h.id = o.reference_key
where h.id is null order by 1 limit ${maxFaultsPerStatement}`

async function verifyHoldOutcomes(db: Queryable): Promise<Fault[]> {
  const { rows } = await db.query<Pick<OutcomeRow, 'reference_key' | 'wallet_id'>>(holdOutcomesSql)
  return rows.map((row) => ({
    ...bookFault('outcome-without-hold', `Outcome ${row.reference_key}: wallet ${row.wallet_id} has no such hold.`),
    walletId: row.wallet_id,
  }))
}

const orphansSql = (sources: string, outcomes: string, transfers: string) => `${sources}
select o.reference_key, o.wallet_id, o.sequence, o.amount from ${outcomes} o
where o.refusal is null and o.is_hold is null and not exists (
  select 1 from ${transfers} t
  where t.wallet_id = o.wallet_id and t.sequence = o.sequence and t.reference_key = o.reference_key)
order by 1 limit ${maxFaultsPerStatement}`

const orphans = {
  text: orphansSql('', 'all_outcomes', 'all_transfers'),
  onCluster: orphansSql(
    `with posted as materialized (select * from all_outcomes where sequence is not null), entry as materialized (
      select t.wallet_id, t.sequence, t.reference_key from all_transfers t)`,
    'posted',
    'entry',
  ),
}

async function verifyOrphans(db: Queryable): Promise<Fault[]> {
  const { rows } = await db.query<OutcomeRow & { sequence: bigint | null }>(orphans)
  return rows.map((row) => ({
    check: 'outcome-without-entry' as const,
    walletId: row.wallet_id,
    sequence: row.sequence === null ? null : Number(row.sequence),
    message: `Outcome ${row.reference_key} of ${row.amount}: wallet ${row.wallet_id} has no such entry ${row.sequence}.`,
  }))
}
