/**
 * THE INTEGRATION: everything the shop's backend says to the wallet service. This is the file to copy from. All of it goes
 * through @billfold/sdk/server; there is nothing else a shop needs.
 */
import { createHash } from 'node:crypto'
import { Billfold, BillfoldError } from '@billfold/sdk/server'
import type { Outcome, Step } from './answers.ts'
import type { ShopConfig } from './config.ts'
import { findProduct } from './products.ts'
import { recordedFetch, type Mishap } from './recorder.ts'
import type { Order, ShopUser, Store } from './store.ts'

export const giftAmount = 50

/** A real shop keeps one client for ever. This one makes one for each request, to tell the page what it did in that request. */
export function openBillfold(config: ShopConfig, steps: Step[], mishap: Mishap = 'none'): Billfold {
  return new Billfold({ ...config.billfold, fetch: recordedFetch(steps, mishap) })
}

/** The browser says "I am su_…"; the code proves it. What is stored is what the service says, not what the browser says. */
export async function linkWallet(billfold: Billfold, store: Store, user: ShopUser, linkCode: string): Promise<Outcome> {
  const { serviceUserId } = await billfold.verifyLink({ linkCode })
  store.setLink(user, serviceUserId)
  return { kind: 'linked' }
}

/** Null for a user without a wallet; the widget then shows its sign-in form. */
export async function createSession(billfold: Billfold, store: Store, user: ShopUser, parentOrigin?: string) {
  const { serviceUserId } = user
  try {
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
    const { balance, currency, isActive } = await billfold.wallet({ serviceUserId, limit: 1 })
    return { balance, currency, isActive }
  } catch (error) {
    if (removesLink(store, user, serviceUserId, error)) return undefined
    throw error
  }
}

/** The person disconnected the shop in the wallet: the id is worth nothing any more, so the shop lets go of it too. */
function removesLink(store: Store, user: ShopUser, asked: string | undefined, error: unknown): boolean {
  if (!(error instanceof BillfoldError && error.requiresAuth)) return false
  if (asked !== undefined && user.serviceUserId === asked) store.removeLink(user)
  return true
}

/**
 * The reference is stored before the money is asked for. If the answer never comes, the order stays `paying`, and the next
 * try sends the same reference, for the same wallet: the service answers with the first outcome, and nobody pays twice.
 */
export async function payOrder(billfold: Billfold, store: Store, user: ShopUser, order: Order): Promise<Outcome> {
  const orderId = order.id
  if (order.status === 'paid') return { kind: 'paid', orderId }
  if (order.status === 'refunding') return { kind: 'unknown', orderId }
  if (order.status !== 'paying') {
    if (user.serviceUserId === undefined) return { kind: 'not-linked', orderId }
    // A refused reference stays refused for ever, and a refunded one is done, so a new attempt is a new reference.
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
    if (!(error instanceof BillfoldError)) throw error
    if (error.code === 'INSUFFICIENT_BALANCE') {
      order.status = 'refused'
      order.shortfall = error.shortfall ?? order.amount
      store.save()
      return { kind: 'refused', orderId }
    }
    if (removesLink(store, user, payment.serviceUserId, error)) {
      // This id is worth nothing any more, so the reference will never move money.
      order.status = 'open'
      store.save()
      return { kind: 'not-linked', orderId }
    }
    // What else there is leaves the reference free, a frozen wallet too: a request still on its way could use it. So it stays.
    if (!isDecided(error)) return { kind: 'unknown', orderId }
    throw error
  }
}

/** Back to the wallet that paid, whichever is linked now, and under a reference of its own: one for each payment. */
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
      // Disconnected since. Once another wallet is linked, the money goes there, still under the same reference.
      if (user.serviceUserId === undefined) return { kind: 'not-linked', orderId }
      order.payment = { ...order.payment!, serviceUserId: user.serviceUserId }
      store.save()
      return await refundOrder(billfold, store, user, order)
    }
    if (!isDecided(error)) return { kind: 'unknown', orderId }
    throw error
  }
}

/** One for each wallet. Nothing here remembers who had it: the reference does, and a second try is only a replay. */
export async function giveGift(billfold: Billfold, user: ShopUser): Promise<Outcome> {
  const { serviceUserId } = user
  if (serviceUserId === undefined) return { kind: 'not-linked' }
  const { replayed } = await billfold.credit({
    serviceUserId,
    amount: giftAmount,
    referenceType: 'WELCOME_GIFT',
    // Derived from the wallet, but not the id itself, which has no business in a reference that people see.
    referenceId: createHash('sha256').update(`gift ${serviceUserId}`).digest('hex').slice(0, 16),
    description: 'A welcome gift from Small Hours',
  })
  return { kind: replayed ? 'given-before' : 'given' }
}

/** Of a refused order: would it go through by now? Only the debit decides; this is for showing a hint. */
export async function isCovered(billfold: Billfold, user: ShopUser, order: Order): Promise<boolean> {
  const { serviceUserId } = user
  const { hasSufficientBalance } = await billfold.checkBalance({ serviceUserId, requiredAmount: order.amount })
  return hasSufficientBalance
}

/** What people will read in their wallet; the number of the order is in the reference already. */
function nameOf({ productId }: Order): string {
  return findProduct(productId)?.name ?? productId
}

/** Whether the service said no. A time-out, a lost connection and a fault of the service leave the outcome unknown. */
function isDecided(error: BillfoldError): boolean {
  return error.status >= 400 && error.status < 500 && !error.isRetryable && error.code !== 'BAD_RESPONSE'
}
