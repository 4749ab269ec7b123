/** What the server hands to the script of a hosted page. Nothing in it is secret: the session token is only in the address. */
import type { LaterFiles, LaterView } from './later-views.ts'
import type { Words } from './words.ts'

export type PageData = {
  readonly page: 'wallet' | 'topup'
  readonly kind: 'session' | 'expired' | 'signed-out'
  readonly lang: string
  readonly dir: 'ltr' | 'rtl'
  readonly theme?: 'light' | 'dark' | undefined
  /** Those of the first view; a view that is loaded later brings its own. */
  readonly words: Words
  readonly later: Readonly<Partial<Record<LaterView, LaterFiles>>>
  readonly clientId: string
  readonly appName: string
  /** An address of this service: the logo's own host gets no request from the visitor's browser. */
  readonly logo: string | null
  /** The origins that the page posts messages to and takes messages from; never a wildcard. */
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
  /** The amount in the address, if it is within the limits: an app knows how much its user is short of. */
  readonly amount: number | null
  /** The address of the card processor's script; null when the processor has none. */
  readonly scriptUrl: string | null
}
