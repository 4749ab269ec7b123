/** `verifyWebhook` beside the reference implementation of Standard Webhooks, and through its unhappy paths. */
import { describe, expect, test } from 'bun:test'
import { randomBytes } from 'node:crypto'
import { Webhook } from 'standardwebhooks'
import { newWebhookSecret, webhookHeaders } from '../src/actions/webhooks/webhook-signature.ts'
import { verifyWebhook, WebhookError, type WebhookFault, type WebhookHeaders } from './server.ts'

/** Fixed, because names of tests contain parts of it. */
const secret = `whsec_${'Billfold'.repeat(5)}`
const event = {
  id: 'evt_0123456789abcdef0123456789abcdef',
  number: 7,
  type: 'link.created',
  timestamp: '2026-11-17T12:00:00.000Z',
  data: { serviceUserId: 'lnk_Zoë مكتبة 👛' },
}
const body = JSON.stringify(event)
const now = new Date()
const headers = webhookHeaders(event.id, body, [secret], now)

async function faultOf(...call: Parameters<typeof verifyWebhook>): Promise<WebhookFault | 'none'> {
  try {
    await verifyWebhook(...call)
    return 'none'
  } catch (error) {
    expect(error).toBeInstanceOf(WebhookError)
    // An error is logged: neither the secret nor the body may be in it.
    expect(String(error)).not.toContain(secret.slice(6))
    expect(String(error)).not.toContain('Zoë')
    return (error as WebhookError).fault
  }
}

/** As a `fetch` handler, Node's server, or another framework has them. */
const shapes: Record<string, WebhookHeaders> = {
  'a Headers': new Headers(headers),
  'an object in lower case': headers,
  'an object in title case': Object.fromEntries(
    Object.entries(headers).map(([name, value]) => [name.toUpperCase(), value]),
  ),
  'an object of lists': Object.fromEntries(Object.entries(headers).map(([name, value]) => [name, [value]])),
}

describe('verifyWebhook accepts', () => {
  test.each(Object.entries(shapes))('headers as %s', async (_, shape) => {
    expect(await verifyWebhook(body, shape, secret)).toEqual(event as never)
  })

  test('the body as text and as bytes, also a part of a larger buffer', async () => {
    const padded = Buffer.from(`xx${body}yy`)
    const part = padded.subarray(2, padded.length - 2)
    for (const raw of [body, Buffer.from(body), new TextEncoder().encode(body), part])
      expect(await verifyWebhook(raw, headers, secret)).toEqual(event as never)
  })

  test('either secret while a rotation lasts, on either side', async () => {
    const next = newWebhookSecret()
    const both = webhookHeaders(event.id, body, [next, secret], now)
    expect(await faultOf(body, both, secret)).toBe('none')
    expect(await faultOf(body, both, next)).toBe('none')
    expect(await faultOf(body, headers, [next, secret])).toBe('none')
    expect(await faultOf(body, headers, next)).toBe('signature')
  })

  test('a signature beside ones of unknown versions', async () => {
    const mixed = { ...headers, 'webhook-signature': `v1a,abcd v2,efgh ${headers['webhook-signature']}` }
    expect(await faultOf(body, mixed, secret)).toBe('none')
  })
})

