/** "Apps using my wallet": the user's own view of their links; and the proof of one to its app. */
import { counterAccountOfApp } from '../../ledger/reference.ts'
import type { App } from '../../store/apps.ts'
import { transact, type Queryable } from '../../store/connection/database.ts'
import {
  deleteLinkCode,
  insertLinkCode,
  listLinksOfUser,
  updateLinkDisconnected,
  upsertLink,
} from '../../store/links.ts'
import { sumByCounterAccount, type Sums } from '../../store/books/month-sums.ts'
import { findFirstSequenceAt } from '../../store/transfers.ts'
import { insertNewLink } from '../../store/new-links.ts'
import type { Session } from '../../store/people/widget-sessions.ts'
import { recordAudit } from '../audit.ts'
import type { Service } from '../service.ts'
import { hashSecret, newLinkCode, newServiceUserId } from '../tokens.ts'

export type ConnectedApp = {
  readonly clientId: string
  readonly appName: string
  readonly connectedAt: Date
  readonly isThisApp: boolean
  /** An app that is switched off can do nothing. */
  readonly scopes: readonly string[]
  readonly month: Sums
  /** The wallet has had so many entries this month that only the newest are in the sums. */
  readonly isMonthCut: boolean
}

export async function listConnectedApps(service: Service, session: Session): Promise<ConnectedApp[]> {
  const { pool } = service.db
  const links = await listLinksOfUser(pool, session.userId)
  const apps = new Map((await service.apps.list()).map((app) => [app.clientId, app]))
  const { sums, isCut } = await sumMonth(service, session)
  return links.map(({ clientId, createdAt }) => {
    const app = apps.get(clientId)
    return {
      clientId,
      appName: app?.name ?? clientId,
      connectedAt: createdAt,
      isThisApp: clientId === session.clientId,
      scopes: app?.isActive ? app.scopes : [],
      month: sums.get(counterAccountOfApp(clientId)) ?? { debitedMinor: 0n, creditedMinor: 0n },
      isMonthCut: isCut,
    }
  })
}

/** As many as a page of a wallet looks at. */
const maxSummed = 5_000

/** Of this month in UTC, up to the entry that the session has seen. */
async function sumMonth(service: Service, { userId, sequence, readAt }: Session) {
  const { pool } = service.db
  const monthStart = new Date(Date.UTC(readAt.getUTCFullYear(), readAt.getUTCMonth()))
  const first = await findFirstSequenceAt(pool, userId, monthStart)
  const from = Math.max(first, sequence - maxSummed + 1)
  return { sums: await sumByCounterAccount(pool, userId, { from, to: sequence }), isCut: from > first }
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
    await recordAudit(tx, actor, 'link.disconnected', `user:${session.userId}`, { clientId })
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
export async function connectApp(
  tx: Queryable,
  app: App,
  userId: string,
  address: string,
): Promise<Connected | undefined> {
  const { clientId } = app
  const link = await upsertLink(tx, { id: newServiceUserId(), clientId, userId })
  if (!link) return undefined
  const actor = { name: `user:${userId}`, address }
  if (link.isNew) {
    await recordAudit(tx, actor, 'link.connected', `user:${userId}`, { clientId })
    await insertNewLink(tx, { linkId: link.id, clientId, userId })
  }
  const linkCode = newLinkCode()
  const lifetimeMs = linkCodeLifetimeMs
  await insertLinkCode(tx, { codeHash: hashSecret(linkCode), linkId: link.id, clientId, lifetimeMs })
  return { kind: 'connected', serviceUserId: link.id, linkCode }
}
