import { createHash } from 'node:crypto'
import {
  ProcessorUnavailable,
  refuse,
  type CardProcessor,
  type Payment,
  type PaymentOrder,
  type ProcessorPage,
  type Refund,
  type RefundOrder,
  type Refusal,
} from '../src/cards/processor.ts'
import { listLines } from './account-lines.ts'
import { changePayment, findPayment, insertPayment, type SandboxDeps } from './change.ts'
import { cancel, changeAmount, paymentView, refund, type SandboxPayment, type Transition } from './payment.ts'
import { readSettings } from './settings.ts'
import { readSignedBody } from './signature.ts'
import type { SandboxStore } from './payment-store.ts'

/** A card processor for development. It needs no account, network or real card, and simulates every failure on request. */
export function createSandboxProcessor(settings: SandboxDeps): CardProcessor {
  // Not a copy of the clock: the pages, the webhooks and this processor have one, which a test can set.
  const deps = { ...settings, now: () => settings.now(), store: reachable(settings.store) }
  return {
    page: sandboxPage,
    createPayment: (order) => createPayment(deps, order),
    retrievePayment: (id) => retrievePayment(deps, id),
    changeAmount: ({ paymentIntentId, amountMinor }) => changeAndView(deps, paymentIntentId, changeAmount(amountMinor)),
    refundPayment: (order) => refundPayment(deps, order),
    cancelPayment: (id) => changeAndView(deps, id, cancel),
    listLines: async (span) => {
      await refuseWhenOut(deps.store)
      return await listLines(deps.store, span)
    },
    parseWebhook: async (rawBody, headers, now) => readSignedBody(rawBody, headers, deps.webhookSecret, now),
  }
}

/** The card form has our own origin, so the page's policy allows no other. */
const sandboxPage: ProcessorPage = {
  kind: 'sandbox',
  publishableKey: 'pk_sandbox',
  scriptUrl: undefined,
  scriptSources: [],
  frameSources: ["'self'"],
  connectSources: ["'self'"],
}

const unknownPayment = refuse('payment-unknown', 'The card processor does not know this payment.')

/** The id is a hash of the key: of two concurrent identical orders, one inserts the payment and the other finds it. */
async function createPayment(deps: SandboxDeps, order: PaymentOrder): Promise<Payment | Refusal> {
  await refuseWhenOut(deps.store)
  if (order.amountMinor <= 0n) return refuse('amount-unsupported', 'The amount must be more than zero.')
  const id = `pi_sandbox_${createHash('sha256').update(order.idempotencyKey).digest('hex').slice(0, 32)}`
  const created = newPayment(id, order, deps)
  if (await insertPayment(deps.store, created)) return viewOf(deps, created)
  const existing = await retrievePayment(deps, id)
  if (!existing) throw new ProcessorUnavailable('server', 'a payment of the sandbox vanished')
  if (!isSameOrder(existing, order))
    return refuse('key-conflict', 'This idempotency key was used for a different order.')
  return existing
}

function newPayment(id: string, order: PaymentOrder, deps: SandboxDeps): SandboxPayment {
  const { topupId, userId, description, currency, amountMinor } = order
  return {
    id,
    clientSecret: `${id}_secret_${deps.newId()}`,
    topupId,
    userId,
    description,
    currency,
    amountMinor,
    status: 'requires_payment_method',
    receivedMinor: 0n,
    refunds: [],
    dispute: undefined,
    decline: undefined,
    later: undefined,
    events: [],
    createdAt: deps.now().getTime(),
  }
}

function isSameOrder(payment: Payment, order: PaymentOrder): boolean {
  return (['topupId', 'userId', 'currency', 'amountMinor'] as const).every((field) => payment[field] === order[field])
}

async function retrievePayment(deps: SandboxDeps, id: string): Promise<Payment | undefined> {
  const payment = await changeUnlessOut(deps, id, (current) => current)
  return payment && !('refused' in payment) ? viewOf(deps, payment) : undefined
}

async function refundPayment(deps: SandboxDeps, order: RefundOrder): Promise<Refund | Refusal> {
  const { paymentIntentId, amountMinor, idempotencyKey } = order
  const changed = await changeUnlessOut(deps, paymentIntentId, refund(idempotencyKey, amountMinor))
  if (!changed) return unknownPayment
  if ('refused' in changed) return changed
  const { id } = changed.refunds.find((made) => made.key === idempotencyKey)!
  return { id, paymentIntentId, amountMinor, status: 'succeeded' }
}

async function changeAndView(deps: SandboxDeps, id: string, change: Transition): Promise<Payment | Refusal> {
  const changed = (await changeUnlessOut(deps, id, change)) ?? unknownPayment
  return 'refused' in changed ? changed : viewOf(deps, changed)
}

async function changeUnlessOut(deps: SandboxDeps, id: string, change: Transition) {
  return changePayment(deps, (await refuseWhenOut(deps.store)).mode, id, change)
}

async function refuseWhenOut(store: SandboxStore) {
  const settings = await readSettings(store)
  if (settings.outage) throw new ProcessorUnavailable('network', 'the sandbox is switched off in its panel')
  return settings
}

function viewOf(deps: SandboxDeps, payment: SandboxPayment): Payment {
  return paymentView(payment, challengePath(deps.basePath, payment))
}

export function challengePath(basePath: string, payment: SandboxPayment): string {
  return `${basePath}/challenge/${payment.id}?secret=${payment.clientSecret}`
}

/**
 * Applies a payer's change, authorised by the client secret. Undefined for an unknown payment, a wrong secret and a refused
 * change.
 */
export async function changeAsPayer(
  deps: SandboxDeps,
  id: string,
  clientSecret: string,
  change: Transition,
): Promise<SandboxPayment | undefined> {
  const store = reachable(deps.store)
  const { mode } = await refuseWhenOut(store)
  const payment = await findPayment(store, id)
  if (payment?.clientSecret !== clientSecret) return undefined
  const changed = await changePayment({ ...deps, store }, mode, id, change)
  return changed && !('refused' in changed) ? changed : undefined
}

/** Callers see the sandbox as a remote service: a store that fails means a processor that does not answer. */
function reachable(store: SandboxStore): SandboxStore {
  return {
    find: (id) => store.find(id).catch(throwUnavailable),
    put: (row) => store.put(row).catch(throwUnavailable),
    listNewest: (limit) => store.listNewest(limit).catch(throwUnavailable),
    listAfter: (id, limit) => store.listAfter(id, limit).catch(throwUnavailable),
  }
}

function throwUnavailable(): never {
  throw new ProcessorUnavailable('network', 'the store of the sandbox did not answer')
}
