/** The address of the caller, from the socket or from the header of trusted proxies. */
import { parseAddress } from './address.ts'

/**
 * What the outermost trusted proxy appended to X-Forwarded-For. Proxies append on the right; addresses further left are the caller's
 * claim. Undefined when the header is shorter than the row of proxies, or the proxy wrote no address (`unknown`, `unix:`).
 */
function forwardedAddress({ headers }: Request, trustedProxies: number): string | undefined {
  const header = headers.get('x-forwarded-for') ?? ''
  let end = header.length
  for (let hop = 1; hop < trustedProxies; hop++) {
    end = header.lastIndexOf(',', end - 1)
    if (end < 1) return undefined
  }
  return parseAddress(header.slice(header.lastIndexOf(',', end - 1) + 1, end))
}

/** A hop that is no address counts as the proxy itself: as an address, each new text would escape the limits. */
export function clientAddress(request: Request, trustedProxies: number, socketAddress: string): string {
  const forwarded = trustedProxies === 0 ? undefined : forwardedAddress(request, trustedProxies)
  return forwarded ?? parseAddress(socketAddress) ?? socketAddress
}

/**
 * The header is there, and the place of the caller in it holds no address. The caller may have gone around one of several proxies, so
 * the address of the proxy says nothing about where the call comes from.
 */
export function isCallerHidden(request: Request, trustedProxies: number): boolean {
  return request.headers.has('x-forwarded-for') && forwardedAddress(request, trustedProxies) === undefined
}
