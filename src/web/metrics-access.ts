/** Who may read the metrics: whoever has the token, or, where there is none, this machine. */
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
  // Through a proxy on this machine that nobody declared, the whole world would seem to be this machine.
  if (trustedProxies === 0 && headers.has('x-forwarded-for')) return false
  return /^(127\.\d{1,3}\.\d{1,3}\.\d{1,3}|::1|::ffff:127\.\d{1,3}\.\d{1,3}\.\d{1,3})$/.test(address)
}
