import type { ChangeContext, SandboxPayment } from './payment.ts'

/** How the panel wants webhooks to behave from now on. */
export const deliveryModes = ['once', 'twice', 'late', 'out-of-order', 'never'] as const
export type DeliveryMode = (typeof deliveryModes)[number]

export type SandboxEvent = {
  readonly id: string
  readonly type: string
  readonly createdAt: number
  readonly deliveries: readonly Delivery[]
}

/** `held` waits for an operator to press a button; `gave-up` was tried as often as it may be. */
export type Delivery = {
  readonly state: 'waiting' | 'held' | 'delivered' | 'gave-up'
  readonly dueAt: number
  readonly attempts: number
  /** What our endpoint answered last; 0 when it did not answer. */
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

/** An event that has not gone out yet goes out after the newer one. */
function putBack(event: SandboxEvent, afterMs: number): SandboxEvent {
  const later = (delivery: Delivery) =>
    delivery.state === 'waiting' ? { ...delivery, dueAt: Math.max(delivery.dueAt, afterMs) + 500 } : delivery
  return { ...event, deliveries: event.deliveries.map(later) }
}

export type DueDelivery = { readonly event: SandboxEvent; readonly index: number; readonly delivery: Delivery }

/** The waiting deliveries whose time has come, in the order they are to be sent. */
export function dueDeliveries(payment: SandboxPayment, now: number): DueDelivery[] {
  return payment.events
    .flatMap((event) => event.deliveries.map((delivery, index) => ({ event, index, delivery })))
    .filter(({ delivery }) => delivery.state === 'waiting' && delivery.dueAt <= now)
    .sort((a, b) => a.delivery.dueAt - b.delivery.dueAt)
}

/** When a payment next needs attention by itself. */
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

/** Any 2xx is a delivery; anything else, and silence, is tried again a few times. */
export function recordAnswer(payment: SandboxPayment, due: DueDelivery, answered: number, now: number): SandboxPayment {
  const attempts = due.delivery.attempts + 1
  if (answered >= 200 && answered < 300) return changeDelivery(payment, due, { state: 'delivered', answered, attempts })
  const wait = retryAfterMs[due.delivery.attempts]
  if (wait === undefined) return changeDelivery(payment, due, { state: 'gave-up', answered, attempts })
  return changeDelivery(payment, due, { dueAt: now + wait, answered, attempts })
}

/** The panel's "deliver": once more, now or after a while, whatever became of it before. */
export function deliverAgain(payment: SandboxPayment, eventId: string, dueAt: number): SandboxPayment {
  const again: Delivery = { state: 'waiting', dueAt, attempts: 0, answered: undefined }
  const events = payment.events.map((event) =>
    event.id === eventId ? { ...event, deliveries: [...event.deliveries, again] } : event,
  )
  return { ...payment, events }
}

/** All of a payment's webhooks once more, the newest first. */
export function deliverReversed(payment: SandboxPayment, now: number): SandboxPayment {
  return payment.events
    .toReversed()
    .reduce((changed, event, index) => deliverAgain(changed, event.id, now + index), payment)
}

/** The panel's "never": what has not gone out yet stays here. */
export function holdEvent(payment: SandboxPayment, eventId: string): SandboxPayment {
  const events = payment.events.map((event) =>
    event.id === eventId ? { ...event, deliveries: event.deliveries.map(held) } : event,
  )
  return { ...payment, events }
}

function held(delivery: Delivery): Delivery {
  return delivery.state === 'waiting' ? { ...delivery, state: 'held' } : delivery
}
