/**
 * The token of a device on its way from and to the browser: a cookie, or, in a browser that keeps no cookie in a frame, a header
 * that the open page sends. Neither is an authority alone: a token counts only with a session of the same user.
 */
import { isDeviceToken } from '../actions/tokens.ts'
import { findCookie } from '../web/find-cookie.ts'

/**
 * Browsers accept the prefix only from this host, for all its paths, and Secure; they treat the loopback address as secure.
 * The widget is a frame in another site: `SameSite=None` lets the cookie in there, and `Partitioned` keeps one for each such site.
 */
export const deviceCookieName = '__Host-billfold-device'
const attributes = 'Path=/; HttpOnly; Secure; SameSite=None; Partitioned'
const maxAgeSeconds = 30 * 24 * 3_600

const deviceHeader = 'billfold-device'

export function readDeviceToken(request: Request): string | undefined {
  const token = request.headers.get(deviceHeader) ?? findCookie(request, deviceCookieName)
  return token !== undefined && isDeviceToken(token) ? token : undefined
}

export function deviceCookie(token: string): { readonly 'set-cookie': string } {
  return { 'set-cookie': `${deviceCookieName}=${token}; ${attributes}; Max-Age=${maxAgeSeconds}` }
}

/** Deletes the cookie of a device that has ended. */
export const noDeviceCookie = { 'set-cookie': `${deviceCookieName}=; ${attributes}; Max-Age=0` } as const
