/** Reading an app's events: rows that never change, so an event is the same at every read. */
import type { Queryable } from '../connection/database.ts'
import { one } from '../connection/rows.ts'
import { transferColumns, type Transfer } from '../wallets.ts'
import { confirmSql } from '../writer/connection.ts'
import { findHoldEvents, type HoldEvent } from './hold-events.ts'
import { maxEntriesPerRow, type Fact } from './journal.ts'

export type RecordedEvent = {
  readonly number: number
  /** Null where no user is concerned. */
  readonly serviceUserId: string | null
} & (
  | { readonly fact: Fact; readonly at: Date }
  | { readonly fact: null; readonly transfer: Transfer }
  | { readonly fact: null; readonly hold: HoldEvent }
)

export type FeedPage = {
  /** Oldest first, without gaps. Empty if `after` is below what is kept. */
  readonly events: readonly RecordedEvent[]
  /** The number before the first of them. */
  readonly after: number
  /** The last number of the app. */
  readonly last: number
  /** The lowest number that is kept; one above the last when none is. */
  readonly oldest: number
}

type Head = { readonly after: number; readonly last: number; readonly oldest: number }
type Row = Head &
  Transfer & {
    hasStandby: boolean
    number: number | null
    fact: Fact | null
    at: Date
    linkId: string | null
    linkUserId: string | null
    /** Its step is read afterwards, by `entrySequence`. */
    holdId: string | null
    /** Of a hold; and on a cluster that of a transfer, which is read afterwards. */
    entrySequence: string | null
  }
type Read = Row & { readonly hold?: HoldEvent | undefined }

const numberSql = 'p.first + j.ordinal - 1'

/**
 * One statement, so that no cleanup comes between its parts. The limits make the planner find each link and each transfer by its key,
 * also on tables that were never analysed.
 */
const feedSqlOf = ({ columnsSql, transferSql }: Record<'columnsSql' | 'transferSql', string>) => `
select h.last::float8 as last, h.oldest::float8 as oldest, h.after::float8 as after,
  current_setting('synchronous_standby_names') <> '' as "hasStandby", e.*
from (
  select last, oldest, coalesce($2::bigint, oldest - 1) as after from (
    select last, coalesce((select first from event_pages where client_id = $1 order by first limit 1), last + 1) as oldest
    from (select coalesce((select last from event_heads where client_id = $1), 0) as last) as head) as kept
) as h left join lateral (
  select (${numberSql})::float8 as number, r.fact, r.at, l.id as "linkId", l.user_id as "linkUserId", j.hold_id as "holdId", ${columnsSql}
  from event_pages p join journal r on r.writer = p.writer and r.serial = p.serial
  cross join lateral unnest(r.link_ids, r.sequences, r.hold_ids) with ordinality as j(link_id, sequence, hold_id, ordinal)
  left join lateral (select id, user_id from links where id = 'su_' || replace(j.link_id::text, '-', '') limit 1) as l on true
  ${transferSql}
  where p.client_id = $1 and h.after + 1 >= h.oldest and p.first > h.after - ${maxEntriesPerRow} and p.first <= h.after + $3::bigint
    and ${numberSql} > h.after and ${numberSql} <= h.after + $3::bigint
) as e on true order by e.number`

const feedSql = feedSqlOf({
  columnsSql: `case when j.hold_id is not null then j.sequence::text end as "entrySequence", ${transferColumns}`,
  transferSql: `left join lateral (
    select * from all_transfers where j.hold_id is null and wallet_id = l.user_id and sequence = j.sequence limit 1) as t on true`,
})
const clusterFeedSql = feedSqlOf({
  columnsSql: `j.sequence::text as "entrySequence"`,
  transferSql: '',
})

