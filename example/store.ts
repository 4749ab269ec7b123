/** The shop's own data: users, orders and sign-ins, in one JSON file that survives a restart. */
import { createHash, randomBytes } from 'node:crypto'
import { mkdirSync, readFileSync, renameSync, writeFileSync } from 'node:fs'
import { dirname } from 'node:path'
import type { BillfoldEvent, Hold } from '@billfold/sdk/contract'

export type ShopUser = {
  readonly id: string
  readonly name: string
  /** The link to a wallet: absent without one, never null. Not unique, because two users may share a wallet. */
  serviceUserId?: string
}

type PreOrderStatus = 'reserving' | 'reserved' | 'shipping' | 'cancelling' | 'cancelled' | 'expired'
export type OrderStatus = 'open' | 'paying' | 'refused' | 'paid' | 'refunding' | 'refunded' | PreOrderStatus

export type Order = {
  /** The order number, and the start of the references of its payments and refunds. */
  readonly id: string
  readonly userId: string
  readonly productId: string
  readonly amount: number
  readonly placedAt: string
  /** `paying`, `refunding`, `reserving`, `shipping` and `cancelling`: the request was sent, and its outcome is not known yet. */
  status: OrderStatus
  attempts: number
  /** The newest payment attempt: its reference and its wallet. */
  payment?: { readonly referenceId: string; readonly serviceUserId: string }
  /** Of a pre-order: the newest hold. */
  hold?: { readonly id: string; readonly expiresAt: string }
  /** The missing amount when the newest attempt was refused. */
  shortfall?: number
}

type Data = {
  users: ShopUser[]
  orders: Order[]
  sessions: Record<string, string>
  /** The number of the last event whose effect is in this file. */
  feedNumber?: number
}

export type Store = ReturnType<typeof openStore>

export function openStore(file: string) {
  const data = readData(file)

  /** Writes a new file and renames it, so that a crash never leaves half a file. */
  function save(): void {
    mkdirSync(dirname(file), { recursive: true })
    writeFileSync(`${file}.new`, JSON.stringify(data, null, 2), { mode: 0o600 })
    renameSync(`${file}.new`, file)
  }

  return {
    save,

    getOrInsertUser(name: string): ShopUser {
      const known = data.users.find((user) => user.name.toLowerCase() === name.toLowerCase())
      if (known) return known
      const user: ShopUser = { id: `user_${randomBytes(6).toString('hex')}`, name }
      data.users.push(user)
      save()
      return user
    },

    listLinkedWith: (user: ShopUser): ShopUser[] =>
      user.serviceUserId === undefined
        ? []
        : data.users.filter((other) => other !== user && other.serviceUserId === user.serviceUserId),

    setLink(user: ShopUser, serviceUserId: string): void {
      user.serviceUserId = serviceUserId
      save()
    },

    /** Deletes the field. A null would be a value, and two nulls would collide in a sparse unique index. */
    removeLink(user: ShopUser): void {
      delete user.serviceUserId
      save()
    },

    insertSession(user: ShopUser): string {
      const token = randomBytes(24).toString('base64url')
      data.sessions[hash(token)] = user.id
      save()
      return token
    },

    findSessionUser(token: string): ShopUser | undefined {
      const userId = data.sessions[hash(token)]
      return data.users.find((user) => user.id === userId)
    },

    removeSession(token: string): void {
      delete data.sessions[hash(token)]
      save()
    },

    /** The order number is random: a counter would restart after the file is lost and repeat references that are already used. */
    insertOrder(order: Pick<Order, 'userId' | 'productId' | 'amount'>, now: Date): Order {
      const id = `SH-${randomBytes(5).toString('hex').toUpperCase()}`
      const placed: Order = { id, ...order, placedAt: now.toISOString(), status: 'open', attempts: 0 }
      data.orders.push(placed)
      save()
      return placed
    },

    /** Finds only the user's own orders: knowing an order number proves nothing. */
    findOrder: (user: ShopUser, id: string): Order | undefined =>
      data.orders.find((order) => order.id === id && order.userId === user.id),

    setHold(order: Order, hold: Hold): void {
      takeHold(order, hold)
      save()
    },

    feedNumber: (): number => data.feedNumber ?? 0,

    /** The effect and the number are written in one file, which replaces the old one: both are stored, or neither is. */
    applyEvent(event: BillfoldEvent): void {
      if (event.number <= (data.feedNumber ?? 0)) return
      actOn(event, data)
      data.feedNumber = event.number
      save()
    },

    skipEvents(upTo: number): void {
      data.feedNumber = upTo
      save()
    },

    listOrders: (user: ShopUser): Order[] => data.orders.filter((order) => order.userId === user.id).reverse(),
  }
}

const isOf = (status: OrderStatus, referenceId: string) => (order: Order) =>
  order.status === status && order.payment?.referenceId === referenceId

/** Each effect depends on the state of the order, so the answer to the shop's own request may come before or after the event. */
function actOn({ type, data }: BillfoldEvent, { users, orders }: Data): void {
  if (type === 'wallet.debited' && data.referenceType === 'ORDER_PAYMENT')
    for (const order of orders.filter(isOf('paying', data.referenceId))) order.status = 'paid'
  if (type === 'wallet.credited' && data.referenceType === 'ORDER_REFUND')
    for (const order of orders.filter(isOf('refunding', data.referenceId))) order.status = 'refunded'
  if (type === 'hold.created')
    for (const order of orders.filter(isOf('reserving', data.referenceId))) takeHold(order, data)
  if (type === 'hold.captured' || type === 'hold.voided' || type === 'hold.expired')
    for (const order of orders) if (order.hold?.id === data.id && isUnderWay(order)) takeHold(order, data)
  if (type === 'wallet.topped_up') {
    const owners = users.filter(({ serviceUserId }) => serviceUserId === data.serviceUserId).map(({ id }) => id)
    for (const order of orders)
      if (order.status === 'refused' && owners.includes(order.userId)) order.shortfall = missingAfter(order, data)
  }
  if (type === 'link.disconnected' || type === 'user.deleted')
    for (const user of users) if (user.serviceUserId === data.serviceUserId) delete user.serviceUserId
}

/** The event has the balance, of which a part may be on hold: so it is less by what came in, and never less than what the balance lacks. */
function missingAfter({ amount, shortfall = amount }: Order, topup: { amount: number; balanceAfter: number }): number {
  return Math.max(0, Number(Math.max(shortfall - topup.amount, amount - topup.balanceAfter).toFixed(3)))
}

const statusOfHold = { OPEN: 'reserved', CAPTURED: 'paid', VOIDED: 'cancelled', EXPIRED: 'expired' } as const

function takeHold(order: Order, { id, expiresAt, status }: Hold): void {
  order.hold = { id, expiresAt }
  order.status = statusOfHold[status]
}

/** A paid order may be refunded by the time the event of its capture is read. */
function isUnderWay({ status }: Order): boolean {
  return status === 'reserved' || status === 'shipping' || status === 'cancelling'
}

function readData(file: string): Data {
  try {
    return JSON.parse(readFileSync(file, 'utf8')) as Data
  } catch (error) {
    if ((error as { code?: unknown }).code === 'ENOENT') return { users: [], orders: [], sessions: {} }
    throw new Error(`${file} cannot be read. Move it away to start with an empty shop.`, { cause: error })
  }
}

function hash(token: string): string {
  return createHash('sha256').update(token).digest('hex')
}
