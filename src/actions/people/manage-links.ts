/** The user's list of connected apps ("Apps using my wallet"), connecting and disconnecting, and the proof of a link to its app. */
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
import { findSequences } from '../../store/transfers.ts'
import { insertNewLink } from '../../store/people/new-links.ts'
import { sumOpenHolds } from '../../store/people/user-holds.ts'
import { updateDevicesRevoked } from '../../store/people/devices.ts'
import type { Session } from '../../store/people/widget-sessions.ts'
import { appColor } from '../apps/app-color.ts'
import { recordAudit } from '../audit.ts'
import { browserName } from '../browser-name.ts'
import { notify, sendSoon } from '../mails/notify.ts'
import type { Service, WithDb } from '../service.ts'
import { hashSecret, newId, newLinkCode, newServiceUserId } from '../tokens.ts'
import type { Acting } from './trust-device.ts'

export type ConnectedApp = {
  readonly clientId: string
  readonly appName: string
  readonly color: string
  readonly connectedAt: Date
  readonly isThisApp: boolean
  /** Empty while the app is inactive. */
  readonly scopes: readonly string[]
  readonly month: Sums
  /** The month has more than `maxSummed` entries, or archived ones: the sums cover only the newest. */
  readonly isMonthCut: boolean
  /** What the app's open holds reserve. */
  readonly heldMinor: bigint
}

export async function listConnectedApps(service: Service, session: Session): Promise<ConnectedApp[]> {
  const { pool } = service.db
  const links = await listLinksOfUser(pool, session.userId)
  const apps = new Map((await service.apps.list()).map((app) => [app.clientId, app]))
  const { sums, isCut } = await sumMonth(service, session)
  const held = session.heldMinor === 0n ? undefined : await sumOpenHolds(pool, session.userId)
  return links.map(({ clientId, createdAt }) => {
    const app = apps.get(clientId)
    return {
      clientId,
      appName: app?.name ?? clientId,
      color: appColor({ clientId, accentColor: app?.accentColor ?? null }),
      connectedAt: createdAt,
      isThisApp: clientId === session.clientId,
      scopes: app?.isActive ? app.scopes : [],
      month: sums.get(counterAccountOfApp(clientId)) ?? { debitedMinor: 0n, creditedMinor: 0n },
      isMonthCut: isCut,
      heldMinor: held?.get(clientId) ?? 0n,
    }
  })
}

/** The search limit of a wallet page. */
const maxSummed = 5_000

/** Sums this month in UTC, up to the sequence of the session. */
async function sumMonth(service: Service, { userId, sequence, readAt }: Session) {
  const { pool } = service.db
  const monthStart = new Date(Date.UTC(readAt.getUTCFullYear(), readAt.getUTCMonth()))
  const { bottom, hasArchived } = await findSequences(pool, userId, { from: monthStart })
  const from = Math.max(bottom, sequence - maxSummed + 1)
  return { sums: await sumByCounterAccount(pool, userId, { from, to: sequence }), isCut: hasArchived || from > bottom }
}

/**
 * From now on the app's serviceUserId is unknown in every process and its sessions are invalid: every call reads the link.
 * False when the user has no live link to that app.
 */
export async function disconnectApp(
  service: Pick<Service, 'db' | 'live' | 'now' | 'wakeUps'>,
  session: Session,
  { clientId, address, userAgent, lang }: Acting & { clientId: string },
): Promise<boolean> {
  const { userId } = session
  const isOther = clientId !== session.clientId
  const isDisconnected = await transact(service.db, async (tx) => {
    const links = await listLinksOfUser(tx, userId)
    const link = links.find((each) => each.clientId === clientId)
    if (!link || !(await updateLinkDisconnected(tx, userId, link.id))) return false
    await updateDevicesRevoked(tx, userId, { clientId })
    await recordAudit(tx, { name: `user:${userId}`, address }, 'link.disconnected', `user:${userId}`, { clientId })
    const at = service.now().toISOString()
    const notification = { kind: 'app-disconnected', clientId, at, browser: browserName(userAgent) } as const
    if (isOther) await notify(tx, userId, notification, { id: newId(), lang })
    return true
  })
  if (isDisconnected) service.live.poke(userId)
  if (isDisconnected && isOther) sendSoon(service)
  return isDisconnected
}

/** The serviceUserId of a link code; undefined when the code is unknown, used or expired. */
export async function verifyLink(service: WithDb, app: App, linkCode: string): Promise<string | undefined> {
  return await deleteLinkCode(service.db.pool, app.clientId, hashSecret(linkCode))
}

/* After a sign-in or sign-up: the link to the app, and a code that proves the link to the app's backend. */

export type Connected = { readonly kind: 'connected'; readonly serviceUserId: string; readonly linkCode: string }

/** With the token for the browser. */
export type SignedIn = Connected & { readonly deviceToken: string }

const linkCodeLifetimeMs = 2 * 60_000

/** Undefined when the user has just been deleted. */
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
