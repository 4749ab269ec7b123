/**
 * What happens in the wallets without the shop: a payment whose answer never came, a top-up, a disconnect. The shop reads the feed of
 * events from the last number that it stored, so it finds what happened while it was down. Without webhooks it then waits at the feed
 * for the next event. With webhooks, each of them makes it read on.
 */
import { Billfold, BillfoldError, WebhookError, verifyWebhook } from '@billfold/sdk/server'
import type { ShopConfig } from './config.ts'
import type { Store } from './store.ts'

export type ShopEvents = ReturnType<typeof openEvents>

/** Between attempts at the start while the service does not answer. */
const pausesMs = [1_000, 2_000, 5_000, 10_000]
const longestWaitSeconds = 20

export function openEvents({ billfold: settings, webhookSecrets }: ShopConfig, store: Store) {
  const billfold = new Billfold(settings)
  // With 0 a read ends at the last event. Otherwise it waits there for the next one, and never ends.
  const wait = webhookSecrets.length > 0 ? 0 : longestWaitSeconds
  let reading: Promise<void> = Promise.resolve()

  /** Reads one event after the other. Each effect is stored together with the number of its event. */
  async function readOn(): Promise<void> {
    try {
      for await (const event of billfold.events({ after: store.feedNumber(), wait })) store.applyEvent(event)
    } catch (error) {
      if (!(error instanceof BillfoldError) || error.code !== 'EVENTS_GONE' || error.oldest === undefined) throw error
      // The shop was down for longer than events are kept. An order without an answer is settled when it is paid again: same reference.
      console.error(`The events up to ${error.oldest - 1} are gone.`)
      store.skipEvents(error.oldest - 1)
      await readOn()
    }
  }

  /** One reader at a time. A caller that comes meanwhile gets a read that begins after its call. */
  function catchUp(): Promise<void> {
    const next = reading.catch(() => {}).then(readOn)
    reading = next
    return next
  }

  return {
    /** Through an outage of the service. An app whose events are off has none to read. */
    async start(): Promise<void> {
      for (let failures = 0; ; failures++) {
        try {
          return await catchUp()
        } catch (error) {
          if (error instanceof BillfoldError && error.code === 'EVENTS_OFF') return
          if (!(error instanceof BillfoldError && error.isRetryable)) return console.error(error)
          await Bun.sleep(pausesMs[Math.min(failures, pausesMs.length - 1)]!)
        }
      }
    },

    /** A webhook. Its answer is a 2xx only when its effect is stored: otherwise the service sends it again. */
    async receive(rawBody: string, headers: Headers): Promise<204 | 400 | 503> {
      try {
        const event = await verifyWebhook(rawBody, headers, webhookSecrets)
        if (event.number > store.feedNumber()) await catchUp()
        return 204
      } catch (error) {
        if (error instanceof WebhookError) return 400
        if (error instanceof BillfoldError) return 503
        throw error
      }
    },
  }
}
