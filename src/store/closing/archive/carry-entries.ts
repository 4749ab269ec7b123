/** Builds what stays in the database of an archived period's entries: the last one of each wallet, and sums. Until the drop nothing reads it. */
import { isSpread, type Checking } from '../../cluster/agreement.ts'
import { distributeBesideSql, tableSettingsSql } from '../../cluster/renew-table.ts'
import type { Queryable } from '../../connection/open-client.ts'
import { plainArray } from '../../connection/arrays.ts'
import { closedTable } from '../closings.ts'
import { findArchivedTrees, findTrees } from '../../proofs/wallet-trees.ts'
import { noPeaks, type Peaks } from '../../../proof/merkle.ts'
import { carriedTable, carriedTables, transferColumnNames } from './archived-periods.ts'
import { createCarriedSql, refuseChangesSql } from './carried-tables.ts'

const columns = transferColumnNames.join(', ')

/** What an interrupted run left is replaced. */
export async function createCarriedEntries(client: Checking, period: number): Promise<void> {
  for (const sql of createCarriedSql('entries', period)) await client.query(sql)
  if (!isSpread(client)) return
  await client.query(tableSettingsSql)
  await client.query(distributeBesideSql(carriedTable('entries', period), 'transfers', 'transfers'))
}

/** A wallet with entries in the period, and its tree. */
export type CarriedWallet = {
  readonly walletId: string
  /** Its last entry in the period. */
  readonly until: number
  /** Of the entries that were archived before. */
  readonly archived: Peaks
  /** Undefined before its first entry was sealed. */
  readonly sealed: { readonly salt: Uint8Array; readonly peaks: Peaks } | undefined
}

/** The next wallets, by id. */
export async function listCarriedWallets(
  client: Queryable,
  period: number,
  after: string | null,
  limit: number,
): Promise<CarriedWallet[]> {
  const { rows } = await client.query<{ walletId: string; until: number }>(
    `select wallet_id as "walletId", max(sequence)::float8 as until from ${closedTable('transfers', period)} where $1::uuid is null or wallet_id > $1
     group by wallet_id order by wallet_id limit $2`,
    [after, limit],
  )
  const ids = rows.map(({ walletId }) => walletId)
  const archived = await findArchivedTrees(client, ids)
  const sealed = await findTrees(client, ids)
  return rows.map(({ walletId, until }) => ({
    walletId,
    until,
    archived: archived.get(walletId) ?? noPeaks,
    sealed: sealed.get(walletId),
  }))
}

const joined = ({ peaks }: { readonly peaks: Peaks }) => peaks.hashes.map((hash) => hash.toHex()).join('')

export async function insertCarriedEntries(
  client: Queryable,
  period: number,
  wallets: readonly { readonly walletId: string; readonly peaks: Peaks }[],
): Promise<void> {
  await client.query(
    `insert into ${carriedTable('entries', period)} (${columns}, peaks)
     select ${transferColumnNames.map((name) => `t.${name}`).join(', ')}, decode(w.peaks, 'hex')
     from unnest($1::uuid[], $2::bigint[], $3::text[]) as w(wallet_id, sequence, peaks)
     join ${closedTable('transfers', period)} t on t.wallet_id = w.wallet_id and t.sequence = w.sequence`,
    [
      plainArray(wallets, ({ walletId }) => walletId),
      plainArray(wallets, ({ peaks }) => peaks.size),
      plainArray(wallets, joined),
    ],
  )
}

const ofEntries = (from: string, sign: 1 | -1) => `select counter_account, (created_at at time zone 'UTC')::date as day,
  ${sign} * sum(greatest(-amount, 0)::numeric) as debited, ${sign} * sum(greatest(amount, 0)::numeric) as credited, ${sign} * count(*) as transfers
  from ${from} group by 1, 2`

/** Adds the wallets without entries in this period, and the sums of the entries that only the files will have. */
export async function completeCarriedEntries(
  client: Queryable,
  period: number,
  before: number | undefined,
): Promise<void> {
  const table = carriedTable('entries', period)
  const earlier = before === undefined ? undefined : carriedTable('entries', before)
  if (earlier)
    await client.query(
      `insert into ${table} select p.* from ${earlier} p where not exists (select 1 from ${table} n where n.wallet_id = p.wallet_id)`,
    )
  const parts = [
    ofEntries(closedTable('transfers', period), 1),
    ofEntries(table, -1),
    ...(earlier
      ? [
          ofEntries(earlier, 1),
          `select counter_account, day, debited, credited, transfers from ${carriedTable('sums', before!)}`,
        ]
      : []),
  ]
  const sums = carriedTable('sums', period)
  for (const sql of createCarriedSql('sums', period)) await client.query(sql)
  await client.query(
    `insert into ${sums} (counter_account, day, debited, credited, transfers)
     select counter_account, day, sum(debited), sum(credited), sum(transfers) from (${parts.join(' union all ')}) s
     group by counter_account, day having sum(transfers) <> 0`,
  )
}

/** The statement that removes what a refused run has made, unless the period was archived. */
export const deleteCarried = (period: number) => `do $$ begin
  if not exists (select from archives where closing_id = ${period}) then
    drop table if exists ${carriedTables.map((name) => carriedTable(name, period)).join()};
  end if;
end $$`

/** A trigger refuses changes of their rows, and no vacuum need read them. */
export async function freezeCarried(client: Queryable, period: number): Promise<void> {
  for (const sql of refuseChangesSql(period)) await client.query(sql)
  for (const name of carriedTables) await client.query(`vacuum (freeze, analyze) ${carriedTable(name, period)}`)
}
