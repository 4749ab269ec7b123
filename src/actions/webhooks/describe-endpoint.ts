/** The state of an endpoint in a sentence, the same on the command line and in the admin area; and what of it everybody may read. */
import type { Attempt, Endpoint } from '../../store/events/endpoints.ts'
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
  'secret-lost': 'Disabled, because the key of its secret is lost.',
} as const

export function describeEndpoint(endpoint: Endpoint, last: number): string {
  const { disabledFor, failingSince, lastError, nextAttemptAt, deliveredUpTo } = endpoint
  const waiting = Math.max(0, last - deliveredUpTo)
  const waits =
    waiting === 0 ? '' : waiting === 1 ? ' One event waits.' : ` ${waiting.toLocaleString('en')} events wait.`
  const isLost = endpoint.secret === null ? ' It needs a new secret: rotate it.' : ''
  if (disabledFor !== null) return `${disabledTexts[disabledFor]}${isLost}${waits}`
  if (failingSince === null) return waiting === 0 ? 'Working.' : `Working.${waits}`
  const since = failingSince.toISOString().slice(0, 16).replace('T', ' ')
  const next = nextAttemptAt.toISOString().slice(0, 16).replace('T', ' ')
  return `Failing since ${since} UTC. Next attempt at ${next} UTC.${waits} ${lastError ?? ''}`.trim()
}

/** The address without what may be a token: its origin, and the first part of its path if that is a word. */
export function maskUrl(url: string): string {
  const { origin, pathname, search } = new URL(url)
  const [first = '', ...rest] = pathname.slice(1).split('/')
  const word = /^[a-z][a-z_-]{0,19}$/i.test(first) ? first : ''
  const isWhole = word === first && rest.length === 0 && search === ''
  return `${origin}/${isWhole ? first : word === '' ? '…' : `${word}/…`}`
}

/** Without the text of the receiver's answer, which may repeat the address. */
export function maskError(error: string): string {
  const [sentence = '', ...answer] = error.split(': ')
  return answer.length === 0 ? error : `${sentence}.`
}

const maskMaybe = (error: string | null) => (error === null ? null : maskError(error))

/** For operators who may not change it. */
export function maskEndpoint(endpoint: Endpoint): Endpoint {
  return { ...endpoint, url: maskUrl(endpoint.url), lastError: maskMaybe(endpoint.lastError) }
}

export function maskAttempt(attempt: Attempt): Attempt {
  return { ...attempt, error: maskMaybe(attempt.error) }
}
