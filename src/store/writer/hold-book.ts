/** The holds of the wallets that a careful batch has locked: read after the locks, changed by its decisions, written with it. */
import { decide, type Operation, type Wallet } from '../../ledger/decide.ts'
import {
  extendHold,
  isExpiredAt,
  maxOpenHolds,
  newHold,
  noticeTimeOf,
  planCapture,
  planNotice,
  planRelease,
  refuseEnded,
  remainingOf,
  viewHold,
  type Hold,
  type HoldRefusal,
  type HoldView,
} from '../../ledger/hold.ts'
import { plainArray, textArray } from '../connection/arrays.ts'
import type { Queryable } from '../connection/database.ts'
import type { HoldEntry } from '../events/journal.ts'
import { one } from '../connection/rows.ts'
import { holdClockSql, holdColumns, inEitherState, isUnclosed, toSeenHold, type HoldRow } from './stored-holds.ts'
import type { HoldResult, PendingPosting } from './posting.ts'

export type StepKind = 'capture' | 'void' | 'expiry' | 'extend' | 'expiring'

type HoldStep = {
  readonly hold: Hold
  readonly kind: StepKind
  readonly amountMinor: bigint
  readonly sequence: number | null
  readonly actor: string
  readonly reason: string | null
}

export type HoldBook = {
  /** The database's clock, read after the wallets were locked: on a cluster that of the server that has the wallet. */
  readonly at: (walletId: string) => Date
  /** Only on a cluster: references of captures that were made, although their outcomes may not be visible yet. */
  readonly used: ReadonlySet<string> | undefined
  readonly holds: Map<string, Hold>
  readonly made: Set<string>
  /** Of holds that were there before. */
  readonly changed: Set<string>
  readonly steps: HoldStep[]
  /** What happened to holds and is not reported yet, in order. */
  readonly unreported: HoldEntry[]
}

/**
 * By their keys alone: wallet and state, or wallet and hold for those that are named. The limit makes the planner look
 * those up one by one: a plan that was made while the table was small is kept, and as a join it would read all holds.
 */
const readSql = `
select clock.at, h.* from (select ${holdClockSql} as at) clock left join (
  select ${holdColumns} from holds h where h.wallet_id = any($1::uuid[]) and ${isUnclosed}
  union all
  select ${holdColumns} from unnest($2::uuid[], $3::uuid[]) as n(wallet_id, id)
  cross join lateral (select * from holds where wallet_id = n.wallet_id and ${inEitherState} and id = n.id limit 1) as h
) h on true`

export type HoldKey = { readonly walletId: string; readonly id: string }

/** All open holds of the wallets, and the named ones in any state. */
export async function readHolds(
  client: Queryable,
  walletIds: readonly string[],
  named: readonly HoldKey[],
): Promise<HoldBook> {
  const { rows } = await client.query<HoldRow | (Record<keyof Hold, null> & { at: Date })>({
    name: 'read-holds',
    text: readSql,
    values: [
      plainArray(walletIds, (id) => id),
      plainArray(named, ({ walletId }) => walletId),
      plainArray(named, ({ id }) => id),
    ],
  })
  const seen = rows.flatMap((row) => (row.id === null ? [] : [toSeenHold(row).hold]))
  const { at } = one(rows)
  return newBook(seen, () => at)
}

export function newBook(holds: readonly Hold[], at: HoldBook['at'], used?: ReadonlySet<string>): HoldBook {
  const byId = new Map(holds.map((hold) => [hold.id, hold]))
  return { at, used, holds: byId, made: new Set(), changed: new Set(), steps: [], unreported: [] }
}

/** Gives back what expired, before anything is decided: no refusal is recorded for want of money that is free again. Gives notices that are due. */
export function releaseExpired(book: HoldBook, wallets: Map<string, Wallet>): void {
  for (const hold of book.holds.values()) {
    const wallet = wallets.get(hold.walletId)
    if (!wallet) continue
    const at = book.at(hold.walletId)
    if (!isExpiredAt(hold, at)) {
      const noticed = planNotice(hold, at)
      if (noticed) change(book, noticed, { kind: 'expiring', amountMinor: 0n, actor: 'system' })
      continue
    }
    const { operation, hold: after } = planRelease(hold, at, 'expiry')
    const decision = decide(wallet, operation)
    if (decision.refusal) throw new Error(`an expired hold cannot be released: ${decision.refusal}`)
    wallets.set(hold.walletId, decision.wallet)
    change(book, after, { kind: 'expiry', amountMinor: -operation.heldMinor!, actor: 'system' })
  }
}

/** What the posting asks of the wallet, and what follows if that is granted; or the answer, if nothing is to be decided. */
export type HoldPlan =
  | {
      readonly operation: Operation
      /** Changes the book. `sequence` is that of the entry, if the operation made one. */
      readonly apply: (wallet: Wallet) => HoldView
    }
  | { readonly result: HoldResult }

