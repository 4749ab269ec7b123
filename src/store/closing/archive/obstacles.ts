/** What still needs the rows of a closed period in the database. */
import type { Queryable } from '../../connection/open-client.ts'
import { maybe } from '../../connection/rows.ts'
import { isUpgradingSql } from '../close-ledger.ts'
import { closedTable } from '../closings.ts'

type Obstacle = {
  readonly sql: (period: number) => string
  /** Where a join with rows of another server is refused. */
  readonly onCluster?: (period: number) => string
  readonly text: (period: number) => string
}

/** In the order in which they are named. Each statement returns a row if it is one. */
const obstacles: readonly Obstacle[] = [
  {
    // A process of a version without archived periods would take an archived reference for a new one.
    sql: () => isUpgradingSql,
    text: () =>
      'This database was upgraded within the last hour. A process of the earlier version, which may still run, might not find archived references. Archive the period later; nothing was changed.',
  },
  {
    sql: () => `select 1 from books_check where jsonb_array_length(problems::jsonb) > 0`,
    text: () => 'The check of the books has found problems. Resolve them first: npx billfold verify names them.',
  },
  {
    sql: (period) => `select 1 from journal where at <= (select closed_at from closings where id = ${period}) limit 1`,
    text: (period) =>
      `Apps can still read events of period ${period}. The service deletes them EVENTS_DAYS (30, unless it is set) after they happened: try again that many days after the closing.`,
  },
  {
    sql: (period) => `select 1 from holds h where h.closed_at is null and exists (
      select 1 from ${closedTable('outcomes', period)} o where o.reference_key = h.id) limit 1`,
    onCluster: (period) => `with open as materialized (select id from holds where closed_at is null)
      select 1 from ${closedTable('outcomes', period)} where reference_key in (select id from open) limit 1`,
    text: (period) => `Period ${period} has a hold that is still open. Try again when it has ended.`,
  },
  {
    sql: (period) => `select 1 from new_links n where exists (
      select 1 from ${closedTable('transfers', period)} t where t.wallet_id = n.user_id and t.sequence > n.looked_to) limit 1`,
    onCluster: (period) => `with link as materialized (select user_id, looked_to from new_links)
      select 1 from ${closedTable('transfers', period)} t join link n on t.wallet_id = n.user_id where t.sequence > n.looked_to limit 1`,
    text: (period) =>
      `The service has not yet searched period ${period} for the first payments of new links. Try again in an hour.`,
  },
]

/** A sentence; undefined if nothing needs them. */
export async function findObstacle(db: Queryable, period: number): Promise<string | undefined> {
  for (const { sql, onCluster, text } of obstacles) {
    const { rows } = await db.query({ text: sql(period), ...(onCluster && { onCluster: onCluster(period) }) })
    if (maybe(rows)) return text(period)
  }
  return undefined
}
