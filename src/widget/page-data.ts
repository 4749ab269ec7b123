/** What the server hands to the script of a hosted page. Nothing in it is secret: the session token is only in the address. */
import type { LaterFiles, LaterView } from './later-views.ts'
import type { Words } from '../languages/words.ts'

export type PageData = {
  readonly page: 'wallet' | 'topup'
  readonly kind: 'session' | 'expired' | 'signed-out'
  readonly lang: string
  readonly dir: 'ltr' | 'rtl'
  /** The one for somebody who has not chosen any. */
  readonly browserLang: string
  readonly theme?: 'light' | 'dark' | undefined
  /** Those of the first view; a view that is loaded later brings its own. */
  readonly words: Words['wallet']
  readonly later: Readonly<Partial<Record<LaterView, LaterFiles>>>
  /** Where all words of each language are, for a user who has chosen another than the page came in. */
  readonly languages?: Readonly<Record<string, string>>
  /** Those of later views, once another language was chosen: the files in `later` are in the first one. */
  readonly laterWords?: Readonly<Partial<Record<LaterView, Readonly<Record<string, string>>>>>
  readonly clientId: string
  readonly appName: string
  readonly service: ServiceData
  /** An address of this service: the logo's own host gets no request from the visitor's browser. */
  readonly logo: string | null
  /** The origins that the page posts messages to and takes messages from; never a wildcard. */
  readonly parents: readonly string[]
  readonly topup: TopupOffer
}

/** Whose wallet this is: not the app's, whose page is around the frame. Null where the operator gave none. */
export type ServiceData = {
  readonly name: string
  /** An address of this service, as an app's logo has. */
  readonly logo: string | null
  /** An https address, or one that begins with mailto: */
  readonly support: string | null
  readonly terms: string | null
  readonly privacy: string | null
}

/** What can be added by card. `processor` is none when the service takes no cards. */
export type TopupOffer = {
  readonly processor: 'none' | 'sandbox' | 'stripe'
  readonly currency: string
  readonly decimals: number
  readonly min: number
  readonly max: number
  /** What the address says that its user is short of, above zero; it may be outside the limits. */
  readonly need: number | null
  /** What for, in the app's words: a line of text, and never more. */
  readonly reason: string | null
  /** The address of the card processor's script; null when the processor has none. */
  readonly scriptUrl: string | null
}
