/** The routes that the shop's page calls. The user always comes from the cookie, never from the request body. */
import { Hono, type Context } from 'hono'
import { BillfoldError } from '@billfold/sdk/server'
import type { Answer, Outcome, SessionAnswer, Step } from './answers.ts'
import type { ShopConfig } from './config.ts'
import { cancelOrder, reserveOrder, shipOrder } from './pre-order.ts'
import { findProduct } from './products.ts'
import type { Mishap } from './recorder.ts'
import { stateOf } from './state.ts'
import type { Order, ShopUser, Store } from './store.ts'
import { createSession, giveGift, linkWallet, openBillfold, payOrder, refundOrder } from './wallet.ts'

export type ShopEnv = { Variables: { user: ShopUser } }

export function apiRoutes(config: ShopConfig, store: Store) {
  const api = new Hono<ShopEnv>()

  api.get('/state', (c) => answer(c, () => ({ kind: 'fine' })))

  api.post('/wallet/session', async (c) => {
    const steps: Step[] = []
    try {
      // The page that sent this request will hold the frame, so the session is bound to its origin.
      const session = await createSession(openBillfold(config, steps), store, c.var.user, c.req.header('origin'))
      return c.json<SessionAnswer>({ session, steps })
    } catch (error) {
      if (!(error instanceof BillfoldError)) throw error
      return c.json({ code: error.code, message: error.message, steps }, 502)
    }
  })

  api.post('/wallet/link', async (c) => {
    const { linkCode } = await fieldsOf(c)
    if (typeof linkCode !== 'string') return c.json({ code: 'NO_LINK_CODE' }, 400)
    return await answer(c, (steps) => linkWallet(openBillfold(config, steps), store, c.var.user, linkCode))
  })

  api.post('/wallet/unlink', (c) => {
    store.removeLink(c.var.user)
    return answer(c, () => ({ kind: 'unlinked' }))
  })

  api.post('/wallet/gift', (c) => answer(c, (steps) => giveGift(openBillfold(config, steps), c.var.user)))

  api.post('/orders', async (c) => {
    const product = findProduct((await fieldsOf(c)).productId)
    if (!product) return c.json({ code: 'NO_SUCH_PRODUCT' }, 404)
    const line = { userId: c.var.user.id, productId: product.id, amount: product.price }
    const { id: orderId } = store.insertOrder(line, new Date())
    return await answer(c, () => ({ kind: 'placed', orderId }))
  })

  api.post('/orders/:id/pay', (c) =>
    change(c, (order, steps, mishap) => {
      const pay = findProduct(order.productId)?.isPreOrder ? reserveOrder : payOrder
      return pay(openBillfold(config, steps, mishap), store, c.var.user, order)
    }),
  )

  // Ships at once when asked: a real shop does this when the parcel leaves.
  api.post('/orders/:id/ship', (c) =>
    change(c, (order, steps, mishap) => shipOrder(openBillfold(config, steps, mishap), store, order)),
  )

  api.post('/orders/:id/cancel', (c) =>
    change(c, (order, steps, mishap) => cancelOrder(openBillfold(config, steps, mishap), store, order)),
  )

  api.post('/orders/:id/refund', (c) =>
    change(c, (order, steps, mishap) => refundOrder(openBillfold(config, steps, mishap), store, c.var.user, order)),
  )

  const busy = new Set<string>()

  /** Runs one change of an order at a time: a double click must not start a second attempt while the first is under way. */
  async function change(
    c: Context<ShopEnv>,
    act: (order: Order, steps: Step[], mishap: Mishap) => Promise<Outcome>,
  ): Promise<Response> {
    const order = store.findOrder(c.var.user, c.req.param('id') ?? '')
    if (!order) return c.json({ code: 'NO_SUCH_ORDER' }, 404)
    if (busy.has(order.id)) return c.json({ code: 'BUSY' }, 409)
    busy.add(order.id)
    try {
      const mishap = (await fieldsOf(c)).loseAnswer === true ? 'lose-first-answer' : 'none'
      return await answer(c, (steps) => act(order, steps, mishap))
    } finally {
      busy.delete(order.id)
    }
  }

  /** The calls that read the new state after a change are not recorded: they are not part of what the user did. */
  async function answer(c: Context<ShopEnv>, act: (steps: Step[]) => Promise<Outcome> | Outcome): Promise<Response> {
    const steps: Step[] = []
    const outcome = await outcomeOf(() => act(steps))
    const state = await stateOf(config, store, c.var.user, outcome.kind === 'fine' ? steps : [])
    return c.json<Answer>({ outcome, state, steps }, outcome.kind === 'failed' ? 400 : 200)
  }

  return api
}

async function outcomeOf(act: () => Promise<Outcome> | Outcome): Promise<Outcome> {
  try {
    return await act()
  } catch (error) {
    if (!(error instanceof BillfoldError)) throw error
    const { code, message, requestId } = error
    return { kind: 'failed', code, message, ...(requestId && { requestId }) }
  }
}

async function fieldsOf(c: Context<ShopEnv>): Promise<Record<string, unknown>> {
  const body: unknown = await c.req.json().catch(() => null)
  return typeof body === 'object' && body !== null ? (body as Record<string, unknown>) : {}
}
