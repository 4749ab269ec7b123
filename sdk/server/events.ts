/** Follows the feed of events: page by page, waiting for the next event at its end, through outages of the service. */
import type { BillfoldEvent, EventsRequest, EventsResponse, ReplayEventsResponse } from '../contract/events.ts'
import { sleep } from './attempt.ts'
import { call } from './call.ts'
import type { Json, Route } from './call.ts'
import { BillfoldError } from './error.ts'
import type { Settings } from './settings.ts'

const route: Route = { method: 'GET', path: '/api/server/events' }
export const replayRoute: Route = { method: 'POST', path: '/api/server/events/replay' }
/** A page of this many events with the longest texts is about 1.1 MB. */
const eventsPerPage = 200
const longestWaitSeconds = 20
/** Between attempts of a call that got no answer. */
const pausesMs = [1_000, 2_000, 5_000, 10_000, 30_000]

export async function* followEvents(
  settings: Settings,
  { after, limit = eventsPerPage, types, wait = longestWaitSeconds }: EventsRequest,
  options: { signal?: AbortSignal },
): AsyncGenerator<BillfoldEvent, void, undefined> {
  const address = settings.baseUrl + route.path
  const exchange = { name: `${route.method} ${address}`, address }
  // A waiting call is answered later than any other.
  const patient = { ...settings, timeoutMs: settings.timeoutMs + wait * 1_000 }
  let next = after
  for (let failures = 0; ; failures = 0) {
    const request = { after: next, limit, types: types?.join(','), wait }
    let page: EventsResponse | undefined
    while (!page)
      try {
        page = await call(patient, route, request, isPage, options)
      } catch (error) {
        const isOutage = error instanceof BillfoldError && error.isRetryable && error.code !== 'ABORTED'
        if (!isOutage || wait === 0) throw error
        const pauseMs = pausesMs[Math.min(failures++, pausesMs.length - 1)]!
        await sleep(Math.max(pauseMs, error.retryAfterMs ?? 0), exchange, options.signal)
      }
    yield* page.events
    // Without waiting, the end of the feed ends the iteration.
    if (wait === 0 && page.last === next) return
    next = page.last
  }
}

function isPage(answer: Json): answer is Json & EventsResponse {
  return Array.isArray(answer.events) && typeof answer.last === 'number' && typeof answer.oldest === 'number'
}

export function isReplay(answer: Json): answer is Json & ReplayEventsResponse {
  return typeof answer.endpointId === 'string' && typeof answer.count === 'number'
}
