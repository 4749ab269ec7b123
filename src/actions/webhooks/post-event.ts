/** One attempt to deliver one event to one endpoint. */
import { Agent as HttpAgent } from 'node:http'
import { Agent as HttpsAgent } from 'node:https'
import { BlockList, isIP } from 'node:net'
import type { BillfoldEvent } from '../../../sdk/contract.ts'
import type { Config } from '../../config.ts'
import type { WebhookResult } from '../../platform/metrics.ts'
import type { Attempt, Endpoint } from '../../store/events/endpoints.ts'
import { fetchPublic, isPublicAddress, NotPublic, type Elsewhere, type PublicAnswer } from '../public-fetch.ts'
import type { Service } from '../service.ts'
import { maxWidth, parseRetryAfter } from './delivery-rules.ts'
import { deliveryHeaders } from './webhook-signature.ts'

export type Outcome = Attempt & {
  /** The receiver asked to be sent nothing any more. */
  readonly isGone: boolean
  /** The wait that the receiver asked for. */
  readonly retryAfterMs: number | undefined
}

/** Where an endpoint's events go, with its connections. Close it after the run. */
export type Receiver = {
  readonly post: (event: BillfoldEvent) => Promise<Outcome>
  readonly close: () => void
}

const timeoutMs = 15_000
/** Read to its end, so that the connection can be used again; longer answers cost theirs. */
const maxAnswerBytes = 16 * 1024
/** Kept of an answer that is no success, for people. */
const maxAnswerLength = 500

export async function openReceiver(
  { config, secrets, now, metrics }: Pick<Service, 'config' | 'secrets' | 'now' | 'metrics'>,
  endpoint: Endpoint,
  elsewhere: Elsewhere = {},
): Promise<Receiver> {
  const url = new URL(endpoint.url)
  const agent = new (url.protocol === 'https:' ? HttpsAgent : HttpAgent)({ keepAlive: true, maxSockets: maxWidth })
  const context = { purpose: 'endpoint-secret', id: endpoint.id }
  if (endpoint.secret === null) throw new Error(`the endpoint ${endpoint.id} has no secret`)
  const sealed = [endpoint.secret, ...(endpoint.oldSecret === null ? [] : [endpoint.oldSecret])]
  const signing = await Promise.all(sealed.map((text) => secrets.unseal(text, context)))
  const isAllowed = elsewhere.isAllowed ?? allowedBy(config)
  return {
    post: async (event) => {
      const body = JSON.stringify(event)
      const at = now()
      const startedAt = performance.now()
      const headers = {
        'content-length': String(Buffer.byteLength(body)),
        ...deliveryHeaders(event.id, body, signing, at),
      }
      const bounds = { maxBytes: maxAnswerBytes, timeoutMs }
      const answer = await fetchPublic(url, headers, bounds, { ...elsewhere, isAllowed }, { body, agent }).catch(
        (error: unknown) => error,
      )
      const about = { number: event.number, at, tookMs: performance.now() - startedAt }
      const outcome =
        answer instanceof Error || !isAnswer(answer)
          ? { ...about, status: null, error: describeFault(answer), isGone: false, retryAfterMs: undefined }
          : { ...about, ...readAnswer(answer, at) }
      metrics.webhook(answer instanceof NotPublic ? 'not-public' : resultOf(outcome))
      return outcome
    },
    close: () => agent.destroy(),
  }
}

function resultOf({ status, error }: Outcome): WebhookResult {
  return error === null ? 'accepted' : status === null ? 'no-answer' : 'refused'
}

const isAnswer = (answer: unknown): answer is PublicAnswer => typeof answer === 'object' && answer !== null

function readAnswer(answer: PublicAnswer, now: Date): Pick<Outcome, 'status' | 'error' | 'isGone' | 'retryAfterMs'> {
  const { status, headers } = answer
  const isGood = status >= 200 && status < 300
  return {
    status,
    error: isGood ? null : describeAnswer(answer),
    isGone: status === 410,
    retryAfterMs: isGood ? undefined : parseRetryAfter(headers['retry-after'], now),
  }
}

/** The text of an answer from a private network is not shown: it could be the page of an internal service. */
export function describeAnswer({ status, bytes, address }: PublicAnswer): string {
  if (address === undefined || !isPublicAddress(address)) return `The answer was ${status}.`
  const text = new TextDecoder().decode(bytes).slice(0, maxAnswerLength).replaceAll('\0', '')
  return `The answer was ${status}${text.trim() === '' ? '.' : `: ${text}`}`
}

const faults: Readonly<Record<string, string>> = {
  ECONNREFUSED: 'The connection was refused.',
  ECONNRESET: 'The connection was closed before the answer.',
  ENOTFOUND: 'The name of the host was not found.',
  EAI_AGAIN: 'The name of the host could not be looked up.',
  ETIMEDOUT: 'No connection within the time.',
  EHOSTUNREACH: 'The host cannot be reached.',
  ENETUNREACH: 'The network cannot be reached.',
}

export function describeFault(fault: unknown): string {
  if (fault instanceof NotPublic) return 'The address is not public, and not in WEBHOOK_ALLOWED_NETS.'
  const { name, code = '' } = fault as { name?: string; code?: unknown }
  if (name === 'TimeoutError' || name === 'AbortError') return `No answer within ${timeoutMs / 1_000} seconds.`
  const known = typeof code === 'string' ? (faults[code] ?? (/^[A-Z0-9_]{1,60}$/.test(code) ? code : '')) : ''
  return known || 'The request failed.'
}

/** Public addresses, and the networks that the operator of the service has named. */
export function allowedBy({ webhookAllowedNets }: Pick<Config, 'webhookAllowedNets'>): (address: string) => boolean {
  const nets = new BlockList()
  for (const { address, bits } of webhookAllowedNets)
    nets.addSubnet(address, bits, isIP(address) === 6 ? 'ipv6' : 'ipv4')
  return (address) => isPublicAddress(address) || nets.check(address, isIP(address) === 6 ? 'ipv6' : 'ipv4')
}
