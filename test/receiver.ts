/** A receiver of webhooks, as an app has one: it checks every signature, and answers as the test says. */
import { verifyWebhook } from '../sdk/server.ts'
import type { BillfoldEvent } from '../sdk/contract.ts'

export type Received = { readonly event: BillfoldEvent; readonly id: string; readonly body: string }

export type WebhookReceiver = {
  readonly url: string
  readonly received: Received[]
  /** Events that were answered with a 2xx, in the order of the answers. */
  readonly accepted: number[]
  readonly mostAtOnce: () => number
  answer: (event: BillfoldEvent) => Response | Promise<Response>
  secrets: string[]
  readonly stop: () => Promise<void>
}

/** On a given port, as a receiver that comes back. */
export function startReceiver(port = 0): WebhookReceiver {
  const received: Received[] = []
  const accepted: number[] = []
  let underWay = 0
  let most = 0
  const server = Bun.serve({
    port,
    hostname: '127.0.0.1',
    idleTimeout: 60,
    fetch: async (request) => {
      most = Math.max(most, ++underWay)
      try {
        const body = await request.text()
        const event = await verifyWebhook(body, request.headers, receiver.secrets)
        received.push({ event, id: request.headers.get('webhook-id')!, body })
        const response = await receiver.answer(event)
        if (response.ok) accepted.push(event.number)
        return response
      } catch (error) {
        return new Response(String(error), { status: 400 })
      } finally {
        underWay--
      }
    },
  })
  const receiver: WebhookReceiver = {
    url: `http://127.0.0.1:${server.port}/hooks`,
    received,
    accepted,
    mostAtOnce: () => most,
    answer: () => new Response(null, { status: 204 }),
    secrets: [],
    stop: () => server.stop(true),
  }
  return receiver
}
