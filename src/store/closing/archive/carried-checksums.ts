/** The checksums of what stays in the database of an archived period. They are computed from the binary form of the rows. */
import { createHash } from 'node:crypto'
import { isSpread, type Checking } from '../../cluster/agreement.ts'
import { readOnNodes } from '../../cluster/period-pages.ts'
import type { Queryable } from '../../connection/open-client.ts'
import { one } from '../../connection/rows.ts'
import { carriedTable, carriedTables, transferColumnNames, type CarriedTable } from './archived-periods.ts'

const rowsPerPart = 100_000

/** Two levels, because one value of PostgreSQL has at most 1 GB. */
const checksumSql = (from: string, key: string) => `
select encode(sha256(coalesce(string_agg(part, ''::bytea order by number), ''::bytea)), 'hex') as sha256 from (
  select sha256(string_agg(sha256(record_send(r)), ''::bytea order by ${key})) as part, number from (
    select r, (row_number() over (order by ${key}) - 1) / ${rowsPerPart} as number from ${from} r) n group by number) p`

const sources: Record<CarriedTable, (id: number) => readonly [from: string, key: string]> = {
  entries: (id) => [carriedTable('entries', id), '(r).wallet_id'],
  references: (id) => [carriedTable('references', id), '(r).first_key'],
  wallet_ids: (id) => [carriedTable('wallet_ids', id), '(r).part'],
  sums: (id) => [carriedTable('sums', id), '(r).counter_account, (r).day'],
}

export async function computeCarried(db: Checking, id: number): Promise<Record<CarriedTable, string>> {
  const found: [CarriedTable, string][] = []
  for (const name of carriedTables) {
    const isOnNodes = name === 'entries' && isSpread(db)
    found.push([name, await (isOnNodes ? hashEntriesOnNodes(db, id) : hashRows(db, ...sources[name](id)))])
  }
  return Object.fromEntries(found) as Record<CarriedTable, string>
}

async function hashRows(db: Queryable, from: string, key: string): Promise<string> {
  const { rows } = await db.query<{ sha256: string }>(checksumSql(from, key))
  return one(rows).sha256
}

/** The same checksum. Each server hashes its own rows; the hashes are joined here. */
async function hashEntriesOnNodes(db: Queryable, id: number): Promise<string> {
  const columns = [...transferColumnNames, 'peaks'].map((name) => `o.${name}`).join()
  const hashSql = `encode(sha256(record_send(row(${columns}))), 'hex') as hash`
  const whole = createHash('sha256')
  let [part, count] = [createHash('sha256'), 0]
  for await (const rows of readOnNodes<{ hash: string }>(db, carriedTable('entries', id), 'wallet_id', hashSql))
    for (const { hash } of rows) {
      if (count > 0 && count % rowsPerPart === 0) {
        whole.update(part.digest())
        part = createHash('sha256')
      }
      part.update(hash, 'hex')
      count++
    }
  if (count > 0) whole.update(part.digest())
  return whole.digest('hex')
}
