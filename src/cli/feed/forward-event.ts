/** Posts an event to a receiver as an endpoint would get it, until the receiver takes it. */
import { setTimeout as sleep } from 'node:timers/promises'
import type { BillfoldEvent } from '../../../sdk/contract.ts'
import { deliveryHeaders } from '../../actions/webhooks/webhook-signature.ts'

export type Forwarding = {
  readonly url: string
  /** `whsec_…` */
  readonly secret: string
  readonly signal: AbortSignal
  readonly say: (line: string) => void
}

const timeoutMs = 15_000
/** After each failed attempt; the last one repeats. */
const pausesMs = [500, 1_000, 2_000, 5_000]

/** Resolves when the receiver has answered with a 2xx; rejects only when the signal is aborted. */
export async function forwardEvent(event: BillfoldEvent, forwarding: Forwarding): Promise<void> {
  const { signal, say } = forwarding
  const label = `${event.number}  ${event.type}`
  let said = ''
  for (let attempts = 1; ; attempts++) {
    signal.throwIfAborted()
    const { status, fault } = await post(event, forwarding)
    signal.throwIfAborted()
    if (fault === undefined) {
      say(`${label}  → ${status}${attempts > 1 ? ` at attempt ${attempts}` : ''}`)
      return
    }
    // Each cause is said once: it may last for hours.
    if (fault !== said) say(`${label}  → ${fault}. Trying again until it takes this event; later ones wait.`)
    said = fault
    await sleep(pausesMs[Math.min(attempts, pausesMs.length) - 1], undefined, { signal })
  }
}

async function post(
  event: BillfoldEvent,
  { url, secret, signal }: Forwarding,
): Promise<{ status?: number; fault?: string }> {
  const body = JSON.stringify(event)
  try {
    const response = await fetch(url, {
      method: 'POST',
      body,
      headers: deliveryHeaders(event.id, body, [secret], new Date()),
      redirect: 'manual',
      signal: AbortSignal.any([signal, AbortSignal.timeout(timeoutMs)]),
    })
    await response.body?.cancel()
    const { status, ok } = response
    return ok ? { status } : { fault: `the receiver answered ${status}` }
  } catch (error) {
    const { name, code } = error as { name?: string; code?: unknown }
    if (name === 'TimeoutError') return { fault: `no answer of the receiver within ${timeoutMs / 1_000} seconds` }
    return { fault: `no connection to the receiver${typeof code === 'string' ? ` (${code})` : ''}` }
  }
}
