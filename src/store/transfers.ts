/** A wallet's ledger for reading: pages, filters, and spans of time. */
import { ofWallet } from './cluster/guarded-read.ts'
import { scanInSteps } from './connection/scan.ts'
import { aboveArchive, findArchivedUntil } from './closing/archived-entries.ts'
import type { KeyRange } from '../ledger/receipt-code.ts'
import { sqlState, transact, type Database, type Queryable } from './connection/database.ts'
import { isServiceOwnSql } from './outcomes.ts'
import { transferColumns, type Transfer } from './wallets.ts'
import { maybe, one } from './connection/rows.ts'

export type LedgerFilter = {
  readonly direction?: 'debit' | 'credit' | undefined
  readonly counterAccount?: string | undefined
  readonly referenceType?: string | undefined
  readonly referenceId?: string | undefined
  /** Only entries of the service itself. */
  readonly isOwn?: boolean | undefined
  /** The amount without its sign, both ends included. */
  readonly minMinor?: bigint | undefined
  readonly maxMinor?: bigint | undefined
  readonly search?: LedgerSearch | undefined
}

/** A text to search for in all fields that people see. */
export type LedgerSearch = {
  /** Matches within the description or the reference, ignoring case. */
  readonly text: string
  /** Accounts whose name contains the text. */
  readonly counterAccounts: readonly string[]
  /** Types of the service's entries whose localized name contains the text. */
  readonly ownTypes: readonly string[]
  /** When the text is a receipt's code. */
  readonly keys: KeyRange | undefined
  /** When the text is an amount; its sign does not count. */
  readonly amountMinor?: bigint | undefined
}

/** The entries of wallet $1 from sequence $2 up to, without, $3 that a filter matches; `matchValues` has $4 and the rest. */
const matchSql = `t.wallet_id = $1 and not t.is_archived and t.sequence >= $2 and t.sequence < $3
       and ($4::text is null or (t.amount < 0) = ($4 = 'debit'))
       and ($5::text is null or t.counter_account = $5)
       and ($6::text is null or t.reference_type = $6)
       and ($7::text is null or t.reference_id = $7)
       and (not $8 or ${isServiceOwnSql('t')})
       and ($9::bigint is null or abs(t.amount) >= $9)
       and ($10::bigint is null or abs(t.amount) <= $10)
       and ($11::text is null or t.description ilike $11 or t.reference_id ilike $11 or t.reference_type ilike $11
         or t.counter_account = any($12::text[])
         or (t.reference_type = any($13::text[]) and ${isServiceOwnSql('t')})
         or t.reference_key between $14::uuid and $15::uuid
         or abs(t.amount) = $16::bigint)`

function matchValues(filter: LedgerFilter): unknown[] {
  return [
    filter.direction ?? null,
    filter.counterAccount ?? null,
    filter.referenceType ?? null,
    filter.referenceId ?? null,
    filter.isOwn ?? false,
    filter.minMinor ?? null,
    filter.maxMinor ?? null,
    ...searchValues(filter.search),
  ]
}

function searchValues(search: LedgerSearch | undefined): unknown[] {
  if (!search) return [null, null, null, null, null, null]
  const { text, counterAccounts, ownTypes, keys, amountMinor } = search
  const pattern = `%${text.replace(/[\\%_]/g, '\\$&')}%`
  return [pattern, counterAccounts, ownTypes, keys?.from ?? null, keys?.to ?? null, amountMinor ?? null]
}

type Span = { readonly from: number; readonly below: number }

/**
 * Entries between two sequences, newest first. The span bounds the work: a filter that matches one entry in a million
 * must not read the million for one page.
 */
async function listTransfers(
  db: Queryable,
  walletId: string,
  { from, below, limit }: Span & { limit: number },
  filter: LedgerFilter = {},
): Promise<Transfer[]> {
  const { rows } = await db.query<Transfer>({
    text: `select ${transferColumns} from all_transfers t where ${matchSql} order by t.sequence desc limit $17`,
    values: [walletId, from, below, ...matchValues(filter), limit],
    findAway: ofWallet(walletId),
  })
  return rows
}

