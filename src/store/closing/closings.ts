/** The closed periods of the ledger. Their rows never change, and no debit touches them. */
import type { Queryable } from '../connection/database.ts'
import { filterBytes } from './filter.ts'

export type Closing = {
  readonly id: number
  readonly mark: string
  readonly closedAt: Date
  /** Null until the period is counted and has its filter. */
  readonly transfers: number | null
  readonly outcomes: number | null
  /** Whether its filter is there, with all parts. */
  readonly isIndexed: boolean
  /** Null while its rows are in the database. */
  readonly archivedAt: Date | null
}

export async function listClosings(db: Queryable): Promise<Closing[]> {
  const { rows } = await db.query<Omit<Closing, 'isIndexed'> & { bytes: number }>(
    `select id, mark, closed_at as "closedAt", transfers::float8 as transfers, outcomes::float8 as outcomes,
       (select coalesce(sum(octet_length(r.bytes)), 0)::float8 from closed_references r where r.closing_id = c.id) as bytes,
       (select archived_at from archives a where a.closing_id = c.id) as "archivedAt"
     from closings c order by id`,
  )
  return rows.map(({ bytes, ...closing }) => {
    const { outcomes } = closing
    return { ...closing, isIndexed: outcomes !== null && bytes === filterBytes(outcomes) }
  })
}

/** The ids of the periods whose rows are there. */
export function periodsIn(closings: readonly Closing[], where: 'database' | 'files'): number[] {
  return closings.filter(({ archivedAt }) => (archivedAt === null) === (where === 'database')).map(({ id }) => id)
}

/** Instead of a mark, where no period is closed. */
export const noMark = 'none'

/** The mark of the period that was closed last, in an SQL expression. */
export const lastMarkSql = `coalesce((select mark::text from closings order by id desc limit 1), '${noMark}')`

export function closedTable(name: 'transfers' | 'outcomes', id: number): string {
  return `closed_${name}_${id}`
}

/** Whether the name is that of a table of a closed period, in the database or in files, in an SQL expression. */
export const isClosedTableSql = (name: string) =>
  `${name} ~ '^((closed|restored)_(transfers|outcomes)|archived_(entries|sums|references|wallet_ids))_[0-9]+$'`
