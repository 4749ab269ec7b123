/**
 * Positions have a row for each account, day and writer, so that no two writers wait for each other. Once a day is over
 * nobody adds to it, and its rows are merged into one for each account: years of many writers leave a row a day.
 *
 * The sum is the same at every moment, because rows go and their sum comes in one transaction. It is exact whoever else is
 * at work, because every row is locked before it is read: what a writer has not committed yet is skipped, and comes in a
 * later run. And no debit waits for it, because debits add to the day that the database's clock shows, and a day is touched
 * only an hour after its end: longer than any writer's statement may take, and than the clocks of a database and of its
 * standby, should that take over, may differ. If a clock does go back by more, a debit waits for one short transaction, and
 * makes a new row, which is merged later.
 */
import type { Database, Transaction } from '../connection/database.ts'
import { locks, runInSteps } from '../locks.ts'

/** In place of the writer's number, which is at most 100,000. The index positions_unmerged knows it too. */
export const mergedWriter = 1_000_000

const batchSize = 1_000

/** How many rows were merged into others; 0 also when another process is at it. */
export async function mergePositions(db: Database): Promise<number> {
  return await runInSteps(db, locks.mergePositions, mergePositionsBatch)
}

type Key = { counter_account: string; day: string; writer: number }

const lockSql = `select counter_account, day, writer from positions
  where writer <> ${mergedWriter} and day < ((now() - interval '1 hour') at time zone 'UTC')::date
  order by day limit ${batchSize} for update skip locked`

/** A statement of its own, whose snapshot is younger than the locks: the rows it reads are those that were locked. */
const mergeSql = `
with gone as (
  delete from positions p using unnest($1::text[], $2::date[], $3::integer[]) as k (counter_account, day, writer)
  where p.counter_account = k.counter_account and p.day = k.day and p.writer = k.writer returning p.*
)
insert into positions as p (counter_account, day, writer, debited, credited, transfers)
select counter_account, day, ${mergedWriter}, sum(debited)::bigint, sum(credited)::bigint, sum(transfers)::bigint
from gone group by 1, 2
on conflict (counter_account, day, writer) do update set
  debited = p.debited + excluded.debited, credited = p.credited + excluded.credited, transfers = p.transfers + excluded.transfers`

export async function mergePositionsBatch(tx: Transaction): Promise<number> {
  const { rows } = await tx.query<Key>(lockSql)
  if (rows.length === 0) return 0
  await tx.query(mergeSql, [
    rows.map((row) => row.counter_account),
    rows.map((row) => row.day),
    rows.map((row) => row.writer),
  ])
  return rows.length
}
