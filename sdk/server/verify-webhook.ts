/** Checks that a webhook came from the service, as Standard Webhooks defines it (v1: HMAC-SHA256 over `id.timestamp.body`). */
import type { BillfoldEvent } from '../contract/events.ts'
import { getSubtle } from '../subtle.ts'

/** Node's request headers, a `Headers`, or a plain object. */
export type WebhookHeaders = Headers | { readonly [name: string]: string | readonly string[] | undefined }

export type WebhookOptions = {
  /** How far the sender's clock may be off. Default: 300. */
  toleranceSeconds?: number
}

/**
 * `secret`: what you passed is no `whsec_…`. `body`: what you passed is not the raw body, or no event. The others say what is wrong
 * with the request: answer it with 400.
 */
export type WebhookFault = 'secret' | 'body' | 'headers' | 'timestamp' | 'signature'

export class WebhookError extends Error {
  readonly fault: WebhookFault

  constructor(fault: WebhookFault, message: string) {
    super(message)
    this.name = 'WebhookError'
    this.fault = fault
  }
}

/**
 * Returns the event if one of the secrets signed it. Pass the body as it came, as text or bytes: a body that was parsed and written
 * again has other bytes. Pass both secrets while a rotation lasts.
 */
export async function verifyWebhook(
  rawBody: string | Uint8Array,
  headers: WebhookHeaders,
  secret: string | readonly string[],
  { toleranceSeconds = 300 }: WebhookOptions = {},
): Promise<BillfoldEvent> {
  const keys = (typeof secret === 'string' ? [secret] : secret).map(parseSecret)
  if (keys.length === 0) throw new WebhookError('secret', 'No secret was given.')
  const body = bytesOf(rawBody)
  const id = headerOf(headers, 'webhook-id')
  const timestamp = headerOf(headers, 'webhook-timestamp')
  const signatures = headerOf(headers, 'webhook-signature')
  checkTimestamp(timestamp, toleranceSeconds)
  const signed = concat(new TextEncoder().encode(`${id}.${timestamp}.`), body)
  if (!(await isSigned(signed, parseSignatures(signatures), keys)))
    throw new WebhookError('signature', 'The signature is not of this body and secret.')
  return parseEvent(body, id)
}

type Bytes = Uint8Array<ArrayBuffer>

const prefix = 'whsec_'

function parseSecret(text: string): Bytes {
  const key = typeof text === 'string' && text.startsWith(prefix) ? bytesOfBase64(text.slice(prefix.length)) : undefined
  if (key === undefined || key.length < 24 || key.length > 64)
    throw new WebhookError('secret', 'A secret is whsec_ and base64, as it was shown when the endpoint was added.')
  return key
}

function bytesOf(rawBody: string | Uint8Array): Bytes {
  if (typeof rawBody === 'string') return new TextEncoder().encode(rawBody)
  if (rawBody instanceof Uint8Array) return new Uint8Array(rawBody)
  throw new WebhookError(
    'body',
    'Pass the raw body, as text or bytes: a parsed one has lost the bytes that were signed.',
  )
}

function headerOf(headers: WebhookHeaders, name: string): string {
  const value = headers instanceof Headers ? headers.get(name) : valueOf(headers, name)
  if (typeof value !== 'string' || value === '') throw new WebhookError('headers', `The header ${name} is missing.`)
  return value
}

/** Node writes names in lower case; other servers may not. A header that came twice is ambiguous, so it counts as missing. */
function valueOf(headers: Exclude<WebhookHeaders, Headers>, name: string): unknown {
  const found = Object.entries(headers).filter(([key]) => key.toLowerCase() === name)
  const value = found.length === 1 ? found[0]![1] : undefined
  return Array.isArray(value) && value.length === 1 ? (value[0] as unknown) : value
}

function checkTimestamp(text: string, toleranceSeconds: number): void {
  const seconds = /^\d{1,12}$/.test(text) ? Number(text) : NaN
  // Written so that NaN, of either, fails.
  if (!(Math.abs(Date.now() / 1000 - seconds) <= toleranceSeconds))
    throw new WebhookError('timestamp', 'The timestamp is too far from the clock of this machine.')
}

/** A header may hold several, one for each secret, and versions that this one does not know. */
function parseSignatures(text: string): Bytes[] {
  const known = text.split(' ', 20).filter((part) => part.startsWith('v1,'))
  return known.map((part) => bytesOfBase64(part.slice(3))).filter((bytes) => bytes !== undefined)
}

async function isSigned(signed: Bytes, signatures: readonly Bytes[], keys: readonly Bytes[]): Promise<boolean> {
  const subtle = await getSubtle()
  for (const raw of keys) {
    const key = await subtle.importKey('raw', raw, { name: 'HMAC', hash: 'SHA-256' }, false, ['verify'])
    // `verify` compares in constant time.
    for (const signature of signatures) if (await subtle.verify('HMAC', key, signature, signed)) return true
  }
  return false
}

function parseEvent(body: Bytes, id: string): BillfoldEvent {
  let event: unknown
  try {
    event = JSON.parse(new TextDecoder('utf-8', { fatal: true }).decode(body))
  } catch {
    event = undefined
  }
  const isEvent = typeof event === 'object' && event !== null && (event as { id?: unknown }).id === id
  if (!isEvent) throw new WebhookError('body', 'The body is signed, but it is not the event that its header names.')
  return event as BillfoldEvent
}

function bytesOfBase64(text: string): Bytes | undefined {
  if (!/^[A-Za-z0-9+/]+={0,2}$/.test(text) || text.length % 4 !== 0) return undefined
  return Uint8Array.from(atob(text), (character) => character.charCodeAt(0))
}

function concat(one: Bytes, other: Bytes): Bytes {
  const both = new Uint8Array(one.length + other.length)
  both.set(one)
  both.set(other, one.length)
  return both
}
