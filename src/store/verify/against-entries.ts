/** The wallets of a range against the sum of their entries, their users and their links. */
import type { Queryable } from '../database.ts'
import { bookFault, maxFaultsPerStatement, walletFault, type Fault } from './fault.ts'
import { inRange, type WalletRange } from './slice.ts'

type WalletCheck =
  | 'wallet-missing'
  | 'wallet-without-user'
  | 'wallet-balance'
  | 'wallet-sequence'
  | 'wallet-last-entry'
  | 'wallet-overdrawn-active'
  | 'wallet-frozen-without-debt'

type Row = {
  id: string
  balance: bigint
  sequence: bigint
  entries: bigint
  total: bigint
  last_balance: bigint | null
  faults: WalletCheck[]
}

const walletsSql = `
with wallet as (
  select * from wallets where ${inRange('id')}
), person as (
  select id from users where ${inRange('id')}
), entered as (
  select wallet_id, count(*) as entries, sum(amount) as total, (max(array[sequence, balance_after]))[2] as last_balance
  from transfers where ${inRange('wallet_id')} group by wallet_id
), checked as (
  select coalesce(w.id, p.id, e.wallet_id) as id, w.balance, w.sequence, coalesce(e.entries, 0) as entries,
    coalesce(e.total, 0) as total, e.last_balance, array_remove(array[
      case when w.id is null then 'wallet-missing' end,
      case when w.id is not null and p.id is null then 'wallet-without-user' end,
      case when w.balance <> coalesce(e.total, 0) then 'wallet-balance' end,
      case when w.sequence <> coalesce(e.entries, 0) then 'wallet-sequence' end,
      case when w.balance <> e.last_balance then 'wallet-last-entry' end,
      case when w.balance < 0 and w.frozen_for is null then 'wallet-overdrawn-active' end,
      case when w.balance >= 0 and w.frozen_for = 'debt' then 'wallet-frozen-without-debt' end
    ], null) as faults
  from wallet w full join person p on p.id = w.id full join entered e on e.wallet_id = coalesce(w.id, p.id)
)
select * from checked where faults <> '{}' order by id limit ${maxFaultsPerStatement}`

export async function verifyWallets(db: Queryable, { from, until }: WalletRange): Promise<Fault[]> {
  const { rows } = await db.query<Row>(walletsSql, [from, until])
  return rows.flatMap((row) => row.faults.map((check) => walletFault(check, row.id, problems[check](row))))
}

const problems: Record<WalletCheck, (row: Row) => string> = {
  'wallet-missing': (row) =>
    `there is no such wallet, though ${row.entries > 0n ? `${row.entries} entries name it` : 'there is a user of this id'}`,
  'wallet-without-user': () => 'it belongs to no user',
  'wallet-balance': (row) => `its balance is ${row.balance}, but its entries add up to ${row.total}`,
  'wallet-sequence': (row) => `its sequence is ${row.sequence}, but it has ${row.entries} entries`,
  'wallet-last-entry': (row) => `its balance is ${row.balance}, but its last entry says ${row.last_balance}`,
  'wallet-overdrawn-active': (row) => `its balance is ${row.balance}, and it is not frozen`,
  'wallet-frozen-without-debt': (row) => `it is frozen for debt, but its balance is ${row.balance}`,
}

/** The database keeps these by foreign keys; someone who can take those away can also break them. */
const linksSql = `
select l.id, l.user_id, u.id is null as lacks_user from links l
left join users u on u.id = l.user_id left join apps a on a.client_id = l.client_id
where ${inRange('l.user_id')} and (u.id is null or a.client_id is null)
order by l.id limit ${maxFaultsPerStatement}`

export async function verifyLinks(db: Queryable, { from, until }: WalletRange): Promise<Fault[]> {
  const { rows } = await db.query<{ id: string; user_id: string; lacks_user: boolean }>(linksSql, [from, until])
  return rows.map((row) => ({
    ...bookFault(
      'link-dangling',
      `Link ${row.id}: its ${row.lacks_user ? `user ${row.user_id}` : 'app'} is not there.`,
    ),
    walletId: row.user_id,
  }))
}
