/** The tables of the service, read from the database's catalogue: tables of new migrations are included, those of closed periods are not. */
import { isClosedTableSql } from '../closing/closings.ts'
import type { Queryable } from '../connection/database.ts'

export type Column = { readonly name: string; readonly type: string; readonly isGenerated: boolean }

export type Table = {
  readonly name: string
  readonly columns: readonly Column[]
  /** Empty without a primary key. */
  readonly primaryKey: readonly string[]
  /** The other tables that its foreign keys reference. */
  readonly needs: readonly string[]
}

const tablesSql = (condition: string) => `
select c.relname as name,
  (select json_agg(json_build_object('name', a.attname, 'type', format_type(a.atttypid, a.atttypmod), 'isGenerated', a.attgenerated <> '')
      order by a.attnum)
    from pg_attribute a where a.attrelid = c.oid and a.attnum > 0 and not a.attisdropped) as columns,
  coalesce((select json_agg(a.attname order by k.position)
    from pg_constraint p cross join unnest(p.conkey) with ordinality as k(attnum, position)
    join pg_attribute a on a.attrelid = c.oid and a.attnum = k.attnum
    where p.conrelid = c.oid and p.contype = 'p'), '[]') as "primaryKey",
  coalesce((select json_agg(distinct r.relname) from pg_constraint f join pg_class r on r.oid = f.confrelid
    where f.conrelid = c.oid and f.contype = 'f' and r.oid <> c.oid), '[]') as needs
from pg_class c where c.relnamespace = 'public'::regnamespace and c.relkind in ('r', 'p') and not c.relispartition
  and ${condition}
order by c.relname collate "C"`

/** By name, but each table after those it references, so that they can be created or filled in this order. */
export async function listTables(db: Queryable): Promise<Table[]> {
  const { rows } = await db.query<Table>(tablesSql(`not (${isClosedTableSql('c.relname')})`))
  const waiting = [...rows]
  const ordered: Table[] = []
  while (waiting.length > 0) {
    const next = waiting.findIndex((table) => table.needs.every((name) => ordered.some((done) => done.name === name)))
    if (next === -1)
      throw new Error(`These tables refer to each other in a circle: ${waiting.map((t) => t.name).join()}.`)
    ordered.push(...waiting.splice(next, 1))
  }
  return ordered
}

/** These tables, those of closed periods too, in this order. One that does not exist is left out. */
export async function describeTables(db: Queryable, names: readonly string[]): Promise<Table[]> {
  const { rows } = await db.query<Table>(tablesSql('c.relname = any($1)'), [names])
  return names.flatMap((name) => rows.find((table) => table.name === name) ?? [])
}

/** Quotes an identifier. Ours are plain; a keyword such as `order` is not. */
export function quoted(name: string): string {
  return `"${name.replaceAll('"', '""')}"`
}
