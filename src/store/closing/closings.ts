/** The closed periods of the ledger. Their rows never change, and no debit touches them. */
import type { Queryable } from '../connection/database.ts'

export type Closing = {
  readonly id: number
  readonly mark: string
  readonly closedAt: Date
  /** Null until the period is counted and has its filter. */
  readonly transfers: number | null
  readonly outcomes: number | null
  readonly isIndexed: boolean
}

export async function listClosings(db: Queryable): Promise<Closing[]> {
  const { rows } = await db.query<Closing>(
    `select id, mark, closed_at as "closedAt", transfers::float8 as transfers, outcomes::float8 as outcomes, indexed_at is not null as "isIndexed"
     from closings order by id`,
  )
  return rows
}

/** Instead of a mark, where no period is closed. */
export const noMark = 'none'

/** The mark of the period that was closed last, in an SQL expression. */
export const lastMarkSql = `coalesce((select mark::text from closings order by id desc limit 1), '${noMark}')`

export function closedTable(name: 'transfers' | 'outcomes', id: number): string {
  return `closed_${name}_${id}`
}

/** Whether the name is that of a table of a closed period, in an SQL expression. */
export const isClosedTableSql = (name: string) => `${name} ~ '^closed_(transfers|outcomes)_[0-9]+$'`