/** What one counter account took and gave. */
export type MatchSum = {
  readonly counterAccount: string
  /** The service made these entries, even if they are on an app's account. */
  readonly isOwn: boolean
  readonly count: number
  readonly inMinor: bigint
  readonly outMinor: bigint
}

/** Adds up the matching entries of a span by counter account; the caller keeps the span small. */
export async function sumMatches(
  db: Queryable,
  walletId: string,
  { from, below }: Span,
  filter: LedgerFilter,
): Promise<MatchSum[]> {
  const { rows } = await db.query<MatchSum>({
    text: `select t.counter_account as "counterAccount", ${isServiceOwnSql('t')} as "isOwn", count(*)::int as count,
       coalesce(sum(t.amount) filter (where t.amount > 0), 0)::bigint as "inMinor",
       coalesce(-sum(t.amount) filter (where t.amount < 0), 0)::bigint as "outMinor"
     from all_transfers t where ${matchSql} group by 1, 2`,
    values: [walletId, from, below, ...matchValues(filter)],
    findAway: ofWallet(walletId),
  })
  return rows
}

export type LedgerPage = {
  /** Newest first. */
  readonly transfers: readonly Transfer[]
  /** The next page has the transfers below this sequence. Undefined on the last page. */
  readonly nextBefore: number | undefined
  /** The page is not full because its span contained no more matches. */
  readonly isSpanEnd: boolean
}

/** A page of matching transfers. It reads at most `span` transfers; the next page continues where it stopped. */
export async function findLedgerPage(
  db: Queryable,
  walletId: string,
  { bottom, top, limit, span }: { bottom: number; top: number; limit: number; span: number },
  filter: LedgerFilter,
): Promise<LedgerPage> {
  const [newest] = await listTransfers(db, walletId, { from: bottom, below: top, limit: 1 })
  if (!newest) return { transfers: [], nextBefore: undefined, isSpanEnd: false }
  const below = newest.sequence + 1
  const from = Math.max(bottom, below - span)
  // One row beyond the limit shows whether there is another page.
  const found = await listTransfers(db, walletId, { from, below, limit: limit + 1 }, filter)
  const transfers = found.slice(0, limit)
  const isFull = found.length > limit
  const nextBefore = isFull ? transfers.at(-1)!.sequence : from > bottom ? from : undefined
  return { transfers, nextBefore, isSpanEnd: !isFull && from > bottom }
}

/** Oldest first, both ends included. */
export async function listTransfersUpwards(
  db: Queryable,
  walletId: string,
  { from, to, limit }: { from: number; to: number; limit: number },
): Promise<Transfer[]> {
  const { rows } = await db.query<Transfer>({
    text: `select ${transferColumns} from all_transfers t where t.wallet_id = $1 and not t.is_archived and t.sequence >= $2 and t.sequence <= $3
     order by t.sequence limit $4`,
    values: [walletId, from, to, limit],
    findAway: ofWallet(walletId),
  })
  return rows
}

/**
 * A wallet's entries never go back in time, so a binary search over its sequences finds an instant in twenty steps,
 * without an index.
 */
const firstAtSql = `
with recursive half as (
  select coalesce((select sequence from archived_wallets where wallet_id = $1), 1) as low, (select sequence from wallets where id = $1) + 1 as high
  union all
  select case when t.created_at < $2 then m.middle + 1 else h.low end, case when t.created_at < $2 then h.high else m.middle end
  from half h cross join lateral (select (h.low + h.high) / 2 as middle) m
    join all_transfers t on t.wallet_id = $1 and t.sequence = m.middle
  where h.low < h.high
)
select low::float8 as low from half where low = high`

