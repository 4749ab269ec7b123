/** The feed of an app's events: complete, in order, and read again by number. */
import { z } from 'zod'
import { EVENT_TYPES, HOLD_EVENT_TYPES, MOVEMENT_EVENT_TYPES, USER_EVENT_TYPES } from '../../../sdk/contract.ts'
import { toEvent } from '../../actions/events/event-body.ts'
import { maxWaitingPerApp } from '../../actions/events/event-waits.ts'
import type { Service } from '../../actions/service.ts'
import type { App } from '../../store/apps.ts'
import { findEvents, type FeedPage } from '../../store/events/feed.ts'
import { enter, readClientCall } from '../client-call.ts'
import { eventsExample } from '../examples.ts'
import { answer, refuse, type Answer } from '../reply.ts'
import type { Call, Route } from '../route.ts'
import { alwaysErrors, callErrors } from '../server.ts'
import * as shape from '../shapes.ts'

const defaultLimit = 100
const maxLimit = 1_000
const maxWaitSeconds = 20
/** Reading that many events takes about as long as one page of a wallet. */
const eventsPerRead = 50

const typeList = z
  .string('must be a list of event types')
  .refine(
    (text) => text.split(',').every((type) => (EVENT_TYPES as readonly string[]).includes(type)),
    'must be event types, separated by commas; docs/events.md lists them',
  )
  .meta({
    maxLength: 1_000,
    pattern: `^(${EVENT_TYPES.map((type) => type.replace('.', '\\.')).join('|')})(,[a-z_.]+)*$`,
  })

const schema = z.object({
  ...shape.credentialFields,
  after: shape
    .whole(0, Number.MAX_SAFE_INTEGER)
    .optional()
    .describe('Only events with a higher number; without it, from the oldest that is kept'),
  limit: shape
    .whole(1, maxLimit)
    .optional()
    .describe(`How many events to read, 1 to 1,000; ${defaultLimit} when absent`),
  types: typeList.optional().describe('Only events of these types, separated by commas'),
  wait: shape
    .whole(0, maxWaitSeconds)
    .optional()
    .describe('How many seconds to wait if there is no event yet, up to 20; 0 when absent'),
})
type Input = z.output<typeof schema>

const numbered = {
  id: z.string().meta({ pattern: '^evt_[0-9a-f]{32}$', description: 'The same at every read' }),
  number: z.int().positive().describe('1, 2, 3 … for each app, without gaps'),
  timestamp: shape.timestamp,
}
const about = { serviceUserId: shape.serviceUserId }

const event = z
  .union([
    z.object({ ...numbered, type: z.enum(MOVEMENT_EVENT_TYPES), data: shape.transaction.extend(about) }),
    z.object({ ...numbered, type: z.enum(HOLD_EVENT_TYPES), data: shape.hold.extend(about) }),
    z.object({ ...numbered, type: z.enum(USER_EVENT_TYPES), data: z.object(about) }),
    z.object({ ...numbered, type: z.literal('test.ping'), data: z.object({}) }),
  ])
  .meta({ id: 'Event' })

const eventsAnswer = z
  .object({
    events: z.array(event).describe('Oldest first'),
    last: z
      .int()
      .min(0)
      .describe('The answer has all events of the requested types up to this number: pass it as `after` next time'),
    oldest: z.int().positive().describe('The lowest number that is kept; one above the app’s last number when none is'),
  })
  .meta({ id: 'Events' })

export function serverEventsRoute(service: Service): Route {
  return {
    method: 'GET',
    path: '/api/server/events',
    tag: 'Server',
    proof: 'app',
    summary: 'Read what happened to the app’s users',
    description: [
      'Every debit, credit, top-up, refund, dispute and correction, every freeze, every step of the app’s holds, and every link of the app’s users, numbered 1, 2, 3 … without gaps and',
      'in the order of each wallet. The same number is the same event at every read. An operator switches events on for the app.',
    ].join(' '),
    input: schema,
    output: eventsAnswer,
    errors: [...callErrors, 'EVENTS_OFF', 'EVENTS_GONE', ...alwaysErrors],
    example: eventsExample,
    handle: async (call) => {
      const read = await readClientCall(service, call, { scope: 'wallet:read', schema, kind: 'reads' })
      return read.refusal ?? (await readFeed(service, call, read.app, read.input))
    },
  }
}

async function readFeed(service: Service, call: Call, { clientId }: App, input: Input): Promise<Answer> {
  const first = await readPage(service, call, clientId, input)
  const waitMs = Number(input.wait ?? 0) * 1_000
  if (!first.page || first.page.events.length > 0 || waitMs === 0) return first.answer
  const { last } = first.page
  const { context, request } = call
  // A waiting call does not count as under way: it keeps none of the app's other reads out.
  context.leave?.()
  const startedAt = performance.now()
  const waiting = service.eventWaits.wait(clientId, last, waitMs, request.signal)
  if (!waiting) return refuse('RATE_LIMITED', { error: tooManyWaiting }, { 'retry-after': '5' })
  await waiting
  context.waitedMs = performance.now() - startedAt
  if (request.signal.aborted) return first.answer
  return (await readPage(service, call, clientId, { ...input, after: String(last) })).answer
}

const tooManyWaiting = `The app has ${maxWaitingPerApp} calls that wait for events; wait for the time in Retry-After.`

type ReadPage = { readonly answer: Answer; readonly page?: FeedPage }

async function readPage(service: Service, call: Call, clientId: string, input: Input): Promise<ReadPage> {
  const app = await findCurrent(service, clientId)
  if (!app?.hasEvents) return { answer: refuse(app ? 'EVENTS_OFF' : 'INVALID_CLIENT') }
  const limit = Number(input.limit ?? defaultLimit)
  const busy = enter(service, call, app, 'reads', Math.ceil(limit / eventsPerRead))
  if (busy) return { answer: busy }
  const after = input.after === undefined ? undefined : Number(input.after)
  const page = await findEvents(service.db.pool, clientId, { after, limit })
  const { last, oldest } = page
  if (page.after > last) {
    const fields = { after: `is above the last event, which has the number ${last}` }
    return { answer: refuse('INVALID_REQUEST', { fields }) }
  }
  if (page.after + 1 < oldest) return { answer: refuse('EVENTS_GONE', { oldest }) }
  const types = input.types?.split(',')
  const events = page.events
    .map((recorded) => toEvent(recorded, clientId, service.config.currency))
    .filter(({ type }) => types?.includes(type) ?? true)
  return { answer: answer({ events, last: page.after + page.events.length, oldest }), page }
}

/** An old copy of the app never refuses it: see app-directory. */
export async function findCurrent(service: Service, clientId: string): Promise<App | undefined> {
  const known = await service.apps.findActive(clientId)
  if (!known || known.hasEvents) return known
  await service.apps.refresh()
  return await service.apps.findActive(clientId)
}
