/** What reads and writes of holds share, and reading them. Only the writer changes them. */
import { archivedOutcomesSql } from '../closing/archived-entries.ts'
import type { Hold, HoldStatus } from '../../ledger/hold.ts'
import { ofHolds, ofWallet } from '../cluster/guarded-read.ts'
import { plainArray } from '../connection/arrays.ts'
import type { Queryable } from '../connection/database.ts'
import { referenceKeyOfUuid } from '../outcomes.ts'

/** The key is wallet, state and id. A hold that may be open or closed is looked up in both states. */
export const inEitherState = 'is_closed in (false, true)'

/**
 * The open holds of a wallet, by the key. An older process may have closed one without `is_closed`, so its end is asked for too: by `ended_by`,
 * because `closed_at is null` would let the planner scan the index of all open holds where it has no statistics.
 */
export const isUnclosed = 'not h.is_closed and h.ended_by is null'

export const holdColumns = `h.wallet_id as "walletId", h.id, h.client_id as "clientId", h.reference_type as "referenceType",
  h.reference_id as "referenceId", h.description, h.amount as "amountMinor", h.captured as "capturedMinor",
  h.released as "releasedMinor", h.extra as "extraMinor", h.created_at as "createdAt", h.expires_at as "expiresAt",
  h.closed_at as "closedAt", h.ended_by as "endedBy", h.steps,
  h.initial_expires_at as "initialExpiresAt", h.notice_at as "noticeAt"`

/** Truncated, because a Date has no microseconds: what is stored and what is answered are then the same. */
export const holdClockSql = `date_trunc('milliseconds', clock_timestamp())`

/** A hold, and the database's clock when it was read. */
export type SeenHold = { readonly hold: Hold; readonly at: Date }

export type HoldRow = Hold & { readonly at: Date }

export function toSeenHold({ at, ...hold }: HoldRow): SeenHold {
  return { hold: { ...hold, id: referenceKeyOfUuid(hold.id) }, at }
}

const walletsSql =
  'select reference_key as key, wallet_id as wallet from all_outcomes where reference_key = any($1::uuid[])'

/** The outcome of a hold has the wallet that it is on. The limits make the planner look both up by their keys. */
const findSql = {
  name: 'find-holds',
  text: `select ${holdColumns}, ${holdClockSql} as at from unnest($1::uuid[]) as i(id)
  cross join lateral (select wallet_id from all_outcomes where reference_key = i.id
    union all select wallet_id from archived_outcomes(array[i.id]) limit 1) as o
  cross join lateral (select * from holds where wallet_id = o.wallet_id and ${inEitherState} and id = i.id limit 1) as h`,
  // The outcome may be on another server than the hold. Joined, every server would be asked.
  onCluster: walletsSql,
}

/** The same with the outcomes of archived periods. One statement: a period may be archived or restored meanwhile. */
const withArchivedSql = {
  name: 'find-archived-wallets',
  text: `${walletsSql} union all select reference_key, wallet_id from ${archivedOutcomesSql('$1::uuid[]')} o`,
}

const ofWalletsSql = {
  name: 'find-holds-of-wallets',
  text: `select ${holdColumns}, ${holdClockSql} as at from holds h where h.wallet_id = any($1::uuid[]) and h.${inEitherState} and h.id = any($2::uuid[])`,
}

type WalletOfHold = { key: string; wallet: string }

/** On a cluster, each of the two reads asks only the servers that have its rows, unless an outcome is archived or missing. */
export async function findHolds(db: Queryable, ids: readonly string[]): Promise<Map<string, SeenHold>> {
  const findAway = ofHolds(ids)
  const values = [plainArray(ids, String)]
  let { rows } = await db.query<HoldRow | WalletOfHold>({ ...findSql, values, findAway })
  let outcomes = rows.flatMap((row) => ('key' in row ? [row] : []))
  if (rows.length < ids.length && outcomes.length === rows.length)
    outcomes = (await db.query<WalletOfHold>({ ...withArchivedSql, values, findAway })).rows
  if (outcomes.length > 0) {
    const keys = [plainArray(outcomes, ({ wallet }) => wallet), plainArray(outcomes, ({ key }) => key)]
    ;({ rows } = await db.query<HoldRow>({ ...ofWalletsSql, values: keys, findAway }))
  }
  return new Map((rows as HoldRow[]).map((row) => [referenceKeyOfUuid(row.id), toSeenHold(row)]))
}

