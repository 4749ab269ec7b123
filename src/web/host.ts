/** Whether a request names a host at all: what no URL can be made of must not get to code that makes one. */

let lastGood: string | null = null

/** The hosts of a process are few, so the last one that was good is kept, and most requests are one comparison. */
export function hasGoodHost(request: Request): boolean {
  const host = request.headers.get('host')
  // A request that was made and not received has its host in the URL alone.
  if (host === null) return URL.canParse(request.url)
  if (host === lastGood) return true
  const isGood = /^(?:[\w.-]{1,255}|\[[0-9a-f:.]{2,45}\])(?::\d{1,5})?$/i.test(host) && URL.canParse(`http://${host}/`)
  if (isGood) lastGood = host
  return isGood
}

/** Of an absolute URL, or of one without a host. Nothing is decoded, because no path of ours has anything to decode. */
export function pathOf(url: string): string {
  const start = url.startsWith('/') ? 0 : url.indexOf('/', url.indexOf('://') + 3)
  const query = url.indexOf('?', start)
  return query === -1 ? url.slice(start) : url.slice(start, query)
}
