/** What the server hands to the script of a hosted page. Nothing in it is secret: the token stays in the address. */
import type { Words } from './words.ts'

export type PageData = {
  readonly page: 'wallet' | 'topup'
  readonly kind: 'session' | 'expired' | 'signed-out'
  readonly lang: string
  readonly dir: 'ltr' | 'rtl'
  readonly theme?: 'light' | 'dark' | undefined
  readonly words: Words
  readonly clientId: string
  readonly appName: string
  /** An address of our own; the picture's host never hears of the visitor. */
  readonly logo: string | null
  /** Whom the page talks to, and listens to: concrete origins, never a wildcard. */
  readonly parents: readonly string[]
  readonly topup: TopupOffer
}

/** What can be added by card. `processor` is none when the service takes no cards. */
export type TopupOffer = {
  readonly processor: 'none' | 'sandbox' | 'stripe'
  readonly currency: string
  readonly decimals: number
  readonly min: number
  readonly max: number
  /** Asked for in the address, and within the limits: an app knows what its user is short of. */
  readonly amount: number | null
  /** The processor's own script; null when it has none. */
  readonly scriptUrl: string | null
}
