/**
 * Whether the entries of stretches or of a range of wallets are right, by one read. Naming a fault takes several statements that each read
 * them, and nearly always there is none to name.
 */
import type { Queryable } from '../connection/database.ts'
import { one } from '../connection/rows.ts'
import { entriesOfRange, followsSql, hasOutcomeSql, predecessorSql } from './entries.ts'
import { isRightWalletSql } from './against-entries.ts'
import type { WalletRange } from './slice.ts'
import { stretchesSql, stretchValues, type Stretch } from './stretch.ts'

/** Also the account of the entry before, if that one was checked. */
const linkedPredecessorSql = `${predecessorSql}, lag(case when t.is_checked then t.counter_account end) over wallet as checked_account`

/**
 * The entries of each stretch, and the one at the checkpoint as the predecessor. Each wallet is read by its key. PostgreSQL keeps the order of
 * the stretches and sorts no entry; in another order the entries would not be right. One window for all wallets costs half as much as one for each.
 */
const entriesSql = `
select t.*, ${linkedPredecessorSql}
from (
  select s.wallet_id as stretch, s.last_sequence, s.last_balance, s.sequence as checkpoint_sequence, s.balance as checkpoint_balance, t.*,
    t.sequence > s.sequence and not t.is_archived as is_checked
  from (select * from stretch order by wallet_id offset 0) s cross join lateral (
    select * from all_transfers t where t.wallet_id = s.wallet_id and t.sequence >= s.sequence and t.sequence <= s.until
    order by t.sequence offset 0
  ) t
) t window wallet as (partition by stretch)`

/** An account is looked up where it is another one than that of the checked entry before. Without `offset 0` the planner may read all links. */
const isLinkedSql = `(e.counter_account not like 'app:%' or e.counter_account = e.checked_account
  or exists (select 1 from links l where l.user_id = e.wallet_id and l.client_id = substr(e.counter_account, 5) offset 0))`

/** No entry is beyond the wallet's last one, and that one has the wallet's balance. */
const isWithinSql = `(e.last_sequence is null or e.sequence < e.last_sequence
  or (e.sequence = e.last_sequence and e.balance_after = e.last_balance))`

/** Each number and balance follows from the one before, and the first from the checkpoint, or from what all archived entries make. */
const isRightSql = `case when e.is_checked then ${followsSql} and ${isLinkedSql}
  when e.sequence = e.checkpoint_sequence then e.balance_after = e.checkpoint_balance
  else e.checkpoint_sequence = 0 and e.previous_sequence is null end and ${isWithinSql}`

/**
 * Of the common table expression `stretch`, whose rows also have the last sequence and balance of the wallet, and whether its other columns are right.
 * A wallet without its last entry is not counted. The limit makes the planner look outcomes up by their keys, and in the order of the keys that
 * takes a tenth less; that of the entry at a checkpoint is not looked up, because it was checked.
 */
export const areRightSql = `(
  select coalesce(bool_and(e.is_right and (not e.is_checked or (${hasOutcomeSql}) is true)), true)
    and count(*) filter (where e.is_last) = (select count(*) from stretch where last_sequence > 0)
  from (
    select (${isRightSql}) is true as is_right, e.sequence = e.last_sequence as is_last,
      e.is_checked, e.reference_key, e.wallet_id, e.sequence, e.amount, e.balance_after, e.created_at
    from (${entriesSql}) e order by e.reference_key offset 0
  ) e left join lateral (
    select * from all_outcomes o where o.reference_key = case when e.is_checked then e.reference_key end limit 1
  ) o on true
) and (select coalesce(bool_and(is_right), true) from stretch)`

/** A stretch that ends before the wallet's last entry says nothing about the wallet. */
const areStretchesRightSql = `
with stretch as materialized (
  select s.*, w.sequence as last_sequence, w.balance as last_balance, w.is_right is not false as is_right
  from ${stretchesSql} left join lateral (
    select sequence, balance, ${isRightWalletSql} as is_right from wallets where id = s.wallet_id offset 0
  ) w on s.until >= w.sequence
)
select ${areRightSql} as "areRight"`

/** On one server: on a cluster, an entry and its outcome may be on two. */
export async function areStretchesRight(db: Queryable, stretches: readonly Stretch[]): Promise<boolean> {
  const { rows } = await db.query<{ areRight: boolean }>(areStretchesRightSql, stretchValues(stretches))
  return one(rows).areRight
}

const wrongEntrySql = `
select 1 from (
  select t.*, ${linkedPredecessorSql}
  from (${entriesOfRange}) t window wallet as (partition by t.wallet_id order by t.sequence)
) e left join lateral (select * from all_outcomes o where o.reference_key = e.reference_key limit 1) o on true
where e.is_checked and (${followsSql} and ${hasOutcomeSql} and ${isLinkedSql}) is not true limit 1`

/** Of all entries that name a wallet of the range. On one server. */
export async function areEntriesRight(db: Queryable, { from, until }: WalletRange): Promise<boolean> {
  const { rows } = await db.query(wrongEntrySql, [from, until])
  return rows.length === 0
}
