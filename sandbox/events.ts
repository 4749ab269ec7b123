import type { ChangeContext, SandboxPayment } from './payment.ts'

/** The panel's choice of how later webhooks are delivered. */
export const deliveryModes = ['once', 'twice', 'late', 'out-of-order', 'never'] as const
export type DeliveryMode = (typeof deliveryModes)[number]

export type SandboxEvent = {
  readonly id: string
  readonly type: string
  readonly createdAt: number
  readonly deliveries: readonly Delivery[]
}

/** `held` waits for a button of the panel; `gave-up` has used all its attempts. */
export type Delivery = {
  readonly state: 'waiting' | 'held' | 'delivered' | 'gave-up'
  readonly dueAt: number
  readonly attempts: number
  /** The last status our endpoint answered; 0 without an answer. */
  readonly answered: number | undefined
}

const retryAfterMs = [1_000, 2_000, 5_000, 15_000, 60_000]

/** How long the last webhook of an out-of-order payment waits for a later one to overtake it. */
const overtakeMs = 4_000

export function withEvent(payment: SandboxPayment, type: string, context: ChangeContext): SandboxPayment {
  const deliveries = firstDeliveries(context)
  const event = { id: `evt_sandbox_${context.newId()}`, type, createdAt: context.now, deliveries }
  const isOvertaking = context.mode === 'out-of-order'
  const older = payment.events.map((before) => (isOvertaking ? putBack(before, context.now + overtakeMs) : before))
  return { ...payment, events: [...older, event] }
}

function firstDeliveries({ mode, now, lateMs }: ChangeContext): Delivery[] {
  const prompt: Delivery = { state: 'waiting', dueAt: now, attempts: 0, answered: undefined }
  if (mode === 'twice') return [prompt, prompt]
  if (mode === 'late') return [{ ...prompt, dueAt: now + lateMs }]
  if (mode === 'out-of-order') return [{ ...prompt, dueAt: now + overtakeMs }]
  return [mode === 'never' ? { ...prompt, state: 'held' } : prompt]
}

/** Delays the waiting deliveries of an event until after the newer event. */
function putBack(event: SandboxEvent, afterMs: number): SandboxEvent {
  const later = (delivery: Delivery) =>
    delivery.state === 'waiting' ? { ...delivery, dueAt: Math.max(delivery.dueAt, afterMs) + 500 } : delivery
  return { ...event, deliveries: event.deliveries.map(later) }
}

export type DueDelivery = { readonly event: SandboxEvent; readonly index: number; readonly delivery: Delivery }

/** In sending order. */
export function dueDeliveries(payment: SandboxPayment, now: number): DueDelivery[] {
  return payment.events
    .flatMap((event) => event.deliveries.map((delivery, index) => ({ event, index, delivery })))
    .filter(({ delivery }) => delivery.state === 'waiting' && delivery.dueAt <= now)
    .sort((a, b) => a.delivery.dueAt - b.delivery.dueAt)
}

/** The next time a webhook or a change of the payment is due. */
export function nextDueAt(payment: SandboxPayment): number | undefined {
  const waiting = payment.events.flatMap((event) => event.deliveries).filter(({ state }) => state === 'waiting')
  const times = [...waiting.map((delivery) => delivery.dueAt), ...(payment.later ? [payment.later.at] : [])]
  return times.length > 0 ? Math.min(...times) : undefined
}

function changeDelivery(payment: SandboxPayment, due: DueDelivery, change: Partial<Delivery>): SandboxPayment {
  const changed = (event: SandboxEvent) => ({
    ...event,
    deliveries: event.deliveries.map((one, index) => (index === due.index ? { ...one, ...change } : one)),
  })
  return { ...payment, events: payment.events.map((event) => (event.id === due.event.id ? changed(event) : event)) }
}

/** Any 2xx counts as delivered. Any other answer, or none, is retried up to five times. */
export function recordAnswer(payment: SandboxPayment, due: DueDelivery, answered: number, now: number): SandboxPayment {
  const attempts = due.delivery.attempts + 1
  if (answered >= 200 && answered < 300) return changeDelivery(payment, due, { state: 'delivered', answered, attempts })
  const wait = retryAfterMs[due.delivery.attempts]
  if (wait === undefined) return changeDelivery(payment, due, { state: 'gave-up', answered, attempts })
  return changeDelivery(payment, due, { dueAt: now + wait, answered, attempts })
}

/** The panel's "deliver": adds a delivery, even if an earlier one succeeded. */
export function deliverAgain(payment: SandboxPayment, eventId: string, dueAt: number): SandboxPayment {
  const again: Delivery = { state: 'waiting', dueAt, attempts: 0, answered: undefined }
  const events = payment.events.map((event) =>
    event.id === eventId ? { ...event, deliveries: [...event.deliveries, again] } : event,
  )
  return { ...payment, events }
}

/** Sends all webhooks of the payment again, the newest first. */
export function deliverReversed(payment: SandboxPayment, now: number): SandboxPayment {
  return payment.events
    .toReversed()
    .reduce((changed, event, index) => deliverAgain(changed, event.id, now + index), payment)
}

/** The panel's "never": holds the deliveries that are still waiting. */
export function holdEvent(payment: SandboxPayment, eventId: string): SandboxPayment {
  const events = payment.events.map((event) =>
    event.id === eventId ? { ...event, deliveries: event.deliveries.map(held) } : event,
  )
  return { ...payment, events }
}

function held(delivery: Delivery): Delivery {
  return delivery.state === 'waiting' ? { ...delivery, state: 'held' } : delivery
}
