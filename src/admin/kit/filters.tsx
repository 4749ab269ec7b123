/** Filters shared by lists sorted by time: first and last day in UTC, and the order. */
import { Field, sortable, withQuery, type Sortable } from './parts.tsx'
import type { AdminRequest } from './route.ts'

const orderOptions = [
  ['', 'Newest first'],
  ['oldest', 'Oldest first'],
] as const

/** The orders of a list sorted by time, for its column head. */
export const byTime = { descending: '', ascending: 'oldest' } as const

/** The filter of a list, as the address holds it. */
export type Kept = {
  readonly text: (name: string) => string
  /** The path with the current filter and these changes. */
  readonly hrefOf: (path: string, changes?: Record<string, string>) => string
}

export function keptOf(request: AdminRequest, names: readonly string[]): Kept {
  const kept = Object.fromEntries([...names, 'from', 'until', 'order'].map((name) => [name, request.query(name)]))
  return {
    text: (name) => kept[name] ?? '',
    hrefOf: (path, changes = {}) => withQuery(path, { ...kept, ...changes }),
  }
}

export const isOldestFirst = (request: AdminRequest) => request.query('order') === 'oldest'

/** The head of the time column: a click reverses the order. */
export function timeHead(title: string, path: string, { text, hrefOf }: Kept): Sortable {
  return sortable(title, byTime, { order: text('order'), hrefOf: (order) => hrefOf(path, { order }) })
}

export function DayFields({ text }: Kept) {
  return (
    <>
      <Field label="From" name="from" type="date" value={text('from')} />
      <Field label="Until" name="until" type="date" value={text('until')} />
    </>
  )
}

/** The last field of a filter, and the button for browsers without JavaScript. */
export function OrderAndApply({ text }: Pick<Kept, 'text'>) {
  return (
    <>
      <Field label="Order" name="order" value={text('order')} options={orderOptions} />
      <button class="button quiet" type="submit">
        Apply
      </button>
    </>
  )
}

/** The active day filters, for the head of the list. */
export function dayBadges({ text }: Kept): (readonly [name: string, value: string])[] {
  return ['from', 'until'].map((name) => [name, text(name) && `${text(name)} UTC`])
}

/** The span of the day fields. `until` is the start of the day after the last, exclusive. */
export function spanOf(request: AdminRequest): { from: Date | undefined; until: Date | undefined } {
  const last = dayOf(request.query('until'))
  return { from: dayOf(request.query('from')), until: last && new Date(last.getTime() + 86_400_000) }
}

function dayOf(text: string): Date | undefined {
  const at = /^20\d\d-\d\d-\d\d$/.test(text) ? new Date(`${text}T00:00:00Z`) : undefined
  return at && !Number.isNaN(at.getTime()) ? at : undefined
}
