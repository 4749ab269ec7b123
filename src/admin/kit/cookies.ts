/** The two cookies of the admin area: `session`, and `form`, which binds forms sent before a session exists. */
import type { Config } from '../../config.ts'
import { findCookie } from '../../web/find-cookie.ts'

export type CookieName = 'session' | 'form'

/**
 * Browsers accept a `__Host-` cookie only over https, for this host alone and all its paths, so no other host of a parent domain can
 * plant one. Plain http cannot use the prefix, so development has another name.
 */
function cookieNameOf(config: Config, name: CookieName): string {
  return config.isProduction ? `__Host-billfold-${name}` : `billfold-${name}`
}

export function readCookie(config: Config, request: Request, name: CookieName): string | undefined {
  return findCookie(request, cookieNameOf(config, name))
}

/** The cookie ends with the browser; the session row decides when the session ends. An empty value deletes the cookie. */
export function setCookie(config: Config, name: CookieName, value: string): string {
  const secure = config.isProduction ? '; Secure' : ''
  const expiry = value === '' ? '; Max-Age=0' : ''
  return `${cookieNameOf(config, name)}=${value}; Path=/; HttpOnly; SameSite=Strict${secure}${expiry}`
}
