/**
 * THE INTEGRATION: every call of the shop's backend to the wallet service. This is the file to copy from. It uses
 * @billfold/sdk/server and nothing else.
 */
import { createHash } from 'node:crypto'
import { Billfold, BillfoldError } from '@billfold/sdk/server'
import type { Outcome, Step } from './answers.ts'
import type { ShopConfig } from './config.ts'
import { findProduct } from './products.ts'
import { recordedFetch, type Mishap } from './recorder.ts'
import type { Order, ShopUser, Store } from './store.ts'

export const giftAmount = 50

/** A real shop creates one client and shares it. This shop creates one per request, to show the page the calls of that request. */
export function openBillfold(config: ShopConfig, steps: Step[], mishap: Mishap = 'none'): Billfold {
  return new Billfold({ ...config.billfold, fetch: recordedFetch(steps, mishap) })
}

/** Stores the id that the service returns for the one-time code. Never store an id that the browser sent: anyone can send any id. */
export async function linkWallet(billfold: Billfold, store: Store, user: ShopUser, linkCode: string): Promise<Outcome> {
  const { serviceUserId } = await billfold.verifyLink({ linkCode })
  store.setLink(user, serviceUserId)
  return { kind: 'linked' }
}

/** Returns null for a user without a linked wallet; the widget then shows its sign-in form. */
export async function createSession(billfold: Billfold, store: Store, user: ShopUser, parentOrigin?: string) {
  const { serviceUserId } = user
  try {
    // Without a serviceUserId the SDK throws ACCOUNT_NOT_LINKED with requiresAuth, and makes no request.
    return await billfold.createSession({ serviceUserId, ...(parentOrigin && { parentOrigin }) })
  } catch (error) {
    if (removesLink(store, user, serviceUserId, error)) return null
    throw error
  }
}

export async function readWallet(billfold: Billfold, store: Store, user: ShopUser) {
  const { serviceUserId } = user
  if (serviceUserId === undefined) return undefined
  try {
    const { balance, available = balance, currency, isActive } = await billfold.wallet({ serviceUserId, limit: 1 })
    return { balance, available, currency, isActive }
  } catch (error) {
    if (removesLink(store, user, serviceUserId, error)) return undefined
    throw error
  }
}

/** After `requiresAuth` the service does not know the id: the user disconnected the shop, so the shop removes its link too. */
function removesLink(store: Store, user: ShopUser, asked: string | undefined, error: unknown): boolean {
  if (!(error instanceof BillfoldError && error.requiresAuth)) return false
  if (asked !== undefined && user.serviceUserId === asked) store.removeLink(user)
  return true
}

/**
 * Stores the reference before it sends the debit. If no answer comes, the order stays `paying`, and the next attempt sends the
 * same reference for the same wallet: the service returns the first outcome, so the customer never pays twice.
 */
export async function payOrder(billfold: Billfold, store: Store, user: ShopUser, order: Order): Promise<Outcome> {
  const orderId = order.id
  if (order.status === 'paid') return { kind: 'paid', orderId }
  if (order.status === 'refunding') return { kind: 'unknown', orderId }
  if (order.status !== 'paying') {
    if (user.serviceUserId === undefined) return { kind: 'not-linked', orderId }
    // A new attempt needs a new reference: a refused one stays refused, and a refunded one is already used.
    order.attempts++
    order.payment = { referenceId: `${orderId}-${order.attempts}`, serviceUserId: user.serviceUserId }
    order.status = 'paying'
    delete order.shortfall
    store.save()
  }
  const payment = order.payment!
  try {
    const { replayed, mismatch } = await billfold.debit({
      ...payment,
      amount: order.amount,
      referenceType: 'ORDER_PAYMENT',
      description: nameOf(order),
    })
    if (mismatch) throw new Error(`The reference of ${orderId} belongs to another payment: ${mismatch.join(', ')}.`)
    order.status = 'paid'
    store.save()
    return { kind: replayed ? 'paid-once' : 'paid', orderId }
  } catch (error) {
    return outcomeOfFailure(store, user, order, error)
  }
}

