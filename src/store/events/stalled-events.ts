/**
 * Apps whose events get no numbers because a row of the journal cannot become events. Their later rows wait in `stalled_journal` until
 * an operator repairs or deletes that row; the events of other apps get their numbers meanwhile.
 */
import type { Queryable } from '../connection/database.ts'
import { facts, maxEntriesPerRow } from './journal.ts'

/**
 * Whether a row `j` can become events. No CHECK says it: a statement prepares the CHECKs of a table each time that it inserts into it, which
 * cost every batch of debits 60 µs.
 */
export const soundSql = `(cardinality(j.link_ids) between 1 and ${maxEntriesPerRow}
  and cardinality(j.sequences) = case when j.fact is null then cardinality(j.link_ids) else 0 end
  and (j.hold_ids is null or (j.fact is null and cardinality(j.hold_ids) = cardinality(j.link_ids)))
  and exists (select from apps a where a.client_id = j.client_id) and (not j.awaits_number or j.writer = 0) and (j.fact is null or j.fact in (${facts.map((fact) => `'${fact}'`).join(', ')})))`

/** Finds each app by its first row, because one may have any number of them. Of a recursive WITH. */
export const stalledAppsSql = `stalled_app(client_id) as (
  (select client_id from stalled_journal order by client_id limit 1)
  union all
  select (select s.client_id from stalled_journal s where s.client_id > a.client_id order by s.client_id limit 1)
  from stalled_app a where a.client_id is not null
)`

/** The first row that each of them waits for; without the columns of the journal when it was deleted. */
export const stalledFirstSql = `select s.client_id, s.writer, s.serial, j.at, j.writer is null or ${soundSql} as is_sound
  from stalled_app a cross join lateral (
    select * from stalled_journal s where s.client_id = a.client_id order by s.serial limit 1) as s
  left join journal j on j.writer = s.writer and j.serial = s.serial`

export type StalledApp = {
  readonly clientId: string
  /** Null when there is no such app. */
  readonly name: string | null
  /** Writer and serial of the row. */
  readonly row: string
}

export async function listStalledApps(db: Queryable, limit: number): Promise<StalledApp[]> {
  const { rows } = await db.query<StalledApp>(
    `with recursive ${stalledAppsSql}
     select f.client_id as "clientId", a.name, f.writer || '/' || f.serial as row
     from (${stalledFirstSql}) as f left join apps a on a.client_id = f.client_id order by f.at, 1 limit $1`,
    [limit],
  )
  return rows
}
