/** The addresses by which a page counts as the service's own. Without `publicUrl` only the request's own host counts. */
export type OwnNames = { readonly publicUrl?: string; readonly isProduction: boolean }

/**
 * Whether a page of this service sent the request. Browsers set Sec-Fetch-Site and Origin themselves; no page can change them.
 * Browsers omit Sec-Fetch-Site over plain http, and Origin with a GET of the same origin, so a call by script may lack both.
 * A form always carries Origin: with `mustNameOrigin` a request without it is refused.
 */
export function isFromOwnPage(
  { publicUrl, isProduction }: OwnNames,
  { headers, url }: Request,
  { mustNameOrigin }: { mustNameOrigin: boolean },
): boolean {
  const site = headers.get('sec-fetch-site')
  const origin = headers.get('origin')
  if (site !== null && site !== 'same-origin') return false
  if (!mustNameOrigin && (site !== null || origin === null)) return true
  if (origin === null) return false
  if (origin === publicUrl) return true
  if (isProduction || !URL.canParse(origin)) return false
  // In development the service has several names: localhost, 127.0.0.1, a port that the system chose.
  return new URL(origin).host === (headers.get('host') ?? new URL(url).host)
}
