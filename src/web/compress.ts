/**
 * Compression of answers that are made for one request. Files are compressed once, in `assets`.
 *
 * The size of a compressed answer reveals whether a secret in it matches other text in it (BREACH). So a page or route is compressed
 * only where its code asks for it, and none of those holds a token, a code or a link that works once.
 */
import { promisify } from 'node:util'
import { brotliCompress, brotliCompressSync, constants, gzip, gzipSync } from 'node:zlib'

export type Encoding = 'br' | 'gzip' | 'identity'

/** In the order of our preference: Brotli is a fifth smaller than gzip here. */
const known: readonly Encoding[] = ['br', 'gzip', 'identity']

/**
 * The encoding of known name with the highest weight in an Accept-Encoding header. `*` means encodings that we do not have, so it
 * offers none; it can only refuse `identity`, which is the answer all the same if nothing else is offered.
 */
export function chooseEncoding(accepted: string): Encoding {
  const weights = new Map(accepted.toLowerCase().split(',').map(parseOffer))
  const offered = known.filter((name) => name !== 'identity' && (weights.get(name) ?? 0) > 0)
  // Not named, `identity` is allowed, but any encoding that the caller names is preferred.
  const identity = weights.get('identity') ?? 0
  const [best = 'identity'] = offered.toSorted((one, other) => weights.get(other)! - weights.get(one)!)
  return best !== 'identity' && weights.get(best)! >= identity ? best : 'identity'
}

/** A weight that is not a number from 0 to 1 refuses the encoding. */
function parseOffer(offer: string): [name: string, weight: number] {
  const [name = '', ...parameters] = offer.split(';').map((part) => part.trim())
  const weight = parameters.find((parameter) => /^q\s*=/.test(parameter))?.replace(/^q\s*=\s*/, '') ?? '1'
  return [name, /^(0(\.\d{0,3})?|1(\.0{0,3})?)$/.test(weight) ? Number(weight) : 0]
}

/** The best quality takes twenty times as long for a tenth less, and here a user waits. */
const quick = { params: { [constants.BROTLI_PARAM_QUALITY]: 7 } }

export function compressNow(text: string, encoding: Exclude<Encoding, 'identity'>): Uint8Array<ArrayBuffer> {
  return new Uint8Array(encoding === 'br' ? brotliCompressSync(text, quick) : gzipSync(text))
}

const compressors = {
  br: (text: string) => promisify(brotliCompress)(text, quick),
  gzip: (text: string) => promisify(gzip)(text),
}

/** A shorter text fits in the packet that its headers need anyway. */
const worthwhileBytes = 1024

/**
 * Compresses a JSON answer outside of the thread that answers, so that no debit waits for it. A short one stays as it is: `vary` says in
 * both cases that it depends on the header.
 */
export async function compressAnswer(response: Response, acceptEncoding: string): Promise<Response> {
  const { status, headers } = response
  headers.set('vary', 'accept-encoding')
  const encoding = chooseEncoding(acceptEncoding)
  if (encoding === 'identity') return response
  const text = await response.text()
  if (text.length < worthwhileBytes) return new Response(text, { status, headers })
  headers.set('content-encoding', encoding)
  return new Response(new Uint8Array(await compressors[encoding](text)), { status, headers })
}