/** The first sequence at or after the instant; one above the last when there is none; the last archived one where that is archived. */
export async function findFirstSequenceAt(db: Queryable, walletId: string, at: Date): Promise<number> {
  const { rows } = await db.query<{ low: number }>({
    text: firstAtSql,
    values: [walletId, at],
    findAway: ofWallet(walletId),
  })
  return maybe(rows)?.low ?? 1
}

/** The sequences of a time range that are in the database: from `bottom` up to, without, `top`. */
export type Sequences = { readonly bottom: number; readonly top: number; readonly hasArchived: boolean }

/** `hasArchived`: older entries of the range may be in the archive. A range that ends before the wallet begins has none. */
export async function findSequences(
  db: Queryable,
  walletId: string,
  { from, until }: { readonly from?: Date | undefined; readonly until?: Date | undefined },
): Promise<Sequences> {
  const first = from ? await findFirstSequenceAt(db, walletId, from) : 1
  const top = until ? await findFirstSequenceAt(db, walletId, until) : Number.MAX_SAFE_INTEGER
  const { bottom, hasArchived } = await aboveArchive(db, walletId, first)
  if (hasArchived && until && !(await hasBegun(db, walletId, until))) return { bottom: 1, top: 1, hasArchived: false }
  return { bottom, top, hasArchived }
}

/** A wallet begins with its user. */
async function hasBegun(db: Queryable, walletId: string, until: Date): Promise<boolean> {
  const { rows } = await db.query('select 1 from users where id = $1 and created_at < $2', [walletId, until])
  return rows.length > 0
}

/** The balance just after the entry; zero before the first one. */
export async function getBalanceAfter(db: Queryable, walletId: string, sequence: number): Promise<bigint> {
  if (sequence === 0) return 0n
  const { rows } = await db.query<{ balanceMinor: bigint }>({
    text: 'select balance_after as "balanceMinor" from all_transfers where wallet_id = $1 and sequence = $2',
    values: [walletId, sequence],
    findAway: ofWallet(walletId),
  })
  return one(rows).balanceMinor
}

/** Sums credits and debits, both ends included; the caller keeps the span small. */
export async function sumTransfers(
  db: Queryable,
  walletId: string,
  { from, to }: { from: number; to: number },
): Promise<{ inMinor: bigint; outMinor: bigint }> {
  const { rows } = await db.query<{ inMinor: bigint; outMinor: bigint }>({
    text: `select coalesce(sum(amount) filter (where amount > 0), 0)::bigint as "inMinor",
       coalesce(-sum(amount) filter (where amount < 0), 0)::bigint as "outMinor"
     from all_transfers where wallet_id = $1 and sequence >= $2 and sequence <= $3`,
    values: [walletId, from, to],
    findAway: ofWallet(walletId),
  })
  return one(rows)
}

/** The entries of the outcomes in a range of keys: one, unless two share the code of their receipts. */
export async function listTransfersByKeys(db: Queryable, { from, to }: KeyRange): Promise<Transfer[]> {
  const { rows } = await db.query<Transfer>(
    `with o as materialized (select wallet_id, sequence from all_outcomes where reference_key between $1::uuid and $2::uuid limit 10)
     select ${transferColumns} from o join all_transfers t on t.wallet_id = o.wallet_id and t.sequence = o.sequence
     order by t.created_at`,
    [from, to],
  )
  return rows
}

export type AccountSpan = {
  readonly account: string
  readonly from: Date
  readonly until: Date
  /** The last entry of the page before. */
  readonly after: Transfer | undefined
  readonly limit: number
}

/**
 * The entries on one account, of all wallets, oldest first. The only index is by time, as in findTransfersOfAmount: the
 * caller keeps the span small.
 */
