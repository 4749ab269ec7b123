/**
 * A pre-order: the money is reserved when it is ordered, taken when it ships, and released when it is cancelled. A hold ends by itself,
 * so an order that never ships costs nothing. Each function can be called again after a lost answer: it does nothing twice.
 */
import { Billfold, BillfoldError } from '@billfold/sdk/server'
import type { Hold } from '@billfold/sdk/contract'
import type { Outcome } from './answers.ts'
import type { Order, ShopUser, Store } from './store.ts'
import { isDecided, nameOf, outcomeOfFailure } from './wallet.ts'

/** Stores the reference before it asks for the hold, as `payOrder` does before it debits. */
export async function reserveOrder(billfold: Billfold, store: Store, user: ShopUser, order: Order): Promise<Outcome> {
  const orderId = order.id
  if (order.status === 'paid') return { kind: 'paid', orderId }
  if (order.status === 'reserved') return { kind: 'reserved', orderId }
  if (['shipping', 'cancelling', 'refunding'].includes(order.status)) return { kind: 'unknown', orderId }
  if (order.status !== 'reserving') {
    if (user.serviceUserId === undefined) return { kind: 'not-linked', orderId }
    order.attempts++
    order.payment = { referenceId: `${orderId}-${order.attempts}`, serviceUserId: user.serviceUserId }
    order.status = 'reserving'
    delete order.shortfall
    delete order.hold
    store.save()
  }
  try {
    const { hold, replayed } = await billfold.hold({
      ...order.payment!,
      amount: order.amount,
      referenceType: 'ORDER_PAYMENT',
      description: nameOf(order),
    })
    store.setHold(order, hold)
    // The answer to a repeat has the hold as it is now, which may have ended.
    if (hold.status !== 'OPEN') return { kind: hold.status === 'EXPIRED' ? 'expired' : 'cancelled', orderId }
    return { kind: replayed ? 'reserved-once' : 'reserved', orderId }
  } catch (error) {
    return outcomeOfFailure(store, user, order, error)
  }
}

/** Takes the money before the parcel leaves. A hold that has ended is not paid: the order does not ship. */
export async function shipOrder(billfold: Billfold, store: Store, order: Order): Promise<Outcome> {
  return await endHold(billfold, store, order, 'shipping', async (holdId) => {
    const { hold, replayed } = await billfold.capture({ holdId })
    store.setHold(order, hold)
    return { kind: replayed ? 'paid-once' : 'shipped', orderId: order.id }
  })
}

export async function cancelOrder(billfold: Billfold, store: Store, order: Order): Promise<Outcome> {
  return await endHold(billfold, store, order, 'cancelling', async (holdId) => {
    store.setHold(order, (await billfold.voidHold({ holdId })).hold)
    return { kind: 'cancelled', orderId: order.id }
  })
}

/** The intention is stored first. Until its outcome is known, only the same request is sent again. */
async function endHold(
  billfold: Billfold,
  store: Store,
  order: Order,
  status: 'shipping' | 'cancelling',
  act: (holdId: string) => Promise<Outcome>,
): Promise<Outcome> {
  const orderId = order.id
  if ((order.status !== 'reserved' && order.status !== status) || !order.hold)
    return { kind: 'failed', code: 'NOT_RESERVED', message: `${orderId} is not reserved.` }
  order.status = status
  store.save()
  try {
    return await act(order.hold.id)
  } catch (error) {
    if (!(error instanceof BillfoldError)) throw error
    if (!isDecided(error)) return { kind: 'unknown', orderId }
    // The hold was captured or voided, has expired, or its money is gone: the service says what became of it.
    store.setHold(order, await billfold.getHold({ holdId: order.hold.id }))
    if (error.code === 'HOLD_EXPIRED') return { kind: 'expired', orderId }
    throw error
  }
}

/** A reserved order as it is now: the hold may have expired, or an operator may have voided it. */
export async function refreshOrder(billfold: Billfold, store: Store, order: Order): Promise<void> {
  if (order.status !== 'reserved' || !order.hold) return
  const hold: Hold = await billfold.getHold({ holdId: order.hold.id })
  // A request of the user may have changed the order meanwhile.
  if (hold.status !== 'OPEN' && order.hold.id === hold.id) store.setHold(order, hold)
}
