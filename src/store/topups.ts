/** Top-ups by card: what the card processor answered last. When to ask it again is in the queue. */
import type { Queryable, Transaction } from './connection/database.ts'
import { maybe, one } from './connection/rows.ts'

export type TopupState = 'created' | 'processing' | 'succeeded' | 'failed' | 'cancelled'
type TopupProblem = 'mismatch' | 'credit-refused'

export type Topup = {
  readonly id: string
  readonly userId: string
  readonly clientId: string
  readonly processor: 'stripe' | 'sandbox'
  readonly paymentIntentId: string | null
  readonly amountMinor: bigint
  readonly currency: string
  readonly state: TopupState
  readonly creditedMinor: bigint
  readonly refundedMinor: bigint
  readonly disputedMinor: bigint
  readonly dispute: 'none' | 'open' | 'won' | 'lost'
  readonly declineCode: string | null
  readonly declinesSeen: number
  readonly declinesTold: number
  readonly declinedAt: Date | null
  readonly problem: TopupProblem | null
  readonly createdAt: Date
  readonly updatedAt: Date
  readonly expiresAt: Date
  readonly version: bigint
}

export type NewTopup = Pick<
  Topup,
  'id' | 'userId' | 'clientId' | 'processor' | 'amountMinor' | 'currency' | 'createdAt' | 'expiresAt'
>

const columns = `id, user_id as "userId", client_id as "clientId", processor, payment_intent_id as "paymentIntentId",
  amount as "amountMinor", currency, state, credited as "creditedMinor", refunded as "refundedMinor",
  disputed as "disputedMinor", dispute, decline_code as "declineCode", declines_seen as "declinesSeen",
  declines_told as "declinesTold", declined_at as "declinedAt", problem, created_at as "createdAt",
  updated_at as "updatedAt", expires_at as "expiresAt", version`

/** False when the user is deleted, or being deleted: the row of users is waited for, and read again when it is free. */
export async function insertTopup(db: Queryable, topup: NewTopup): Promise<boolean> {
  const { id, userId, clientId, processor, amountMinor, currency, createdAt, expiresAt } = topup
  const { rowCount } = await db.query(
    `insert into topups (id, user_id, client_id, processor, amount, currency, created_at, updated_at, expires_at)
     select $1, id, $3, $4, $5, $6, $7, $7, $8 from users where id = $2 and deleted_at is null for key share`,
    [id, userId, clientId, processor, amountMinor, currency, createdAt, expiresAt],
  )
  return rowCount === 1
}

/** What of the user's top-ups has no end yet: one that is open, or whose money is on its way to the ledger; or a dispute. */
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

/** Those of the user that may yet be paid, newest first. */
export async function listOpenTopups(db: Queryable, userId: string, limit: number): Promise<Topup[]> {
  const { rows } = await db.query<Topup>(
    `select ${columns} from topups where user_id = $1 and state = 'created' order by created_at desc limit $2`,
    [userId, limit],
  )
  return rows
}

/**
 * Only the first payment of a top-up is written. The row may have failed in the meantime for lack of a payment; with one it is
 * worth asking about again.
 */
export async function updateTopupPayment(db: Queryable, id: string, paymentIntentId: string): Promise<void> {
  await db.query(
    `update topups set payment_intent_id = $2, state = 'created' where id = $1 and payment_intent_id is null`,
    [id, paymentIntentId],
  )
}

export async function findTopup(db: Queryable, id: string): Promise<Topup | undefined> {
  const { rows } = await db.query<Topup>(`select ${columns} from topups where id = $1`, [id])
  return maybe(rows)
}

export async function findTopupByPayment(db: Queryable, paymentIntentId: string): Promise<Topup | undefined> {
  const text = `select ${columns} from topups where payment_intent_id = $1`
  const { rows } = await db.query<Topup>(text, [paymentIntentId])
  return maybe(rows)
}

/** Those of this user among the payments. */
export async function listTopupsByPayment(
  db: Queryable,
  userId: string,
  paymentIntentIds: readonly string[],
): Promise<Topup[]> {
  const text = `select ${columns} from topups where payment_intent_id = any($1::text[]) and user_id = $2`
  return (await db.query<Topup>(text, [paymentIntentIds, userId])).rows
}

/** Paid, as far as the payer knows, and not in the wallet yet: the newest few. */
export async function listWaitingTopups(db: Queryable, userId: string, limit: number): Promise<Topup[]> {
  const text = `select ${columns} from topups where user_id = $1 and state = 'processing' and problem is null
    and created_at > now() - interval '30 days' order by created_at desc limit $2`
  return (await db.query<Topup>(text, [userId, limit])).rows
}