export async function listTransfersOfAccount(
  db: Database,
  { account, from, until, after, limit }: AccountSpan,
): Promise<Transfer[]> {
  return await transact(db, async (tx) => {
    await tx.query(`select set_config('enable_seqscan', 'off', true)`)
    const { rows } = await tx.query<Transfer>(
      `select ${transferColumns} from all_transfers t
       where not t.is_archived and t.created_at >= $1 and t.created_at < $2 and t.counter_account = $3
         and ($4::uuid is null or (t.created_at, t.wallet_id, t.sequence)
           > ((select c.created_at from all_transfers c where c.wallet_id = $4 and c.sequence = $5), $4, $5))
       order by t.created_at, t.wallet_id, t.sequence limit $6`,
      [from, until, account, after?.walletId ?? null, after?.sequence ?? null, limit],
    )
    return rows
  })
}

export type AmountSearch = {
  readonly from: Date
  readonly until: Date
  /** Below zero for a debit. */
  readonly amountsMinor: readonly bigint[]
  readonly limit: number
}

/**
 * Entries of these amounts, of all wallets, in a span of time; unordered, so that the scan ends at the limit. Undefined
 * when it takes longer than a second. The BRIN index has the time range of each 64 pages, which states useless to the
 * planner on a table never analysed: sequential scans are switched off, and the time is limited. After an import, which
 * goes wallet by wallet, old entries of any day are spread over the whole table, and a second may be too short.
 */
export async function findTransfersOfAmount(
  db: Database,
  { from, until, amountsMinor, limit }: AmountSearch,
): Promise<Transfer[] | undefined> {
  try {
    return await transact(db, async (tx) => {
      await tx.query(`select set_config('enable_seqscan', 'off', true), set_config('statement_timeout', '1000', true)`)
      const { rows } = await tx.query<Transfer>(
        `select ${transferColumns} from all_transfers t
         where not t.is_archived and t.created_at >= $1 and t.created_at < $2 and t.amount = any($3::bigint[]) limit $4`,
        [from, until, amountsMinor, limit],
      )
      return rows
    })
  } catch (error) {
    // 57014: cancelled by statement_timeout.
    if (sqlState(error) === '57014') return undefined
    throw error
  }
}

/** Each step reads further back; the last one reads the rest. */
const spansMs = [1, 24, 7 * 24, 31 * 24, 366 * 24, Infinity].map((hours) => hours * 3_600_000)

export type AmountScan = {
  /** Newest first. */
  readonly entries: readonly Transfer[]
  /** Everything since then was searched; null when that is everything in the database. */
  readonly from: Date | null
  /** Entries up to then are in the archive; null without one. */
  readonly archivedUntil: Date | null
}

/** The newest entries of these amounts, of all wallets. Reads back in time by the BRIN index, until the time is up. */
export async function scanTransfersOfAmount(
  db: Database,
  {
    amountsMinor,
    now,
    limit,
    budgetMs,
  }: { amountsMinor: readonly bigint[]; now: Date; limit: number; budgetMs: number },
): Promise<AmountScan> {
  const entries: Transfer[] = []
  const spans = [...spansMs]
  // The database's clock may be ahead of this one.
  let [until, isWhole] = [new Date(now.getTime() + 86_400_000), false]
  await scanInSteps(db, budgetMs, async (tx) => {
    const spanMs = spans.shift()!
    const from = new Date(spanMs === Infinity ? 0 : now.getTime() - spanMs)
    const { rows } = await tx.query<Transfer>(
      `select ${transferColumns} from all_transfers t
       where not t.is_archived and t.created_at >= $1 and t.created_at < $2 and t.amount = any($3::bigint[])
       order by t.created_at desc, t.wallet_id, t.sequence desc limit $4`,
      [from, until, amountsMinor, limit - entries.length],
    )
    entries.push(...rows)
    until = from
    isWhole = spanMs === Infinity
    return isWhole || entries.length >= limit
  })
  return { entries, from: isWhole ? null : until, archivedUntil: await findArchivedUntil(db.pool) }
}
