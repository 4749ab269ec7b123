import { createHmac, timingSafeEqual } from 'node:crypto'
import type { WebhookReading } from '../src/cards/processor.ts'

/** Signs like Stripe: an HMAC over the time and the raw body, so that neither can be changed or replayed later. */
export const signatureHeader = 'billfold-sandbox-signature'

const toleranceSeconds = 300

export function signBody(body: string, secret: string, now: Date): string {
  const timestamp = Math.floor(now.getTime() / 1000)
  return `t=${timestamp},v1=${hmac(secret, timestamp, Buffer.from(body)).toString('hex')}`
}

function hmac(secret: string, timestamp: number, body: Uint8Array): Buffer {
  return createHmac('sha256', secret).update(`${timestamp}.`).update(body).digest()
}

export function readSignedBody(
  rawBody: string | Uint8Array,
  headers: Headers,
  secret: string,
  now: Date,
): WebhookReading {
  const body = typeof rawBody === 'string' ? Buffer.from(rawBody) : rawBody
  if (!isSigned(body, headers.get(signatureHeader) ?? '', secret, now)) return 'invalid-signature'
  return readEvent(Buffer.from(body).toString('utf8'))
}

function isSigned(body: Uint8Array, header: string, secret: string, now: Date): boolean {
  const [, timestamp, signature] = /^t=(\d{1,12}),v1=([0-9a-f]{64})$/.exec(header) ?? []
  if (timestamp === undefined || signature === undefined) return false
  const isOurs = timingSafeEqual(hmac(secret, Number(timestamp), body), Buffer.from(signature, 'hex'))
  const ageSeconds = Math.floor(now.getTime() / 1000) - Number(timestamp)
  return isOurs && Math.abs(ageSeconds) <= toleranceSeconds
}

function readEvent(text: string): WebhookReading {
  try {
    const event = JSON.parse(text) as { id?: unknown; type?: unknown; paymentIntentId?: unknown } | null
    const { id, type, paymentIntentId } = event ?? {}
    if (typeof id !== 'string' || typeof type !== 'string') return 'malformed'
    const isKnown = /^(payment|refund|dispute)\./.test(type)
    return isKnown && typeof paymentIntentId === 'string' ? { id, type, paymentIntentId } : 'ignored'
  } catch {
    return 'malformed'
  }
}
