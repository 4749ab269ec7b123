/** Delivers an event that failed while others of its endpoint succeeded, or that an operator or the app asked to have sent again. */
import { maskError } from '../actions/webhooks/describe-endpoint.ts'
import { retryEventAfterMs } from '../actions/webhooks/delivery-rules.ts'
import { openReceiver } from '../actions/webhooks/post-event.ts'
import { toEvent } from '../actions/events/event-body.ts'
import type { Service } from '../actions/service.ts'
import { findEndpoint, insertAttempts, type Endpoint } from '../store/events/endpoints.ts'
import { findEvents } from '../store/events/feed.ts'
import type { Piece } from '../store/work/work.ts'
import { done, single, usual, type Ended, type Kind } from './kind.ts'

/** While the endpoint is disabled or ill, its events wait for it: one probe asks, not each of them. */
const waitForEndpointMs = 60_000
const concurrency = 8
/** In one process, so that a silent endpoint leaves room for the others, and an app with several leaves room for other apps. */
const maxPerEndpoint = 2
const maxPerApp = concurrency / 2
const waitForOthersMs = 1_000
/** By the ids of endpoints and of apps. */
const underWay = new Map<string, number>()
/** Endpoints of apps that had as many deliveries under way as they may, with their apps, until one of the app ends. */
const waiting = new Map<string, string>()

async function deliver(service: Service, { key, attempts }: Piece): Promise<Ended> {
  const [endpointId = '', number = ''] = key.split('/')
  if (countOf(endpointId) >= maxPerEndpoint) return later(waitForOthersMs)
  return await counted(endpointId, async () => {
    const endpoint = await findEndpoint(service.db.pool, endpointId)
    if (!endpoint) return done
    if (endpoint.disabledAt !== null || endpoint.failingSince !== null) return later(waitForEndpointMs)
    const { clientId } = endpoint
    if (countOf(clientId) >= maxPerApp) {
      waiting.set(endpointId, clientId)
      return later(waitForOthersMs)
    }
    return await counted(clientId, () => deliverOne(service, endpoint, Number(number), attempts))
  })
}

/** Their pieces stay where they are: each claim that could deliver nothing would write its row twice. */
function fullEndpoints(): readonly string[] {
  return [...underWay.keys()].filter((id) => countOf(id) >= maxPerEndpoint).concat(...waiting.keys())
}

async function counted(id: string, work: () => Promise<Ended>): Promise<Ended> {
  underWay.set(id, countOf(id) + 1)
  try {
    return await work()
  } finally {
    if (countOf(id) > 1) underWay.set(id, countOf(id) - 1)
    else underWay.delete(id)
    for (const [endpointId, clientId] of waiting) if (clientId === id) waiting.delete(endpointId)
  }
}

const countOf = (id: string) => underWay.get(id) ?? 0

const later = (afterMs: number): Ended => ({ kind: 'again', afterMs, isCounted: false })

async function deliverOne(service: Service, endpoint: Endpoint, number: number, attempts: number): Promise<Ended> {
  const { events } = await findEvents(service.db.pool, endpoint.clientId, { after: number - 1, limit: 1 })
  if (!events[0]) return { kind: 'given-up', error: 'The event is older than events are kept.' }
  const event = toEvent(events[0], endpoint.clientId, service.config.currency)
  if (endpoint.types?.includes(event.type) === false) return done
  const receiver = await openReceiver(service, endpoint)
  try {
    const outcome = await receiver.post(event)
    await insertAttempts(service.db.pool, endpoint.id, [outcome])
    if (outcome.error === null) return done
    const afterMs = retryEventAfterMs(attempts, outcome.retryAfterMs, Math.random())
    const error = maskError(outcome.error)
    return afterMs === undefined ? { kind: 'given-up', error } : { kind: 'again', afterMs, error }
  } finally {
    receiver.close()
  }
}

export const deliverEvent: Kind = {
  ...usual,
  ...single(deliver),
  name: 'deliver-event',
  concurrency,
  exceptOf: fullEndpoints,
  retryAfterMs: (attempts) => retryEventAfterMs(attempts, undefined, 0.5) ?? 24 * 60 * 60_000,
}
