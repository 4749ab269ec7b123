/** The feed of events as the statements read it: whole pages, where it ends, and the events of what a statement has posted. */
import { setTimeout as sleep } from 'node:timers/promises'
import { NotTried, demand, demandSuccess, shownValue } from './verdict.ts'
import type { Credentials, Query, Reply, Subject } from './subject.ts'

const feedPath = '/api/server/events'

export type FeedEvent = {
  readonly id: unknown
  readonly number: number
  readonly type: unknown
  readonly timestamp: unknown
  readonly data: Readonly<Record<string, unknown>>
}

export type FeedPage = {
  readonly events: readonly FeedEvent[]
  readonly last: number
  readonly oldest: number
  readonly text: string
}

/** Statements about the feed are tried only where the service has one, and has it on for the app. */
export async function askFeed(
  subject: Subject,
  query: Query = {},
  who: Credentials = subject.credentials,
): Promise<Reply> {
  const { clientId, clientSecret } = who
  const reply = await subject.get(feedPath, { clientId, clientSecret, ...query })
  if (reply.status === 404) throw new NotTried('GET /api/server/events is 404', 'a feed of events')
  if (reply.status === 403 && reply.body?.['code'] === 'EVENTS_OFF')
    throw new NotTried(`the events of ${clientId} are off`, 'events that are on')
  return reply
}

export async function readFeed(subject: Subject, query: Query = {}, who?: Credentials): Promise<FeedPage> {
  const reply = await askFeed(subject, query, who)
  const { events, last, oldest } = demandSuccess(reply, `GET ${feedPath}`)
  demand(
    Array.isArray(events) && events.every(isEvent),
    'events is not a list of events with a number, a type and data',
  )
  demand(isCount(last), `last is ${shownValue(last)}`)
  demand(isCount(oldest), `oldest is ${shownValue(oldest)}`)
  return { events: events as FeedEvent[], last, oldest, text: reply.text }
}

const isCount = (value: unknown): value is number => typeof value === 'number' && Number.isSafeInteger(value)

function isEvent(value: unknown): boolean {
  const { number, type, data } = (value ?? {}) as Partial<Record<keyof FeedEvent, unknown>>
  return isCount(number) && typeof type === 'string' && typeof data === 'object' && data !== null
}

const maxSteps = 120

/** The last number of the app, by bisection: a number above it is refused, and one whose events are gone is 410. */
export async function findEnd(subject: Subject, who?: Credentials): Promise<number> {
  let below = 0
  let above: number | undefined
  for (let asked = 0, steps = 0; steps < maxSteps && (above === undefined || above - below > 1); steps++) {
    const reply = await askFeed(subject, { after: String(asked), limit: '1' }, who)
    const { events } = reply.body ?? {}
    if (reply.status === 200 && Array.isArray(events) && events.length === 0) return asked
    if (reply.status === 200 || reply.status === 410) below = asked
    else if (reply.status === 400) above = asked
    else demandSuccess(reply, `GET ${feedPath}`)
    asked = above === undefined ? Math.max(1, below * 2) : Math.floor((below + above) / 2)
  }
  return below
}

/** Events get their numbers soon, and not at once. */
const withinMs = 10_000
const pauseMs = 100

/** Waits until the events of these references are there, and then reads all events after the number, in one page if they fit. */
export async function readUntil(
  subject: Subject,
  after: number,
  referenceIds: readonly string[],
): Promise<readonly FeedEvent[]> {
  const endsAt = performance.now() + withinMs
  const missing = new Set(referenceIds)
  let next = after
  while (missing.size > 0) {
    demand(performance.now() < endsAt, `after ${withinMs / 1_000} seconds the feed lacks ${missing.size} events`)
    const page = await readFeed(subject, { after: String(next), limit: '100', wait: '2' })
    for (const { data } of page.events) missing.delete(String(data['referenceId']))
    demand(page.last >= next, `last is ${page.last}, and after was ${next}`)
    next = page.last
    if (page.events.length === 0) await sleep(pauseMs)
  }
  return await readBetween(subject, after, next)
}

async function readBetween(subject: Subject, after: number, upTo: number): Promise<readonly FeedEvent[]> {
  const found: FeedEvent[] = []
  for (let next = after; next < upTo;) {
    const limit = Math.min(1_000, upTo - next)
    const page = await readFeed(subject, { after: String(next), limit: String(limit) })
    demand(page.last > next, `last is ${page.last}, and after was ${next}`)
    found.push(...page.events)
    next = page.last
  }
  return found
}

/** Events of the run's own postings alone: others may use the app meanwhile. */
export const ownOf = (events: readonly FeedEvent[], referenceIds: readonly string[]) =>
  events.filter(({ data }) => referenceIds.includes(String(data['referenceId'])))

export type Posted = {
  /** The end of the feed before them. */
  readonly after: number
  readonly referenceIds: readonly string[]
  /** All events after that number, with those of others. */
  readonly events: readonly FeedEvent[]
}

/** Posts credits (above zero) and debits one after the other, and reads their events. */
export async function postAndRead(subject: Subject, amounts: readonly number[]): Promise<Posted> {
  const after = await findEnd(subject)
  const referenceIds: string[] = []
  for (const amount of amounts) {
    const reference = subject.newReference()
    const posted = amount > 0 ? subject.credit(amount, reference) : subject.debit(-amount, reference)
    demandSuccess(await posted, 'a posting')
    referenceIds.push(reference.referenceId)
  }
  return { after, referenceIds, events: await readUntil(subject, after, referenceIds) }
}
