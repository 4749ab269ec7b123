/** Widget sessions: created by an app's backend for five minutes, checked on every call, ended by the user. */
import { isSessionToken, type SessionEndReason } from '../../../sdk/contract.ts'
import type { App } from '../../store/apps.ts'
import { findLink } from '../../store/links.ts'
import {
  findSession,
  insertWidgetSession,
  updateSessionBrowser,
  updateSessionRevoked,
  type Session,
} from '../../store/people/widget-sessions.ts'
import { updateDevicesRevoked } from '../../store/people/devices.ts'
import { addressHashes } from '../limits.ts'
import { browserName } from '../browser-name.ts'
import type { Service, WithDb } from '../service.ts'
import { hashSecret, newSessionToken } from '../tokens.ts'

const sessionLifetimeMs = 5 * 60_000

export type CreatedSession =
  | { readonly kind: 'created'; readonly sessionToken: string; readonly expiresAt: Date }
  | { readonly kind: 'unknown-user' }
  | { readonly kind: 'origin-not-allowed' }

export async function createSession(
  service: WithDb,
  app: App,
  { serviceUserId, parentOrigin }: { serviceUserId: string; parentOrigin: string | null },
): Promise<CreatedSession> {
  const link = await findLink(service.db.pool, app.clientId, serviceUserId)
  if (!link) return { kind: 'unknown-user' }
  if (parentOrigin !== null && !app.allowedIframeParents.includes(parentOrigin)) return { kind: 'origin-not-allowed' }
  const sessionToken = newSessionToken()
  const expiresAt = await insertWidgetSession(service.db.pool, {
    tokenHash: hashSecret(sessionToken),
    clientId: app.clientId,
    linkId: link.id,
    userId: link.userId,
    parentOrigin,
    lifetimeMs: sessionLifetimeMs,
  })
  if (!expiresAt) return { kind: 'unknown-user' }
  return { kind: 'created', sessionToken, expiresAt }
}

/** How a session ended. Only the holder of its token gets the reason: an unknown token has none. */
export type SessionEnd =
  | { readonly code: 'SESSION_EXPIRED'; readonly reason?: never }
  | { readonly code: 'INVALID_SESSION'; readonly reason?: SessionEndReason }

export type CheckedSession =
  | { readonly session: Session; readonly end?: never }
  | { readonly session?: never; readonly end: SessionEnd }

/**
 * Sessions are not cached, so a session that ends is refused by the next call in every process. Calls without a device that arrive together
 * share a query: every restart makes thousands of widgets connect again.
 */
export async function checkSession(
  { db, sessionReader }: Pick<Service, 'db' | 'sessionReader'>,
  token: unknown,
  deviceToken?: string,
): Promise<CheckedSession> {
  if (!isSessionToken(token)) return { end: { code: 'INVALID_SESSION' } }
  const hash = hashSecret(token)
  const session =
    deviceToken === undefined
      ? await sessionReader.find('', hash.toString('hex'))
      : await findSession(db.pool, hash, hashSecret(deviceToken))
  if (!session) return { end: { code: 'INVALID_SESSION' } }
  const end = endOf(session)
  return end ? { end } : { session }
}

/**
 * How a session ended; undefined while it is valid. Of several reasons, the one that decides what the user can do: a disconnected
 * app takes no money, and an inactive app accepts no sign-in.
 */
export function endOf(session: Session): SessionEnd | undefined {
  const { isDisconnected, isAppActive, isRevoked, isSignedOut, revokedFor, isExpired } = session
  if (isDisconnected) return { code: 'INVALID_SESSION', reason: 'disconnected' }
  if (!isAppActive) return { code: 'INVALID_SESSION', reason: 'app-off' }
  if (isRevoked || isSignedOut) return { code: 'INVALID_SESSION', reason: revokedFor ?? 'signed-out' }
  return isExpired ? { code: 'SESSION_EXPIRED' } : undefined
}

/** Records the browser of the session's first call: the session itself was created by the app's backend. */
export async function recordBrowser(
  service: Pick<Service, 'db' | 'secrets'>,
  session: Session,
  { userAgent, address }: { userAgent: string | null; address: string },
): Promise<void> {
  if (session.isBrowserRecorded) return
  const [addressHash] = await addressHashes(service, address)
  const seen = { browser: browserName(userAgent), addressHash }
  await updateSessionBrowser(service.db.pool, session.tokenHash, seen)
}

/** Ends the session, and the device that the call came from. */
export async function revokeSession(service: Pick<Service, 'db' | 'live'>, session: Session): Promise<void> {
  const { tokenHash, userId, deviceId } = session
  await updateSessionRevoked(service.db.pool, tokenHash)
  if (deviceId !== null) await updateDevicesRevoked(service.db.pool, userId, { id: deviceId })
  service.live.poke(userId)
}
