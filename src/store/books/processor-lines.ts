/**
 * The bookings in the card processor's account, and what report files say against them. A file never overrules the processor's
 * API: where they contradict each other, the API's line counts, and the contradiction is kept with the operator's name.
 */
import { plainArray, textArray } from '../connection/arrays.ts'
import type { Queryable, Transaction } from '../connection/database.ts'
import { maybe, one } from '../connection/rows.ts'
import type { Listing } from '../connection/listing.ts'

export type ProcessorName = 'stripe' | 'sandbox'

/** A booking in the processor's account, as `cards` reads it. */
export type ProcessorLine = {
  readonly id: string
  readonly kind: string
  readonly paymentIntentId: string | null
  readonly isOurs: boolean
  readonly amountMinor: bigint
  readonly feeMinor: bigint
  readonly createdAt: Date
}

/** The lines as a table. */
const linesSql = `unnest($1::text[], $2::text[], $3::text[], $4::boolean[], $5::bigint[], $6::bigint[], $7::timestamptz[])
  as l(id, kind, payment_intent_id, is_ours, amount, fee, created_at)`

function arraysOf(lines: readonly ProcessorLine[]): string[] {
  return [
    textArray(lines, ({ id }) => id),
    plainArray(lines, ({ kind }) => kind),
    textArray(lines, ({ paymentIntentId }) => paymentIntentId),
    plainArray(lines, ({ isOurs }) => isOurs),
    plainArray(lines, ({ amountMinor }) => amountMinor),
    plainArray(lines, ({ feeMinor }) => feeMinor),
    plainArray(lines, ({ createdAt }) => `"${createdAt.toISOString()}"`),
  ]
}

const setLine = `kind = excluded.kind, payment_intent_id = excluded.payment_intent_id, is_ours = excluded.is_ours,
  amount = excluded.amount, fee = excluded.fee, created_at = excluded.created_at, read_by = excluded.read_by`

/** `is_ours` is no contradiction: a file may lack the column for it. Only payments are compared by payment. */
const differSql = (api: string, file: string) => `((${api}.kind, ${api}.amount, ${api}.fee, ${api}.created_at)
  is distinct from (${file}.kind, ${file}.amount, ${file}.fee, ${file}.created_at)
  or (${api}.kind in ('charge', 'refund', 'dispute') and ${api}.payment_intent_id is distinct from ${file}.payment_intent_id))`

const saidSql = (line: string) => `jsonb_build_object('kind', ${line}.kind, 'payment', ${line}.payment_intent_id,
  'amount', ${line}.amount::text, 'fee', ${line}.fee::text, 'at', to_char(${line}.created_at at time zone 'UTC', 'YYYY-MM-DD HH24:MI:SS'))`

const dayOf = (line: string) => `(${line}.created_at at time zone 'UTC')::date`

const contradictionColumns = '(line_id, payment_intent_id, day, processor_said, file_said, read_by, read_at)'

/** Stores what the API says. Lines are identified by id: reading one again adds no second line. The caller holds the lock. */
export async function upsertLines(
  tx: Transaction,
  processor: ProcessorName,
  lines: readonly ProcessorLine[],
): Promise<void> {
  if (lines.length === 0) return
  await tx.query(
    `insert into report_contradictions ${contradictionColumns}
     select p.id, p.payment_intent_id, ${dayOf('p')}, ${saidSql('l')}, ${saidSql('p')}, p.read_by, clock_timestamp()
     from ${linesSql} join processor_lines p on p.id = l.id and p.read_by is not null where ${differSql('l', 'p')}
     on conflict do nothing`,
    arraysOf(lines),
  )
  await tx.query(
    `insert into processor_lines (id, processor, kind, payment_intent_id, is_ours, amount, fee, created_at, read_by)
     select id, $8, kind, payment_intent_id, is_ours, amount, fee, created_at, null from ${linesSql}
     on conflict (id) do update set ${setLine}`,
    [...arraysOf(lines), processor],
  )
}

/**
 * A file's line contradicts the API when the API has the booking with other content, or has read the whole day without it: an
 * invented booking must not close a difference.
 */
const contradictedSql = `contradicted as materialized (
  select l.*, p.id is not null as is_known, ${saidSql('p')} as processor_said from ${linesSql}
  left join processor_lines p on p.id = l.id and p.read_by is null
  where case when p.id is not null then ${differSql('p', 'l')} else exists (
    select from reconciliation_days d where d.day = ${dayOf('l')} and d.finished_at is not null and d.source = 'processor') end
)`

export async function countContradictions(db: Queryable, lines: readonly ProcessorLine[]): Promise<number> {
  const { rows } = await db.query<{ count: number }>(
    `with ${contradictedSql} select count(*)::int as count from contradicted`,
    arraysOf(lines),
  )
  return one(rows).count
}

