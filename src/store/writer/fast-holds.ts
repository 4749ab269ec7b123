/**
 * New holds in the fast statement. A batch without one uses the text without these parts. A hold has an outcome and a row of holds, where
 * a debit has an entry, an outcome and its part of a position.
 */
import { maxOpenHolds, newHold, noticeSeconds, type HoldView } from '../../ledger/hold.ts'
import type { Sum } from '../../ledger/plan.ts'
import { plainArray } from '../connection/arrays.ts'
import { reportedToSql } from '../events/journal.ts'
import type { PendingPosting } from './posting.ts'

/** The pieces of the statement that differ. */
export type HoldParts = {
  /** Of `change`: its further arrays and their names, and the columns it has besides. */
  readonly sums: string
  readonly sumNames: string
  readonly sumColumns: string
  /** Of `moved`: what it sets, when, and what it returns. */
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
 * The wallet has the number of its open holds, of all apps: one with more of them than an app may have goes to the careful lane, which counts
 * those of the app.
 */
export function holdParts(first: number, isJournalled: boolean): HoldParts {
  const [net, count, offset, seconds] = [0, 1, 2, 3].map((i) => `$${first + i}`)
  return {
    sums: `, ${net}::bigint[], ${count}::integer[]`,
    sumNames: ', net_held, holds',
    sumColumns: ', c.net_held, c.holds, c.client_id',
    set: ', held = w.held + c.net_held, open_holds = w.open_holds + c.holds',
    guard: `
    and (c.holds = 0 or w.open_holds + c.holds <= ${maxOpenHolds})`,
    heldBefore: 'w.held - c.net_held as held',
    movedColumns: ', c.client_id',
    isLone: 'c.count + c.holds = 1 and c.lowest < 0',
    taken: 'c.lowest',
    held: 'm.held + o.held_offset as held',
    columns: `, case when o.seconds is not null then true end as is_hold, ${truncated('m.at')} as made_at, o.seconds, m.client_id`,
    noColumns: ', null, null, null, null',
    arrays: `, ${offset}::bigint[], ${seconds}::integer[]`,
    names: ', held_offset, seconds',
    rows: `, hold as (
  insert into holds (wallet_id, id, client_id, reference_type, reference_id, description, amount, created_at, expires_at${isJournalled ? ', notice_at' : ''})
  select wallet_id, reference_key, client_id, reference_type, reference_id, description, -amount, made_at, made_at + seconds * interval '1 second'${isJournalled ? noticeSql : ''}
  from operation where is_hold
)`,
    time: ', array_agg(at)',
    timeOfMoved: `, round(date_part('epoch', ${truncated('at')}) * 1000)::bigint as at`,
    noTime: ', null',
  }
}

/** To milliseconds, as `holdClockSql`; a cast rounds, and costs a fifth of `date_trunc`. */
const truncated = (at: string) => `(${at} - interval '500 microseconds')::timestamptz(3)`

/** As `noticeTimeOf` in ledger/hold, of those that are reported. */
const noticeSql = `,
    case when ${reportedToSql} is not null and seconds > ${noticeSeconds} then made_at + (seconds - ${noticeSeconds}) * interval '1 second' end`

/** For a cluster, with one more parameter: the apps, because the links were resolved before. */
export function holdPartsOnNodes(first: number, isJournalled: boolean): HoldParts {
  const usual = holdParts(first, isJournalled)
  return { ...usual, sums: `${usual.sums}, $${first + 4}::text[]`, sumNames: `${usual.sumNames}, client_id` }
}

type Change = { readonly sum: Sum }
type Planned = { readonly posting: PendingPosting; readonly heldOffsetMinor: bigint }

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
  const { clientId } = posting.by
  if (seconds === undefined || clientId === undefined) return undefined
  return newHold(posting, { walletId, clientId, seconds }, new Date(atMs))
}
