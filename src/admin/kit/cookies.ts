/** The two cookies of the admin area: the session, and what a form before the session is bound to. */
import type { Config } from '../../config.ts'

export type CookieName = 'session' | 'form'

/**
 * `__Host-` in production: a browser takes such a cookie only over https, for this host alone and all of its paths, so no
 * neighbour on a parent domain can plant one. Plain http has no such cookies, hence the other name in development.
 */
function nameOf(config: Config, name: CookieName): string {
  return config.isProduction ? `__Host-billfold-${name}` : `billfold-${name}`
}

export function readCookie(config: Config, request: Request, name: CookieName): string | undefined {
  const wanted = nameOf(config, name)
  const found = (request.headers.get('cookie') ?? '').split(';').map((part) => part.trim().split('='))
  const values = found.filter(([key]) => key === wanted).map(([, value]) => value ?? '')
  // Two of one name cannot both be ours, and which one is ours nobody can tell.
  return values.length === 1 ? values[0] : undefined
}

/** It lives as long as the browser; the limits that count are kept on the server. An empty value deletes it. */
export function setCookie(config: Config, name: CookieName, value: string): string {
  const secure = config.isProduction ? '; Secure' : ''
  const gone = value === '' ? '; Max-Age=0' : ''
  return `${nameOf(config, name)}=${value}; Path=/; HttpOnly; SameSite=Strict${secure}${gone}`
}
