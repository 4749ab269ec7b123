/** Finds the app of a hosted page, the origins that may frame it, and the state of its session. */
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
  /** The Referer header. */
  readonly referer?: string | undefined
}

type Placed = {
  readonly app: App
  /** The origins that may frame the page and receive its messages: the session's parentOrigin, or all of the app. */
  readonly parents: readonly string[]
}

/**
 * Why a page belongs to no app, in this order: no app is named and there is not exactly one active app; the clientId is unknown;
 * the app is inactive; no app lists the embedding page; several apps list it.
 */
export type Unplaced = 'no-app' | 'unknown-app' | 'inactive-app' | 'not-listed' | 'several-apps'

export type Placement =
  | (Placed & { readonly kind: 'session'; readonly session: Session })
  /** The session expired: the page asks its parent for a new one. */
  | (Placed & { readonly kind: 'expired' })
  /** There is no session, or the user or the app ended it: the page shows the sign-in. */
  | (Placed & { readonly kind: 'signed-out' })
  | { readonly kind: 'unknown'; readonly reason: Unplaced }

export async function findPlacement(service: Pick<Service, 'db' | 'apps'>, query: PlacementQuery): Promise<Placement> {
  const { session: token } = query
  const session = isSessionToken(token) ? await findSession(service.db.pool, hashSecret(token)) : undefined
  if (session) return await placementOfSession(service, session)
  const found = await findApp(service, query)
  if (!('app' in found)) return found
  const { app } = found
  // An unknown token was a session once: rows are deleted a day after their end.
  const kind = token === undefined || token === '' ? 'signed-out' : 'expired'
  return { kind, app, parents: app.allowedIframeParents }
}

async function placementOfSession(service: Pick<Service, 'apps'>, session: Session): Promise<Placement> {
  const app = session.isAppActive ? await service.apps.findActive(session.clientId) : undefined
  if (!app) return { kind: 'unknown', reason: 'inactive-app' }
  const { parentOrigin } = session
  // An origin that was removed from the list may not frame pages, even with an older session.
  const parents = app.allowedIframeParents.filter((origin) => parentOrigin === null || origin === parentOrigin)
  const end = endOf(session)
  if (!end) return { kind: 'session', app, parents, session }
  return { kind: end.code === 'SESSION_EXPIRED' ? 'expired' : 'signed-out', app, parents }
}

async function findApp(service: Pick<Service, 'apps'>, { clientId, referer }: PlacementQuery): Promise<FoundApp> {
  if (clientId !== undefined) {
    const app = await service.apps.findActive(clientId)
    if (app) return { app }
    return { kind: 'unknown', reason: (await service.apps.known(clientId)) ? 'inactive-app' : 'unknown-app' }
  }
  const origin = originOf(referer)
  const found = appOfReferer(await service.apps.list(), origin)
  if ('app' in found) return found
  // Another process may have changed the apps just now.
  await service.apps.refresh()
  return appOfReferer(await service.apps.list(), origin)
}

type FoundApp = { readonly app: App } | Extract<Placement, { kind: 'unknown' }>

function appOfReferer(apps: readonly App[], origin: string | undefined): FoundApp {
  // Many pages send no Referer. A single active app needs none: its list decides who may frame the page.
  const listing = origin === undefined ? apps : apps.filter((each) => each.allowedIframeParents.includes(origin))
  const [app, another] = listing.filter((each) => each.isActive)
  if (origin === undefined) return app && !another ? { app } : { kind: 'unknown', reason: 'no-app' }
  if (another) return { kind: 'unknown', reason: 'several-apps' }
  if (app) return { app }
  return { kind: 'unknown', reason: listing.length > 0 ? 'inactive-app' : 'not-listed' }
}

/** The origin in a Referer; undefined when it has none. */
export function originOf(referer: string | undefined): string | undefined {
  const origin = referer !== undefined && URL.canParse(referer) ? new URL(referer).origin : 'null'
  return origin === 'null' ? undefined : origin
}

/* The origins that may frame a top-up, and so the card form in it. */

export async function findTopupParents(
  service: Pick<Service, 'db' | 'apps'>,
  topupId: string,
): Promise<readonly string[]> {
  const topup = await findTopup(service.db.pool, topupId)
  const app = topup && (await service.apps.findActive(topup.clientId))
  return app?.allowedIframeParents ?? []
}
