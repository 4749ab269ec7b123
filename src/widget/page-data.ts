/** The data of a hosted page for its script. It contains no secret: the session token is only in the address. */
import type { LaterFiles, LaterView } from './later-views.ts'
import type { Words } from '../languages/words.ts'

export type PageData = {
  readonly page: 'wallet' | 'topup'
  readonly kind: 'session' | 'expired' | 'signed-out'
  readonly lang: string
  readonly dir: 'ltr' | 'rtl'
  /** For users who have not chosen a language. */
  readonly browserLang: string
  readonly theme?: 'light' | 'dark' | undefined
  /** The words of the wallet's first view, and on the top-up page its own too; a view that loads on demand brings its own. */
  readonly words: Words['wallet']
  readonly later: Readonly<Partial<Record<LaterView, LaterFiles>>>
  /** The address of each language's words, for a user who has chosen another language than the page's. */
  readonly languages?: Readonly<Record<string, string>>
  /** The words of later views in a language chosen since: the files in `later` are in the page's first language. */
  readonly laterWords?: Readonly<Partial<Record<LaterView, Readonly<Record<string, string>>>>>
  readonly clientId: string
  readonly appName: string
  readonly service: ServiceData
  /** An address of this service, so that the logo's host gets no request from the visitor's browser. */
  readonly logo: string | null
  /** The page exchanges messages only with these origins; never a wildcard. */
  readonly parents: readonly string[]
  readonly topup: TopupOffer
}

/** The service that runs the wallet, as opposed to the app that embeds it. Null where the operator configured none. */
export type ServiceData = {
  readonly name: string
  /** An address of this service. */
  readonly logo: string | null
  /** `https:` or `mailto:` */
  readonly support: string | null
  readonly terms: string | null
  readonly privacy: string | null
}

/** Top-ups by card. `processor` is `none` when the service takes no cards. */
export type TopupOffer = {
  readonly processor: 'none' | 'sandbox' | 'stripe'
  readonly currency: string
  readonly decimals: number
  readonly min: number
  readonly max: number
  /** The missing amount from the page's address, above zero; it may be outside the limits. */
  readonly need: number | null
  /** The purpose, as the app states it: one line of text. */
  readonly reason: string | null
  /** Null when the card processor has no script. */
  readonly scriptUrl: string | null
}
