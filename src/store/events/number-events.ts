/**
 * Gives each app's events the numbers 1, 2, 3 … without gaps, some time after the journal was written.
 *
 * A writer is one connection, and it commits in the order of its serials: the rows of a writer above its cursor are exactly those
 * without numbers, with any gaps between them. What is visible is numbered in the order of serials. A row that becomes visible later
 * than one with a higher serial has no wallet in common with it, because the lock on the wallet ends with the commit. So each app
 * gets the entries of a wallet in the order of their sequences, and no open transaction delays the rows of another.
 *
 * A row that cannot become events stops the numbers of its app alone: see stalled-events.
 */
import { findWhole } from '../cluster/whole-events.ts'
import { transact, type Database, type Queryable, type Transaction } from '../connection/database.ts'
import { one } from '../connection/rows.ts'
import { locks } from '../locks.ts'
import { provenSql } from './endpoints.ts'
import { soundSql, stalledAppsSql, stalledFirstSql } from './stalled-events.ts'

/** For the metric: movements, holds, and facts by the first part of their type. */
export const eventClasses = ['movement', 'hold', 'wallet', 'link', 'user', 'test'] as const
export type EventCounts = Readonly<Record<(typeof eventClasses)[number], number>>

/** A row has movements and holds, or one fact. */
const countSqlOf = (each: (typeof eventClasses)[number]) => {
  if (each === 'hold') return 'sum(holds)'
  return each === 'movement'
    ? 'sum(count - holds) filter (where fact is null)'
    : `sum(count) filter (where fact like '${each}.%')`
}

/** Rows of the journal that one step numbers. */
const rowsPerStep = 1_000

/** Finds the writers by their first row each, because nothing lists them. */
const writersSql = `recursive writer_of(writer) as (
  (select writer from journal order by writer limit 1)
  union all
  select (select j.writer from journal j where j.writer > w.writer order by j.writer limit 1)
  from writer_of w where w.writer is not null
)`

/** What a step needs of each row; the arrays are not carried through the sort. */
const columnsSql = `j.writer, j.serial, j.at, j.fact, cardinality(j.link_ids) as count,
  coalesce(cardinality(array_remove(j.hold_ids, null)), 0) as holds, ${soundSql} as is_sound`

const nextSqlOf = (columns: string) => `${writersSql}, unnumbered as (
  (select j.* from writer_of w left join event_cursors c on c.writer = w.writer cross join lateral (
    select ${columns} from journal j where j.writer = w.writer and j.serial > coalesce(c.numbered_up_to, 0)
    order by j.serial limit ${rowsPerStep}) as j
  where w.writer <> 0)
  union all
  (select ${columns} from journal j where awaits_number and writer = 0 order by serial limit ${rowsPerStep})
), next as (
  select * from unnumbered order by serial limit ${rowsPerStep}
)`

/** Gives the rows of `step` their numbers. */
const numbersSql = `head as (
  insert into event_heads as h (client_id, last) select client_id, sum(count) from step group by client_id order by client_id
  on conflict (client_id) do update set last = h.last + excluded.last
  returning client_id, last
), page as (
  insert into event_pages (client_id, first, count, writer, serial, at)
  select s.client_id, h.last - s.following + 1, s.count, s.writer, s.serial, s.at
  from (select *, sum(count) over (partition by client_id order by serial desc) as following from step) as s
  join head h on h.client_id = s.client_id
)`

const resultSql = `coalesce(sum(count), 0)::int as events, array(select h.client_id from head h where exists (
    select from endpoints e where e.client_id = h.client_id and e.disabled_at is null and ${provenSql})) as "toDeliver",
  ${eventClasses.map((each) => `coalesce(${countSqlOf(each)}, 0)::int as "${each}"`).join(', ')} from step`

/** One statement, so a crash leaves all of it or nothing. The cursors pass the rows of stalled apps, which are listed instead. */
const numberSqlOf = (nextSql: string) => `
with ${nextSql}, ${stalledAppsSql}, stalled as (
  select client_id from stalled_app
  union all select client_id from next where not is_sound
), examined as materialized (
  select *, client_id = any(array(select client_id from stalled where client_id is not null)) as is_stalled from next
), step as materialized (
  select * from examined where not is_stalled
), ${numbersSql}, cursor as (
  insert into event_cursors as c (writer, numbered_up_to) select writer, max(serial) from examined where writer <> 0 group by writer
  on conflict (writer) do update set numbered_up_to = excluded.numbered_up_to
), fact as (
  update journal j set awaits_number = false from examined s where s.writer = 0 and j.writer = 0 and j.serial = s.serial
), listed as (
  insert into stalled_journal (client_id, serial, writer) select client_id, serial, writer from examined where is_stalled
)
select (select count(*) from examined)::int as rows, exists (select from stalled where client_id is not null) as "isStalled", ${resultSql}`

const numberSql = numberSqlOf(nextSqlOf(`j.client_id, ${columnsSql}`))
const numberGivenSql = numberSqlOf(`recursive next as (
  select j.client_id, ${columnsSql} from unnest($1::integer[], $2::bigint[]) as g(given_writer, given_serial)
  join journal j on j.writer = g.given_writer and j.serial = g.given_serial
)`)

