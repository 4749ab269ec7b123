/** "Apps using my wallet": the user's own view of their links; and the proof of one to its app. */
import type { App } from '../../store/apps.ts'
import { transact, type Queryable } from '../../store/database.ts'
import {
  deleteLinkCode,
  insertLinkCode,
  listLinksOfUser,
  updateLinkDisconnected,
  upsertLink,
} from '../../store/links.ts'
import type { Session } from '../../store/widget-sessions.ts'
import { record } from '../audit.ts'
import type { Service } from '../service.ts'
import { hashSecret, newLinkCode, newServiceUserId } from '../tokens.ts'

export type ConnectedApp = {
  readonly clientId: string
  readonly appName: string
  readonly connectedAt: Date
  readonly isThisApp: boolean
}

export async function listConnectedApps(service: Service, session: Session): Promise<ConnectedApp[]> {
  const links = await listLinksOfUser(service.db.pool, session.userId)
  const apps = new Map((await service.apps.list()).map((app) => [app.clientId, app]))
  return links.map(({ clientId, createdAt }) => ({
    clientId,
    appName: apps.get(clientId)?.name ?? clientId,
    connectedAt: createdAt,
    isThisApp: clientId === session.clientId,
  }))
}

/**
 * The app's serviceUserId answers like an unknown one from now on, everywhere, and its sessions are over: both are
 * read from the link each time. False when the user has no live link with that app.
 */
export async function disconnectApp(
  service: Service,
  session: Session,
  clientId: string,
  address: string,
): Promise<boolean> {
  const isDisconnected = await transact(service.db, async (tx) => {
    const links = await listLinksOfUser(tx, session.userId)
    const link = links.find((each) => each.clientId === clientId)
    if (!link || !(await updateLinkDisconnected(tx, session.userId, link.id))) return false
    const actor = { name: `user:${session.userId}`, address }
    await record(tx, actor, 'link.disconnected', `user:${session.userId}`, { clientId })
    return true
  })
  if (isDisconnected) service.live.poke(session.userId)
  return isDisconnected
}

/** The serviceUserId that a link code proves; undefined when it proves nothing, or nothing any more. */
export async function verifyLink(service: Service, app: App, linkCode: string): Promise<string | undefined> {
  return await deleteLinkCode(service.db.pool, app.clientId, hashSecret(linkCode))
}

/* What a user gets who has just proved who they are: the link of the app, and a code that proves it to its backend. */

export type Connected = { readonly kind: 'connected'; readonly serviceUserId: string; readonly linkCode: string }

const linkCodeLifetimeMs = 2 * 60_000

/** Undefined when the user was deleted a moment ago. */
export async function connect(
  tx: Queryable,
  app: App,
  userId: string,
  address: string,
): Promise<Connected | undefined> {
  const { clientId } = app
  const link = await upsertLink(tx, { id: newServiceUserId(), clientId, userId })
  if (!link) return undefined
  const actor = { name: `user:${userId}`, address }
  if (link.isNew) await record(tx, actor, 'link.connected', `user:${userId}`, { clientId })
  const linkCode = newLinkCode()
  const lifetimeMs = linkCodeLifetimeMs
  await insertLinkCode(tx, { codeHash: hashSecret(linkCode), linkId: link.id, clientId, lifetimeMs })
  return { kind: 'connected', serviceUserId: link.id, linkCode }
}