/** After a payment, or a reservation, that was refused or got no answer. Throws what is neither. */
export function outcomeOfFailure(store: Store, user: ShopUser, order: Order, error: unknown): Outcome {
  const orderId = order.id
  if (!(error instanceof BillfoldError)) throw error
  if (error.code === 'INSUFFICIENT_BALANCE') {
    order.status = 'refused'
    order.shortfall = error.shortfall ?? order.amount
    store.save()
    return { kind: 'refused', orderId }
  }
  if (removesLink(store, user, order.payment!.serviceUserId, error)) {
    // The service does not know this id any more, so this reference will never move or reserve money.
    order.status = 'open'
    store.save()
    return { kind: 'not-linked', orderId }
  }
  // Any other refusal, such as a frozen wallet, records nothing. The order keeps its reference, because an earlier request may still use it.
  if (!isDecided(error)) return { kind: 'unknown', orderId }
  throw error
}

/** Credits the wallet that paid, even if another one is linked now. Its referenceType makes it a separate reference, one per payment. */
export async function refundOrder(billfold: Billfold, store: Store, user: ShopUser, order: Order): Promise<Outcome> {
  const orderId = order.id
  if (order.status === 'refunded') return { kind: 'refunded', orderId }
  if (order.status !== 'paid' && order.status !== 'refunding') {
    return { kind: 'failed', code: 'NOT_PAID', message: `${orderId} has not been paid.` }
  }
  order.status = 'refunding'
  store.save()
  try {
    const { replayed } = await billfold.credit({
      ...order.payment!,
      amount: order.amount,
      referenceType: 'ORDER_REFUND',
      description: `Refund: ${nameOf(order)}`,
    })
    order.status = 'refunded'
    store.save()
    return { kind: replayed ? 'refunded-once' : 'refunded', orderId }
  } catch (error) {
    if (!(error instanceof BillfoldError)) throw error
    if (removesLink(store, user, order.payment!.serviceUserId, error)) {
      // The user disconnected the shop. When another wallet is linked, the refund goes there, still under the same reference.
      if (user.serviceUserId === undefined) return { kind: 'not-linked', orderId }
      order.payment = { ...order.payment!, serviceUserId: user.serviceUserId }
      store.save()
      return await refundOrder(billfold, store, user, order)
    }
    if (!isDecided(error)) return { kind: 'unknown', orderId }
    throw error
  }
}

/** One gift per wallet. The shop stores nothing: the reference is derived from the wallet, so a second attempt is a replay. */
export async function giveGift(billfold: Billfold, user: ShopUser): Promise<Outcome> {
  const { serviceUserId } = user
  if (serviceUserId === undefined) return { kind: 'not-linked' }
  const { replayed } = await billfold.credit({
    serviceUserId,
    amount: giftAmount,
    referenceType: 'WELCOME_GIFT',
    // A hash, because the serviceUserId itself does not belong in a reference that people see.
    referenceId: createHash('sha256').update(`gift ${serviceUserId}`).digest('hex').slice(0, 16),
    description: 'A welcome gift from Small Hours',
  })
  return { kind: replayed ? 'given-before' : 'given' }
}

/** Whether a refused order would succeed now. It only feeds a hint on the page: the debit itself decides. */
export async function isCovered(billfold: Billfold, user: ShopUser, order: Order): Promise<boolean> {
  const { serviceUserId } = user
  const { hasSufficientBalance } = await billfold.checkBalance({ serviceUserId, requiredAmount: order.amount })
  return hasSufficientBalance
}

/** The text that the user sees in the wallet. The order number is already in the reference. */
export function nameOf({ productId }: Order): string {
  return findProduct(productId)?.name ?? productId
}

/** Whether the service refused the request. After a timeout, a lost connection or a 5xx the outcome is unknown. */
export function isDecided(error: BillfoldError): boolean {
  return error.status >= 400 && error.status < 500 && !error.isRetryable && error.code !== 'BAD_RESPONSE'
}
