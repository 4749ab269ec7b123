/**
 * Fetches an app's logo for all visitors of its pages, so that their browsers load it from this service and never from the
 * logo's own host. The type comes from the first bytes, not from the content-type header. SVG is refused: it can contain a script.
 */
import { isIP } from 'node:net'
import { fetchPublic, type Elsewhere } from './public-fetch.ts'

export type Logo = { readonly type: string; readonly bytes: Uint8Array<ArrayBuffer> }

const headers = { accept: 'image/png, image/jpeg, image/webp', 'user-agent': 'billfold' }
const bounds = { maxBytes: 128 * 1024, timeoutMs: 5_000 }

/** Undefined when the address returns no picture, for any reason. Redirects are not followed: enter the final address. */
export async function fetchLogo(address: string, elsewhere?: Elsewhere): Promise<Logo | undefined> {
  const url = new URL(address)
  const { protocol, hostname, port, username } = url
  if (protocol !== 'https:' || isIP(hostname.replace(/^\[|\]$/g, '')) !== 0 || username !== '') return undefined
  if (port !== '' && !elsewhere) return undefined
  const answer = await fetchPublic(url, headers, bounds, elsewhere).catch(() => undefined)
  if (answer?.status !== 200 || !answer.isWhole) return undefined
  const type = pictureType(answer.bytes)
  return type === undefined ? undefined : { type, bytes: answer.bytes }
}

export function pictureType(bytes: Uint8Array): string | undefined {
  const text = Buffer.from(bytes.subarray(0, 16)).toString('latin1')
  if (text.startsWith('\x89PNG\r\n\x1a\n')) return 'image/png'
  if (text.startsWith('\xff\xd8\xff')) return 'image/jpeg'
  return text.startsWith('RIFF') && text.slice(8, 12) === 'WEBP' ? 'image/webp' : undefined
}

const freshForMs = 3_600_000
const failedForMs = 300_000
const maxKept = 200

type Kept = { readonly until: number; readonly logo: Promise<Logo | undefined> }

/** Concurrent visitors share one fetch; a failure is retried after five minutes. */
export function openLogoCache(fetch: (url: string) => Promise<Logo | undefined>) {
  const kept = new Map<string, Kept>()
  return (url: string, nowMs: number): Promise<Logo | undefined> => {
    const found = kept.get(url)
    if (found && nowMs < found.until) return found.logo
    const logo = fetch(url).catch(() => undefined)
    kept.set(url, { until: nowMs + freshForMs, logo })
    void logo.then((result) => {
      if (!result) kept.set(url, { until: nowMs + failedForMs, logo })
    })
    const [oldest] = kept.keys()
    if (kept.size > maxKept && oldest !== undefined) kept.delete(oldest)
    return logo
  }
}
