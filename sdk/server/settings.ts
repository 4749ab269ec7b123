/** Checks the options. A wrong one throws a TypeError that contains no value. */

export type BillfoldOptions = {
  /** Where the service runs, for example `https://wallet.example.com`. */
  baseUrl: string
  clientId: string
  /** Never leaves the backend, and never appears in an error. */
  clientSecret: string
  /** The limit of each attempt. Default: 10 000. The service itself answers within 8 000. */
  timeoutMs?: number
  /** How often a call is retried after a network error, a timeout, 408, 429 or a 5xx. Default: 2. */
  maxRetries?: number
  /** Replaces the global `fetch`, for a proxy, a keep-alive agent or a test. It receives requests that contain the secret. */
  fetch?: typeof fetch
}

export type Settings = Required<BillfoldOptions>

export function parseSettings(options: BillfoldOptions): Settings {
  const { clientId, clientSecret, timeoutMs = 10_000, maxRetries = 2 } = options
  if (typeof clientId !== 'string' || clientId === '') throw new TypeError('clientId is missing.')
  if (typeof clientSecret !== 'string' || clientSecret === '') throw new TypeError('clientSecret is missing.')
  if (!(timeoutMs > 0 && timeoutMs <= 0x7fff_ffff)) throw new TypeError('timeoutMs is not a positive number.')
  if (!Number.isInteger(maxRetries) || maxRetries < 0) throw new TypeError('maxRetries is not a whole number.')
  const send = options.fetch ?? ((...request: Parameters<typeof fetch>) => globalThis.fetch(...request))
  return {
    baseUrl: parseBase(options.baseUrl),
    clientId,
    clientSecret,
    timeoutMs,
    maxRetries,
    fetch: send as typeof fetch,
  }
}

function parseBase(baseUrl: string): string {
  const url = urlOrNull(baseUrl)
  if (url === null || !/^https?:$/.test(url.protocol)) throw new TypeError('baseUrl is not an http or https address.')
  if (url.username || url.password || url.search || url.hash) {
    throw new TypeError('baseUrl must hold neither credentials nor a query.')
  }
  if (url.protocol === 'http:' && !isNearby(url.hostname)) warnOfPlainHttp(url.origin)
  return url.href.replace(/(?<!\/)\/+$/, '')
}

function urlOrNull(text: string): URL | null {
  try {
    return new URL(text)
  } catch {
    return null
  }
}

/** This machine, a private network, or a name without a public domain, such as a container's. */
const nearbyHosts = [
  /^(127|10|192\.168|169\.254|172\.(1[6-9]|2\d|3[01]))\.[\d.]+$/,
  /^\[(::1|f[cd][\da-f]*:.*|fe[89ab][\da-f]:.*)\]$/,
  /^[^.:]+$/,
  /\.(localhost|local|internal|svc)$/,
]

function isNearby(host: string): boolean {
  return nearbyHosts.some((pattern) => pattern.test(host))
}

type Process = { emitWarning?: (message: string, type: string) => void }

let hasWarned = false

function warnOfPlainHttp(origin: string): void {
  if (hasWarned) return
  hasWarned = true
  const message = `${origin} is not encrypted, so others can read the client secret on the way. Use https.`
  const { process } = globalThis as { process?: Process }
  process?.emitWarning?.(message, 'BillfoldWarning')
}
