/** Which app a hosted page belongs to, who may frame it, and what it is to show. */
import { findTopup } from '../../store/topups.ts'
import { isSessionToken } from '../../../sdk/contract.ts'
import type { App } from '../../store/apps.ts'
import { findSession, type Session } from '../../store/widget-sessions.ts'
import type { Service } from '../service.ts'
import { hashSecret } from '../tokens.ts'
import { endOf } from '../people/open-session.ts'

export type PlacementQuery = {
  readonly session?: string | undefined
  readonly clientId?: string | undefined
  /** The Referer header as it came. */
  readonly referer?: string | undefined
}

type Placed = {
  readonly app: App
  /** The origins that may frame the page and that it speaks to: the session's own, or all of the app's. */
  readonly parents: readonly string[]
}

export type Placement =
  | (Placed & { readonly kind: 'session'; readonly session: Session })
  /** The session has ended by itself: the page asks its parent for another. */
  | (Placed & { readonly kind: 'expired' })
  /** There is no session, or the user or the app ended it: the page shows the sign-in. */
  | (Placed & { readonly kind: 'signed-out' })
  | { readonly kind: 'unknown'; readonly reason: 'no-app' | 'unknown-app' | 'inactive-app' | 'several-apps' }

export async function findPlacement(service: Service, query: PlacementQuery): Promise<Placement> {
  const { session: token } = query
  const session = isSessionToken(token) ? await findSession(service.db.pool, hashSecret(token)) : undefined
  if (session) return await placementOfSession(service, session)
  const found = await findApp(service, query)
  if (!('app' in found)) return found
  const { app } = found
  // A token that is not there any more was a session once: rows are removed a day after their end.
  const kind = token === undefined || token === '' ? 'signed-out' : 'expired'
  return { kind, app, parents: app.allowedIframeParents }
}

async function placementOfSession(service: Service, session: Session): Promise<Placement> {
  const app = await service.apps.find(session.clientId)
  if (!app || !app.isActive || !session.isAppActive) return { kind: 'unknown', reason: 'inactive-app' }
  const { parentOrigin } = session
  // An origin that was taken off the list since frames nothing, whatever older sessions say.
  const parents = app.allowedIframeParents.filter((origin) => parentOrigin === null || origin === parentOrigin)
  const end = endOf(session)
  if (!end) return { kind: 'session', app, parents, session }
  return { kind: end === 'SESSION_EXPIRED' ? 'expired' : 'signed-out', app, parents }
}

async function findApp(
  service: Service,
  { clientId, referer }: PlacementQuery,
): Promise<{ app: App } | Extract<Placement, { kind: 'unknown' }>> {
  if (clientId !== undefined) {
    const app = await service.apps.find(clientId)
    if (!app) return { kind: 'unknown', reason: 'unknown-app' }
    return app.isActive ? { app } : { kind: 'unknown', reason: 'inactive-app' }
  }
  const origin = referer !== undefined && URL.canParse(referer) ? new URL(referer).origin : undefined
  if (origin === undefined || origin === 'null') return { kind: 'unknown', reason: 'no-app' }
  const listing = (await service.apps.list()).filter((app) => app.allowedIframeParents.includes(origin))
  const [app, another] = listing.filter((each) => each.isActive)
  if (another) return { kind: 'unknown', reason: 'several-apps' }
  if (app) return { app }
  return { kind: 'unknown', reason: listing.length > 0 ? 'inactive-app' : 'unknown-app' }
}

/* The origins whose pages may have a top-up, and so the card form in it, in a frame. */

export async function findTopupParents(service: Service, topupId: string): Promise<readonly string[]> {
  const topup = await findTopup(service.db.pool, topupId)
  const app = topup && (await service.apps.find(topup.clientId))
  return app?.isActive ? app.allowedIframeParents : []
}
