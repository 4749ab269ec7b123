/** Payouts to apps: consecutive periods, and reversals. Rows are added, never changed. */
import type { Queryable, Transaction } from '../connection/database.ts'
import { maybe, one } from '../connection/rows.ts'
import type { Listing } from '../connection/listing.ts'

export type NewSettlement = {
  readonly id: string
  readonly clientId: string
  readonly number: number
  /** As `2026-11-14`; null for the first period. */
  readonly fromDay: string | null
  readonly throughDay: string
  readonly amountMinor: bigint
  readonly reference: string
  /** The settlement that this one reverses. */
  readonly reverses: string | null
  readonly madeBy: string
}

export type Settlement = NewSettlement & { readonly madeAt: Date }

const columns = `id, client_id as "clientId", number, from_day as "fromDay", through_day as "throughDay", amount as "amountMinor",
  reference, reverses, made_by as "madeBy", made_at as "madeAt"`

/** One look-up for each row: for `exists` the planner may read the whole table into a hash. */
const isReversedSql = '((select r.id from settlements r where r.reverses = s.id) is not null)'

export const settlementListing: Listing = {
  table: 'settlements',
  alias: 's',
  columns: `${columns}, ${isReversedSql} as "isReversed"`,
  key: [{ sql: 's.id', type: 'uuid' }],
  time: { sql: 's.made_at', type: 'timestamptz' },
  amount: { sql: 'abs(s.amount)', type: 'bigint' },
  people: ['s.made_by'],
  choices: {
    state: {
      'paid out': `s.reverses is null and not ${isReversedSql}`,
      reversed: isReversedSql,
      reversal: 's.reverses is not null',
    },
  },
  equals: { app: { sql: 's.client_id', type: 'text' } },
  ids: [
    { sql: 's.id', type: 'uuid' },
    { sql: 's.reference', type: 'text' },
  ],
}

export type ListedSettlement = Settlement & { readonly isReversed: boolean }

/** Until the transaction ends, no other settlement of the app is made. Other work on the app continues. */
export async function lockApp(tx: Transaction, clientId: string): Promise<boolean> {
  const { rowCount } = await tx.query('select from apps where client_id = $1 for no key update', [clientId])
  return rowCount === 1
}

/** False when the id is taken. */
export async function insertSettlement(tx: Transaction, settlement: NewSettlement): Promise<boolean> {
  const { id, clientId, number, fromDay, throughDay, amountMinor, reference, reverses, madeBy } = settlement
  const { rowCount } = await tx.query(
    `insert into settlements (id, client_id, number, from_day, through_day, amount, reference, reverses, made_by)
     values ($1, $2, $3, $4, $5, $6, $7, $8, $9) on conflict (id) do nothing`,
    [id, clientId, number, fromDay, throughDay, amountMinor, reference, reverses, madeBy],
  )
  return rowCount === 1
}

export async function findSettlement(db: Queryable, id: string): Promise<Settlement | undefined> {
  const { rows } = await db.query<Settlement>(`select ${columns} from settlements where id = $1`, [id])
  return maybe(rows)
}

/** Payouts whose reference begins with the text, in any case. */
export async function searchSettlements(db: Queryable, text: string, limit: number): Promise<Settlement[]> {
  const { rows } = await db.query<Settlement>(
    `select ${columns} from settlements
     where lower(reference) collate "C" >= lower($1) and lower(reference) collate "C" < lower($1) || U&'\\+10FFFF'
     order by lower(reference) collate "C", id limit $2`,
    [text, limit],
  )
  return rows
}

/** The newest settlement that is not reversed: everything up to its last day is paid out. */
export async function findLastSettlement(db: Queryable, clientId: string): Promise<Settlement | undefined> {
  const { rows } = await db.query<Settlement>(
    `select ${columns} from settlements s where client_id = $1 and reverses is null
       and not ${isReversedSql}
     order by number desc limit 1`,
    [clientId],
  )
  return maybe(rows)
}

/** Newest first, below that number. */
export async function listSettlements(
  db: Queryable,
  clientId: string,
  { below, limit }: { below?: number | undefined; limit: number },
): Promise<Settlement[]> {
  const { rows } = await db.query<Settlement>(
    `select ${columns} from settlements where client_id = $1 and number < $2 order by number desc limit $3`,
    [clientId, below ?? 2_147_483_647, limit],
  )
  return rows
}

export async function countSettlements(tx: Transaction, clientId: string): Promise<number> {
  const text = 'select coalesce(max(number), 0) as count from settlements where client_id = $1'
  const { rows } = await tx.query<{ count: number }>(text, [clientId])
  return one(rows).count
}

export async function sumSettled(db: Queryable, clientId: string): Promise<bigint> {
  const text = 'select coalesce(sum(amount), 0)::bigint as sum from settlements where client_id = $1'
  const { rows } = await db.query<{ sum: bigint }>(text, [clientId])
  return one(rows).sum
}

/**
 * The last day, in UTC and by the database's clock, to which no entry is added any more, and today. An entry has the time of its
 * statement, which commits within seconds: a few minutes after midnight the day before is complete.
 */
export async function getClosedDay(db: Queryable): Promise<{ closedDay: string; today: string }> {
  const { rows } = await db.query<{ closedDay: string; today: string }>(
    `select ((now() - interval '5 minutes') at time zone 'UTC')::date - 1 as "closedDay", (now() at time zone 'UTC')::date as today`,
  )
  return one(rows)
}
