/** Lists of holds for operators. Each one reads an index, and is limited. */
import { archivedOutcomesSql } from '../closing/archived-entries.ts'
import type { Hold } from '../../ledger/hold.ts'
import { plainArray } from '../connection/arrays.ts'
import type { Queryable } from '../connection/database.ts'
import { one } from '../connection/rows.ts'
import { referenceKeyOfUuid } from '../outcomes.ts'
import type { StepKind } from '../writer/hold-book.ts'
import {
  holdClockSql,
  holdColumns,
  inEitherState,
  isUnclosed,
  toSeenHold,
  type HoldRow,
  type SeenHold,
} from '../writer/stored-holds.ts'

/** The holds of a wallet that nothing has closed, the first to end first; one of them may have expired. */
export async function listUnclosedHolds(db: Queryable, walletId: string, limit: number): Promise<SeenHold[]> {
  const { rows } = await db.query<HoldRow>(
    `select ${holdColumns}, ${holdClockSql} as at from holds h where h.wallet_id = $1 and ${isUnclosed}
     order by h.expires_at, h.id limit $2`,
    [walletId, limit],
  )
  return rows.map(toSeenHold)
}

/** A position in a list that is sorted by a time. */
export type HoldPoint = { readonly time: Date; readonly id: string }

const endedSql = (ofApp: string) => `select * from holds h where h.wallet_id = $1 ${ofApp} and h.closed_at is not null
         and ($2::timestamptz is null or (h.created_at, h.id) < ($2, $3::uuid))
       order by h.created_at desc, h.id desc limit $4`

/** The ended holds of a wallet, newest first. Only an app that was linked has holds, so the index of each such app is read. */
export async function listEndedHolds(
  db: Queryable,
  walletId: string,
  { before, limit }: { readonly before: HoldPoint | undefined; readonly limit: number },
): Promise<SeenHold[]> {
  const { rows } = await db.query<HoldRow>({
    text: `select ${holdColumns}, ${holdClockSql} as at
     from (select distinct client_id from links where user_id = $1) a cross join lateral (
       ${endedSql('and h.client_id = a.client_id')}) h
     order by h.created_at desc, h.id desc limit $4`,
    // The server of the wallet has no links, so it reads and sorts all holds of the wallet.
    onCluster: `select ${holdColumns}, ${holdClockSql} as at from (${endedSql('')}) h order by h.created_at desc, h.id desc`,
    values: [walletId, before?.time ?? null, before?.id ?? null, limit],
  })
  return rows.map(toSeenHold)
}

export type HoldStep = {
  readonly number: number
  readonly kind: StepKind
  readonly amountMinor: bigint
  readonly actor: string
  readonly reason: string | null
  readonly at: Date
  /** The entry of a capture. */
  readonly sequence: number | null
  readonly referenceType: string | null
  readonly referenceId: string | null
}

/** The newest steps of a hold. */
export async function listHoldSteps(
  db: Queryable,
  { walletId, id }: Pick<Hold, 'walletId' | 'id'>,
  limit: number,
): Promise<HoldStep[]> {
  const { rows } = await db.query<HoldStep>(
    `select s.number, s.kind, s.amount as "amountMinor", s.actor, s.reason, s.at, s.sequence::float8 as sequence,
       t.reference_type as "referenceType", t.reference_id as "referenceId"
     from hold_steps s left join all_transfers t on t.wallet_id = s.wallet_id and t.sequence = s.sequence
     where s.wallet_id = $1 and s.hold_id = $2 order by s.number desc limit $3`,
    [walletId, id, limit],
  )
  return rows
}

/** The holds that these entries of a wallet captured, by sequence. */
export async function findHoldsOfEntries(
  db: Queryable,
  walletId: string,
  sequences: readonly number[],
): Promise<ReadonlyMap<number, string>> {
  const { rows } = await db.query<{ sequence: number; id: string }>(
    `select s.sequence::float8 as sequence, s.hold_id as id from hold_steps s where s.wallet_id = $1 and s.sequence = any($2::bigint[])`,
    [walletId, sequences],
  )
  return new Map(rows.map(({ sequence, id }) => [sequence, referenceKeyOfUuid(id)]))
}

