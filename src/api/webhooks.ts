/** Receives webhooks of the card processor. The signature is verified over the body exactly as it arrived. */
import { z } from 'zod'
import { receiveEvent } from '../actions/topups/receive-event.ts'
import type { Service } from '../actions/service.ts'
import { ProcessorUnavailable } from '../cards/processor.ts'
import { networkOf } from '../platform/address.ts'
import { readLargeBody } from '../web/body.ts'
import { answer, refuse, refuseFor, type Answer } from './reply.ts'
import { refuseLate } from './request.ts'
import type { Call, Route } from './route.ts'

const maxWebhookBytes = 1024 * 1024

/** The fields of an event that the service reads. They only document the route: the processor may send more. */
const events = {
  stripe: {
    schema: z.looseObject({
      id: z.string(),
      type: z.string().describe('payment_intent.*, charge.* and refund.* are processed'),
      data: z.looseObject({ object: z.looseObject({ id: z.string() }) }),
    }),
    example: {
      id: 'evt_1',
      object: 'event',
      type: 'payment_intent.succeeded',
      data: { object: { id: 'pi_1', object: 'payment_intent' } },
    },
  },
  sandbox: {
    schema: z.looseObject({
      id: z.string(),
      type: z.string().describe('payment.*, refund.* and dispute.* are processed'),
      paymentIntentId: z.string().optional(),
    }),
    example: { id: 'evt_sandbox_1', type: 'payment.succeeded', paymentIntentId: 'pi_sandbox_1' },
  },
}

const receivedBody = z
  .object({
    received: z.literal(true),
    isOurs: z.boolean().describe('Whether the event concerns a payment of this service'),
  })
  .meta({ id: 'Heard' })

export function webhookRoutes(service: Service): Route[] {
  return [webhookRoute(service, 'stripe'), webhookRoute(service, 'sandbox')]
}

function webhookRoute(service: Service, kind: 'stripe' | 'sandbox'): Route {
  return {
    method: 'POST',
    path: `/api/processor/${kind}`,
    tag: 'Operations',
    proof: kind,
    summary: kind === 'stripe' ? 'Receive a Stripe webhook' : 'Receive a webhook of the sandbox processor',
    description:
      'Signed by the card processor. An event only names the payment to check: the service asks the processor for its state. Other events are answered 200 and ignored.',
    input: events[kind].schema,
    output: receivedBody,
    errors: [
      'INVALID_REQUEST',
      'NOT_FOUND',
      'PAYLOAD_TOO_LARGE',
      'REQUEST_TIMEOUT',
      'RATE_LIMITED',
      'PROCESSOR_UNAVAILABLE',
      'UNAVAILABLE',
      'INTERNAL',
    ],
    example: { input: events[kind].example, output: { received: true, isOurs: true } },
    handle: (call) => receiveWebhook(service, kind, call),
  }
}

const signatureHeaders = { stripe: 'stripe-signature', sandbox: 'billfold-sandbox-signature' } as const

function unsigned(): Answer {
  return refuse('INVALID_REQUEST', { error: 'The signature is not valid.' })
}

async function receiveWebhook(
  service: Service,
  kind: 'stripe' | 'sandbox',
  { request, context }: Call,
): Promise<Answer> {
  const { cards } = service
  if (cards?.page.kind !== kind) return refuse('NOT_FOUND')
  // The signature covers the whole body. A call without one is refused before its body is read.
  if (!request.headers.has(signatureHeaders[kind])) return unsigned()
  const body = await readLargeBody(request, maxWebhookBytes, networkOf(context.address))
  if (body === 'too-many') return refuseFor(1)
  if (body === 'too-late') return refuseLate()
  if (body === 'too-long') return refuse('PAYLOAD_TOO_LARGE', { error: 'The body is larger than 1 MiB.' })
  const event = await cards.parseWebhook(new Uint8Array(body), request.headers, service.now())
  if (event === 'invalid-signature') return unsigned()
  if (event === 'malformed') return refuse('INVALID_REQUEST', { error: 'The body is not an event.' })
  if (event === 'ignored') return answer({ received: true, isOurs: false })
  try {
    return answer({ received: true, isOurs: await receiveEvent(service, event) })
  } catch (error) {
    if (!(error instanceof ProcessorUnavailable)) throw error
    // Any answer but 2xx makes the processor send the event again. The background check would resolve the payment as well.
    return refuse('PROCESSOR_UNAVAILABLE', {}, { 'retry-after': '10' })
  }
}
