/** Top-ups by card: the last answer of the card processor. The queue holds when to ask again. */
import type { Queryable, Transaction } from './connection/database.ts'
import { maybe, one } from './connection/rows.ts'

export type TopupState = 'created' | 'processing' | 'succeeded' | 'failed' | 'cancelled'
type TopupProblem = 'mismatch' | 'credit-refused'

/** Why an attempt to pay took no money. `unconfirmed`: the bank asked the payer to confirm, and got no answer. */
export type TopupFailure = 'declined' | 'authentication' | 'unconfirmed' | 'cancelled' | 'failed'

export type Topup = {
  readonly id: string
  readonly userId: string
  readonly clientId: string
  readonly processor: 'stripe' | 'sandbox'
  readonly paymentIntentId: string | null
  readonly amountMinor: bigint
  /** The processor was asked to change the payment to this amount, and has not answered yet. */
  readonly nextAmountMinor: bigint | null
  readonly currency: string
  readonly state: TopupState
  readonly creditedMinor: bigint
  readonly refundedMinor: bigint
  readonly disputedMinor: bigint
  readonly dispute: 'none' | 'open' | 'won' | 'lost'
  readonly declineCode: string | null
  readonly declinesSeen: number
  readonly declinesReported: number
  readonly declinedAt: Date | null
  readonly problem: TopupProblem | null
  /** Null before the payer's first attempt, and after a paid one. */
  readonly failure: TopupFailure | null
  readonly createdAt: Date
  readonly updatedAt: Date
  readonly expiresAt: Date
  readonly version: bigint
}

export type NewTopup = Pick<
  Topup,
  'id' | 'userId' | 'clientId' | 'processor' | 'amountMinor' | 'currency' | 'createdAt' | 'expiresAt'
>

export const topupColumns = `id, user_id as "userId", client_id as "clientId", processor, payment_intent_id as "paymentIntentId",
  amount as "amountMinor", next_amount as "nextAmountMinor", currency, state, credited as "creditedMinor", refunded as "refundedMinor",
  disputed as "disputedMinor", dispute, decline_code as "declineCode", declines_seen as "declinesSeen",
  declines_told as "declinesReported", declined_at as "declinedAt", problem, failure, created_at as "createdAt",
  updated_at as "updatedAt", expires_at as "expiresAt", version`

/** False when the user is deleted. `for key share` waits for a deletion in progress and reads the row again after it. */
export async function insertTopup(db: Queryable, topup: NewTopup): Promise<boolean> {
  const { id, userId, clientId, processor, amountMinor, currency, createdAt, expiresAt } = topup
  const { rowCount } = await db.query(
    `insert into topups (id, user_id, client_id, processor, amount, currency, created_at, updated_at, expires_at)
     select $1, id, $3, $4, $5, $6, $7, $7, $8 from users where id = $2 and deleted_at is null for key share`,
    [id, userId, clientId, processor, amountMinor, currency, createdAt, expiresAt],
  )
  return rowCount === 1
}

/** `topup`: one is open, or has movements that are not posted. `dispute`: one is disputed. */
export async function findUnresolved(db: Queryable, userId: string): Promise<'topup' | 'dispute' | undefined> {
  const { rows } = await db.query<{ is_open: boolean | null; is_disputed: boolean | null }>(
    `select bool_or(state in ('created', 'processing') or exists (
         select from topup_movements m where m.topup_id = t.id and m.posted_at is null)) as is_open,
       bool_or(dispute = 'open') as is_disputed
     from topups t where user_id = $1`,
    [userId],
  )
  return maybe(rows)?.is_open ? 'topup' : maybe(rows)?.is_disputed ? 'dispute' : undefined
}

/** The user's top-ups that may still be paid, newest first. */
export async function listOpenTopups(db: Queryable, userId: string, limit: number): Promise<Topup[]> {
  const { rows } = await db.query<Topup>(
    `select ${topupColumns} from topups where user_id = $1 and state = 'created' order by created_at desc limit $2`,
    [userId, limit],
  )
  return rows
}

/**
 * Writes only the first payment of a top-up. The top-up may have failed meanwhile for lack of a payment; the payment makes it open
 * again.
 */
export async function updateTopupPayment(db: Queryable, id: string, paymentIntentId: string): Promise<void> {
  await db.query(
    `update topups set payment_intent_id = $2, state = 'created' where id = $1 and payment_intent_id is null`,
    [id, paymentIntentId],
  )
}

export async function findTopup(db: Queryable, id: string): Promise<Topup | undefined> {
  const { rows } = await db.query<Topup>(`select ${topupColumns} from topups where id = $1`, [id])
  return maybe(rows)
}

export async function findTopupByPayment(db: Queryable, paymentIntentId: string): Promise<Topup | undefined> {
  const text = `select ${topupColumns} from topups where payment_intent_id = $1`
  const { rows } = await db.query<Topup>(text, [paymentIntentId])
  return maybe(rows)
}