const holdsByIds = `with o as materialized (
       select reference_key, wallet_id from all_outcomes where reference_key = any($1::uuid[]) and is_hold
       union all select reference_key, wallet_id from ${archivedOutcomesSql('$1::uuid[]')} o where is_hold limit $2)
     select ${holdColumns}, ${holdClockSql} as at from o join holds h on h.wallet_id = o.wallet_id and h.${inEitherState} and h.id = o.reference_key
     order by h.created_at desc, h.id`

/** Holds by their complete ids: the outcome of each one has the wallet that it is on. */
export async function listHoldsByIds(db: Queryable, ids: readonly string[], limit: number): Promise<SeenHold[]> {
  if (ids.length === 0) return []
  const { rows } = await db.query<HoldRow>(holdsByIds, [plainArray(ids, (id) => id), limit])
  return rows.map(toSeenHold)
}

/** A hold is closed within seconds of its end. One that is still open after five minutes is late. */
export const lateAfterSeconds = 300
const lateSql = `now() - interval '${lateAfterSeconds} seconds'`

export type OpenHoldFilter = { readonly clientId: string | undefined; readonly isLate: boolean }

const openByEndSql = (ofApp: string) => `h where ${ofApp} and h.closed_at is null
         and h.expires_at <= case when $2 then ${lateSql} else 'infinity' end
         and (h.expires_at, h.id) > (coalesce($3::timestamptz, '-infinity'), coalesce($4::uuid, '00000000-0000-0000-0000-000000000000'))
       order by h.expires_at, h.id limit $5`

/** The open holds of all wallets, the first to end first. The index has them by app, so the first of each app are merged. */
export async function listOpenHoldsByEnd(
  db: Queryable,
  { clientId, isLate }: OpenHoldFilter,
  { after, limit }: { readonly after: HoldPoint | undefined; readonly limit: number },
): Promise<SeenHold[]> {
  const { rows } = await db.query<HoldRow>({
    text: `select ${holdColumns}, ${holdClockSql} as at
     from (select client_id from apps where $1::text is null or client_id = $1) a cross join lateral (
       select * from holds ${openByEndSql('h.client_id = a.client_id')}) h
     order by h.expires_at, h.id limit $5`,
    onCluster: `select ${holdColumns}, ${holdClockSql} as at from holds ${openByEndSql('($1::text is null or h.client_id = $1)')}`,
    values: [clientId ?? null, isLate, after?.time ?? null, after?.id ?? null, limit],
  })
  return rows.map(toSeenHold)
}

export type OpenHolds = {
  readonly count: number
  readonly remainingMinor: bigint
  readonly oldestAt: Date | null
  readonly firstToEndAt: Date | null
}

/** Of no more holds than `limit`: an app may have any number. */
export async function sumOpenHolds(db: Queryable, clientId: string, limit: number): Promise<OpenHolds> {
  const { rows } = await db.query<OpenHolds>(
    `select count(*)::int as count, coalesce(sum(remaining), 0)::bigint as "remainingMinor", min(created_at) as "oldestAt",
       min(expires_at) as "firstToEndAt"
     from (select h.amount - h.captured - h.released as remaining, h.created_at, h.expires_at from holds h
       where h.client_id = $1 and h.closed_at is null and h.expires_at > now() order by h.expires_at limit $2) h`,
    [clientId, limit],
  )
  return one(rows)
}

export async function countLateHolds(db: Queryable, limit: number): Promise<number> {
  const { rows } = await db.query<{ count: number }>({
    text: `select count(*)::int as count from (select 1 from apps a cross join lateral (
       select 1 from holds h where h.client_id = a.client_id and h.closed_at is null and h.expires_at <= ${lateSql}
       order by h.expires_at limit $1) h limit $1) late`,
    onCluster: `select count(*)::int as count from (
       select 1 from holds h where h.closed_at is null and h.expires_at <= ${lateSql} limit $1) late`,
    values: [limit],
  })
  return one(rows).count
}