export function planHold(book: HoldBook, walletId: string, posting: PendingPosting, wallet: Wallet): HoldPlan {
  const request = posting.hold!
  if (request.kind === 'reserve') return planReserve(book, walletId, posting, request.seconds)
  if (request.kind === 'expire') return { result: { kind: 'expired' } }
  const at = book.at(walletId)
  const hold = book.holds.get(request.holdId)
  const isFound = hold?.walletId === walletId && (posting.by.clientId ?? hold.clientId) === hold.clientId
  if (!hold || !isFound) return { result: { kind: 'hold-refused', refusal: 'HOLD_NOT_FOUND' } }
  if (request.kind === 'capture') {
    const plan = planCapture(hold, at, request)
    if ('refusal' in plan) return refused(book, hold, plan.refusal)
    const { operation, hold: after } = plan
    const step = { kind: 'capture', amountMinor: -operation.amountMinor, actor: posting.counterAccount } as const
    return { operation, apply: ({ sequence }) => change(book, after, { ...step, sequence }, posting) }
  }
  const { actor } = request
  if (request.kind === 'void' && hold.endedBy === 'void') return { result: asResult(book, hold, wallet, true) }
  const ended = refuseEnded(hold, at)
  if (ended) return refused(book, hold, ended)
  if (request.kind === 'void') {
    const { operation, hold: after } = planRelease(hold, at, 'void')
    const step = { kind: 'void', amountMinor: -operation.heldMinor!, actor, reason: request.reason } as const
    return { operation, apply: () => change(book, after, step, posting) }
  }
  const after = extendHold(hold, at, request.seconds)
  if (after === hold) return { result: asResult(book, hold, wallet, false) }
  const noticeAt = posting.hasEvents ? noticeTimeOf(after.expiresAt, at) : null
  change(book, { ...after, noticeAt }, { kind: 'extend', amountMinor: 0n, actor }, posting)
  return { result: asResult(book, after, wallet, false) }
}

function planReserve(book: HoldBook, walletId: string, posting: PendingPosting, seconds: number): HoldPlan {
  const clientId = posting.by.clientId!
  let open = 0
  for (const hold of book.holds.values())
    if (hold.walletId === walletId && hold.clientId === clientId && hold.closedAt === null) open++
  if (open >= maxOpenHolds) return { result: { kind: 'hold-refused', refusal: 'HOLD_LIMIT' } }
  const at = book.at(walletId)
  const hold = newHold(posting, { walletId, clientId, seconds }, at)
  const apply = () => change(book, hold, undefined, posting)
  return { operation: { amountMinor: 0n, heldMinor: hold.amountMinor, isReversal: false }, apply }
}

function refused(book: HoldBook, hold: Hold, refusal: HoldRefusal): HoldPlan {
  return { result: { kind: 'hold-refused', refusal, hold: viewHold(hold, book.at(hold.walletId)) } }
}

function asResult(book: HoldBook, hold: Hold, wallet: Wallet, isRepeat: boolean): HoldResult {
  const { balanceMinor, heldMinor } = wallet
  return { kind: 'hold', hold: viewHold(hold, book.at(hold.walletId)), balanceMinor, heldMinor, isRepeat }
}

type NewStep = Pick<HoldStep, 'kind' | 'amountMinor' | 'actor'> & Partial<Pick<HoldStep, 'sequence' | 'reason'>>

/** `posting` is what asked for it; undefined for what the service does by itself. A hold without a step is new. */
function change(book: HoldBook, hold: Hold, step: NewStep | undefined, posting?: PendingPosting): HoldView {
  book.holds.set(hold.id, hold)
  if (!step) book.made.add(hold.id)
  else book.steps.push({ sequence: null, reason: null, ...step, hold })
  if (!book.made.has(hold.id)) book.changed.add(hold.id)
  const { walletId, clientId, id: holdId, steps: number } = hold
  // Of the service itself the database decides whether the app has events.
  if (posting?.by.clientId === undefined || posting.hasEvents)
    book.unreported.push({ walletId, clientId, holdId, number })
  return viewHold(hold, book.at(hold.walletId))
}

/** By wallet; one without open holds is missing. */
export function countOpen({ holds }: HoldBook): ReadonlyMap<string, number> {
  const counts = new Map<string, number>()
  for (const { walletId, closedAt } of holds.values())
    if (closedAt === null) counts.set(walletId, (counts.get(walletId) ?? 0) + 1)
  return counts
}

const changedColumns =
  'wallet_id, id, captured, released, extra, expires_at, closed_at, ended_by, steps, initial_expires_at, notice_at'

const changedSql = `select * from unnest($18::uuid[], $19::uuid[], $20::bigint[], $21::bigint[], $22::bigint[], $23::timestamptz[],
  $24::timestamptz[], $25::text[], $26::integer[], $27::timestamptz[], $28::timestamptz[]) as c(${changedColumns})`

