/**
 * The cookies of the admin area: `session`; `form`, which binds forms sent before a session exists; `oidc`, which binds a sign-in at
 * the identity provider to the browser that began it.
 */
import type { Config } from '../../config.ts'
import { findCookie } from '../../web/find-cookie.ts'

export type CookieName = 'session' | 'form' | 'oidc'

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
  // The provider sends the browser back from another site, so this one cookie is not Strict.
  const [sameSite, lifetime] = name === 'oidc' ? ['Lax', '; Max-Age=600'] : ['Strict', '']
  const expiry = value === '' ? '; Max-Age=0' : lifetime
  return `${cookieNameOf(config, name)}=${value}; Path=/; HttpOnly; SameSite=${sameSite}${secure}${expiry}`
}
