/** What the shop itself keeps: its users, their orders, and who is signed in. One JSON file, so that it outlives a restart. */
import { createHash, randomBytes } from 'node:crypto'
import { mkdirSync, readFileSync, renameSync, writeFileSync } from 'node:fs'
import { dirname } from 'node:path'

export type ShopUser = {
  readonly id: string
  readonly name: string
  /** The link to a wallet. Absent without one, never null; not unique, for two people may share a wallet. */
  serviceUserId?: string
}

export type OrderStatus = 'open' | 'paying' | 'refused' | 'paid' | 'refunding' | 'refunded'

export type Order = {
  /** The shop's own number, and the stem of the references it pays and refunds with. */
  readonly id: string
  readonly userId: string
  readonly productId: string
  readonly amount: number
  readonly placedAt: string
  /** `paying` and `refunding` mean: sent, and the answer is not known yet. */
  status: OrderStatus
  attempts: number
  /** The newest attempt to pay: its reference, and the wallet it was sent for. */
  payment?: { readonly referenceId: string; readonly serviceUserId: string }
  /** What was missing when the newest attempt was refused. */
  shortfall?: number
}

type Data = { users: ShopUser[]; orders: Order[]; sessions: Record<string, string> }

export type Store = ReturnType<typeof openStore>

export function openStore(file: string) {
  const data = readData(file)

  /** Under another name first: a shop that is killed half way through must not find half a file. */
  function save(): void {
    mkdirSync(dirname(file), { recursive: true })
    writeFileSync(`${file}.new`, JSON.stringify(data, null, 2), { mode: 0o600 })
    renameSync(`${file}.new`, file)
  }

  return {
    save,

    /** The user of that name, made on the first visit. */
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

    /** The field goes away. A null would be a value, and two nulls would collide in a sparse unique index. */
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

    /** Random, not counted: a shop that lost its file would count from one again, and repeat references that were used. */
    insertOrder(order: Pick<Order, 'userId' | 'productId' | 'amount'>, now: Date): Order {
      const id = `SH-${randomBytes(5).toString('hex').toUpperCase()}`
      const placed: Order = { id, ...order, placedAt: now.toISOString(), status: 'open', attempts: 0 }
      data.orders.push(placed)
      save()
      return placed
    },

    /** Only the user's own: an order number in an address proves nothing. */
    findOrder: (user: ShopUser, id: string): Order | undefined =>
      data.orders.find((order) => order.id === id && order.userId === user.id),

    listOrders: (user: ShopUser): Order[] => data.orders.filter((order) => order.userId === user.id).reverse(),
  }
}

function readData(file: string): Data {
  try {
    return JSON.parse(readFileSync(file, 'utf8')) as Data
  } catch (error) {
    if ((error as { code?: unknown }).code === 'ENOENT') return { users: [], orders: [], sessions: {} }
    throw new Error(`${file} cannot be read; move it away to start with an empty shop.`, { cause: error })
  }
}

function hash(token: string): string {
  return createHash('sha256').update(token).digest('hex')
}
