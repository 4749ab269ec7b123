/**
 * Fetches an app's logo, once in a while, for all its visitors: the page itself asks nobody but us. What an operator
 * typed in decides where the service connects to, so it connects to public addresses only, takes little, and believes the
 * bytes rather than what the other side calls them. SVG is refused: it can hold a script.
 */
import { lookup as systemLookup, type LookupAddress, type LookupOptions } from 'node:dns'
import type { IncomingMessage } from 'node:http'
import { get, type RequestOptions } from 'node:https'
import { isIP } from 'node:net'
import { isPublicAddress } from '../actions/public-address.ts'

export type Logo = { readonly type: string; readonly bytes: Uint8Array<ArrayBuffer> }

const maxBytes = 128 * 1024
const timeoutMs = 5000

type Answered = (error: Error | null, addresses: LookupAddress[]) => void
export type Lookup = (host: string, options: LookupOptions & { all: true }, answered: Answered) => void

/** Undefined when it is not to be had, whatever the reason. `trust` is for tests that stand in for the internet. */
export async function fetchLogo(
  url: string,
  trust: { lookup?: Lookup; isAllowed?: (address: string) => boolean; ca?: string } = {},
): Promise<Logo | undefined> {
  const { lookup = systemLookup, isAllowed = isPublicAddress, ca } = trust
  const { protocol, hostname, port, username } = new URL(url)
  if (protocol !== 'https:' || isIP(hostname.replace(/^\[|\]$/g, '')) !== 0 || username !== '') return undefined
  if (port !== '' && !trust.isAllowed) return undefined
  const options: RequestOptions = {
    headers: { accept: 'image/png, image/jpeg, image/webp', 'user-agent': 'billfold' },
    signal: AbortSignal.timeout(timeoutMs),
    agent: false,
    ...(ca && { ca }),
    // The address that was checked is the one that is connected to: a name that answers differently next time gains nothing.
    lookup: (host, _, answered) =>
      lookup(host, { all: true }, (error, addresses) => {
        const isFine = !error && addresses.length > 0 && addresses.every(({ address }) => isAllowed(address))
        answered(isFine ? null : (error ?? new Error('The address is not public.')), isFine ? addresses : [])
      }),
  }
  return await new Promise((resolve) => {
    const request = get(url, options, (response) => {
      void readLogo(response).then(resolve, () => resolve(undefined))
    })
    request.on('error', () => resolve(undefined))
  })
}

/** A redirect is no picture: following it would mean checking again, and an operator can write the final address. */
async function readLogo(response: IncomingMessage): Promise<Logo | undefined> {
  const chunks: Uint8Array[] = []
  let length = 0
  if (response.statusCode === 200) {
    for await (const chunk of response as AsyncIterable<Uint8Array>) {
      length += chunk.length
      if (length > maxBytes) break
      chunks.push(chunk)
    }
  }
  response.destroy()
  if (length === 0 || length > maxBytes) return undefined
  const bytes = new Uint8Array(Buffer.concat(chunks))
  const type = pictureType(bytes)
  return type === undefined ? undefined : { type, bytes }
}

export function pictureType(bytes: Uint8Array): string | undefined {
  const text = Buffer.from(bytes.subarray(0, 16)).toString('latin1')
  if (text.startsWith('\x89PNG\r\n\x1a\n')) return 'image/png'
  if (text.startsWith('\xff\xd8\xff')) return 'image/jpeg'
  return text.startsWith('RIFF') && text.slice(8, 12) === 'WEBP' ? 'image/webp' : undefined
}
