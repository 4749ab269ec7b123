import { createHmac } from 'node:crypto'
import { StripeRefusal, StripeState, type StripeObject } from './stripe-stand-in-state.ts'

/**
 * A fake of Stripe's API over real HTTP: it requires what Stripe requires (key, form encoding, version, known parameters), keeps
 * state, remembers idempotency keys, signs webhooks, and can be set to fail.
 */
export type StripeStandIn = ReturnType<typeof startStripeStandIn>

/**
 * A status: answered without doing the work. `timeout`: neither work nor answer. `afterAnswer`: the work is done, but the answer is
 * lost. `none`: the request works normally.
 */
export type Failure = number | 'timeout' | 'afterAnswer' | 'none'

type Settings = { secretKey?: string; webhookSecret?: string; apiVersion?: string }
type Answer = { status: number; text: string }

export function startStripeStandIn(settings: Settings = {}) {
  const secretKey = settings.secretKey ?? 'sk_test_standin'
  const webhookSecret = settings.webhookSecret ?? 'whsec_standin'
  const apiVersion = settings.apiVersion ?? '2026-10-28.endive'
  const events: StripeObject[] = []
  const held: StripeObject[] = []
  const deliveries = new Set<Promise<unknown>>()
  const webhooks: { url: string | undefined; mode: 'once' | 'twice' | 'never' | 'held'; delayMs: number } = {
    url: undefined,
    mode: 'once',
    delayMs: 0,
  }
  const failures: { readonly failure: Failure; readonly of: string }[] = []
  const requests: { method: string; path: string; idempotencyKey: string | null; body: string }[] = []
  const remembered = new Map<string, { request: string; answer: Answer }>()
  const state = new StripeState((event) => {
    events.push(event)
    if (webhooks.mode === 'held') held.push(event)
    else if (webhooks.mode !== 'never') schedule(event, webhooks.mode === 'twice' ? 2 : 1)
  })

  function schedule(event: StripeObject, times: number): void {
    const delivery = (async () => {
      await Bun.sleep(webhooks.delayMs)
      for (let time = 0; time < times; time += 1) await deliver(event)
    })().catch(() => undefined)
    deliveries.add(delivery)
    void delivery.then(() => deliveries.delete(delivery))
  }

  function sign(payload: string, options: { secret?: string; timestamp?: number } = {}): string {
    const timestamp = options.timestamp ?? Math.floor(Date.now() / 1000)
    const hmac = createHmac('sha256', options.secret ?? webhookSecret)
      .update(`${timestamp}.${payload}`)
      .digest('hex')
    return `t=${timestamp},v1=${hmac}`
  }

  async function deliver(event: StripeObject, url = webhooks.url): Promise<Response | undefined> {
    if (!url) return undefined
    const body = JSON.stringify(event, null, 2)
    const headers = { 'content-type': 'application/json', 'stripe-signature': sign(body) }
    return fetch(url, { method: 'POST', headers, body })
  }

  function perform(method: string, url: URL, params: Params): object {
    const [, , collection, id, action] = url.pathname.split('/')
    if (method === 'POST' && url.pathname === '/v1/payment_intents') {
      allow(params, ['amount', 'currency', 'description', 'automatic_payment_methods', 'metadata', 'expand'])
      return state.shown(state.createIntent(params), listOf(params['expand']))
    }
    if (method === 'GET' && collection === 'payment_intents' && id && !action) {
      allow(params, ['expand'])
      return state.shown(state.intent(id), listOf(params['expand']))
    }
    if (method === 'POST' && collection === 'payment_intents' && id && !action) {
      allow(params, ['amount', 'expand'])
      return state.shown(state.changeAmount(id, Number(params['amount'])), listOf(params['expand']))
    }
    if (method === 'POST' && collection === 'payment_intents' && id && action === 'cancel') {
      allow(params, ['expand'])
      return state.shown(state.cancel(id), listOf(params['expand']))
    }
    if (method === 'POST' && url.pathname === '/v1/refunds') {
      allow(params, ['payment_intent', 'amount'])
      return state.refund(String(params['payment_intent']), Number(params['amount']))
    }
    if (method === 'GET' && url.pathname === '/v1/disputes') {
      allow(params, ['payment_intent', 'limit'])
      return state.listDisputes(String(params['payment_intent']))
    }
    if (method === 'GET' && url.pathname === '/v1/balance_transactions') {
      allow(params, ['created', 'limit', 'expand', 'starting_after'])
      return state.listBookings(params)
    }
    // Requests of the doctor: is the key accepted, and where are events sent?
    if (method === 'GET' && url.pathname === '/v1/balance') return { object: 'balance', livemode: false }
    if (method === 'GET' && url.pathname === '/v1/webhook_endpoints') {
      allow(params, ['limit'])
      const endpoint = { object: 'webhook_endpoint', url: webhooks.url, status: 'enabled', enabled_events: ['*'] }
      return { object: 'list', data: webhooks.url ? [endpoint] : [], has_more: false, url: url.pathname }
    }
    throw new StripeRefusal(404, { message: `Unrecognized request URL (${method}: ${url.pathname}).` })
  }

  function answer(request: Request, body: string): Answer {
    const url = new URL(request.url)
    const key = request.headers.get('idempotency-key')
    const asked = `${request.method} ${url.pathname} ${body}`
    try {
      check(request)
      const before = key === null ? undefined : remembered.get(key)
      if (before && before.request !== asked) {
        const message =
          'Keys for idempotent requests can only be used with the same parameters they were first used with.'
        throw new StripeRefusal(400, { type: 'idempotency_error', message })
      }
      if (before) return before.answer
      const params = parseForm(request.method === 'POST' ? body : url.search.slice(1))
      const done = { status: 200, text: JSON.stringify(perform(request.method, url, params)) }
      if (key !== null) remembered.set(key, { request: asked, answer: done })
      return done
    } catch (error) {
      if (!(error instanceof StripeRefusal)) throw error
      return { status: error.status, text: JSON.stringify(error.body) }
    }
  }

  function check(request: Request): void {
    if (request.headers.get('authorization') !== `Bearer ${secretKey}`) {
      throw new StripeRefusal(401, { message: 'Invalid API Key provided' })
    }
    if (request.headers.get('stripe-version') !== apiVersion) {
      throw new StripeRefusal(400, { message: `Invalid Stripe API version: ${request.headers.get('stripe-version')}` })
    }
    if (request.method !== 'POST') return
    if (!request.headers.get('content-type')?.startsWith('application/x-www-form-urlencoded')) {
      throw new StripeRefusal(400, { message: 'The body must be form encoded' })
    }
    if (!request.headers.get('idempotency-key')) throw new StripeRefusal(400, { message: 'No Idempotency-Key' })
  }

  const server = Bun.serve({
    port: 0,
    hostname: '127.0.0.1',
    idleTimeout: 60,
    async fetch(request) {
      const body = await request.text()
      const { pathname } = new URL(request.url)
      const idempotencyKey = request.headers.get('idempotency-key')
      requests.push({ method: request.method, path: pathname, idempotencyKey, body })
      const at = failures.findIndex(({ of }) => pathname.includes(of))
      const failure = at === -1 ? undefined : failures.splice(at, 1)[0]!.failure
      if (typeof failure === 'number') {
        return Response.json({ error: { type: 'api_error', message: 'told to fail' } }, { status: failure })
      }
      if (failure !== 'timeout') {
        const { status, text } = answer(request, body)
        const headers = { 'content-type': 'application/json', 'request-id': `req_${requests.length}` }
        if (failure !== 'afterAnswer') return new Response(text, { status, headers })
      }
      return new Promise<Response>(() => undefined)
    },
  })

  return {
    state,
    events,
    requests,
    webhooks,
    secretKey,
    webhookSecret,
    api: { protocol: 'http' as const, host: '127.0.0.1', port: Number(server.port) },
    sign,
    deliver,
    /**
     * The next `times` requests fail like this. The SDK retries once by itself: use 2 to make it give up. With `of`, those about this
     * object: another process may ask about others meanwhile.
     */
    failNext: (failure: Failure, times = 1, of = '') =>
      failures.push(...Array.from({ length: times }, () => ({ failure, of }))),
    /** Forgets the failures that are still to come. */
    recover: () => void failures.splice(0),
    /** At least one of the next requests gets no answer. */
    isFallingSilent: () => failures.some(({ failure }) => failure === 'timeout' || failure === 'afterAnswer'),
    /** Delivers the webhooks that were held back, oldest or newest first. */
    async release(order: 'forward' | 'reversed'): Promise<void> {
      const waiting = held.splice(0)
      for (const event of order === 'reversed' ? waiting.reverse() : waiting) await deliver(event)
    },
    async delivered(): Promise<void> {
      while (deliveries.size > 0) await Promise.all(deliveries)
    },
    stop: () => server.stop(true),
  }
}

type Params = Record<string, unknown>

/** Parses `metadata[topup_id]=t&expand[0]=x` like Stripe, one level deep: the service sends no more. */
function parseForm(text: string): Params {
  const params: Params = {}
  for (const [name, value] of new URLSearchParams(text)) {
    const [, outer, inner] = /^([^[]+)(?:\[([^\]]*)\])?$/.exec(name) ?? []
    if (outer === undefined) throw new StripeRefusal(400, { code: 'parameter_unknown', message: `Unknown ${name}` })
    if (inner === undefined) params[outer] = value
    else params[outer] = { ...(params[outer] as object | undefined), [inner]: value }
  }
  return params
}

function listOf(value: unknown): string[] {
  return Object.values((value ?? {}) as Record<string, string>)
}

function allow(params: Params, names: readonly string[]): void {
  for (const param of Object.keys(params)) {
    if (!names.includes(param)) {
      const message = `Received unknown parameter: ${param}`
      throw new StripeRefusal(400, { code: 'parameter_unknown', message, param })
    }
  }
}
