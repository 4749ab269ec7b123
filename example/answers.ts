/** What the shop's backend sends to the shop's page: no secrets, and only the first characters of ids. */
import type { OrderStatus } from './store.ts'

/** One call of the backend to the service, for the panel "What just happened". */
export type Step = {
  readonly call: string
  readonly sent: Readonly<Record<string, unknown>>
  /** Null if there was no answer or it was lost. */
  status: number | null
  got: Readonly<Record<string, unknown>>
  isLost: boolean
}

export type ShownOrder = {
  readonly id: string
  readonly productName: string
  readonly amount: number
  readonly status: OrderStatus
  readonly attempts: number
  readonly shortfall?: number
  /** Of a reserved order: when its hold ends. */
  readonly reservedUntil?: string
  /** For a refused order: whether the balance would cover it now. */
  readonly isCovered?: boolean
}

export type ShopState = {
  readonly user: { readonly id: string; readonly name: string; readonly serviceUserId?: string }
  /** The names of other users of the shop with the same wallet. */
  readonly sharedWith: readonly string[]
  readonly orders: readonly ShownOrder[]
  /** `available` is the balance without what is reserved: what a purchase can take. */
  readonly wallet?: {
    readonly balance: number
    readonly available: number
    readonly currency: string
    readonly isActive: boolean
  }
}

export type Outcome =
  | { readonly kind: 'fine' }
  | { readonly kind: 'linked' | 'unlinked' | 'given' | 'given-before' }
  | {
      readonly kind: 'placed' | 'paid' | 'paid-once' | 'refused' | 'refunded' | 'refunded-once'
      readonly orderId: string
    }
  | { readonly kind: 'reserved' | 'reserved-once' | 'shipped' | 'cancelled' | 'expired'; readonly orderId: string }
  | { readonly kind: 'not-linked' | 'unknown'; readonly orderId?: string }
  | { readonly kind: 'failed'; readonly code: string; readonly message: string; readonly requestId?: string }

export type Answer = { readonly outcome: Outcome; readonly state: ShopState; readonly steps: readonly Step[] }

export type SessionAnswer = {
  readonly session: { readonly sessionToken: string; readonly expiresAt: string } | null
  readonly steps: readonly Step[]
}