/** What an answer of the processor changes. */
export type TopupChanges = Pick<
  Topup,
  | 'state'
  | 'creditedMinor'
  | 'refundedMinor'
  | 'disputedMinor'
  | 'dispute'
  | 'declineCode'
  | 'declinesSeen'
  | 'declinesTold'
  | 'declinedAt'
  | 'problem'
  | 'updatedAt'
>

/**
 * Locks the top-up until the transaction ends, and tells whether it is still as it was read before the processor was asked. If
 * not, another answer was written down since, and ours may be the older one.
 */
export async function isTopupVersion(tx: Transaction, { id, version }: Topup): Promise<boolean> {
  const { rows } = await tx.query<{ version: bigint }>('select version from topups where id = $1 for update', [id])
  return maybe(rows)?.version === version
}

/** For a caller that holds the lock. */
export async function updateTopup(tx: Transaction, { id }: Topup, changes: TopupChanges): Promise<Topup> {
  const { rows } = await tx.query<Topup>(
    `update topups set version = version + 1, state = $2, credited = $3, refunded = $4, disputed = $5, dispute = $6,
       decline_code = $7, declines_seen = $8, declines_told = $9, declined_at = $10, problem = $11, updated_at = $12
     where id = $1 returning ${columns}`,
    [
      id,
      changes.state,
      changes.creditedMinor,
      changes.refundedMinor,
      changes.disputedMinor,
      changes.dispute,
      changes.declineCode,
      changes.declinesSeen,
      changes.declinesTold,
      changes.declinedAt,
      changes.problem,
      changes.updatedAt,
    ],
  )
  return one(rows)
}

/** A row without payment_intent_id has no payment that a payer knows of: there is nothing to wait for. */
export async function updateTopupFailed(db: Queryable, id: string, at: Date): Promise<boolean> {
  const { rowCount } = await db.query(
    `update topups set state = 'failed', updated_at = $2 where id = $1 and payment_intent_id is null and state <> 'failed'`,
    [id, at],
  )
  return rowCount === 1
}

/** How many cards of this user were declined since then, and when the first of them was. */
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

/** The user has begun no other since. */
export async function isNewestTopup(db: Queryable, { userId, createdAt }: Topup): Promise<boolean> {
  const text = 'select 1 from topups where user_id = $1 and created_at > $2 limit 1'
  return (await db.query(text, [userId, createdAt])).rows.length === 0
}

/** States of the processor, and what may be wrong with a top-up. */
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
  /** The last of the page before. */
  readonly after?: Cursor | undefined
  /** The last that may be looked at. */
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

/** Only conditions that are asked for stand there, so that each is found by its own index. */
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

/** The newest first, unless asked for the other way round. */
export async function listTopups(db: Queryable, filter: TopupFilter, page: TopupPage): Promise<Topup[]> {
  const values: unknown[] = [page.limit]
  const conditions = conditionsOf(filter, values)
  conditions.push(...pageConditions(page, values))
  const order = page.isOldestFirst ? 'created_at, id' : 'created_at desc, id desc'
  const { rows } = await db.query<Topup>(
    `select ${columns} from topups where ${conditions.join(' and ') || 'true'} order by ${order} limit $1`,
    values,
  )
  return rows
}

/** How many top-ups one page looks at for those that fit a filter without an index of its own: rare ones would cost all there are. */
export const topupSpan = 20_000

const hasOwnIndex = ({ userId, state }: TopupFilter) =>
  userId !== undefined || state === 'problem' || state === 'disputed'
const isPlain = ({ clientId, state }: TopupFilter) => clientId === undefined && state === undefined

/** Where a page must stop looking; undefined when it may look at all there are. */
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

/** What lies between the last one shown and the last one that may be looked at. */
function pageConditions({ after, to, isOldestFirst }: TopupPage, values: unknown[]): string[] {
  const side = (comparison: string, cursor: Cursor | undefined) =>
    cursor ? [`(created_at, id) ${comparison} ($${values.push(cursor.createdAt)}, $${values.push(cursor.id)})`] : []
  return [...side(isOldestFirst ? '>' : '<', after), ...side(isOldestFirst ? '<=' : '>=', to)]
}

export type FoundTopups = {
  readonly topups: readonly Topup[]
  /** Where the next page begins; undefined when there is none. */
  readonly next: Cursor | undefined
  /** Fewer than fit on the page were found among those it may look at. */
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

/** Those that fit, up to the limit; undefined when it would cost too much to know. */
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

/** Of this amount, begun in the span of time. */
export async function listTopupsOfAmount(
  db: Queryable,
  { from, until, amountMinor, limit }: { from: Date; until: Date; amountMinor: bigint; limit: number },
): Promise<Topup[]> {
  const { rows } = await db.query<Topup>(
    `select ${columns} from topups where created_at >= $1 and created_at < $2 and amount = $3
     order by created_at desc, id desc limit $4`,
    [from, until, amountMinor, limit],
  )
  return rows
}
