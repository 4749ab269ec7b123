/**
 * Later uses of a reference, for investigations. They are written in the background, one row per distinct request, so
 * that an endless retry loop costs one row. A crash may lose some, which loses no money.
 */
import { plainArray } from './connection/arrays.ts'
import type { Database, Queryable } from './connection/database.ts'

export type Repeat = { readonly referenceKey: string; readonly walletId: string; readonly amountMinor: bigint }

export type Repeats = { readonly record: (repeat: Repeat) => void; readonly close: () => Promise<void> }

const maxHeld = 10_000
const flushAfterMs = 250

export function openRepeats(db: Database): Repeats {
  let held = new Map<string, Repeat & { times: number }>()
  let flushing: Promise<void> | undefined
  let timer: ReturnType<typeof setTimeout> | undefined

  async function flush(): Promise<void> {
    timer = undefined
    await flushing
    const repeats = [...held.values()]
    held = new Map()
    if (repeats.length === 0) return
    flushing = insertRepeats(db, repeats).catch(() => {})
    await flushing
  }

  return {
    record: (repeat) => {
      const key = `${repeat.referenceKey} ${repeat.walletId} ${repeat.amountMinor}`
      const known = held.get(key)
      if (known) known.times++
      else if (held.size < maxHeld) held.set(key, { ...repeat, times: 1 })
      timer ??= setTimeout(() => void flush(), flushAfterMs)
    },
    close: async () => {
      clearTimeout(timer)
      await flush()
    },
  }
}

async function insertRepeats(db: Database, repeats: (Repeat & { times: number })[]): Promise<void> {
  await db.pool.query(
    `insert into repeats as r (reference_key, wallet_id, amount, times, first_at, last_at)
     select key, wallet_id, amount, times, now(), now()
     from unnest($1::uuid[], $2::uuid[], $3::bigint[], $4::bigint[]) as n(key, wallet_id, amount, times)
     order by 1, 2, 3
     on conflict (reference_key, wallet_id, amount) do update set times = r.times + excluded.times, last_at = excluded.last_at`,
    [
      plainArray(repeats, (repeat) => repeat.referenceKey),
      plainArray(repeats, (repeat) => repeat.walletId),
      plainArray(repeats, (repeat) => repeat.amountMinor),
      plainArray(repeats, (repeat) => repeat.times),
    ],
  )
}

export type LaterUse = {
  readonly walletId: string
  readonly amountMinor: bigint
  readonly times: number
  readonly firstAt: Date
  readonly lastAt: Date
}

/** One per distinct request, newest first. */
export async function listLaterUses(db: Queryable, referenceKey: string): Promise<LaterUse[]> {
  const { rows } = await db.query<LaterUse>(
    `select wallet_id as "walletId", amount as "amountMinor", times::float8 as times, first_at as "firstAt", last_at as "lastAt"
     from repeats where reference_key = $1
     order by last_at desc, wallet_id, amount limit 100`,
    [referenceKey],
  )
  return rows
}
