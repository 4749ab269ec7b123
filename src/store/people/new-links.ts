/** Links whose user is not yet notified of the first payment. The queue searches for it, so that debits need not. */
import type { Queryable, Transaction } from '../connection/database.ts'
import { isServiceOwnSql } from '../outcomes.ts'
import { transferColumns, type Transfer } from '../wallets.ts'
import { addWork } from '../work/work.ts'

/** The search starts after the wallet's newest entry. */
export async function insertNewLink(
  db: Queryable,
  { linkId, clientId, userId }: { linkId: string; clientId: string; userId: string },
): Promise<void> {
  const { rowCount } = await db.query(
    `insert into new_links (link_id, user_id, client_id, looked_to, look_at)
     select $1, id, $3, sequence, 'infinity' from wallets where id = $2 on conflict (link_id) do nothing`,
    [linkId, userId, clientId],
  )
  if (rowCount === 1) await addWork(db, { kind: 'find-first-payment', key: linkId })
}

/** How many entries of a wallet one search reads. The next search continues after them. */
const span = 1_000

/**
 * One statement, so that the entries and the wallet's sequence are of one snapshot. The next search runs after a tenth of the link's
 * age, at least ten seconds and at most an hour; at once when the wallet has entries beyond the span.
 */
const searchSql = `
with searched as materialized (
  select * from new_links where link_id = any($1::text[]) order by link_id for update
), wallet as materialized (
  select w.id, w.sequence from wallets w where w.id = any(array(select user_id from searched))
), payment as materialized (
  select distinct on (d.link_id) d.link_id as of_link, t.*
  from searched d join all_transfers t on t.wallet_id = d.user_id and t.sequence > d.looked_to and t.sequence <= d.looked_to + ${span}
  where t.counter_account = 'app:' || d.client_id and t.amount < 0 and not ${isServiceOwnSql('t')}
  order by d.link_id, t.sequence
)
select d.link_id, d.client_id as link_client_id, d.connected_at, least(w.sequence, d.looked_to + ${span}) as seen_to,
  l.disconnected_at is null and d.connected_at > now() - interval '30 days' as is_new,
  case when d.looked_to + ${span} < w.sequence then 0
    else extract(epoch from least(greatest((now() - d.connected_at) / 10, interval '10 seconds'), interval '1 hour')) * 1000
  end::float8 as after_ms, ${transferColumns}
from searched d join wallet w on w.id = d.user_id join links l on l.id = d.link_id left join payment t on t.of_link = d.link_id`

type Row = { [Column in keyof Transfer]: Transfer[Column] | null } & {
  link_id: string
  link_client_id: string
  connected_at: Date
  seen_to: bigint
  is_new: boolean
  after_ms: number
}

export type FirstPayment = {
  readonly linkId: string
  readonly clientId: string
  readonly connectedAt: Date
  readonly transfer: Transfer
}

export type Search = {
  readonly payments: readonly FirstPayment[]
  /** For links without a payment yet: when to search again. */
  readonly afterMs: ReadonlyMap<string, number>
}

/**
 * Searches for the first payments of these links. Deletes a row of new_links when its payment is found, its link is disconnected, or
 * thirty days have passed.
 */
export async function takeFirstPayments(tx: Transaction, linkIds: readonly string[]): Promise<Search> {
  const { rows } = await tx.query<Row>(searchSql, [linkIds])
  const isPaid = (row: Row): row is Row & Transfer => row.sequence !== null
  const waiting = rows.filter((row) => row.is_new && !isPaid(row))
  const over = rows.filter((row) => !waiting.includes(row)).map((row) => row.link_id)
  await tx.query('delete from new_links where link_id = any($1)', [over])
  await tx.query(
    `update new_links n set looked_to = d.seen_to from unnest($1::text[], $2::bigint[]) as d (link_id, seen_to)
     where n.link_id = d.link_id and n.looked_to <> d.seen_to`,
    [waiting.map((row) => row.link_id), waiting.map((row) => String(row.seen_to))],
  )
  const payments = rows
    .filter((row) => row.is_new)
    .filter(isPaid)
    .map(({ link_id: linkId, link_client_id: clientId, connected_at: connectedAt, ...transfer }) => ({
      linkId,
      clientId,
      connectedAt,
      transfer,
    }))
  return { payments, afterMs: new Map(waiting.map((row) => [row.link_id, row.after_ms])) }
}
