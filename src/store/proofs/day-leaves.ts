/** The books of a day as a leaf of the log: what each account has moved, and the sum of all wallets. */
import type { AccountLine } from '../../proof/day-tree.ts'
import { textArray } from '../connection/arrays.ts'
import type { Queryable, Transaction } from '../connection/database.ts'
import { maybe, one } from '../connection/rows.ts'

/** Days after `after`, if there is one, up to `until`; in the order of the accounts' bytes. */
export async function listAccountLines(db: Queryable, after: string | null, until: string): Promise<AccountLine[]> {
  const { rows } = await db.query<AccountLine>(
    `select counter_account as account, sum(debited)::text as debited, sum(credited)::text as credited, sum(transfers)::text as transfers
     from positions where ($1::date is null or day > $1) and day <= $2::date group by 1 order by 1`,
    [after, until],
  )
  return rows
}

/** One account, up to the end of the day. Undefined if it has not moved. */
export async function findAccountLine(db: Queryable, account: string, until: string): Promise<AccountLine | undefined> {
  const { rows } = await db.query<AccountLine>(
    `select counter_account as account, sum(debited)::text as debited, sum(credited)::text as credited, sum(transfers)::text as transfers
     from positions where counter_account = $1 and day <= $2::date group by 1`,
    [account, until],
  )
  return maybe(rows)
}

export type SealedDay = {
  readonly day: string
  /** In version 1 the lines of a day have only what was moved since the sealed day before. */
  readonly version: 1 | 2
  readonly leaf: number
  readonly salt: Uint8Array
  readonly walletsMinor: bigint
  readonly accounts: readonly string[]
  /** The hash of the line with the sum, and of that of each account. In version 1 the first six bytes of those of the accounts. */
  readonly marks: Uint8Array
}

const columns = `d.day::text as day, d.version, d.leaf::float8 as leaf, d.salt, d.wallets::text as "walletsText", d.accounts, d.marks`

type Row = Omit<SealedDay, 'walletsMinor'> & { walletsText: string }

const toDay = ({ walletsText, ...row }: Row): SealedDay => ({ ...row, walletsMinor: BigInt(walletsText) })

/** The first sealed day that is this one or later. */
export async function findDayFrom(db: Queryable, day: string): Promise<SealedDay | undefined> {
  const { rows } = await db.query<Row>(
    `select ${columns} from log_days d where d.day >= $1::date and d.version = 2 order by d.day limit 1`,
    [day],
  )
  const row = maybe(rows)
  return row && toDay(row)
}

export async function findLastDay(db: Queryable): Promise<SealedDay | undefined> {
  const { rows } = await db.query<Row>(`select ${columns} from log_days d order by d.day desc limit 1`)
  const row = maybe(rows)
  return row && toDay(row)
}

/** By the database's clock. The clocks of a database and its standby differ by less, and no writer's statement takes that long. */
export async function getEndedDay(db: Queryable): Promise<string> {
  const { rows } = await db.query<{ day: string }>(
    `select (((now() - interval '2 hours') at time zone 'UTC')::date - 1)::text as day`,
  )
  return one(rows).day
}

export async function insertDay(tx: Transaction, day: SealedDay): Promise<void> {
  await tx.query(
    `insert into log_days (day, leaf, salt, wallets, accounts, marks, version)
     values ($1::date, $2, decode($3, 'hex'), $4::numeric, $5::text[], decode($6, 'hex'), $7)`,
    [
      day.day,
      day.leaf,
      Buffer.from(day.salt).toString('hex'),
      String(day.walletsMinor),
      textArray(day.accounts, (account) => account),
      Buffer.from(day.marks).toString('hex'),
      day.version,
    ],
  )
}

/** A leaf of kind `books`, and the day that it seals; `day` is null if the row of that day is missing. */
export type DayLeaf = { readonly number: number; readonly hash: Uint8Array; readonly day: SealedDay | null }

/** Oldest first, from leaf `from` up to, without, leaf `until`. */
export async function listDayLeaves(
  db: Queryable,
  from: number,
  until: number,
  limit: number,
): Promise<readonly DayLeaf[]> {
  const { rows } = await db.query<{ number: number; hash: Uint8Array } & (Row | { [name in keyof Row]: null })>(
    `select l.number::float8 as number, l.hash, ${columns} from log_leaves l left join log_days d on d.leaf = l.number
     where l.kind = 'books' and l.number >= $1 and l.number < $2 order by l.number limit $3`,
    [from, until, limit],
  )
  return rows.map(({ number, hash, ...row }) => ({ number, hash, day: row.day === null ? null : toDay(row) }))
}