export type HoldCursor = Pick<Hold, 'walletId' | 'id'> & {
  readonly isClosed: boolean
  /** The open holds of this wallet that were listed. One that is closed meanwhile comes again in the order of the key. */
  readonly listed: readonly string[]
}

type KeyedRow = HoldRow & { readonly isClosed: boolean }

/** What an export reads, in the order of the primary key: any number of holds, a page at a time, each once. */
export async function listHoldsByKey(
  db: Queryable,
  { clientId, walletId }: { readonly clientId: string | undefined; readonly walletId: string | undefined },
  { after, limit }: { readonly after: HoldCursor | undefined; readonly limit: number },
): Promise<{ readonly holds: readonly SeenHold[]; readonly next: HoldCursor | undefined }> {
  const { rows } = await db.query<KeyedRow>(
    `select ${holdColumns}, h.is_closed as "isClosed", ${holdClockSql} as at from holds h
     where (h.wallet_id, h.is_closed, h.id) > (coalesce($1::uuid, '00000000-0000-0000-0000-000000000000'), coalesce($2::boolean, false),
         coalesce($3::uuid, '00000000-0000-0000-0000-000000000000'))
       ${walletId === undefined ? 'and $4::uuid is null' : 'and h.wallet_id = $4::uuid'}
     order by h.wallet_id, h.is_closed, h.id limit $5`,
    [after?.walletId ?? null, after?.isClosed ?? null, after?.id ?? null, walletId ?? null, limit],
  )
  const wasListed = (row: KeyedRow) => after?.walletId === row.walletId && after.listed.includes(row.id)
  const read = rows.filter((row) => !wasListed(row)).map(toSeenHold)
  return {
    holds: read.filter(({ hold }) => clientId === undefined || hold.clientId === clientId),
    next: rows.length < limit ? undefined : cursorAfter(rows, after),
  }
}

function cursorAfter(rows: readonly KeyedRow[], before: HoldCursor | undefined): HoldCursor {
  const { walletId, id, isClosed } = rows.at(-1)!
  const open = rows.filter((row) => row.walletId === walletId && !row.isClosed).map((row) => row.id)
  const listed = before?.walletId === walletId ? [...before.listed, ...open] : open
  return { walletId, id, isClosed, listed }
}

/** No gauge counts further. */
const maxGauged = 100_000

export type HoldLevels = {
  /** Open holds that have not expired, and what remains of them; up to a hundred thousand. */
  readonly open: number
  readonly heldMinor: bigint
  /** How long the hold that expired first has been waiting to be closed; 0 when none is. */
  readonly lateSeconds: number
}

const levelsSqlOf = ({ openSql, firstSql }: Record<'openSql' | 'firstSql', string>) => `
select o.*, greatest(coalesce(extract(epoch from now() - l.first), 0), 0)::float8 as "lateSeconds"
from (
  select count(*)::int as open, coalesce(sum(remaining), 0)::bigint as "heldMinor" from (
    ${openSql} limit ${maxGauged}) counted) o,
(
  select min(h.expires_at) as first from ${firstSql}) l`

const remainingSql = 'select h.amount - h.captured - h.released as remaining from holds h'

/** By the index of open holds alone: holds that have ended cost nothing, however many there are. */
const levelsSql = {
  text: levelsSqlOf({
    openSql: `select h.remaining from apps a cross join lateral (
      ${remainingSql}
      where h.client_id = a.client_id and h.closed_at is null and h.expires_at > now() order by h.expires_at limit ${maxGauged}) h`,
    firstSql: `apps a cross join lateral (
    select h.expires_at from holds h where h.client_id = a.client_id and h.closed_at is null order by h.expires_at limit 1) h`,
  }),
  // A server of a cluster does not know the apps: it reads all of its open holds.
  onCluster: levelsSqlOf({
    openSql: `${remainingSql} where h.closed_at is null and h.expires_at > now()`,
    firstSql: 'holds h where h.closed_at is null',
  }),
}

export async function getHoldLevels(db: Queryable): Promise<HoldLevels> {
  const { rows } = await db.query<HoldLevels>(levelsSql)
  return one(rows)
}
