/** The state that the page shows after each step. */
import type { ShopState, Step } from './answers.ts'
import type { ShopConfig } from './config.ts'
import { findProduct } from './products.ts'
import { shortened } from './recorder.ts'
import type { Order, ShopUser, Store } from './store.ts'
import { refreshOrder } from './pre-order.ts'
import { isCovered, openBillfold, readWallet } from './wallet.ts'

/** Of a refused order: what the wallet lacks now, also after a hold has ended; without an answer, what was known last. */
function shortfallOf({ status, amount, shortfall }: Order, available: number | undefined): { shortfall?: number } {
  if (status === 'refused' && available !== undefined)
    return { shortfall: Math.max(0, Number((amount - available).toFixed(3))) }
  return shortfall === undefined ? {} : { shortfall }
}

/** Reads the balance from the service each time: a stored balance could be wrong a second later. */
export async function stateOf(config: ShopConfig, store: Store, user: ShopUser, steps: Step[]): Promise<ShopState> {
  const billfold = openBillfold(config, steps)
  // Without an answer the page shows the orders but no balance.
  const wallet = await readWallet(billfold, store, user).catch(() => undefined)
  await Promise.all(store.listOrders(user).map((order) => refreshOrder(billfold, store, order).catch(() => {})))
  const shown = async (order: Order) => ({
    id: order.id,
    productName: findProduct(order.productId)?.name ?? order.productId,
    amount: order.amount,
    status: order.status,
    attempts: order.attempts,
    ...(order.status === 'reserved' && order.hold && { reservedUntil: order.hold.expiresAt }),
    ...shortfallOf(order, wallet?.available),
    ...(order.status === 'refused' &&
      wallet && { isCovered: await isCovered(billfold, user, order).catch(() => false) }),
  })
  const orders = await Promise.all(store.listOrders(user).map(shown))
  const { id, name, serviceUserId } = user
  return {
    user: { id, name, ...(serviceUserId !== undefined && { serviceUserId: shortened(serviceUserId) }) },
    sharedWith: store.listLinkedWith(user).map((other) => other.name),
    orders,
    ...(wallet && { wallet }),
  }
}
