/**
 * Positions have a row for each account, day and writer, so that no two writers wait for each other. No writer adds to a past
 * day, so its rows are merged into one row per account.
 *
 * The sum is the same in every snapshot, because the rows are deleted and their sum inserted in one transaction. It is exact
 * beside other transactions, because every row is locked before it is read: rows a writer has not committed yet are skipped, and
 * merged in a later run. Debits do not wait for the merge: they add to the current day of the database's clock, and a day is
 * merged only an hour after its end. That is longer than any writer's statement takes, and more than the clocks of a database
 * and its standby differ. If a clock does go back further, a debit waits for one short transaction, and creates a new row, which
 * is merged later.
 */
import type { Database, Transaction } from '../connection/database.ts'
import { locks, runInSteps } from '../locks.ts'

/** The writer number of merged rows; writers have at most 100,000. The index positions_unmerged contains it too. */
export const mergedWriter = 1_000_000

const batchSize = 1_000

/** How many rows were merged; 0 also when another process holds the lock. */
export async function mergePositions(db: Database): Promise<number> {
  return await runInSteps(db, locks.mergePositions, mergePositionsBatch)
}

type Key = { counter_account: string; day: string; writer: number }

const lockSql = `select counter_account, day, writer from positions
  where writer <> ${mergedWriter} and day < ((now() - interval '1 hour') at time zone 'UTC')::date
  order by day limit ${batchSize} for update skip locked`

/** A separate statement, whose snapshot is younger than the locks: it reads the rows as they were locked. */
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