/** The top-ups of these payments that belong to the user. */
export async function listTopupsByPayment(
  db: Queryable,
  userId: string,
  paymentIntentIds: readonly string[],
): Promise<Topup[]> {
  const text = `select ${topupColumns} from topups where payment_intent_id = any($1::text[]) and user_id = $2`
  return (await db.query<Topup>(text, [paymentIntentIds, userId])).rows
}

/** The fields that an answer of the processor changes. */
export type TopupChanges = Pick<
  Topup,
  | 'state'
  | 'amountMinor'
  | 'nextAmountMinor'
  | 'failure'
  | 'creditedMinor'
  | 'refundedMinor'
  | 'disputedMinor'
  | 'dispute'
  | 'declineCode'
  | 'declinesSeen'
  | 'declinesReported'
  | 'declinedAt'
  | 'problem'
  | 'updatedAt'
>

/**
 * Locks the top-up until the transaction ends. False when the row has changed since it was read: another answer was stored
 * meanwhile, and ours may be the older one.
 */
export async function isTopupVersion(tx: Transaction, { id, version }: Topup): Promise<boolean> {
  const { rows } = await tx.query<{ version: bigint }>('select version from topups where id = $1 for update', [id])
  return maybe(rows)?.version === version
}

/** The caller holds the lock. */
export async function updateTopup(tx: Transaction, { id }: Topup, changes: TopupChanges): Promise<Topup> {
  const { rows } = await tx.query<Topup>(
    `update topups set version = version + 1, state = $2, credited = $3, refunded = $4, disputed = $5, dispute = $6,
       decline_code = $7, declines_seen = $8, declines_told = $9, declined_at = $10, problem = $11, updated_at = $12,
       amount = $13, next_amount = $14, failure = $15
     where id = $1 returning ${topupColumns}`,
    [
      id,
      changes.state,
      changes.creditedMinor,
      changes.refundedMinor,
      changes.disputedMinor,
      changes.dispute,
      changes.declineCode,
      changes.declinesSeen,
      changes.declinesReported,
      changes.declinedAt,
      changes.problem,
      changes.updatedAt,
      changes.amountMinor,
      changes.nextAmountMinor,
      changes.failure,
    ],
  )
  return one(rows)
}

/** The caller holds the lock. */
export async function updateNextAmount(tx: Transaction, { id }: Topup, amountMinor: bigint): Promise<Topup> {
  const { rows } = await tx.query<Topup>(
    `update topups set version = version + 1, next_amount = $2 where id = $1 returning ${topupColumns}`,
    [id, amountMinor],
  )
  return one(rows)
}

/** Records that the payer cancelled a payment, instead of that the bank's confirmation is missing. */
export async function updateTopupCancelled(db: Queryable, id: string): Promise<void> {
  await db.query(
    `update topups set failure = 'cancelled' where id = $1 and state = 'cancelled' and failure = 'unconfirmed'`,
    [id],
  )
}

/** Changes only a row without payment_intent_id: no payer knows of a payment for it, so there is nothing to wait for. */
export async function updateTopupFailed(db: Queryable, id: string, at: Date): Promise<boolean> {
  const { rowCount } = await db.query(
    `update topups set state = 'failed', updated_at = $2 where id = $1 and payment_intent_id is null and state <> 'failed'`,
    [id, at],
  )
  return rowCount === 1
}

/** `firstAt` is the earliest `declined_at` among the counted top-ups. */
export async function countDeclines(
  db: Queryable,
  userId: string,
  since: Date,
): Promise<{ count: number; firstAt: Date | null }> {
  const { rows } = await db.query<{ count: number; firstAt: Date | null }>(
    `select coalesce(sum(greatest(declines_seen, declines_told)), 0)::int as count, min(declined_at) as "firstAt"
     from topups where user_id = $1 and declined_at > $2`,
    [userId, since],
  )
  return one(rows)
}

/** True when the user has begun no top-up since. */
export async function isNewestTopup(db: Queryable, { userId, createdAt }: Topup): Promise<boolean> {
  const text = 'select 1 from topups where user_id = $1 and created_at > $2 limit 1'
  return (await db.query(text, [userId, createdAt])).rows.length === 0
}

/** States of a top-up, and conditions that operators search for. */
export const topupFilters = [
  'problem',
  'disputed',
  'declined',
  'refunded',
  'created',
  'processing',
  'succeeded',
  'failed',
  'cancelled',
] as const
export type TopupFilterState = (typeof topupFilters)[number]

export type TopupFilter = {
  readonly userId?: string | undefined
  readonly clientId?: string | undefined
  readonly state?: TopupFilterState | undefined
  readonly from?: Date | undefined
  readonly until?: Date | undefined
}

export type TopupPage = {
  readonly isOldestFirst?: boolean
  /** The last row of the previous page. */
  readonly after?: Cursor | undefined
  /** The last row that the page may read. */
  readonly to?: Cursor | undefined
  readonly limit: number
}

type Cursor = { readonly createdAt: Date; readonly id: string }

