/** Why the wallet closed, and what the user can do next. A new reason of the service does not compile without its texts. */
import type { SessionEndReason } from '../../../sdk/contract.ts'
import type { Words } from '../../languages/words.ts'
import type { IconName } from './icons.tsx'

/** `no-session`: the service does not know the token, and so no reason. */
export type EndCause = SessionEndReason | 'no-session'

/** What a button offers; the first one is the main button. */
export type WayOn = 'sign-in' | 'forgot' | 'sign-up' | 'retry' | 'support'

type Ending = {
  readonly icon: IconName
  readonly title: keyof Words['ended']
  readonly text: keyof Words['ended']
  readonly ways: readonly WayOn[]
}

export const endings: Readonly<Record<EndCause, Ending>> = {
  'signed-out': { icon: 'door', title: 'signedOutTitle', text: 'signedOutText', ways: ['sign-in'] },
  'signed-out-everywhere': { icon: 'shield', title: 'everywhereTitle', text: 'everywhereText', ways: ['sign-in'] },
  'password-changed': {
    icon: 'lock',
    title: 'passwordChangedTitle',
    text: 'passwordChangedText',
    ways: ['sign-in', 'forgot'],
  },
  disconnected: { icon: 'swap', title: 'disconnectedTitle', text: 'disconnectedText', ways: ['sign-in'] },
  'app-off': { icon: 'alert', title: 'appOffTitle', text: 'appOffText', ways: ['retry', 'support'] },
  deleted: { icon: 'person', title: 'deletedTitle', text: 'deletedText', ways: ['sign-up'] },
  'no-session': { icon: 'door', title: 'noSessionTitle', text: 'noSessionText', ways: ['sign-in'] },
}

/** A newer service may give a reason that this page does not know. */
export function endCauseOf(reason: string | undefined): EndCause {
  return reason !== undefined && Object.hasOwn(endings, reason) ? (reason as EndCause) : 'no-session'
}
