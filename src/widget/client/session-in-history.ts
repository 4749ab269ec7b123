/**
 * The session token leaves the address, which is copied, shown and shared, and stays in the entry of the browser's history: a
 * reload, Back and a restored tab find it there. No storage is needed, which a frame of another site does not have.
 */
import { isSessionToken } from '../../../sdk/contract/messages.ts'
import type { PageData } from '../page-data.ts'

export type FirstSession = {
  readonly token: string | null
  /** From the history: whatever became of it since, the page around us may have a newer one. */
  readonly isFromHistory: boolean
}

/** Parameters that are of no use in an address that is loaded again, or that nobody else should see. */
const passing = ['session', 'payment_intent', 'payment_intent_client_secret', 'redirect_status']

/** What the wallet is opened with for one purchase: a reload comes later, when it may be paid. */
const once = ['amount', 'reason']

/** The app stays in the address: without the session it is what tells the server who may frame the page. */
export function takeSession({ clientId, kind, page }: PageData): FirstSession {
  const url = new URL(location.href)
  const given = url.searchParams.get('session')
  const kept = storedToken()
  for (const name of page === 'wallet' ? [...passing, ...once] : passing) url.searchParams.delete(name)
  url.searchParams.set('clientId', clientId)
  // One that was revoked is not kept: the page shows the sign-in, and so does a reload.
  const token = given ? (kind === 'signed-out' ? null : given) : kept
  history.replaceState({ session: token }, '', url)
  return { token, isFromHistory: !given && kept !== null }
}

export function storeSession(token: string | null): void {
  if (storedToken() !== token) history.replaceState({ session: token }, '')
}

function storedToken(): string | null {
  const { session } = (history.state ?? {}) as { session?: unknown }
  return isSessionToken(session) ? session : null
}
