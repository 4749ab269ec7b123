/** Checks wallets against the sum of their entries, their users and their links: for a range, or for stretches. */
import type { Queryable } from '../connection/database.ts'
import { bookFault, formatMinor, maxFaultsPerStatement, walletFault, type Fault, type FormatMoney } from './fault.ts'
import { inRange, type WalletRange } from './slice.ts'
import { stretchValues, stretchesSql, type Stretch } from './stretch.ts'

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
  held: bigint
  sequence: bigint
  entries: bigint
  total: bigint
  last_balance: bigint | null
  faults: WalletCheck[]
}

/** Of a wallet's columns beside the sums of its entries. */
const faultSql: Record<WalletCheck, string> = {
  'wallet-missing': 'not has_wallet',
  'wallet-without-user': 'has_wallet and not has_user',
  'wallet-balance': 'balance <> total',
  'wallet-sequence': 'sequence <> entries',
  'wallet-last-entry': 'balance <> last_balance',
  'wallet-overdrawn-active': 'balance < held and frozen_for is null',
  'wallet-frozen-without-debt': `balance >= held and frozen_for = 'debt'`,
}

/** Of the columns of a wallet without its entries. One that says it has none has no money. */
export const isRightWalletSql = `(${faultSql['wallet-overdrawn-active']}) is not true and (${faultSql['wallet-frozen-without-debt']}) is not true
  and (sequence > 0 or balance = 0)`

/** `checked` selects the wallet's columns beside the sums of its entries. */
const faultyWalletsSql = (checked: string) => `
select * from (
  select *, array_remove(array[${Object.entries(faultSql)
    .map(([check, fault]) => `case when ${fault} then '${check}' end`)
    .join(', ')}], null) as faults
  from (${checked}) c
) w where faults <> '{}' order by id limit ${maxFaultsPerStatement}`

/** The last archived entry of a wallet has the number and the balance of all those before it. */
const countSql = 'coalesce(sum(case when t.is_archived then t.sequence when t.sequence is not null then 1 end), 0)'
const totalSql = 'coalesce(sum(case when t.is_archived then t.balance_after else t.amount end), 0)'
const sumsOfEntries = `${countSql} as entries, ${totalSql} as total,
  (max(array[t.sequence, t.balance_after]))[2] as last_balance`

const rangeSql = faultyWalletsSql(`
  select coalesce(w.id, p.id, e.wallet_id) as id, w.id is not null as has_wallet, p.id is not null as has_user,
    w.balance, w.held, w.sequence, w.frozen_for, coalesce(e.entries, 0) as entries, coalesce(e.total, 0) as total, e.last_balance
  from (select * from wallets where ${inRange('id')}) w
  full join (select id from users where ${inRange('id')}) p on p.id = w.id
  full join (
    select t.wallet_id, ${sumsOfEntries} from all_transfers t where ${inRange('t.wallet_id')} group by t.wallet_id
  ) e on e.wallet_id = coalesce(w.id, p.id)`)

/** A stretch that ends before the wallet's last entry cannot check its balance. */
const stretchSql = {
  text: faultyWalletsSql(`
  select w.id, true as has_wallet, true as has_user, w.balance, w.held, w.sequence, w.frozen_for, s.sequence + e.entries as entries,
    s.balance + e.total as total, coalesce(e.last_balance, case when s.sequence > 0 then s.balance end) as last_balance
  from ${stretchesSql} 
  cross join lateral (select * from wallets where id = s.wallet_id offset 0) w
  cross join lateral (
    select ${sumsOfEntries} from all_transfers t
    where t.wallet_id = s.wallet_id and t.sequence > s.sequence and t.sequence <= s.until
  ) e
  where s.until >= w.sequence`),
  // A wallet and its entries are on one server, which shows both in one snapshot.
  onCluster: faultyWalletsSql(`
  select w.id, true as has_wallet, true as has_user, w.balance, w.held, w.sequence, w.frozen_for,
    s.sequence + ${countSql} as entries, s.balance + ${totalSql} as total,
    coalesce((max(array[t.sequence, t.balance_after]))[2], case when s.sequence > 0 then s.balance end) as last_balance
  from ${stretchesSql} join wallets w on w.id = s.wallet_id
  left join all_transfers t on t.wallet_id = w.id and t.sequence > s.sequence and t.sequence <= s.until
  where w.id = any($1::uuid[]) and s.until >= w.sequence
  group by w.id, w.balance, w.held, w.sequence, w.frozen_for, s.sequence, s.balance`),
}

export async function verifyWallets(
  db: Queryable,
  { from, until }: WalletRange,
  words = formatMinor,
): Promise<Fault[]> {
  const { rows } = await db.query<Row>(rangeSql, [from, until])
  return rows.flatMap((row) => toFaults(row, words))
}

export async function verifyStretchWallets(
  db: Queryable,
  stretches: readonly Stretch[],
  words: FormatMoney,
): Promise<Fault[]> {
  const { rows } = await db.query<Row>({ ...stretchSql, values: stretchValues(stretches) })
  return rows.flatMap((row) => toFaults(row, words))
}

function toFaults(row: Row, words: FormatMoney): Fault[] {
  return row.faults.map((check) => walletFault(check, row.id, problems[check](row, words)))
}

/** Nothing for a wallet without holds. */
function holding({ held }: Row, words: FormatMoney): string {
  return held === 0n ? '' : `, of which ${words(held)} is held`
}

const problems: Record<WalletCheck, (row: Row, words: FormatMoney) => string> = {
  'wallet-missing': (row) =>
    `there is no such wallet, though ${row.entries > 0n ? `${row.entries} entries name it` : 'there is a user of this id'}`,
  'wallet-without-user': () => 'it belongs to no user',
  'wallet-balance': (row, words) =>
    `its balance is ${words(row.balance)}, but its entries add up to ${words(row.total)}`,
  'wallet-sequence': (row) => `its sequence is ${row.sequence}, but it has ${row.entries} entries`,
  'wallet-last-entry': (row, words) =>
    `its balance is ${words(row.balance)}, but its last entry says ${words(row.last_balance!)}`,
  'wallet-overdrawn-active': (row, words) =>
    `its balance is ${words(row.balance)}${holding(row, words)}, and it is not frozen`,
  'wallet-frozen-without-debt': (row, words) =>
    `it is frozen for debt, but its balance is ${words(row.balance)}${holding(row, words)}`,
}

/** Foreign keys enforce these; a role that can drop the keys can also break them. */
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