export async function findHold(db: Queryable, id: string): Promise<SeenHold | undefined> {
  return (await findHolds(db, [id])).get(id)
}

export type HoldFilter = {
  readonly walletId: string
  readonly clientId: string
  readonly status: HoldStatus | undefined
  /** Only holds that were made before this one. */
  readonly before: string | undefined
  readonly limit: number
}

/** How many holds one page reads: those of a rare status may be below any number of others. */
const holdPageSpan = 1_000

const isStatusSql: Readonly<Record<HoldStatus, string>> = {
  OPEN: 'h."closedAt" is null and h."expiresAt" > h.at',
  CAPTURED: `h."endedBy" = 'capture'`,
  VOIDED: `h."endedBy" = 'void'`,
  EXPIRED: `(h."endedBy" = 'expiry' or (h."closedAt" is null and h."expiresAt" <= h.at))`,
}

const isOfPageSql = `h.client_id = $2 and ($3::uuid is null or (h.created_at, h.id) <
  (select b.created_at, b.id from holds b where b.wallet_id = $1 and b.${inEitherState} and b.id = $3::uuid))`

export type HoldPage = {
  readonly holds: readonly SeenHold[]
  /** The id from which the next page continues; undefined when this one read all of them. */
  readonly next: string | undefined
}

/** The holds of an app on a wallet, newest first: its open ones, which are few, and the newest closed ones. */
export async function listHolds(db: Queryable, filter: HoldFilter): Promise<HoldPage> {
  const { walletId, clientId, status, before, limit } = filter
  const { rows } = await db.query<HoldRow & { isLast: boolean; isShown: boolean }>({
    text: `with span as materialized (
       select ${holdColumns}, clock.at, row_number() over (order by h.created_at desc, h.id desc) as ordinal
       from (select ${holdClockSql} as at) clock cross join lateral (
         select * from (
           select * from holds h where h.wallet_id = $1 and ${isUnclosed} and ${isOfPageSql}
           union all (select * from holds h where h.wallet_id = $1 and h.closed_at is not null and ${isOfPageSql}
             order by h.created_at desc, h.id desc limit ${holdPageSpan})
         ) h order by h.created_at desc, h.id desc limit ${holdPageSpan}) h
     ), shown as (
       select *, true as "isShown" from span h where ${status ? isStatusSql[status] : 'true'} order by ordinal limit $4::integer + 1
     )
     select *, false as "isLast" from shown
     union all select *, false, true from (select * from span order by ordinal offset ${holdPageSpan - 1}) h
     order by ordinal`,
    values: [walletId, clientId, before ?? null, limit],
    findAway: ofWallet(walletId),
  })
  const shown = rows.filter(({ isShown }) => isShown)
  const holds = shown.slice(0, limit).map(toSeenHold)
  const last = shown.length > limit ? shown[limit - 1] : rows.find(({ isLast }) => isLast)
  return { holds, next: last && referenceKeyOfUuid(last.id) }
}

/**
 * What is held in the wallet with this alias, without holds that have expired: they count until their instant, whether they are
 * closed by then or not. A wallet without holds costs one comparison. On a cluster, `isAskedFor`, a condition on `h.wallet_id`, names the
 * wallets again, or every server would be asked.
 */
export function heldSql(alias: string, isAskedFor = 'true'): string {
  return `case when ${alias}.held = 0 then 0 else ${alias}.held - (select coalesce(sum(h.amount - h.captured - h.released), 0)::bigint
    from holds h where h.wallet_id = ${alias}.id and ${isAskedFor} and ${isUnclosed} and h.expires_at <= clock_timestamp()) end`
}
