/**
 * Lists where a user is signed in, and signs out of apps and devices. Apps' backends open sessions as long as the link is signed in, so "signed in" means
 * that an app may open the wallet. Signing out of an app ends that until the next sign-in. The link stays, and with it
 * the app's own debits and credits, such as a subscription. Disconnecting the app ends those.
 */
import { transact } from '../../store/connection/database.ts'
import { deleteLinkCodesOfUser, updateLinksSignedOut } from '../../store/links.ts'
import { listDevices, updateDevicesRevoked } from '../../store/people/devices.ts'
import { listAppSignIns, updateSessionsRevoked, type Session } from '../../store/people/widget-sessions.ts'
import { appColor } from '../apps/app-color.ts'
import { recordAudit } from '../audit.ts'
import { addressHashes } from '../limits.ts'
import type { Service } from '../service.ts'

export type SignedInApp = {
  readonly clientId: string
  readonly appName: string
  readonly color: string
  readonly isThisApp: boolean
  readonly since: Date
  readonly browsers: readonly {
    readonly browser: string | null
    readonly lastAt: Date
    readonly isLive: boolean
    readonly isThis: boolean
    /** Same network as this call. */
    readonly isThisNetwork: boolean
  }[]
}

export async function listSignedInApps(
  service: Pick<Service, 'db' | 'apps' | 'secrets'>,
  session: Session,
  address: string,
): Promise<SignedInApp[]> {
  const signIns = await listAppSignIns(service.db.pool, session.userId, session.tokenHash)
  const here = await addressHashes(service, address)
  const apps = new Map((await service.apps.list()).map((app) => [app.clientId, app]))
  return signIns.map(({ clientId, since, browsers }) => ({
    clientId,
    appName: apps.get(clientId)?.name ?? clientId,
    color: appColor({ clientId, accentColor: apps.get(clientId)?.accentColor ?? null }),
    isThisApp: clientId === session.clientId,
    since,
    browsers: browsers.map(({ addressHash: network, ...browser }) => ({
      ...browser,
      isThisNetwork: here.some((hash) => hash.equals(network)),
    })),
  }))
}

export type SignedInDevice = {
  readonly id: string
  readonly clientId: string
  readonly appName: string
  readonly browser: string | null
  readonly since: Date
  /** Null before the first use. */
  readonly lastAt: Date | null
  readonly isThis: boolean
  readonly isThisNetwork: boolean
}

export async function listSignedInDevices(
  service: Pick<Service, 'db' | 'apps' | 'secrets'>,
  { userId, deviceId }: Session,
  address: string,
): Promise<SignedInDevice[]> {
  const here = await addressHashes(service, address)
  const names = new Map((await service.apps.list()).map((app) => [app.clientId, app.name]))
  const devices = await listDevices(service.db.pool, userId)
  return devices.map(({ id, clientId, browser, createdAt, lastUsedAt, addressHash: network }) => ({
    id,
    clientId,
    appName: names.get(clientId) ?? clientId,
    browser,
    since: createdAt,
    lastAt: lastUsedAt,
    isThis: id === deviceId,
    isThisNetwork: here.some((hash) => hash.equals(network)),
  }))
}

/** False when it is not a live device of the user. */
export async function signOutDevice(
  service: Pick<Service, 'db'>,
  { userId, clientId }: Session,
  { id, address }: { id: string; address: string },
): Promise<boolean> {
  return await transact(service.db, async (tx) => {
    if ((await updateDevicesRevoked(tx, userId, { id })) === 0) return false
    const actor = { name: `user:${userId}`, address }
    await recordAudit(tx, actor, 'user.device-ended', `user:${userId}`, { clientId })
    return true
  })
}

/**
 * Signs out of one app and the devices that were signed in through it, or of everything without a clientId. False when the user is
 * not signed in there.
 */
export async function signOut(
  service: Pick<Service, 'db' | 'live'>,
  session: Session,
  { clientId, address }: { clientId: string | undefined; address: string },
): Promise<boolean> {
  const { userId, deviceId } = session
  const isDone = await transact(service.db, async (tx) => {
    // Lock the links first: this waits for a session that is being opened, and the next statement then finds it.
    if ((await updateLinksSignedOut(tx, userId, { clientId })) === 0) return false
    await deleteLinkCodesOfUser(tx, userId)
    await updateSessionsRevoked(tx, userId, clientId ? 'signed-out' : 'signed-out-everywhere', { clientId })
    await updateDevicesRevoked(tx, userId, { clientId })
    // The user leaves this app in this browser, even if another app of the same site signed the browser in.
    if (clientId === session.clientId && deviceId !== null) await updateDevicesRevoked(tx, userId, { id: deviceId })
    const actor = { name: `user:${userId}`, address }
    await recordAudit(tx, actor, 'user.signed-out', `user:${userId}`, clientId ? { clientId } : { everywhere: true })
    return true
  })
  if (isDone) service.live.poke(userId)
  return isDone
}
