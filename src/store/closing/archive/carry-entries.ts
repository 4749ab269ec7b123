/** Builds what stays in the database of an archived period's entries: the last one of each wallet, and sums. Until the drop nothing reads it. */
import type { Queryable } from '../../connection/open-client.ts'
import { plainArray } from '../../connection/arrays.ts'
import { closedTable } from '../closings.ts'
import { readPeaks } from '../../proofs/subtrees.ts'
import type { Peaks } from '../../../proof/merkle.ts'
import { carriedTable, carriedTables, transferColumnNames } from './archived-periods.ts'

const columns = transferColumnNames.join(', ')

/** What an interrupted run left is replaced. */
export async function createCarriedEntries(client: Queryable, period: number): Promise<void> {
  const table = carriedTable('entries', period)
  await client.query(
    `drop table if exists ${table}; create table ${table} (like transfers, peaks bytea not null, primary key (wallet_id))`,
  )
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

type Row = {
  walletId: string
  until: number
  archivedSize: number | null
  archivedPeaks: Uint8Array | null
  salt: Uint8Array | null
  size: number | null
  peaks: Uint8Array | null
}

/** The next wallets, by id. */
export async function listCarriedWallets(
  client: Queryable,
  period: number,
  after: string | null,
  limit: number,
): Promise<CarriedWallet[]> {
  const { rows } = await client.query<Row>(
    `select e.wallet_id as "walletId", e.until::float8 as until, a.sequence::float8 as "archivedSize", a.peaks as "archivedPeaks", h.salt,
       h.size::float8 as size, h.peaks
     from (select wallet_id, max(sequence) as until from ${closedTable('transfers', period)} where $1::uuid is null or wallet_id > $1
       group by wallet_id order by wallet_id limit $2) e
     left join archived_wallets a on a.wallet_id = e.wallet_id left join wallet_heads h on h.wallet_id = e.wallet_id order by e.wallet_id`,
    [after, limit],
  )
  return rows.map(({ walletId, until, archivedSize, archivedPeaks, salt, size, peaks }) => ({
    walletId,
    until,
    archived: readPeaks(archivedSize ?? 0, archivedPeaks ?? new Uint8Array()),
    sealed: salt && peaks && size !== null ? { salt, peaks: readPeaks(size, peaks) } : undefined,
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
  ${sign} * greatest(-amount, 0)::numeric as debited, ${sign} * greatest(amount, 0)::numeric as credited, ${sign} as transfers from ${from}`

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
  await client.query(
    `drop table if exists ${sums};
     create table ${sums} (counter_account text collate "C" not null, day date not null, debited numeric not null, credited numeric not null,
       transfers bigint not null, primary key (counter_account, day));
     insert into ${sums} (counter_account, day, debited, credited, transfers)
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

/** Their rows never change again: a trigger refuses it, and no vacuum need read them. */
export async function freezeCarried(client: Queryable, period: number): Promise<void> {
  for (const name of carriedTables) {
    const table = carriedTable(name, period)
    await client.query(
      `create trigger ${table}_append_only before delete or update on ${table} for each row execute function refuse_change()`,
    )
    await client.query(`vacuum (freeze, analyze) ${table}`)
  }
}
