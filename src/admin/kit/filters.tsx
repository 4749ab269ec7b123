/** Filters shared by lists sorted by time: first and last day, an operator, and the order. */
import type { Operator } from '../../store/operators.ts'
import { Field, sortable, withQuery, type Sortable } from './parts.tsx'
import type { AdminRequest } from './route.ts'

const orderOptions: readonly (readonly [value: string, label: string])[] = [
  ['', 'Newest first'],
  ['oldest', 'Oldest first'],
]

/** The orders of a list sorted by time, for its column head. */
export const byTime = { descending: '', ascending: 'oldest' } as const

/** The filter of a list, as the address holds it. */
export type Kept = {
  readonly text: (name: string) => string
  /** The path with the current filter and these changes. */
  readonly hrefOf: (path: string, changes?: Record<string, string>) => string
  /** The fields that are not empty. */
  readonly given: () => Readonly<Record<string, string>>
}

export function keptOf(request: AdminRequest, names: readonly string[]): Kept {
  const kept = Object.fromEntries(
    [...names, 'from', 'until', 'zone', 'order'].map((name) => [name, request.query(name)]),
  )
  return {
    text: (name) => kept[name] ?? '',
    hrefOf: (path, changes = {}) => withQuery(path, { ...kept, ...changes }),
    given: () => Object.fromEntries(Object.entries(kept).filter(([, value]) => value !== '')),
  }
}

export const isOldestFirst = (request: AdminRequest) => request.query('order') === 'oldest'

/** The head of the time column: a click reverses the order. */
export function timeHead(title: string, path: string, { text, hrefOf }: Kept): Sortable {
  return sortable(title, byTime, { order: text('order'), hrefOf: (order) => hrefOf(path, { order }) })
}

/**
 * The days are those of the time zone in which the page shows its times: the page's script fills in the reader's zone; without
 * JavaScript, times and days are in UTC. Days that are stored as days are in UTC always.
 */
export function DayFields({ text, problems = {}, isUtc = false }: DayFieldsProps) {
  return (
    <>
      {!isUtc && <input type="hidden" name="zone" value={text('zone')} data-zone />}
      <Field label="From" name="from" type="date" value={text('from')} problem={problems['from']} />
      <Field label="Until" name="until" type="date" value={text('until')} problem={problems['until']} />
    </>
  )
}

type DayFieldsProps = Pick<Kept, 'text'> & { problems?: Readonly<Record<string, string>>; isUtc?: boolean }

export function PersonField({ text, operators }: Pick<Kept, 'text'> & { operators: readonly Operator[] }) {
  return (
    <Field
      label="Who"
      name="actor"
      value={text('actor')}
      options={[
        ['', 'Anyone'],
        ...operators.map((each): [string, string] => [`operator:${each.id}`, each.name]),
        ['cli', 'Command line'],
        ['system', 'The service'],
        ['stranger', 'Not signed in'],
      ]}
    />
  )
}

/** The last field of a filter, and the button for browsers without JavaScript. */
export function OrderAndApply({ text, more = [] }: Pick<Kept, 'text'> & { more?: typeof orderOptions | undefined }) {
  return (
    <>
      <Field label="Order" name="order" value={text('order')} options={[...orderOptions, ...more]} />
      <button class="button quiet" type="submit">
        Apply
      </button>
    </>
  )
}

/** The active day filters, for the head of the list. */
export function dayBadges({ text }: Pick<Kept, 'text'>): (readonly [name: string, value: string])[] {
  return ['from', 'until'].map((name) => [name, text(name) && `${text(name)} ${zoneOf(text('zone'))}`])
}

/** The span of the day fields. `until` is the start of the day after the last, exclusive. */
export function spanOf({ query }: Pick<AdminRequest, 'query'>): { from: Date | undefined; until: Date | undefined } {
  const zone = zoneOf(query('zone'))
  const [first, last] = [dayOf(query('from')), dayOf(query('until'))]
  return {
    from: first && startOfDay(first, zone),
    until: last && startOfDay(new Date(last.getTime() + 86_400_000), zone),
  }
}

/** The day as a Date in UTC; undefined unless the text is a day of this century, such as 2026-03-01. */
export function dayOf(text: string): Date | undefined {
  const at = /^20\d\d-\d\d-\d\d$/.test(text) ? new Date(`${text}T00:00:00Z`) : undefined
  return at && !Number.isNaN(at.getTime()) && at.toISOString().startsWith(text) ? at : undefined
}

/** A time zone by its IANA name; UTC for any other text. */
function zoneOf(name: string): string {
  try {
    return new Intl.DateTimeFormat('en', { timeZone: name || 'UTC' }).resolvedOptions().timeZone
  } catch {
    return 'UTC'
  }
}

/** Twice, because the offset at midnight in UTC may differ from the one at midnight in the zone. */
function startOfDay(day: Date, zone: string): Date {
  const first = new Date(day.getTime() - offsetMs(day, zone))
  return new Date(day.getTime() - offsetMs(first, zone))
}

function offsetMs(at: Date, timeZone: string): number {
  // The Swedish locale writes year-month-day hour:minute:second.
  const local = new Intl.DateTimeFormat('sv-SE', { timeZone, dateStyle: 'short', timeStyle: 'medium' }).format(at)
  return Date.parse(`${local.replace(' ', 'T')}Z`) - Math.floor(at.getTime() / 1_000) * 1_000
}
