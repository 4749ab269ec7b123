/** Corrections: debits and credits by hand, with their approval and their result. Only the writer moves money. */
import type { Queryable, Transaction } from './connection/database.ts'
import { addWork, dropWork } from './work/work.ts'
import { maybe, one } from './connection/rows.ts'
import { choicesOf, type Listing } from './connection/listing.ts'

/** `approved` means that the posting is in progress. */
export const correctionStates = ['waiting', 'approved', 'done', 'refused', 'declined', 'withdrawn'] as const
export type CorrectionState = (typeof correctionStates)[number]

export type NewCorrection = {
  readonly id: string
  readonly walletId: string
  /** Above zero a credit, below zero a debit. */
  readonly amountMinor: bigint
  readonly counterAccount: string
  readonly reason: string
  /** The key of the transaction it corrects. */
  readonly corrects: string | null
  readonly needsApproval: boolean
  /** The name of an actor, as in the audit log. */
  readonly askedBy: string
}

export type Correction = NewCorrection & {
  readonly state: CorrectionState
  readonly askedAt: Date
  readonly decidedBy: string | null
  readonly decidedAt: Date | null
  readonly decisionReason: string | null
  readonly refusal: string | null
}

const columns = `id, wallet_id as "walletId", amount as "amountMinor", counter_account as "counterAccount", reason,
  replace(corrects::text, '-', '') as corrects, needs_approval as "needsApproval", asked_by as "askedBy", state, asked_at as "askedAt", decided_by as "decidedBy",
  decided_at as "decidedAt", decision_reason as "decisionReason", refusal`

export const correctionListing: Listing = {
  table: 'corrections',
  alias: 'c',
  columns,
  key: [{ sql: 'c.id', type: 'uuid' }],
  time: { sql: 'c.asked_at', type: 'timestamptz' },
  amount: { sql: 'abs(c.amount)', type: 'bigint' },
  people: ['c.asked_by', 'c.decided_by'],
  choices: {
    state: choicesOf('c.state', correctionStates),
    type: { credit: 'c.amount > 0', debit: 'c.amount < 0' },
  },
  equals: { wallet: { sql: 'c.wallet_id', type: 'uuid' } },
  ids: [{ sql: 'c.id', type: 'uuid' }],
}

/** Longer than posting takes. If the deciding process dies before it has posted, another one posts after this time. */
export const postWithinMs = 15_000

async function addPosting(tx: Transaction, id: string): Promise<void> {
  await addWork(tx, { kind: 'post-correction', key: id, afterMs: postWithinMs })
}

/** False when a correction with this id exists. One that needs no approval is approved from the start. */
export async function insertCorrection(tx: Transaction, correction: NewCorrection): Promise<boolean> {
  const { id, walletId, amountMinor, counterAccount, reason, corrects, needsApproval, askedBy } = correction
  const { rowCount } = await tx.query(
    `insert into corrections (id, wallet_id, amount, counter_account, reason, corrects, needs_approval, asked_by, state, decided_at)
     values ($1, $2, $3, $4, $5, $6, $7, $8, case when $7 then 'waiting' else 'approved' end, case when $7 then null else now() end)
     on conflict (id) do nothing`,
    [id, walletId, amountMinor, counterAccount, reason, corrects, needsApproval, askedBy],
  )
  if (rowCount === 1 && !needsApproval) await addPosting(tx, id)
  return rowCount === 1
}

export async function findCorrection(db: Queryable, id: string): Promise<Correction | undefined> {
  const { rows } = await db.query<Correction>(`select ${columns} from corrections where id = $1`, [id])
  return maybe(rows)
}

export async function lockCorrection(tx: Transaction, id: string): Promise<Correction | undefined> {
  const { rows } = await tx.query<Correction>(`select ${columns} from corrections where id = $1 for update`, [id])
  return maybe(rows)
}

export async function updateCorrectionDecided(
  tx: Transaction,
  id: string,
  { state, by, reason }: { state: 'approved' | 'declined' | 'withdrawn'; by: string; reason: string | null },
): Promise<void> {
  await tx.query(
    'update corrections set state = $2, decided_by = $3, decided_at = now(), decision_reason = $4 where id = $1',
    [id, state, by, reason],
  )
  if (state === 'approved') await addPosting(tx, id)
}

