/** Devices of users: the cookie that a sign-in in the widget sets, and devices of users who have no password. */
import { addDevice } from '../src/actions/people/trust-device.ts'
import type { Service } from '../src/actions/service.ts'
import { findUser } from '../src/store/people/users.ts'

/** The header with which a browser sends back the cookie of an answer; empty when it set none. */
export function cookieOf(headers: Headers): Record<string, string> {
  const [pair = ''] = (headers.get('set-cookie') ?? '').split(';')
  return pair === '' ? {} : { cookie: pair }
}

type Owner = { readonly userId: string; readonly clientId: string }

/** What a sign-in of this user gives the browser, without one: most users of tests have no password. */
export async function deviceOf(service: Service, owner: Owner, { hasPassword = true } = {}) {
  const { passwordHash } = (await findUser(service.db.pool, owner.userId))!
  const browser = { address: '10.0.0.1', userAgent: null, deviceToken: undefined }
  const added = await addDevice(service, service.db.pool, { ...owner, passwordHash, hasPassword }, browser)
  if (!added) throw new Error('the user is deleted')
  const { deviceToken } = added
  return { deviceToken, cookie: `__Host-billfold-device=${deviceToken}` }
}
