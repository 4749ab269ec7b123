/** The tables of what stays in the database of an archived period, as statements. */
import { carriedTable, carriedTables, type CarriedTable } from './archived-periods.ts'

const columns: Record<CarriedTable, string> = {
  entries: 'like transfers, peaks bytea not null, primary key (wallet_id)',
  references: `first_key uuid primary key, keys smallint not null, prefix_bits smallint not null, wallet_bits smallint not null,
    amount_bits smallint not null, balance_bits smallint not null, held_bits smallint not null, bits bit varying not null`,
  wallet_ids: 'part integer primary key, ids uuid[] not null',
  sums: `counter_account text collate "C" not null, day date not null, debited numeric not null, credited numeric not null,
    transfers bigint not null, primary key (counter_account, day)`,
}

/** What an interrupted run left is replaced. */
export function createCarriedSql(name: CarriedTable, period: number): string[] {
  const table = carriedTable(name, period)
  return [
    `drop table if exists ${table}`,
    `create table ${table} (${columns[name]})`,
    // A block fills a page, and is not compressible.
    ...(name === 'references' ? [`alter table ${table} alter column bits set storage plain`] : []),
  ]
}

const appendOnlySql = (table: string) =>
  `create trigger ${table}_append_only before delete or update on ${table} for each row execute function refuse_change()`

/** Their rows never change again. */
export const refuseChangesSql = (period: number) =>
  carriedTables.map((name) => appendOnlySql(carriedTable(name, period)))
