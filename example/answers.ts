/** What the shop's backend tells the shop's page. No secret is in it, and of every id only the beginning. */
import type { OrderStatus } from './store.ts'

/** One call of the backend to the service, told so that a newcomer can follow it. */
export type Step = {
  readonly call: string
  readonly sent: Readonly<Record<string, unknown>>
  /** Null while there is no answer, or when it got lost. */
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
  /** Of a refused order: whether the wallet would cover it by now. */
  readonly isCovered?: boolean
}

export type ShopState = {
  readonly user: { readonly id: string; readonly name: string; readonly serviceUserId?: string }
  /** Other users of the shop with the same wallet. */
  readonly sharedWith: readonly string[]
  readonly orders: readonly ShownOrder[]
  readonly wallet?: { readonly balance: number; readonly currency: string; readonly isActive: boolean }
}

export type Outcome =
  | { readonly kind: 'fine' }
  | { readonly kind: 'linked' | 'unlinked' | 'given' | 'given-before' }
  | {
      readonly kind: 'placed' | 'paid' | 'paid-once' | 'refused' | 'refunded' | 'refunded-once'
      readonly orderId: string
    }
  | { readonly kind: 'not-linked' | 'unknown'; readonly orderId?: string }
  | { readonly kind: 'failed'; readonly code: string; readonly message: string; readonly requestId?: string }

export type Answer = { readonly outcome: Outcome; readonly state: ShopState; readonly steps: readonly Step[] }

export type SessionAnswer = {
  readonly session: { readonly sessionToken: string; readonly expiresAt: string } | null
  readonly steps: readonly Step[]
}
