/** The checksums of what stays in the database of an archived period. They are computed from the binary form of the rows. */
import type { Queryable } from '../../connection/open-client.ts'
import { one } from '../../connection/rows.ts'
import { carriedTable, carriedTables, type CarriedTable } from './archived-periods.ts'

/** Two levels, because one value of PostgreSQL has at most 1 GB. */
const checksumSql = (from: string, key: string) => `
select encode(sha256(coalesce(string_agg(part, ''::bytea order by number), ''::bytea)), 'hex') as sha256 from (
  select sha256(string_agg(sha256(record_send(r)), ''::bytea order by ${key})) as part, number from (
    select r, (row_number() over (order by ${key}) - 1) / 100000 as number from ${from} r) n group by number) p`

const sources: Record<CarriedTable, (id: number) => readonly [from: string, key: string]> = {
  entries: (id) => [carriedTable('entries', id), '(r).wallet_id'],
  references: (id) => [carriedTable('references', id), '(r).first_key'],
  wallet_ids: (id) => [carriedTable('wallet_ids', id), '(r).part'],
  sums: (id) => [carriedTable('sums', id), '(r).counter_account, (r).day'],
}

export async function computeCarried(db: Queryable, id: number): Promise<Record<CarriedTable, string>> {
  const found: [CarriedTable, string][] = []
  for (const name of carriedTables) {
    const { rows } = await db.query<{ sha256: string }>(checksumSql(...sources[name](id)))
    found.push([name, one(rows).sha256])
  }
  return Object.fromEntries(found) as Record<CarriedTable, string>
}
