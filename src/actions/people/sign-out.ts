/**
 * Where a user is signed in, and how to end that. Sessions are opened by the apps' backends, for as long as the link is there; so what a
 * person calls "signed in" is an app that may open the wallet, and signing out of it takes that away until they sign in again.
 * The link stays: what the app debits and credits by itself, a subscription say, goes on. Disconnecting ends that.
 */
import { transact } from '../../store/connection/database.ts'
import { deleteLinkCodesOfUser, updateLinksSignedOut } from '../../store/links.ts'
import { listAppSignIns, updateSessionsRevoked, type Session } from '../../store/people/widget-sessions.ts'
import { recordAudit } from '../audit.ts'
import { addressHash } from '../limits.ts'
import type { Service } from '../service.ts'

export type SignedInApp = {
  readonly clientId: string
  readonly appName: string
  readonly isThisApp: boolean
  readonly since: Date
  readonly browsers: readonly {
    readonly browser: string | null
    readonly lastAt: Date
    readonly isLive: boolean
    readonly isThis: boolean
    /** The network this call comes from. */
    readonly isThisNetwork: boolean
  }[]
}

export async function listSignedInApps(service: Service, session: Session, address: string): Promise<SignedInApp[]> {
  const signIns = await listAppSignIns(service.db.pool, session.userId, session.tokenHash)
  const here = addressHash(address)
  const apps = new Map((await service.apps.list()).map((app) => [app.clientId, app]))
  return signIns.map(({ clientId, since, browsers }) => ({
    clientId,
    appName: apps.get(clientId)?.name ?? clientId,
    isThisApp: clientId === session.clientId,
    since,
    browsers: browsers.map(({ addressHash: network, ...browser }) => ({
      ...browser,
      isThisNetwork: network.equals(here),
    })),
  }))
}

/** Of one app, or of all of them. False when the user is not signed in there. */
export async function signOut(
  service: Service,
  session: Session,
  { clientId, address }: { clientId: string | undefined; address: string },
): Promise<boolean> {
  const { userId } = session
  const isDone = await transact(service.db, async (tx) => {
    // The rows of links first: a session that is being opened is waited for, and then found by the next statement.
    if ((await updateLinksSignedOut(tx, userId, { clientId })) === 0) return false
    await deleteLinkCodesOfUser(tx, userId)
    await updateSessionsRevoked(tx, userId, { clientId })
    const actor = { name: `user:${userId}`, address }
    await recordAudit(tx, actor, 'user.signed-out', `user:${userId}`, clientId ? { clientId } : { everywhere: true })
    return true
  })
  if (isDone) service.live.poke(userId)
  return isDone
}
