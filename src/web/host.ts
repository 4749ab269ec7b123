/** Checks the Host header: a request with an unusable one must not reach code that parses its URL. */

let lastGood: string | null = null

/** A process has few hosts, so the last valid one is cached, and most requests need one comparison. */
export function hasGoodHost(request: Request): boolean {
  const host = request.headers.get('host')
  // A Request that was constructed rather than received has its host only in the URL.
  if (host === null) return URL.canParse(request.url)
  if (host === lastGood) return true
  const isGood = /^(?:[\w.-]{1,255}|\[[0-9a-f:.]{2,45}\])(?::\d{1,5})?$/i.test(host) && URL.canParse(`http://${host}/`)
  if (isGood) lastGood = host
  return isGood
}

/** The path of an absolute or relative URL. It is not decoded: no path of this service needs that. */
export function pathOf(url: string): string {
  const start = url.startsWith('/') ? 0 : url.indexOf('/', url.indexOf('://') + 3)
  const query = url.indexOf('?', start)
  return query === -1 ? url.slice(start) : url.slice(start, query)
}