const writeSql = (changed: string, isChanged: string) => `
with made as (
  insert into holds (wallet_id, id, client_id, reference_type, reference_id, description, amount, captured, released, extra, created_at,
    expires_at, closed_at, ended_by, steps, initial_expires_at, notice_at, is_closed)
  select *, closed_at is not null from unnest($1::uuid[], $2::uuid[], $3::text[], $4::text[], $5::text[], $6::text[], $7::bigint[], $8::bigint[], $9::bigint[],
    $10::bigint[], $11::timestamptz[], $12::timestamptz[], $13::timestamptz[], $14::text[], $15::integer[], $16::timestamptz[], $17::timestamptz[])
    as m(wallet_id, id, client_id, reference_type, reference_id, description, amount, captured, released, extra, created_at,
      expires_at, closed_at, ended_by, steps, initial_expires_at, notice_at)
), changed as (
  update holds h set captured = c.captured, released = c.released, extra = c.extra, expires_at = c.expires_at, closed_at = c.closed_at, is_closed = c.closed_at is not null,
    ended_by = c.ended_by, steps = c.steps, initial_expires_at = c.initial_expires_at, notice_at = c.notice_at
  from (${changed}) as c where ${isChanged}
), step as (
  insert into hold_steps (wallet_id, hold_id, number, kind, amount, sequence, actor, reason, captured, remaining, expires_at, at)
  select * from unnest($29::uuid[], $30::uuid[], $31::integer[], $32::text[], $33::bigint[], $34::bigint[], $35::text[],
    $36::text[], $37::bigint[], $38::bigint[], $39::timestamptz[], $40::timestamptz[])
)
select 1`

/**
 * The rows to change are found one by one, as those to read are. No other process changes them, because their wallets are locked. A cluster keeps no
 * plans, and finds no row of another server by its `ctid`.
 */
const writeStatement = {
  name: 'write-holds',
  text: writeSql(
    `select c.*, l.ctid as row_id from (${changedSql}) as c
    cross join lateral (select ctid from holds where wallet_id = c.wallet_id and not is_closed and id = c.id limit 1) as l`,
    'h.ctid = c.row_id',
  ),
  onCluster: writeSql(
    changedSql,
    'h.wallet_id = c.wallet_id and not h.is_closed and h.id = c.id and h.wallet_id = any($18::uuid[])',
  ),
}

const time = (at: Date | null) => at && at.toISOString()

const stateOf = (holds: readonly Hold[]) => [
  plainArray(holds, ({ capturedMinor }) => capturedMinor),
  plainArray(holds, ({ releasedMinor }) => releasedMinor),
  plainArray(holds, ({ extraMinor }) => extraMinor),
]

const endOf = (holds: readonly Hold[]) => [
  plainArray(holds, ({ expiresAt }) => time(expiresAt)),
  plainArray(holds, ({ closedAt }) => time(closedAt)),
  plainArray(holds, ({ endedBy }) => endedBy),
  plainArray(holds, ({ steps }) => steps),
  plainArray(holds, ({ initialExpiresAt }) => time(initialExpiresAt)),
  plainArray(holds, ({ noticeAt }) => time(noticeAt)),
]

/** Undefined when nothing changed. */
export function writeHolds(client: Queryable, book: HoldBook): Promise<unknown> | undefined {
  if (book.made.size + book.changed.size === 0) return undefined
  const [made, changed] = [book.made, book.changed].map((ids) => Array.from(ids, (id) => book.holds.get(id)!)) as [
    Hold[],
    Hold[],
  ]
  const { steps } = book
  const values = [
    plainArray(made, ({ walletId }) => walletId),
    plainArray(made, ({ id }) => id),
    textArray(made, ({ clientId }) => clientId),
    textArray(made, ({ referenceType }) => referenceType),
    textArray(made, ({ referenceId }) => referenceId),
    textArray(made, ({ description }) => description),
    plainArray(made, ({ amountMinor }) => amountMinor),
    ...stateOf(made),
    plainArray(made, ({ createdAt }) => time(createdAt)),
    ...endOf(made),
    plainArray(changed, ({ walletId }) => walletId),
    plainArray(changed, ({ id }) => id),
    ...stateOf(changed),
    ...endOf(changed),
    plainArray(steps, ({ hold }) => hold.walletId),
    plainArray(steps, ({ hold }) => hold.id),
    plainArray(steps, ({ hold }) => hold.steps),
    plainArray(steps, ({ kind }) => kind),
    plainArray(steps, ({ amountMinor }) => amountMinor),
    plainArray(steps, ({ sequence }) => sequence),
    textArray(steps, ({ actor }) => actor),
    textArray(steps, ({ reason }) => reason),
    plainArray(steps, ({ hold }) => hold.capturedMinor + hold.extraMinor),
    plainArray(steps, ({ hold }) => remainingOf(hold)),
    plainArray(steps, ({ hold }) => time(hold.expiresAt)),
    plainArray(steps, ({ hold }) => time(book.at(hold.walletId))),
  ]
  return client.query({ ...writeStatement, values })
}
