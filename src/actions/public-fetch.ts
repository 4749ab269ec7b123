/**
 * Fetches a URL that an operator entered without giving access to the service's own network (SSRF): every address of the
 * host must be public, the connection goes to a checked address, redirects are not followed, and size and time are bounded.
 */
import type { LookupAddress } from 'node:dns'
import { lookup } from 'node:dns/promises'
import { get as getHttp, type IncomingHttpHeaders, type IncomingMessage } from 'node:http'
import { get as getHttps, type RequestOptions } from 'node:https'
import { BlockList, isIP } from 'node:net'

export type PublicAnswer = {
  readonly status: number
  readonly headers: IncomingHttpHeaders
  readonly bytes: Uint8Array<ArrayBuffer>
  /** False when the body was cut at `maxBytes`. */
  readonly isWhole: boolean
}

/** Tests replace the internet with this: names, addresses, certificates. */
export type Elsewhere = {
  readonly resolve?: (host: string) => Promise<LookupAddress[]>
  readonly isAllowed?: (address: string) => boolean
  readonly ca?: string
}

export type Bounds = { readonly maxBytes: number; readonly timeoutMs: number }

export class NotPublic extends Error {}

/** Rejects with `NotPublic` before it connects, or with the network's error. */
export async function fetchPublic(
  url: URL,
  headers: Readonly<Record<string, string>>,
  { maxBytes, timeoutMs }: Bounds,
  { resolve = resolveName, isAllowed = isPublicAddress, ca }: Elsewhere = {},
): Promise<PublicAnswer> {
  const signal = AbortSignal.timeout(timeoutMs)
  const host = url.hostname.replace(/^\[|\]$/g, '')
  const family = isIP(host)
  const addresses = family === 0 ? await unlessAborted(signal, resolve(host)) : [{ address: host, family }]
  if (addresses.length === 0 || !addresses.every(({ address }) => isAllowed(address))) throw new NotPublic()
  const options: RequestOptions = {
    headers,
    signal,
    agent: false,
    ...(ca !== undefined && { ca }),
    // Connect to the checked addresses: a second lookup of the name could return others (DNS rebinding).
    lookup: (_host, _options, answered) => answered(null, addresses),
  }
  const response = await new Promise<IncomingMessage>((resolve, reject) => {
    const get = url.protocol === 'https:' ? getHttps : getHttp
    get(url, options, resolve).on('error', reject)
  })
  try {
    return await unlessAborted(signal, readBody(response, maxBytes))
  } finally {
    response.destroy()
  }
}

async function readBody(response: IncomingMessage, maxBytes: number): Promise<PublicAnswer> {
  const chunks: Uint8Array[] = []
  let length = 0
  for await (const chunk of response as AsyncIterable<Uint8Array>) {
    chunks.push(chunk)
    length += chunk.length
    if (length > maxBytes) break
  }
  const bytes = new Uint8Array(Buffer.concat(chunks)).slice(0, maxBytes)
  return { status: response.statusCode ?? 0, headers: response.headers, bytes, isWhole: length <= maxBytes }
}

async function resolveName(host: string): Promise<LookupAddress[]> {
  return await lookup(host, { all: true })
}

function unlessAborted<T>(signal: AbortSignal, work: Promise<T>): Promise<T> {
  return Promise.race([
    work,
    new Promise<never>((_, reject) => signal.addEventListener('abort', () => reject(signal.reason as Error))),
  ])
}

const special = new BlockList()
for (const [range, bits] of [
  ['0.0.0.0', 8],
  ['10.0.0.0', 8],
  ['100.64.0.0', 10],
  ['127.0.0.0', 8],
  ['169.254.0.0', 16],
  ['172.16.0.0', 12],
  ['192.0.0.0', 24],
  ['192.0.2.0', 24],
  ['192.88.99.0', 24],
  ['192.168.0.0', 16],
  ['198.18.0.0', 15],
  ['198.51.100.0', 24],
  ['203.0.113.0', 24],
  ['224.0.0.0', 3],
] as const)
  special.addSubnet(range, bits, 'ipv4')

/** In IPv6 only 2000::/3 is public, except ranges that embed an IPv4 address or are for documentation. */
const publicIpv6 = new BlockList()
publicIpv6.addSubnet('2000::', 3, 'ipv6')
for (const [range, bits] of [
  ['2001::', 23],
  ['2001:db8::', 32],
  ['2002::', 16],
  ['3fff::', 20],
] as const)
  special.addSubnet(range, bits, 'ipv6')

export function isPublicAddress(address: string): boolean {
  const version = isIP(address)
  if (version === 4) return !special.check(address, 'ipv4')
  return version === 6 && publicIpv6.check(address, 'ipv6') && !special.check(address, 'ipv6')
}
