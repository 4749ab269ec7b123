import { refuse, type Payment, type PaymentStatus, type Refusal } from '../src/cards/processor.ts'
import { withEvent, type DeliveryMode, type SandboxEvent } from './events.ts'
import type { CardScenario } from './test-cards.ts'

/**
 * The sandbox's rules: what a payment is and how it changes. Pure. One document holds a payment with its refunds, dispute and
 * webhooks, so that one compare-and-set writes a change together with its webhook.
 */
export type SandboxPayment = {
  readonly id: string
  readonly clientSecret: string
  readonly topupId: string
  readonly userId: string
  readonly description: string
  readonly currency: string
  readonly amountMinor: bigint
  readonly status: PaymentStatus
  readonly receivedMinor: bigint
  /** Payments written by an older version lack the times. */
  readonly paidAt?: number
  readonly refunds: readonly {
    readonly id: string
    readonly key: string
    readonly amountMinor: bigint
    readonly at?: number
  }[]
  readonly dispute:
    | {
        readonly state: 'open' | 'won' | 'lost'
        readonly amountMinor: bigint
        readonly openedAt?: number
        readonly closedAt?: number
      }
    | undefined
  readonly decline: { readonly code: string; readonly message: string } | undefined
  /** The next scheduled change of the payment. */
  readonly later: { readonly at: number; readonly outcome: 'succeeded' | 'failed' | 'disputed' } | undefined
  readonly events: readonly SandboxEvent[]
  readonly createdAt: number
}

/** The inputs of a change other than the payment. */
export type ChangeContext = {
  readonly now: number
  readonly newId: () => string
  readonly mode: DeliveryMode
  readonly processingMs: number
  readonly disputeAfterMs: number
  readonly lateMs: number
}

export type Transition = (payment: SandboxPayment, context: ChangeContext) => SandboxPayment | Refusal

/** Changes nothing on a payment that is paid, processing or ended: a double click never charges twice. */
export function attempt(scenario: CardScenario): Transition {
  return (payment, context) =>
    isOpen(payment) ? withEvents(payment, play(payment, scenario, context), context) : payment
}

export function isOpen(payment: SandboxPayment): boolean {
  return payment.status === 'requires_payment_method' || payment.status === 'requires_action'
}

function play(payment: SandboxPayment, scenario: CardScenario, context: ChangeContext): SandboxPayment {
  const fresh = { ...payment, decline: undefined }
  if (scenario.kind === 'declined') return declined(fresh, scenario.code, scenario.message)
  if (scenario.kind === 'challenge') return { ...fresh, status: 'requires_action' }
  if (scenario.kind === 'processing') {
    return { ...fresh, status: 'processing', later: { at: context.now + context.processingMs, outcome: scenario.end } }
  }
  if (scenario.kind === 'disputed-later') {
    return { ...paid(fresh, context), later: { at: context.now + context.disputeAfterMs, outcome: 'disputed' } }
  }
  return paid(fresh, context)
}

function paid(payment: SandboxPayment, { now }: ChangeContext): SandboxPayment {
  return { ...payment, status: 'succeeded', receivedMinor: payment.amountMinor, paidAt: now, later: undefined }
}

function declined(payment: SandboxPayment, code: string, message: string): SandboxPayment {
  return { ...payment, status: 'requires_payment_method', decline: { code, message } }
}

export function answerChallenge(approved: boolean): Transition {
  return (payment, context) => {
    if (payment.status !== 'requires_action') return payment
    const message = 'The bank could not confirm that this was you. Try again or use another card.'
    const next = approved ? paid(payment, context) : declined(payment, 'authentication_required', message)
    return withEvents(payment, next, context)
  }
}

/** Applies the scheduled change if it is due. */
export function advance(payment: SandboxPayment, context: ChangeContext): SandboxPayment {
  if (!payment.later || payment.later.at > context.now) return payment
  const { outcome } = payment.later
  const arrived = { ...payment, later: undefined }
  if (outcome === 'succeeded') return withEvents(payment, paid(arrived, context), context)
  if (outcome === 'failed') return withEvents(payment, { ...arrived, status: 'failed' }, context)
  return openDispute(arrived, context)
}

/** The panel's "now": applies the scheduled change at once. */
export function hasten(payment: SandboxPayment, context: ChangeContext): SandboxPayment {
  return payment.later ? advance({ ...payment, later: { ...payment.later, at: context.now } }, context) : payment
}

