/** The state of an endpoint in a sentence, the same on the command line and in the admin area. */
import type { Endpoint } from '../../store/events/endpoints.ts'
import { isIll } from './delivery-rules.ts'

export type EndpointHealth = 'working' | 'failing' | 'ill' | 'disabled'

export function healthOf(endpoint: Endpoint): EndpointHealth {
  if (endpoint.disabledAt !== null) return 'disabled'
  if (endpoint.failingSince === null) return 'working'
  return isIll(endpoint) ? 'ill' : 'failing'
}

const disabledTexts = {
  operator: 'Disabled by an operator.',
  gone: 'Disabled, because the receiver answered 410: it wants no more events.',
  failing: 'Disabled after five days without a success.',
} as const

export function describeEndpoint(endpoint: Endpoint, last: number): string {
  const { disabledFor, failingSince, lastError, nextAttemptAt, deliveredUpTo } = endpoint
  const waiting = Math.max(0, last - deliveredUpTo)
  const waits =
    waiting === 0 ? '' : waiting === 1 ? ' One event waits.' : ` ${waiting.toLocaleString('en')} events wait.`
  if (disabledFor !== null) return `${disabledTexts[disabledFor]}${waits}`
  if (failingSince === null) return waiting === 0 ? 'Working.' : `Working.${waits}`
  const since = failingSince.toISOString().slice(0, 16).replace('T', ' ')
  const next = nextAttemptAt.toISOString().slice(0, 16).replace('T', ' ')
  return `Failing since ${since} UTC. Next attempt at ${next} UTC.${waits} ${lastError ?? ''}`.trim()
}