/**
 * Stores the ledger's answer; true when it changed the row. A transfer replaces a refusal that another process got just
 * before, when the wallet was in another state.
 */
export async function updateCorrectionPosted(tx: Transaction, id: string, refusal: string | null): Promise<boolean> {
  const { rowCount } = await tx.query(
    refusal === null
      ? `update corrections set state = 'done', refusal = null where id = $1 and state in ('approved', 'refused')`
      : `update corrections set state = 'refused', refusal = $2 where id = $1 and state = 'approved'`,
    refusal === null ? [id] : [id, refusal],
  )
  await dropWork(tx, 'post-correction', id)
  return rowCount === 1
}

/** Newest first. */
export async function listCorrections(
  db: Queryable,
  { state, limit }: { state?: string; limit: number },
): Promise<Correction[]> {
  const { rows } = await db.query<Correction>(
    `select ${columns} from corrections where $2::text is null or state = $2 order by asked_at desc, id desc limit $1`,
    [limit, state ?? null],
  )
  return rows
}

/** Corrections that wait for a second operator, oldest first. */
export async function listWaitingCorrections(db: Queryable, limit: number): Promise<Correction[]> {
  const { rows } = await db.query<Correction>(
    `select ${columns} from corrections where state = 'waiting' order by asked_at, id limit $1`,
    [limit],
  )
  return rows
}

/** Counts the corrections that wait for a second operator, up to a thousand, and returns since when the oldest one waits. */
export async function countWaitingCorrections(db: Queryable): Promise<{ count: number; oldestAt: Date | null }> {
  const { rows } = await db.query<{ count: number; oldestAt: Date | null }>(
    `select count(*)::int as count, min(asked_at) as "oldestAt"
     from (select asked_at from corrections where state = 'waiting' order by asked_at limit 1000) w`,
  )
  return one(rows)
}

/** Sums the corrections of one transaction in one direction: those done, and those that may still be done. */
export async function sumCorrectionsOf(tx: Transaction, key: string, sign: 1 | -1): Promise<bigint> {
  const { rows } = await tx.query<{ sum: bigint }>(
    `select coalesce(sum(amount), 0)::bigint as sum from corrections
     where corrects = $1 and state in ('waiting', 'approved', 'done') and sign(amount) = $2`,
    [key, sign],
  )
  return one(rows).sum
}

/** All actors of the command line are the person `cli`. */
const isBySql = (column: string) => `(${column} = $1 or ($1 = 'cli' and ${column} like 'cli:%'))`

/**
 * Sums what one person moved without approval in the last 24 hours, over all wallets; debits and credits both add up. An ordered
 * bonus is in the audit log, also one of an older process, which may have recorded it once for each time its form was sent. The bonus
 * that is being decided does not count.
 */
export async function sumAlone(db: Queryable, person: string, decidedReferenceId?: string): Promise<bigint> {
  const { rows } = await db.query<{ sum: bigint }>(
    `select coalesce(sum(amount), 0)::bigint as sum from (
       select abs(amount) as amount from corrections
       where asked_at > now() - interval '24 hours' and ${isBySql('asked_by')} and not needs_approval
         and state in ('approved', 'done')
       union all
       select max((detail->>'amountMinor')::bigint) from audit
       where action = 'wallet.bonus-ordered' and at > now() - interval '24 hours' and ${isBySql('actor')}
         and detail->>'referenceId' is distinct from $2
       group by subject, detail->>'referenceId'
     ) alone`,
    [person, decidedReferenceId ?? null],
  )
  return one(rows).sum
}

/** Lists the corrections that made some entries (`ids`), and those that correct them (`keys`). The caller keeps both lists short. */
export async function listCorrectionsAbout(
  db: Queryable,
  { ids, keys }: { ids: readonly string[]; keys: readonly string[] },
): Promise<Correction[]> {
  if (ids.length === 0 && keys.length === 0) return []
  const { rows } = await db.query<Correction>(
    `select ${columns} from corrections where id = any($1::uuid[])
     union select ${columns} from corrections where corrects = any($2::uuid[]) and state in ('waiting', 'approved', 'done')
     order by "askedAt" limit 500`,
    [ids, keys],
  )
  return rows
}
