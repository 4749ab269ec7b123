/** Allows callers with the token to read the metrics; without a configured token, only this machine. */
import { hash, timingSafeEqual } from 'node:crypto'

const digest = (text: string) => hash('sha256', text, 'buffer')

type Access = { readonly metricsToken: string | undefined; readonly trustedProxies: number }

export function mayReadMetrics(
  { metricsToken, trustedProxies }: Access,
  { headers }: Request,
  address: string,
): boolean {
  if (metricsToken !== undefined) {
    return timingSafeEqual(digest(headers.get('authorization') ?? ''), digest(`Bearer ${metricsToken}`))
  }
  // Behind an undeclared proxy on this machine every caller would look local.
  if (trustedProxies === 0 && headers.has('x-forwarded-for')) return false
  return /^(127\.\d{1,3}\.\d{1,3}\.\d{1,3}|::1|::ffff:127\.\d{1,3}\.\d{1,3}\.\d{1,3})$/.test(address)
}