/** Stores the lines of a file that do not contradict the API, and records those that do. The caller holds the lock. Returns the new contradictions. */
export async function insertFileLines(
  tx: Transaction,
  { processor, by }: { processor: ProcessorName; by: string },
  lines: readonly ProcessorLine[],
): Promise<number> {
  const { rows } = await tx.query<{ count: number }>(
    `with ${contradictedSql}, stored as (
       insert into processor_lines as p (id, processor, kind, payment_intent_id, is_ours, amount, fee, created_at, read_by)
       select id, $8, kind, payment_intent_id, is_ours, amount, fee, created_at, $9 from ${linesSql}
       where id not in (select id from contradicted)
       on conflict (id) do update set ${setLine} where p.read_by is not null
     ), recorded as (
       insert into report_contradictions ${contradictionColumns}
       select c.id, c.payment_intent_id, ${dayOf('c')}, case when c.is_known then c.processor_said end, ${saidSql('c')}, $9, clock_timestamp()
       from contradicted c on conflict do nothing returning id
     )
     select count(*)::int as count from recorded`,
    [...arraysOf(lines), processor, by],
  )
  return one(rows).count
}

/** A file of another account can have any number of them: a hundred show what happened. */
const recordedPerDay = 100

/** The API has read the whole day: lines that only a file has become contradictions. The caller holds the lock. Returns how many there were. */
export async function dropUnconfirmedLines(tx: Transaction, day: string): Promise<number> {
  const { rows } = await tx.query<{ count: number }>(
    `with dropped as (
       delete from processor_lines where read_by is not null
         and created_at >= $1::date::timestamp at time zone 'UTC' and created_at < ($1::date + 1)::timestamp at time zone 'UTC' returning *
     ), recorded as (
       insert into report_contradictions ${contradictionColumns}
       select p.id, p.payment_intent_id, ${dayOf('p')}, null, ${saidSql('p')}, p.read_by, clock_timestamp()
       from dropped p order by p.id limit ${recordedPerDay} on conflict do nothing
     )
     select count(*)::int as count from dropped`,
    [day],
  )
  return one(rows).count
}

/** Deletes lines past their retention, except those of a payment that still differs. `limit` keeps the locks few. */
export async function deleteOldLines(tx: Transaction, linesDays: number, limit: number): Promise<number> {
  // One day longer than payments are compared, because the processor's clock may differ.
  const { rowCount } = await tx.query(
    `delete from processor_lines where id in (
       select l.id from processor_lines l where l.created_at <= now() - ($1 + 1) * interval '1 day' and not exists (
         select from reconciliation_differences d where d.payment_intent_id = l.payment_intent_id and d.resolved_at is null)
       order by l.created_at limit $2)`,
    [linesDays, limit],
  )
  return rowCount ?? 0
}

type Said = {
  readonly kind: string
  readonly payment: string | null
  /** Minor units. */
  readonly amount: string
  readonly fee: string
  /** In UTC. */
  readonly at: string
}

/** Who closed it by hand. All are null, or none is. */
export type Resolution = {
  readonly resolvedAt: Date | null
  readonly resolvedBy: string | null
  readonly resolvedReason: string | null
}

export type Contradiction = {
  readonly id: string
  readonly lineId: string
  readonly day: string
  /** Null: the processor has no such booking on that day. */
  readonly processorSaid: Said | null
  readonly fileSaid: Said
  /** An actor, as in the audit log. */
  readonly readBy: string
  readonly readAt: Date
}

export const isOpenContradictionSql = 'resolved_at is null'

const contradictionFields = `id, line_id as "lineId", day, processor_said as "processorSaid", file_said as "fileSaid",
  read_by as "readBy", read_at as "readAt"`

const contradictionSql = `select ${contradictionFields} from report_contradictions where ${isOpenContradictionSql}`

export const contradictionListing: Listing = {
  table: 'report_contradictions',
  alias: 'c',
  columns: `${contradictionFields}, resolved_at as "resolvedAt", resolved_by as "resolvedBy", resolved_reason as "resolvedReason"`,
  key: [{ sql: 'c.id', type: 'uuid' }],
  time: { sql: 'c.day', type: 'date' },
  people: ['c.read_by', 'c.resolved_by'],
  choices: { state: { open: isOpenContradictionSql, resolved: `not (${isOpenContradictionSql})` } },
  equals: {},
  ids: [
    { sql: 'c.id', type: 'uuid' },
    { sql: 'c.line_id', type: 'text' },
  ],
}

export type ListedContradiction = Contradiction & Resolution

/** The oldest first. */
export async function listOpenContradictions(db: Queryable, limit: number): Promise<Contradiction[]> {
  const text = `${contradictionSql} order by day, line_id, read_at limit $1`
  return (await db.query<Contradiction>(text, [limit])).rows
}

export async function findOpenContradiction(db: Queryable, id: string): Promise<Contradiction | undefined> {
  return maybe((await db.query<Contradiction>(`${contradictionSql} and id::text = $1`, [id])).rows)
}

/** False when another operator was first. */
export async function updateContradictionResolved(
  tx: Transaction,
  id: string,
  { by, reason }: { by: string; reason: string },
): Promise<boolean> {
  const { rowCount } = await tx.query(
    `update report_contradictions set resolved_at = clock_timestamp(), resolved_by = $2, resolved_reason = $3
     where id = $1 and ${isOpenContradictionSql}`,
    [id, by, reason],
  )
  return rowCount === 1
}
