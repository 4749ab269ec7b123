/** Which app a hosted page belongs to, who may frame it, and what it is to show. */
import { findTopup } from '../../store/topups.ts'
import { isSessionToken } from '../../../sdk/contract.ts'
import type { App } from '../../store/apps.ts'
import { findSession, type Session } from '../../store/people/widget-sessions.ts'
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

/**
 * Why a page belongs to no app: none is named and several could be meant; there is none of that clientId; it is not active; none lists the page around
 * it, or more than one does.
 */
export type Unplaced = 'no-app' | 'unknown-app' | 'inactive-app' | 'not-listed' | 'several-apps'

export type Placement =
  | (Placed & { readonly kind: 'session'; readonly session: Session })
  /** The session has ended by itself: the page asks its parent for another. */
  | (Placed & { readonly kind: 'expired' })
  /** There is no session, or the user or the app ended it: the page shows the sign-in. */
  | (Placed & { readonly kind: 'signed-out' })
  | { readonly kind: 'unknown'; readonly reason: Unplaced }

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
  const origin = originOf(referer)
  const apps = await service.apps.list()
  // Many pages send no Referer. The only app there is needs none: its list alone says who may frame the page.
  const listing = origin === undefined ? apps : apps.filter((each) => each.allowedIframeParents.includes(origin))
  const [app, another] = listing.filter((each) => each.isActive)
  if (origin === undefined) return app && !another ? { app } : { kind: 'unknown', reason: 'no-app' }
  if (another) return { kind: 'unknown', reason: 'several-apps' }
  if (app) return { app }
  return { kind: 'unknown', reason: listing.length > 0 ? 'inactive-app' : 'not-listed' }
}

/** Of the page that a Referer names; undefined where it names none. */
export function originOf(referer: string | undefined): string | undefined {
  const origin = referer !== undefined && URL.canParse(referer) ? new URL(referer).origin : 'null'
  return origin === 'null' ? undefined : origin
}

/* The origins whose pages may have a top-up, and so the card form in it, in a frame. */

export async function findTopupParents(service: Service, topupId: string): Promise<readonly string[]> {
  const topup = await findTopup(service.db.pool, topupId)
  const app = topup && (await service.apps.find(topup.clientId))
  return app?.isActive ? app.allowedIframeParents : []
}