export function cancel(payment: SandboxPayment, context: ChangeContext): SandboxPayment | Refusal {
  if (payment.status === 'cancelled') return payment
  if (!isOpen(payment)) {
    return refuse('not-cancellable', `A payment that is ${payment.status} cannot be cancelled.`)
  }
  return withEvents(payment, { ...payment, status: 'cancelled', decline: undefined }, context)
}

export function changeAmount(amountMinor: bigint): Transition {
  return (payment) => {
    if (amountMinor <= 0n) return refuse('amount-unsupported', 'The amount must be more than zero.')
    if (payment.status !== 'requires_payment_method')
      return refuse('not-changeable', `A payment that is ${payment.status} cannot be changed.`)
    return payment.amountMinor === amountMinor ? payment : { ...payment, amountMinor }
  }
}

export function refund(key: string, amountMinor: bigint): Transition {
  return (payment, context) => {
    const before = payment.refunds.find((made) => made.key === key)
    if (before?.amountMinor === amountMinor) return payment
    if (before) return refuse('key-conflict', 'This idempotency key was used for a different refund.')
    if (amountMinor <= 0n) return refuse('amount-unsupported', 'The amount must be more than zero.')
    if (payment.status !== 'succeeded') return refuse('not-refundable', 'This payment has not taken any money.')
    if (payment.dispute && payment.dispute.state !== 'won') {
      return refuse('not-refundable', 'A disputed payment cannot be refunded.')
    }
    const left = payment.receivedMinor - refundedMinor(payment)
    if (amountMinor > left) return refuse('exceeds-refundable', `Only ${left} is left to refund, in minor units.`)
    const made = { id: `re_sandbox_${context.newId()}`, key, amountMinor, at: context.now }
    return withEvent({ ...payment, refunds: [...payment.refunds, made] }, 'refund.created', context)
  }
}

/** Disputes what is not refunded. Changes nothing if there is a dispute already, or nothing left to dispute. */
export function openDispute(payment: SandboxPayment, context: ChangeContext): SandboxPayment {
  const amountMinor = payment.receivedMinor - refundedMinor(payment)
  if (payment.dispute || amountMinor === 0n) return payment
  return withEvent(
    { ...payment, dispute: { state: 'open', amountMinor, openedAt: context.now } },
    'dispute.opened',
    context,
  )
}

export function closeDispute(state: 'won' | 'lost'): Transition {
  return (payment, context) => {
    if (payment.dispute?.state !== 'open') return payment
    return withEvent(
      { ...payment, dispute: { ...payment.dispute, state, closedAt: context.now } },
      `dispute.${state}`,
      context,
    )
  }
}

function refundedMinor(payment: SandboxPayment): bigint {
  return payment.refunds.reduce((sum, made) => sum + made.amountMinor, 0n)
}

/** Every attempt adds an event, even when the status stays the same: a second decline is reported too. */
function withEvents(before: SandboxPayment, after: SandboxPayment, context: ChangeContext): SandboxPayment {
  const declinedNow = after.decline && after.decline !== before.decline
  return withEvent(after, declinedNow ? 'payment.declined' : `payment.${after.status}`, context)
}

export function paymentView(payment: SandboxPayment, challengeUrl: string): Payment {
  const held = payment.dispute && payment.dispute.state !== 'won' ? payment.dispute.amountMinor : 0n
  return {
    id: payment.id,
    clientSecret: payment.clientSecret,
    status: payment.status,
    amountMinor: payment.amountMinor,
    amountReceivedMinor: payment.receivedMinor,
    currency: payment.currency,
    refundedMinor: refundedMinor(payment),
    disputed: payment.dispute?.state ?? 'none',
    disputedMinor: held,
    declineCode: payment.decline?.code,
    declineMessage: payment.decline?.message,
    nextAction: payment.status === 'requires_action' ? { kind: 'redirect', url: challengeUrl } : undefined,
    userId: payment.userId,
    topupId: payment.topupId,
  }
}

/** JSON has no bigint: fields whose names end in `Minor` are text in the document. */
export function encodePayment(payment: SandboxPayment): string {
  return JSON.stringify(payment, (_, value: unknown) => (typeof value === 'bigint' ? value.toString() : value))
}

export function decodePayment(document: string): SandboxPayment {
  return JSON.parse(document, (key, value: unknown) =>
    key.endsWith('Minor') ? BigInt(value as string) : value,
  ) as SandboxPayment
}