const stateConditions: Partial<Record<TopupFilterState, string>> = {
  problem: 'problem is not null',
  disputed: `dispute = 'open'`,
  declined: 'decline_code is not null',
  refunded: 'refunded > 0',
}

/** Contains only the requested conditions, so that the planner can use the index of each. */
function conditionsOf(filter: TopupFilter, values: unknown[]): string[] {
  const { userId, clientId, state, from, until } = filter
  const conditions: string[] = []
  const add = (condition: string, value: unknown) => {
    if (value !== undefined) conditions.push(`${condition} $${values.push(value)}`)
  }
  add('user_id =', userId)
  add('client_id =', clientId)
  add('created_at >=', from)
  add('created_at <', until)
  const known = state && stateConditions[state]
  if (known) conditions.push(known)
  else add('state =', state)
  return conditions
}

/** Newest first, unless `isOldestFirst`. */
export async function listTopups(db: Queryable, filter: TopupFilter, page: TopupPage): Promise<Topup[]> {
  const values: unknown[] = [page.limit]
  const conditions = conditionsOf(filter, values)
  conditions.push(...pageConditions(page, values))
  const order = page.isOldestFirst ? 'created_at, id' : 'created_at desc, id desc'
  const { rows } = await db.query<Topup>(
    `select ${topupColumns} from topups where ${conditions.join(' and ') || 'true'} order by ${order} limit $1`,
    values,
  )
  return rows
}

/** How many top-ups one page reads for a filter without an index: a rare match would otherwise cost a scan of the whole table. */
export const topupSpan = 20_000

const hasOwnIndex = ({ userId, state }: TopupFilter) =>
  userId !== undefined || state === 'problem' || state === 'disputed'
const isPlain = ({ clientId, state }: TopupFilter) => clientId === undefined && state === undefined

/** The last row that the page may read; undefined without such a limit. */
async function findSpanEnd(db: Queryable, filter: TopupFilter, page: TopupPage): Promise<Cursor | undefined> {
  if (hasOwnIndex(filter) || isPlain(filter)) return undefined
  const values: unknown[] = []
  const conditions = conditionsOf({ from: filter.from, until: filter.until }, values)
  conditions.push(...pageConditions(page, values))
  const order = page.isOldestFirst ? 'created_at, id' : 'created_at desc, id desc'
  const { rows } = await db.query<Cursor>(
    `select created_at as "createdAt", id from topups where ${conditions.join(' and ') || 'true'}
     order by ${order} offset ${topupSpan} limit 1`,
    values,
  )
  return maybe(rows)
}

/** Selects the rows between the previous page and the last row that this page may read. */
function pageConditions({ after, to, isOldestFirst }: TopupPage, values: unknown[]): string[] {
  const side = (comparison: string, cursor: Cursor | undefined) =>
    cursor ? [`(created_at, id) ${comparison} ($${values.push(cursor.createdAt)}, $${values.push(cursor.id)})`] : []
  return [...side(isOldestFirst ? '>' : '<', after), ...side(isOldestFirst ? '<=' : '>=', to)]
}

export type FoundTopups = {
  readonly topups: readonly Topup[]
  /** The cursor of the next page; undefined on the last one. */
  readonly next: Cursor | undefined
  /** True when the page is not full because it reached the last row it may read. */
  readonly isSpanEnd: boolean
}

export async function findTopupPage(db: Queryable, filter: TopupFilter, page: TopupPage): Promise<FoundTopups> {
  const end = await findSpanEnd(db, filter, page)
  const found = await listTopups(db, filter, { ...page, to: end, limit: page.limit + 1 })
  const topups = found.slice(0, page.limit)
  const isFull = found.length > page.limit
  const last = topups.at(-1)
  const next = isFull && last ? { createdAt: last.createdAt, id: last.id } : end
  return { topups, next, isSpanEnd: !isFull && end !== undefined }
}

/** Counts the matching top-ups, up to the limit; undefined for a filter without an index. */
export async function countMatchingTopups(
  db: Queryable,
  filter: TopupFilter,
  limit: number,
): Promise<number | undefined> {
  if (!hasOwnIndex(filter) && !isPlain(filter)) return undefined
  const values: unknown[] = [limit]
  const conditions = conditionsOf(filter, values)
  const { rows } = await db.query<{ count: bigint }>(
    `select count(*) as count from (select 1 from topups where ${conditions.join(' and ') || 'true'} limit $1) t`,
    values,
  )
  return Number(one(rows).count)
}

/** `from` and `until` bound the creation time. */
export async function listTopupsOfAmount(
  db: Queryable,
  { from, until, amountMinor, limit }: { from: Date; until: Date; amountMinor: bigint; limit: number },
): Promise<Topup[]> {
  const { rows } = await db.query<Topup>(
    `select ${topupColumns} from topups where created_at >= $1 and created_at < $2 and amount = $3
     order by created_at desc, id desc limit $4`,
    [from, until, amountMinor, limit],
  )
  return rows
}
