/** Sending an app's events to one of its endpoints again. */
import { z } from 'zod'
import { maxReplayedForApp, replayForApp, type AppReplayResult } from '../../actions/webhooks/replay-for-app.ts'
import type { Service } from '../../actions/service.ts'
import { readClientCall } from '../client-call.ts'
import { replayExample } from '../examples.ts'
import { refuse, refuseFor, type Answer } from '../reply.ts'
import type { Route } from '../route.ts'
import { findCurrent } from './server-events.ts'
import { alwaysErrors, callErrors } from '../server.ts'
import * as shape from '../shapes.ts'

const numberProblem = 'must be the number of an event'
const eventNumber = (text: string) =>
  z.int(numberProblem).min(1, numberProblem).max(Number.MAX_SAFE_INTEGER, numberProblem).describe(text)

const schema = z
  .object({
    ...shape.credentialFields,
    endpointId: shape.endpointId,
    from: eventNumber('The number of the first event'),
    to: eventNumber(`The number of the last event, at most ${maxReplayedForApp - 1} above \`from\``),
  })
  .superRefine(({ from, to }, context) => {
    const problem =
      to < from
        ? 'must not be below from'
        : to - from >= maxReplayedForApp
          ? `must be at most ${maxReplayedForApp - 1} above from`
          : undefined
    if (problem) context.addIssue({ code: 'custom', path: ['to'], message: problem })
  })

const replayAnswer = z
  .object({
    endpointId: shape.endpointId,
    count: z
      .int()
      .min(0)
      .describe(
        'How many events are sent again, those of other types than the endpoint’s included. Events that the endpoint has not had yet come by themselves',
      ),
    disabled: z
      .literal(true)
      .optional()
      .describe('The endpoint is disabled: the events wait until an operator enables it'),
  })
  .meta({ id: 'Replay' })

/** `wallet:read`, as for the feed: the endpoint gets nothing that the app cannot read, and no money moves. */
export function serverReplayRoute(service: Service): Route {
  return {
    method: 'POST',
    path: '/api/server/events/replay',
    tag: 'Server',
    proof: 'app',
    summary: 'Send events to an endpoint again',
    description: [
      'Sends the app’s events of these numbers to one of its endpoints again, in no particular order. Operators register endpoints, so an app sends nothing elsewhere.',
      'Each event keeps its id and its content. A repeated call adds nothing while the events of the first one wait. An app has 60 calls an hour, and at most a thousand events that wait.',
    ].join(' '),
    input: schema,
    output: replayAnswer,
    status: 202,
    errors: [
      ...callErrors,
      'EVENTS_OFF',
      'EVENTS_GONE',
      'ENDPOINT_NOT_FOUND',
      'PAYLOAD_TOO_LARGE',
      'REQUEST_TIMEOUT',
      'UNSUPPORTED_MEDIA_TYPE',
      ...alwaysErrors,
    ],
    example: replayExample,
    handle: async (call) => {
      const read = await readClientCall(service, call, { scope: 'wallet:read', schema, kind: 'reads' })
      if (read.refusal) return read.refusal
      const app = await findCurrent(service, read.app.clientId)
      if (!app?.hasEvents) return refuse(app ? 'EVENTS_OFF' : 'INVALID_CLIENT')
      const { endpointId, from, to } = read.input
      const result = await replayForApp(service, app, { endpointId, from, to }, call.context.address)
      return answerTo(result, endpointId)
    },
  }
}

function answerTo(result: AppReplayResult, endpointId: string): Answer {
  if (result.kind === 'accepted') {
    const { count, isDisabled } = result
    return { status: 202, body: { endpointId, count, ...(isDisabled && { disabled: true }) } }
  }
  if (result.kind === 'no-endpoint') return refuse('ENDPOINT_NOT_FOUND')
  if (result.kind === 'gone') return refuse('EVENTS_GONE', { oldest: result.oldest })
  if (result.kind === 'not-yet') {
    const fields = { to: `is above the last event, which has the number ${result.last}` }
    return refuse('INVALID_REQUEST', { fields })
  }
  if (result.kind === 'limited') return refuseFor(result.retryAfterSeconds)
  const error = `${maxReplayedForApp} events of the app wait to be sent again; wait for the time in Retry-After.`
  return refuse('RATE_LIMITED', { error }, { 'retry-after': String(result.retryAfterSeconds) })
}
