/**
 * Requests to a URL that an operator entered, without giving access to the service's own network (SSRF): every address of the
 * host must be public, the connection goes to a checked address, redirects are not followed, and size and time are bounded.
 */
import type { LookupAddress } from 'node:dns'
import { lookup } from 'node:dns/promises'
import { request as requestHttp, type Agent, type IncomingHttpHeaders, type IncomingMessage } from 'node:http'
import { request as requestHttps, type RequestOptions } from 'node:https'
import { BlockList, isIP } from 'node:net'

export type PublicAnswer = {
  readonly status: number
  readonly headers: IncomingHttpHeaders
  readonly bytes: Uint8Array<ArrayBuffer>
  /** False when the body was cut at `maxBytes`. */
  readonly isWhole: boolean
  /** Where it came from. An allowed address need not be public. */
  readonly address: string | undefined
}

/** Tests replace the internet with this: names, addresses, certificates. */
export type Elsewhere = {
  readonly resolve?: (host: string) => Promise<LookupAddress[]>
  readonly isAllowed?: (address: string) => boolean
  readonly ca?: string
}

export type Bounds = { readonly maxBytes: number; readonly timeoutMs: number }

/** A body to post. The agent keeps connections open for the next one; each of them was checked when it was opened. */
export type Posted = { readonly body: string; readonly agent: Agent }

export class NotPublic extends Error {}

type Headers = Readonly<Record<string, string>>

/** Rejects with `NotPublic` before it connects, or with the network's error. */
export async function fetchPublic(
  url: URL,
  headers: Headers,
  bounds: Bounds,
  elsewhere: Elsewhere = {},
  posted?: Posted,
): Promise<PublicAnswer> {
  const signal = AbortSignal.timeout(bounds.timeoutMs)
  const { resolve = resolveName, isAllowed = isPublicAddress, ca } = elsewhere
  const check = (addresses: readonly LookupAddress[]) => {
    if (addresses.length === 0 || !addresses.every(({ address }) => isAllowed(address))) throw new NotPublic()
  }
  const host = url.hostname.replace(/^\[|\]$/g, '')
  const family = isIP(host)
  // A host that is an address is not looked up.
  if (family !== 0) check([{ address: host, family }])
  const options: RequestOptions = {
    headers,
    signal,
    agent: false,
    ...(posted && { method: 'POST', agent: posted.agent }),
    ...(ca !== undefined && { ca }),
    // Every new connection looks the name up once and goes to what was checked: a second lookup could differ (DNS rebinding).
    lookup: (host, _options, answered) => {
      unlessAborted(signal, resolve(host))
        .then((addresses) => (check(addresses), addresses))
        .then(
          (addresses) => answered(null, addresses),
          (error: Error) => answered(error, []),
        )
    },
  }
  let response: IncomingMessage | undefined
  const exchange = async () => {
    response = await respond(url, options, posted?.body)
    return await readBody(response, bounds.maxBytes)
  }
  return await unlessAborted(signal, exchange()).finally(() => {
    // A connection whose answer was read to its end may be used again.
    if (response && !response.complete) response.destroy()
  })
}

/** A kept connection that the other side has closed meanwhile fails at once. The request is then sent over a new one. */
async function respond(url: URL, options: RequestOptions, body: string | undefined): Promise<IncomingMessage> {
  const open = url.protocol === 'https:' ? requestHttps : requestHttp
  let wasReused = false
  const send = (options: RequestOptions) =>
    new Promise<IncomingMessage>((resolve, reject) => {
      const request = open(url, options, resolve).on('error', (error) => {
        wasReused = request.reusedSocket
        reject(error)
      })
      request.end(body)
    })
  return await send(options).catch((error: unknown) => {
    if (!wasReused || options.signal?.aborted) throw error
    return send({ ...options, agent: false })
  })
}

/** By the events of the response, which cost less than its async iterator. */
function readBody(response: IncomingMessage, maxBytes: number): Promise<PublicAnswer> {
  const { statusCode: status = 0, headers, socket } = response
  // The socket is taken away at the end of the body.
  const address = socket.remoteAddress
  const chunks: Uint8Array[] = []
  let length = 0
  return new Promise((resolve, reject) => {
    let isRead = false
    const answer = () => {
      isRead = true
      const bytes = new Uint8Array(Buffer.concat(chunks)).slice(0, maxBytes)
      resolve({ status, headers, bytes, isWhole: length <= maxBytes, address })
    }
    response
      .on('data', (chunk: Uint8Array) => {
        if (isRead) return
        chunks.push(chunk)
        length += chunk.length
        if (length > maxBytes) answer()
      })
      .on('end', answer)
      .on('error', reject)
      .on('close', () => {
        if (!isRead) reject(Object.assign(new Error('closed before the end'), { code: 'ECONNRESET' }))
      })
  })
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