/** For the text of a cluster. Transfers never change, so a second statement finds the same ones. */
async function readTransfers(db: Queryable, rows: readonly Row[]): Promise<readonly Row[]> {
  const pointers = rows.filter(({ holdId, entrySequence }) => holdId === null && entrySequence !== null)
  if (pointers.length === 0) return rows
  const { rows: transfers } = await db.query<Transfer>(
    `select ${transferColumns} from all_transfers t join unnest($1::uuid[], $2::bigint[]) as e(wallet_id, sequence)
     on e.wallet_id = t.wallet_id and e.sequence = t.sequence`,
    [pointers.map(({ linkUserId }) => linkUserId), pointers.map(({ entrySequence }) => entrySequence)],
  )
  const byKey = new Map(transfers.map((transfer) => [`${transfer.walletId} ${transfer.sequence}`, transfer]))
  return rows.map((row) => ({ ...row, ...byKey.get(`${row.linkUserId} ${row.entrySequence}`) }))
}

/** Steps never change either. A page without holds costs no further statement. */
async function readHolds(db: Queryable, rows: readonly Row[]): Promise<readonly Read[]> {
  const pointers = rows.filter(({ holdId }) => holdId !== null)
  if (pointers.length === 0) return rows
  const holds = await findHoldEvents(
    db,
    pointers.map((row) => ({ walletId: row.linkUserId!, holdId: row.holdId!, number: Number(row.entrySequence) })),
  )
  const byRow = new Map(pointers.map((row, i) => [row, holds[i]]))
  return rows.map((row) => ({ ...row, hold: byRow.get(row) }))
}

/** The events after this number; undefined means from the oldest that is kept. */
export async function findEvents(
  db: Queryable,
  clientId: string,
  { after, limit }: { readonly after: number | undefined; readonly limit: number },
): Promise<FeedPage> {
  const { rows: read } = await db.query<Row>({
    name: 'find-events',
    text: feedSql,
    onCluster: clusterFeedSql,
    values: [clientId, after ?? null, limit],
  })
  const rows = await readHolds(db, await readTransfers(db, read))
  const { last, oldest, after: from, hasStandby } = one(rows.slice(0, 1))
  const events = rows.filter((row) => row.number !== null)
  const expected = from + 1 < oldest ? 0 : Math.max(0, Math.min(limit, last - from))
  const isMissing = (row: Read, i: number) =>
    row.number !== from + 1 + i || (row.fact === null && !row.hold && typeof row.sequence !== 'number')
  // An app that passes over a number never asks for it again.
  if (events.length !== expected || events.some(isMissing))
    throw new Error(`the events of ${clientId} after ${from} are incomplete`)
  // Otherwise a failover could take back a number that the app has seen, and give it to another event.
  if (hasStandby && events.length > 0) await db.query(confirmSql)
  return { events: events.map(toRecorded), after: from, last, oldest }
}

function toRecorded({ number, fact, at, linkId, hold, ...row }: Read): RecordedEvent {
  const about = { number: number!, serviceUserId: linkId }
  if (fact !== null) return { ...about, fact, at }
  return hold ? { ...about, fact, hold } : { ...about, fact, transfer: row }
}

/** The app's last number, and the lowest that is kept; one above the last when none is. */
export async function findKept(db: Queryable, clientId: string): Promise<Pick<FeedPage, 'last' | 'oldest'>> {
  const { rows } = await db.query<Pick<FeedPage, 'last' | 'oldest'>>(
    `select last::float8 as last, coalesce((select first from event_pages where client_id = $1 order by first limit 1), last + 1)::float8 as oldest
     from (select coalesce((select last from event_heads where client_id = $1), 0) as last) as head`,
    [clientId],
  )
  return one(rows)
}

/** The last number of each of these apps; an app without events is missing. */
export async function findEventHeads(db: Queryable, clientIds: readonly string[]): Promise<Map<string, number>> {
  const { rows } = await db.query<{ clientId: string; last: number }>(
    `select client_id as "clientId", last::float8 as last from event_heads where client_id = any($1::text[])`,
    [clientIds],
  )
  return new Map(rows.map(({ clientId, last }) => [clientId, last]))
}
