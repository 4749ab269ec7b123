/** Links whose first payment is yet to be told. They are looked at from time to time, so that no debit has to. */
import type { Queryable, Transaction } from './connection/database.ts'
import { isServiceOwnSql } from './outcomes.ts'
import { transferColumns, type Transfer } from './wallets.ts'

/** From the entry after the newest one that the wallet has now. */
export async function insertNewLink(
  db: Queryable,
  { linkId, clientId, userId }: { linkId: string; clientId: string; userId: string },
): Promise<void> {
  await db.query(
    `insert into new_links (link_id, user_id, client_id, looked_to, look_at)
     select $1, id, $3, sequence, now() from wallets where id = $2 on conflict (link_id) do nothing`,
    [linkId, userId, clientId],
  )
}

/** How many entries of a wallet one look goes through: what is beyond is for the next one. */
const span = 1_000

/** In one statement, so that the entries and the sequence up to which there are any are those of one moment. */
const dueSql = `
with due as materialized (
  select * from new_links where look_at <= now() order by look_at limit $1 for update skip locked
), wallet as materialized (
  select w.id, w.sequence from wallets w where w.id = any(array(select user_id from due))
), payment as materialized (
  select distinct on (d.link_id) d.link_id as of_link, t.*
  from due d join transfers t on t.wallet_id = d.user_id and t.sequence > d.looked_to and t.sequence <= d.looked_to + ${span}
  where t.counter_account = 'app:' || d.client_id and t.amount < 0 and not ${isServiceOwnSql('t')}
  order by d.link_id, t.sequence
)
select d.link_id, d.client_id as due_client_id, d.connected_at, least(w.sequence, d.looked_to + ${span}) as seen_to,
  l.disconnected_at is null and d.connected_at > now() - interval '30 days' as is_new, ${transferColumns}
from due d join wallet w on w.id = d.user_id join links l on l.id = d.link_id left join payment t on t.of_link = d.link_id`

/** The older the link, the rarer the look: after a tenth of its age, ten seconds at least and an hour at most. */
const putOffSql = `
with looked as materialized (
  select n.link_id, n.user_id, n.looked_to, n.connected_at, d.seen_to
  from unnest($1::text[], $2::bigint[]) as d (link_id, seen_to) join new_links n on n.link_id = d.link_id
), wallet as materialized (
  select w.id, w.sequence from wallets w where w.id = any(array(select user_id from looked))
), next as materialized (
  select d.link_id, d.seen_to, case when d.seen_to < w.sequence and d.seen_to > d.looked_to then now()
    else now() + least(greatest((now() - d.connected_at) / 10, interval '10 seconds'), interval '1 hour') end as look_at
  from looked d join wallet w on w.id = d.user_id
)
update new_links n set looked_to = x.seen_to, look_at = x.look_at from next x where n.link_id = x.link_id`

type Row = { [Column in keyof Transfer]: Transfer[Column] | null } & {
  link_id: string
  due_client_id: string
  connected_at: Date
  seen_to: bigint
  is_new: boolean
}

export type FirstPayment = {
  readonly linkId: string
  readonly clientId: string
  readonly connectedAt: Date
  readonly transfer: Transfer
}

/**
 * The first payments of links that are due, whose rows in new_links go with this transaction, as do those of links that were
 * disconnected or had no payment for thirty days; the others are put off. How many were due is told too.
 */
export async function takeFirstPayments(
  tx: Transaction,
  limit: number,
): Promise<{ payments: FirstPayment[]; looked: number }> {
  const { rows } = await tx.query<Row>(dueSql, [limit])
  if (rows.length === 0) return { payments: [], looked: 0 }
  const isPaid = (row: Row): row is Row & Transfer => row.sequence !== null
  const waiting = rows.filter((row) => row.is_new && !isPaid(row))
  const over = rows.filter((row) => !waiting.includes(row)).map((row) => row.link_id)
  await tx.query('delete from new_links where link_id = any($1)', [over])
  await tx.query(putOffSql, [waiting.map((row) => row.link_id), waiting.map((row) => String(row.seen_to))])
  const payments = rows
    .filter((row) => row.is_new)
    .filter(isPaid)
    .map(({ link_id: linkId, due_client_id: clientId, connected_at: connectedAt, ...transfer }) => ({
      linkId,
      clientId,
      connectedAt,
      transfer,
    }))
  return { payments, looked: rows.length }
}
