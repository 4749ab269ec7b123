/**
 * Attempts counted in the database, so that a limit holds across all processes. A row lives as long as its window. The
 * number of rows is bounded by the speed of password hashing, because every attempt that passes here costs one hash.
 */
import type { Queryable } from './connection/database.ts'
import { maybe, one } from './connection/rows.ts'

export type LimitUse = { readonly count: number; readonly secondsLeft: number }

/** Counts one attempt, and returns the count of the key's window including it. */
export async function upsertLimit(db: Queryable, key: Buffer, windowMs: number): Promise<LimitUse> {
  const { rows } = await db.query<LimitUse>({
    name: 'upsert-limit',
    text: `insert into limits as l (key, count, ends_at) values ($1, 1, now() + $2 * interval '1 ms')
      on conflict (key) do update set
        count = case when l.ends_at <= now() then 1 else l.count + 1 end,
        ends_at = case when l.ends_at <= now() then excluded.ends_at else l.ends_at end
      returning count, ceil(extract(epoch from ends_at - now()))::integer as "secondsLeft"`,
    values: [key, windowMs],
  })
  return one(rows)
}

/** Reads the count of the key's window without counting an attempt. */
export async function findLimit(db: Queryable, key: Buffer): Promise<LimitUse> {
  const { rows } = await db.query<LimitUse>(
    `select count, ceil(extract(epoch from ends_at - now()))::integer as "secondsLeft" from limits
     where key = $1 and ends_at > now()`,
    [key],
  )
  return maybe(rows) ?? { count: 0, secondsLeft: 0 }
}

/** Takes one attempt back: attempts are counted before the password is checked, and this one was right. */
export async function updateLimitRefunded(db: Queryable, key: Buffer): Promise<void> {
  await db.query('update limits set count = count - 1 where key = $1 and count > 0', [key])
}

export async function deleteLimit(db: Queryable, key: Buffer): Promise<void> {
  await db.query('delete from limits where key = $1', [key])
}
