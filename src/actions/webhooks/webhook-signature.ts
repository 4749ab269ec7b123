/** The signature of a webhook, as Standard Webhooks defines it: `v1,` and the HMAC-SHA256 of `id.timestamp.body`. */
import { createHmac, randomBytes } from 'node:crypto'

const prefix = 'whsec_'

/** 24 to 64 bytes, as Standard Webhooks asks. */
export function isWebhookSecret(text: string): boolean {
  const key = Buffer.from(text.slice(prefix.length), 'base64')
  return text === prefix + key.toString('base64') && key.length >= 24 && key.length <= 64
}

/** Random, and long enough for every receiver's library (24 to 64 bytes). */
export function newWebhookSecret(): string {
  return prefix + randomBytes(32).toString('base64')
}

/** All headers of one attempt that belong to the event. */
export function deliveryHeaders(
  id: string,
  body: string,
  secrets: readonly string[],
  now: Date,
): Record<string, string> {
  return {
    'content-type': 'application/json',
    'user-agent': 'Billfold-Webhooks/1',
    ...webhookHeaders(id, body, secrets, now),
  }
}

/** The signature of one attempt. While a rotation lasts, the event carries one signature for each secret. */
export function webhookHeaders(
  id: string,
  body: Uint8Array | string,
  secrets: readonly string[],
  now: Date,
): Record<string, string> {
  const timestamp = String(Math.floor(now.getTime() / 1000))
  const signatures = secrets.map((secret) => {
    const key = Buffer.from(secret.slice(prefix.length), 'base64')
    return `v1,${createHmac('sha256', key).update(`${id}.${timestamp}.`).update(body).digest('base64')}`
  })
  return { 'webhook-id': id, 'webhook-timestamp': timestamp, 'webhook-signature': signatures.join(' ') }
}