/** Numbers the rows of apps whose first row was repaired or deleted, in the order of serials, up to the next one that is not sound. */
const releaseSql = `
with recursive ${stalledAppsSql}, waiting as materialized (
  select s.client_id, s.serial as stalled_serial, s.writer as stalled_writer, ${columnsSql}
  from (${stalledFirstSql}) as f cross join lateral (
    select * from stalled_journal s where s.client_id = f.client_id order by s.serial limit ${rowsPerStep}) as s
  left join journal j on j.writer = s.writer and j.serial = s.serial
  where f.is_sound
), released as materialized (
  select * from waiting w where not exists (
    select from waiting u where u.client_id = w.client_id and u.stalled_serial <= w.stalled_serial and u.serial is not null and not u.is_sound)
), step as materialized (
  select * from released where serial is not null
), ${numbersSql}, unlisted as (
  delete from stalled_journal s using released r
  where s.client_id = r.client_id and s.serial = r.stalled_serial and s.writer = r.stalled_writer
)
select (select count(*) from released)::int as rows, ${resultSql}`

export type NumberedEvents = {
  /** How many events got their numbers. */
  readonly events: number
  /** Their apps that have endpoints that are known to work. */
  readonly toDeliver: readonly string[]
}

type Step = NumberedEvents & EventCounts & { readonly rows: number }

/** Numbers nothing when another process is at it. Reports what each step numbered. */
export async function numberEvents(db: Database, report?: (counts: EventCounts) => void): Promise<NumberedEvents> {
  const toDeliver = new Set<string>()
  for (let events = 0; ;) {
    const steps = await transact(db, async (tx) => ((await isAlone(tx)) ? await numberStep(tx) : []))
    for (const step of steps) {
      report?.(step)
      for (const clientId of step.toDeliver) toDeliver.add(clientId)
      events += step.events
    }
    if (steps.every(({ rows }) => rows < rowsPerStep)) return { events, toDeliver: [...toDeliver] }
  }
}

/** Whether no other process is at it; then none is until this transaction ends. */
async function isAlone(tx: Transaction): Promise<boolean> {
  // On tables that were never analysed, the planner would rather read all of the journal. A number that an app has seen must survive
  // a crash, also where the server commits without waiting for its disk.
  const { rows } = await tx.query<{ is: boolean }>({
    name: 'number-events-alone',
    text: `select pg_try_advisory_xact_lock($1) as is, set_config('enable_seqscan', 'off', true), set_config('synchronous_commit',
      case current_setting('synchronous_commit') when 'off' then 'on' else current_setting('synchronous_commit') end, true)`,
    values: [locks.numberEvents],
  })
  return one(rows).is
}

async function numberStep(tx: Transaction): Promise<readonly Step[]> {
  const whole = await findWhole(tx, `with ${nextSqlOf(`*, ${soundSql} as is_sound`)} select * from next`)
  const asked = whole
    ? { text: numberGivenSql, values: [whole.map(({ writer }) => writer), whole.map(({ serial }) => serial)] }
    : // With a name it is planned once per connection: planning costs as much as a step.
      { name: 'number-events', text: numberSql }
  const step = one((await tx.query<Step & { isStalled: boolean }>(asked)).rows)
  return step.isStalled ? [step, one((await tx.query<Step>(releaseSql)).rows)] : [step]
}

/** The first row of each writer that waits for its numbers, and of each stalled app. */
const waitingSql = `${writersSql}, ${stalledAppsSql}, waiting as (
  (select j.at from writer_of w left join event_cursors c on c.writer = w.writer cross join lateral (
    select at from journal j where j.writer = w.writer and coalesce(c.numbered_up_to, 0) < j.serial order by j.serial limit 1) as j
  where w.writer <> 0)
  union all (select j.at from journal j where j.awaits_number and j.writer = 0 order by j.serial limit 1)
  union all select at from (${stalledFirstSql}) as stalled
)`

/** One statement without a lock, for a service with nothing to number. */
export async function hasUnnumbered(db: Queryable): Promise<boolean> {
  const text = `with ${waitingSql} select exists (select from waiting) as has`
  return one((await db.query<{ has: boolean }>({ name: 'has-unnumbered', text })).rows).has
}

/** Since when the oldest row has been waiting for its numbers, in seconds; 0 when none waits. */
export async function getUnnumberedSeconds(db: Queryable): Promise<number> {
  const { rows } = await db.query<{ seconds: number }>(
    `with ${waitingSql}
     select greatest(0, coalesce(extract(epoch from clock_timestamp() - min(at)), 0))::float8 as seconds from waiting`,
  )
  return one(rows).seconds
}

/**
 * Deletes what is older, page by page from an app's lowest number on. A row of the journal goes when its page is gone, and never before
 * it had its numbers.
 */
export async function deleteOldEvents(tx: Transaction, days: number, limit: number): Promise<number> {
  const isOver = `at <= now() - $1 * interval '1 day'`
  const pages = await tx.query(
    `with expired as (select client_id, max(first) as first from (
       select client_id, first from event_pages where ${isOver} order by at limit $2) as p group by client_id)
     delete from event_pages p using expired e where p.client_id = e.client_id and p.first <= e.first`,
    [days, limit],
  )
  const rows = await tx.query(
    `delete from journal j where (writer, serial) in (
       select j.writer, j.serial from journal j left join event_cursors c on c.writer = j.writer
       where j.${isOver} and case when j.writer = 0 then not j.awaits_number else j.serial <= c.numbered_up_to end
         and not exists (select from event_pages p where p.writer = j.writer and p.serial = j.serial)
         and not exists (select from stalled_journal s where s.client_id = j.client_id and s.serial = j.serial and s.writer = j.writer)
       order by j.at limit $2)`,
    [days, limit],
  )
  return (pages.rowCount ?? 0) + (rows.rowCount ?? 0)
}