describe('verifyWebhook refuses', () => {
  const changed: Record<string, [WebhookFault, Partial<Record<string, string | string[]>>]> = {
    'without an id': ['headers', { 'webhook-id': undefined }],
    'without a timestamp': ['headers', { 'webhook-timestamp': undefined }],
    'without a signature': ['headers', { 'webhook-signature': undefined }],
    'with an empty signature': ['headers', { 'webhook-signature': '' }],
    'with two ids': ['headers', { 'webhook-id': [event.id, event.id] }],
    'with another id': ['signature', { 'webhook-id': 'evt_ffffffffffffffffffffffffffffffff' }],
    'with another time': ['signature', { 'webhook-timestamp': String(Math.floor(now.getTime() / 1000) - 1) }],
    'with a time in words': ['timestamp', { 'webhook-timestamp': now.toISOString() }],
    'with a time that is no number': ['timestamp', { 'webhook-timestamp': 'NaN' }],
    'with a signature of an unknown version alone': [
      'signature',
      { 'webhook-signature': headers['webhook-signature']!.replace('v1,', 'v2,') },
    ],
    'with a signature cut short': ['signature', { 'webhook-signature': headers['webhook-signature']!.slice(0, -4) }],
    'with a signature that is no base64': ['signature', { 'webhook-signature': 'v1,%%%' }],
  }
  test.each(Object.entries(changed))('a request %s', async (_, [fault, change]) => {
    expect(await faultOf(body, { ...headers, ...change }, secret)).toBe(fault)
  })

  test('a clock that is six minutes off, either way, but not four', async () => {
    for (const minutes of [-6, 6]) {
      const then = webhookHeaders(event.id, body, [secret], new Date(now.getTime() + minutes * 60_000))
      expect(await faultOf(body, then, secret)).toBe('timestamp')
      expect(await faultOf(body, then, secret, { toleranceSeconds: 600 })).toBe('none')
      expect(await faultOf(body, then, secret, { toleranceSeconds: NaN })).toBe('timestamp')
    }
    for (const minutes of [-4, 4]) {
      const then = webhookHeaders(event.id, body, [secret], new Date(now.getTime() + minutes * 60_000))
      expect(await faultOf(body, then, secret)).toBe('none')
    }
  })

  test('every change of one character of the body', async () => {
    for (let i = 0; i < body.length; i++) {
      const other = body.slice(0, i) + (body[i] === 'x' ? 'y' : 'x') + body.slice(i + 1)
      expect(await faultOf(other, headers, secret)).toBe('signature')
    }
    expect(await faultOf(`${body}\n`, headers, secret)).toBe('signature')
  })

  test('a parsed body, in a sentence that says what to pass', async () => {
    for (const parsed of [event, null, undefined, 7, [body]])
      expect(await faultOf(parsed as never, headers, secret)).toBe('body')
    expect(await verifyWebhook(event as never, headers, secret).catch((error: Error) => error.message)).toContain('raw')
  })

  test('a body that is signed but is no event, or another one', async () => {
    for (const raw of ['', 'null', '[]', '{', '"evt"', JSON.stringify({ ...event, id: 'evt_other' })])
      expect(await faultOf(raw, webhookHeaders(event.id, raw, [secret], now), secret)).toBe('body')
    const notText = new Uint8Array([0xff, 0xfe])
    expect(await faultOf(notText, webhookHeaders(event.id, notText, [secret], now), secret)).toBe('body')
  })

  const badSecrets = ['', 'whsec_', 'whsec_%%%', secret.slice(6), `whsec_${'A'.repeat(8)}`, `${secret}\n`, ' ']
  test.each(badSecrets)('the secret %j', async (bad) => {
    expect(await faultOf(body, headers, bad)).toBe('secret')
    expect(await faultOf(body, headers, [secret, bad])).toBe('secret')
  })

  test('no secret, and one that is no text', async () => {
    expect(await faultOf(body, headers, [])).toBe('secret')
    expect(await faultOf(body, headers, [undefined as never])).toBe('secret')
  })
})

describe('beside the reference implementation of Standard Webhooks', () => {
  /** The vector that the standard publishes with its libraries. */
  const vector = {
    secret: 'whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw',
    id: 'msg_p5jXN8AQM9LWM0D4loKWxJek',
    timestamp: 1614265330,
    body: '{"test": 2432232314}',
    signature: 'v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE=',
  }

  test('the published vector has the published signature', () => {
    const made = webhookHeaders(vector.id, vector.body, [vector.secret], new Date(vector.timestamp * 1000))
    expect(made['webhook-signature']).toBe(vector.signature)
    const reference = new Webhook(vector.secret)
    expect(reference.sign(vector.id, new Date(vector.timestamp * 1000), vector.body)).toBe(vector.signature)
  })

  test('a hundred random secrets and bodies: each accepts what the other signs, and refuses what the other refuses', async () => {
    for (let i = 0; i < 100; i++) {
      const one = `whsec_${randomBytes(24 + (i % 41)).toString('base64')}`
      const id = `evt_${randomBytes(16).toString('hex')}`
      const raw = JSON.stringify({ id, text: randomBytes(i).toString('latin1') })
      const ours = webhookHeaders(id, raw, [one], now)
      const reference = new Webhook(one)
      expect(reference.verify(raw, ours)).toEqual(JSON.parse(raw))
      const theirs = { ...ours, 'webhook-signature': reference.sign(id, now, raw) }
      expect(await faultOf(raw, theirs, one)).toBe('none')
      const broken = { ...ours, 'webhook-signature': `v1,${randomBytes(32).toString('base64')}` }
      expect(() => reference.verify(raw, broken)).toThrow()
      expect(await faultOf(raw, broken, one)).toBe('signature')
    }
  })
})
