/** The positions of the counter accounts, by day and month, and the two sides of the books. */
import type { Queryable } from '../connection/database.ts'
import { one } from '../connection/rows.ts'

type Flow = {
  /** Out of wallets, and into wallets. */
  readonly debitedMinor: bigint
  readonly creditedMinor: bigint
  readonly transfers: number
}

const sums = `coalesce(sum(debited), 0) as "debitedMinor", coalesce(sum(credited), 0) as "creditedMinor",
  coalesce(sum(transfers), 0)::float8 as transfers`

export type DayFlow = Flow & { readonly account: string; readonly day: string }

/** Days, as `2025-03-01`, from `from` up to but excluding `until`. */
export async function listDayFlows(
  db: Queryable,
  { account, from, until }: { account: string | undefined; from: string; until: string },
): Promise<DayFlow[]> {
  const { rows } = await db.query<DayFlow>(
    `select counter_account as account, day, ${sums} from positions
     where day >= $1::date and day < $2::date and ($3::text is null or counter_account = $3)
     group by counter_account, day order by day, counter_account`,
    [from, until, account ?? null],
  )
  return rows
}

export type MonthFlow = Flow & { readonly month: string }

export async function listMonthFlows(db: Queryable, account: string | undefined, from: string): Promise<MonthFlow[]> {
  const { rows } = await db.query<MonthFlow>(
    `select to_char(day, 'YYYY-MM') as month, ${sums} from positions
     where day >= $2::date and ($1::text is null or counter_account = $1) group by 1 order by 1`,
    [account ?? null, from],
  )
  return rows
}

export type AccountFlow = Flow & { readonly account: string; readonly positionMinor: bigint }

/** What each account moved in the span, and its position at the end. */
export async function listAccountFlows(
  db: Queryable,
  { from, until }: { from: string; until: string },
): Promise<AccountFlow[]> {
  const { rows } = await db.query<AccountFlow>(
    `select counter_account as account, sum(debited - credited) as "positionMinor",
       coalesce(sum(debited) filter (where day >= $1::date), 0) as "debitedMinor",
       coalesce(sum(credited) filter (where day >= $1::date), 0) as "creditedMinor",
       coalesce(sum(transfers) filter (where day >= $1::date), 0)::float8 as transfers
     from positions where day < $2::date group by counter_account order by counter_account`,
    [from, until],
  )
  return rows
}

/** The debits to this account minus the credits from it, before the day. */
export async function getPositionBefore(db: Queryable, account: string | undefined, day: string): Promise<bigint> {
  const { rows } = await db.query<{ position: bigint }>(
    `select coalesce(sum(debited - credited), 0) as position from positions
     where day < $2::date and ($1::text is null or counter_account = $1)`,
    [account ?? null, day],
  )
  return one(rows).position
}

export type Sides = { readonly walletsMinor: bigint; readonly positionsMinor: bigint }

/** One statement, so that wallets and positions are of one snapshot. The two sums must add up to zero. */
export async function getSides(db: Queryable): Promise<Sides> {
  const { rows } = await db.query<Sides>(
    `select (select coalesce(sum(balance), 0) from wallets) as "walletsMinor",
       (select coalesce(sum(debited - credited), 0) from positions) as "positionsMinor"`,
  )
  return one(rows)
}
