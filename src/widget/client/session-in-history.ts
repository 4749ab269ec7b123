/**
 * Moves the session token from the address, which users copy and share, to the browser's history entry. A reload, Back and a
 * restored tab find it there. It needs no storage, which a frame on another site may not have.
 */
import { isSessionToken } from '../../../sdk/contract/messages.ts'
import type { PageData } from '../page-data.ts'
import { writeEntry } from './history-entry.ts'

export type FirstSession = {
  readonly token: string | null
  /** From the history: the session may have ended since, and the parent page may have a newer one. */
  readonly isFromHistory: boolean
}

/** Parameters that are useless after a reload or must not be shared. */
const transient = ['session', 'payment_intent', 'payment_intent_client_secret', 'redirect_status']

/** Parameters for one purchase, which may already be paid after a reload. */
const ofPurchase = ['amount', 'reason']

/**
 * Keeps the clientId in the address: without a session the server needs it to know which origins may frame the page. `once` is what the
 * page keeps of the parameters that it removes, in the same call: a reload at any time finds them in the address or in the entry.
 */
export function takeSession({ clientId, kind }: PageData, once?: object): FirstSession {
  const url = new URL(location.href)
  const given = url.searchParams.get('session')
  const kept = storedToken()
  for (const name of [...transient, ...ofPurchase]) url.searchParams.delete(name)
  url.searchParams.set('clientId', clientId)
  // A revoked token is not stored: the page shows the sign-in form, also after a reload.
  const token = given ? (kind === 'signed-out' ? null : given) : kept
  writeEntry('replaceState', { ...stateWith(token), ...once }, url)
  return { token, isFromHistory: !given && kept !== null }
}

export function storeSession(token: string | null): void {
  if (storedToken() !== token) writeEntry('replaceState', stateWith(token))
}

/** The entry may also hold a payment; without a session, a sign-in that waits for its code; with one, the view that is open. */
function stateWith(token: string | null): object {
  const { at: _, ...signedOut } = (history.state ?? {}) as Record<string, unknown>
  const { code: __, ...signedIn } = (history.state ?? {}) as Record<string, unknown>
  return token === null ? { ...signedOut, session: token } : { ...signedIn, session: token }
}

function storedToken(): string | null {
  const { session } = (history.state ?? {}) as { session?: unknown }
  return isSessionToken(session) ? session : null
}
