/** Chooses events of an app by number, type and time, in the order of the feed. */
import type { BillfoldEvent } from '../../../sdk/contract.ts'
import { findEvents } from '../../store/events/feed.ts'
import { findNumbersBetween } from '../../store/events/endpoints.ts'
import type { Service } from '../service.ts'
import { toEvent } from './event-body.ts'

export type EventSelection = {
  /** Only events with a higher number; undefined means from the oldest that is kept. */
  readonly after?: number | undefined
  /** Up to this number. */
  readonly upTo?: number | undefined
  readonly from?: Date | undefined
  /** Before this time. */
  readonly to?: Date | undefined
  /** Null for every type. */
  readonly types: readonly string[] | null
  readonly limit: number
}

export type SelectedEvents = {
  readonly events: readonly BillfoldEvent[]
  /** Up to which number the events have been read. */
  readonly readUpTo: number
  /** The last number of the app. */
  readonly last: number
  /** The lowest number that is kept. */
  readonly oldest: number
}

const eventsPerRead = 1_000

export async function selectEvents(
  service: Pick<Service, 'db' | 'config'>,
  clientId: string,
  selection: EventSelection,
): Promise<SelectedEvents> {
  const { db, config } = service
  const head = await findEvents(db.pool, clientId, { after: undefined, limit: 1 })
  const numbers = await numbersIn(service, clientId, selection)
  const upTo = Math.min(selection.upTo ?? head.last, numbers.last, head.last)
  const events: BillfoldEvent[] = []
  let readUpTo = Math.max(selection.after ?? 0, numbers.first - 1, head.oldest - 1)
  while (readUpTo < upTo && events.length < selection.limit) {
    const page = await findEvents(db.pool, clientId, {
      after: readUpTo,
      limit: Math.min(eventsPerRead, upTo - readUpTo),
    })
    // The oldest events were deleted meanwhile.
    if (page.events.length === 0) readUpTo = page.oldest - 1
    for (const recorded of page.events) {
      const event = toEvent(recorded, clientId, config.currency)
      readUpTo = event.number
      if (isSelected(event, selection) && events.push(event) === selection.limit) break
    }
  }
  return { events, readUpTo, last: head.last, oldest: head.oldest }
}

/** An event's time is that of its entry, which is written shortly before or after the journal. */
const apartMs = 60_000

/** The numbers around a time; `isSelected` compares the time of each event. */
async function numbersIn({ db }: Pick<Service, 'db'>, clientId: string, { from, to }: EventSelection) {
  if (!from && !to) return { first: 1, last: Infinity }
  const start = new Date(Math.max(0, (from?.getTime() ?? 0) - apartMs))
  const end = new Date((to?.getTime() ?? Date.UTC(9999, 0)) + apartMs)
  return (await findNumbersBetween(db.pool, clientId, start, end)) ?? { first: 1, last: 0 }
}

function isSelected({ type, timestamp }: BillfoldEvent, { types, from, to }: EventSelection): boolean {
  const at = Date.parse(timestamp)
  return (types?.includes(type) ?? true) && (!from || at >= from.getTime()) && (!to || at < to.getTime())
}
