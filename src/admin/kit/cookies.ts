/** The two cookies of the admin area: `session`, and `form`, to which the forms before a session are bound. */
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
  // Of two cookies with this name one was planted, and nothing tells which.
  return values.length === 1 ? values[0] : undefined
}

/** A cookie that ends with the browser; how long a session lasts is decided by its row. An empty value deletes the cookie. */
export function setCookie(config: Config, name: CookieName, value: string): string {
  const secure = config.isProduction ? '; Secure' : ''
  const gone = value === '' ? '; Max-Age=0' : ''
  return `${nameOf(config, name)}=${value}; Path=/; HttpOnly; SameSite=Strict${secure}${gone}`
}
