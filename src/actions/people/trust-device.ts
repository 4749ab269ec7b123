/** Devices: a browser gets a token when its user signs in inside the widget, and presents it with every later call. */
import { transact, type Queryable } from '../../store/connection/database.ts'
import { lockSignedInLink } from '../../store/links.ts'
import { upsertAddress } from '../../store/people/addresses.ts'
import { insertDevice, updateDevicesReplaced, updateDeviceUsed } from '../../store/people/devices.ts'
import { lockUser, type LiveUser } from '../../store/people/users.ts'
import type { Session } from '../../store/people/widget-sessions.ts'
import { recordAudit } from '../audit.ts'
import { browserName } from '../browser-name.ts'
import { addressHashes, type Limited } from '../limits.ts'
import { notify, sendSoon } from '../mails/notify.ts'
import type { Service, WithDb } from '../service.ts'
import { hashSecret, newDeviceToken, newId } from '../tokens.ts'
import { provePassword } from './prove-password.ts'

/** Who makes a change: the network, the browser, and the language of its page. */
export type Acting = {
  readonly address: string
  readonly userAgent: string | null
  readonly lang?: string | undefined
}

export type Browser = Omit<Acting, 'lang'> & {
  /** The device token that it presented. */
  readonly deviceToken: string | undefined
}

type SignIn = {
  readonly userId: string
  readonly clientId: string
  /** The password that was checked: a device is only made while it is the user's. */
  readonly passwordHash: string | null
  /** The password was given in this call. */
  readonly hasPassword: boolean
  readonly isOfPage?: boolean
}

export type AddedDevice = { readonly deviceToken: string; readonly presenceUntil: Date | null }

/**
 * Undefined when the user was deleted or the password changed since it was checked. Call it before the link is written and
 * `replaceDevice` after it: every transaction locks user, link and devices in this order.
 */
export async function addDevice(
  service: Pick<Service, 'secrets'>,
  tx: Queryable,
  signIn: SignIn,
  browser: Browser,
): Promise<AddedDevice | undefined> {
  const { userId, clientId, passwordHash, hasPassword, isOfPage } = signIn
  const token = newDeviceToken()
  const [addressHash] = await addressHashes(service, browser.address)
  const device = {
    id: newId(),
    tokenHash: hashSecret(token),
    userId,
    clientId,
    browser: browserName(browser.userAgent),
    addressHash,
    hasPassword,
  }
  const inserted = await insertDevice(tx, device, { passwordHash, isOfPage: isOfPage ?? false })
  return inserted && { deviceToken: token, ...inserted }
}

export async function replaceDevice(tx: Queryable, userId: string, { deviceToken }: Browser): Promise<void> {
  await updateDevicesReplaced(tx, userId, deviceToken === undefined ? null : hashSecret(deviceToken))
}

export async function recordDeviceUse({ db }: WithDb, { deviceId, isDeviceUseDue }: Session): Promise<void> {
  if (deviceId !== null && isDeviceUseDue) await updateDeviceUsed(db.pool, deviceId)
}

export type Presence =
  | Limited
  | { readonly kind: 'wrong' }
  /** `deviceToken` of a new device; undefined when the presented one goes on. */
  | { readonly kind: 'present'; readonly until: Date; readonly deviceToken: string | undefined }

/** Checks the password and makes this browser a device of the user. With `isOfPage` only the open page keeps the token. */
export async function provePresence(
  service: Service,
  session: Session,
  {
    password,
    isOfPage,
    lang,
    ...browser
  }: Browser & { password: string; isOfPage: boolean; lang?: string | undefined },
): Promise<Presence> {
  const proved = await provePassword(service, session, { password, address: browser.address })
  if (proved.kind !== 'right') return proved
  if (proved.presenceUntil && !isOfPage) return { kind: 'present', until: proved.presenceUntil, deviceToken: undefined }
  const added = await signInDevice(service, session, proved.user, { ...browser, isOfPage, lang })
  if (!added) return { kind: 'wrong' }
  return { kind: 'present', until: added.presenceUntil!, deviceToken: added.deviceToken }
}

/** A new device is a sign-in: it is recorded, and mailed about when it is made from a new place. */
async function signInDevice(
  service: Service,
  { clientId, linkId }: Session,
  { id: userId, passwordHash }: LiveUser,
  { isOfPage, lang, ...from }: Browser & { isOfPage: boolean; lang: string | undefined },
): Promise<AddedDevice | undefined> {
  const { address } = from
  const added = await transact(service.db, async (tx) => {
    // A concurrent sign-out either waits for these locks and finds the device, or is visible here.
    if (!(await lockUser(tx, userId)) || !(await lockSignedInLink(tx, linkId))) return undefined
    const device = await addDevice(service, tx, { userId, clientId, passwordHash, hasPassword: true, isOfPage }, from)
    if (!device) return undefined
    await replaceDevice(tx, userId, from)
    const isNewAddress = await upsertAddress(tx, 'user', userId, await addressHashes(service, address))
    const browser = browserName(from.userAgent)
    await recordAudit(tx, { name: `user:${userId}`, address }, 'user.signed-in', `user:${userId}`, {
      clientId,
      browser,
    })
    const notification = { kind: 'sign-in', at: service.now().toISOString(), browser } as const
    if (isNewAddress) await notify(tx, userId, notification, { id: newId(), lang })
    return { device, isNewAddress }
  })
  if (added?.isNewAddress) sendSoon(service)
  return added?.device
}
