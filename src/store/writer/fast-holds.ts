/**
 * New holds in the fast statement. A batch without one uses the text without these parts. A hold has an outcome and a row of holds, where
 * a debit has an entry, an outcome and its part of a position.
 */
import { maxOpenHolds, newHold, viewHold, type HoldView } from '../../ledger/hold.ts'
import type { Sum } from '../../ledger/plan.ts'
import { plainArray, textArray } from '../connection/arrays.ts'
import type { PendingPosting } from './posting.ts'
import { expireWorkSql } from './stored-holds.ts'

/** The pieces of the statement that differ. */
export type HoldParts = {
  /** Of `change`: its further arrays and their names, and the columns it has besides. */
  readonly sums: string
  readonly sumNames: string
  readonly sumColumns: string
  /** Before `moved`: what it reads of the holds that are open. */
  readonly opened: string
  /** Of `moved`: where the changes come from, what it sets, when, and what it returns. */
  readonly changes: string
  readonly set: string
  readonly guard: string
  readonly heldBefore: string
  readonly movedColumns: string
  /** Of `unmoved`: a lone posting that takes, and how much. */
  readonly isLone: string
  readonly taken: string
  /** Of `operation`, one row for each posting. */
  readonly held: string
  readonly columns: string
  readonly noColumns: string
  readonly arrays: string
  readonly names: string
  readonly rows: string
  /** Of the answer. */
  readonly time: string
  readonly timeOfMoved: string
  readonly noTime: string
}

export const noHolds: HoldParts = {
  sums: '',
  sumNames: '',
  sumColumns: '',
  opened: '',
  changes: 'change',
  set: '',
  guard: '',
  heldBefore: 'w.held',
  movedColumns: '',
  isLone: 'c.count = 1 and c.net < 0',
  taken: 'c.net',
  held: 'm.held',
  columns: '',
  noColumns: '',
  arrays: '',
  names: '',
  rows: '',
  time: '',
  timeOfMoved: '',
  noTime: '',
}

/**
 * `first` is the number of the first of four parameters. `count` counts entries and `holds` the new holds; the lowest point on the way is
 * of what is available.
 *
 * The guard counts the open holds of all apps, at most one more than the limit: a wallet with more of them goes to the careful lane, which
 * counts those of the app. The snapshot must show all holds of the wallet as it is now, locked: if their sum is not what is held, another
 * transaction has changed one since. The order makes the planner take holds_open, also without statistics. They are counted beside the
 * changes and not in the guard, where their cost could make the planner choose another join.
 */
export function holdParts(first: number): HoldParts {
  const [net, count, offset, seconds] = [0, 1, 2, 3].map((i) => `$${first + i}`)
  return {
    sums: `, ${net}::bigint[], ${count}::integer[]`,
    sumNames: ', net_held, holds',
    sumColumns: ', c.net_held, c.holds, c.client_id',
    opened: '',
    changes: `(
      select change.*, o.open, o.open_held from change cross join lateral (
        select count(*) as open, coalesce(sum(remaining), 0) as open_held from (
          select amount - captured - released as remaining from holds
          where wallet_id = change.wallet_id and closed_at is null and change.holds > 0 order by id limit ${maxOpenHolds + 1}
        ) as h
      ) as o
    ) as change`,
    set: ', held = w.held + c.net_held',
    guard: `
    and (c.holds = 0 or (c.open + c.holds <= ${maxOpenHolds} and c.open_held = w.held))`,
    heldBefore: 'w.held - c.net_held as held',
    movedColumns: ', c.client_id',
    isLone: 'c.count + c.holds = 1 and c.lowest < 0',
    taken: 'c.lowest',
    held: 'm.held + o.held_offset as held',
    columns: `, case when o.seconds is not null then true end as is_hold, date_trunc('milliseconds', m.at) as made_at, o.seconds, m.client_id`,
    noColumns: ', null, null, null, null',
    arrays: `, ${offset}::bigint[], ${seconds}::integer[]`,
    names: ', held_offset, seconds',
    rows: `, hold as (
  insert into holds (wallet_id, id, client_id, reference_type, reference_id, description, amount, created_at, expires_at)
  select wallet_id, reference_key, client_id, reference_type, reference_id, description, -amount, made_at, made_at + seconds * interval '1 second'
  from operation where is_hold
), due as (${expireWorkSql(`select wallet_id, made_at + seconds * interval '1 second' as due_at from operation where is_hold`)}
)`,
    time: ', array_agg(at)',
    timeOfMoved: ', floor(extract(epoch from at) * 1000)::bigint as at',
    noTime: ', null',
  }
}

/**
 * For a cluster, with two more parameters: the apps, because the links were resolved before, and the wallets with new holds. A separate part
 * reads the open holds, because the server that has them does not know `change`.
 */
export function holdPartsOnNodes(first: number): HoldParts {
  const [clients, wallets] = [4, 5].map((i) => `$${first + i}`)
  const usual = holdParts(first)
  return {
    ...usual,
    sums: `${usual.sums}, ${clients}::text[]`,
    sumNames: `${usual.sumNames}, client_id`,
    opened: `, opened as materialized (
  select wallet_id, count(*) as open, sum(amount - captured - released) as open_held from holds
  where wallet_id = any(${wallets}::uuid[]) and closed_at is null group by wallet_id
)`,
    changes: `(
      select change.*, coalesce(o.open, 0) as open, coalesce(o.open_held, 0) as open_held
      from change left join opened o on o.wallet_id = change.wallet_id
    ) as change`,
  }
}

type Change = { readonly sum: Sum }
type Planned = { readonly posting: PendingPosting; readonly heldOffsetMinor: bigint }

export function holdValuesOnNodes(
  changes: readonly (Change & { readonly clientId: string; readonly walletId: string | undefined })[],
): string[] {
  const holding = changes.flatMap(({ sum, walletId }) => (sum.holds > 0 && walletId !== undefined ? [walletId] : []))
  return [textArray(changes, ({ clientId }) => clientId), plainArray(holding, (id) => id)]
}

export function holdValues(changes: readonly Change[], planned: readonly Planned[]): string[] {
  return [
    plainArray(changes, ({ sum }) => sum.netHeldMinor),
    plainArray(changes, ({ sum }) => sum.holds),
    plainArray(planned, ({ heldOffsetMinor }) => heldOffsetMinor),
    plainArray(planned, ({ posting }) => secondsOf(posting) ?? null),
  ]
}

function secondsOf({ hold }: PendingPosting): number | undefined {
  return hold?.kind === 'reserve' ? hold.seconds : undefined
}

/** The hold that the statement has inserted. `atMs` is the clock it read, in whole milliseconds. */
export function placedHold(posting: PendingPosting, walletId: string, atMs: number): HoldView | undefined {
  const seconds = secondsOf(posting)
  if (seconds === undefined || posting.by.clientId === undefined) return undefined
  const at = new Date(atMs)
  return viewHold(newHold({ ...posting, walletId, clientId: posting.by.clientId, seconds }, at), at)
}
