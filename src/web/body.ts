/** The body of a request, bounded in size and in time. */

/** A caller that is slower than this has lost its way; it is told so before the runtime would close without a word. */
const readMs = 10_000

type Body = ArrayBuffer | Uint8Array

/** No more than the limit is ever held. Throws the runtime's AbortError when the caller hangs up in the middle of it. */
export function readBody(request: Request, limit: number): Promise<Body | 'too-long' | 'too-late'> {
  const declared = request.headers.get('content-length')
  if (Number(declared) > limit) return Promise.resolve('too-long')
  const reading = declared === null ? readChunks(request, limit) : request.arrayBuffer()
  return new Promise((resolve, reject) => {
    const timer = setTimeout(() => resolve('too-late'), readMs)
    reading.then(resolve, reject).finally(() => clearTimeout(timer))
  })
}

async function readChunks(request: Request, limit: number): Promise<Uint8Array | 'too-long'> {
  const chunks: Uint8Array[] = []
  let length = 0
  for await (const chunk of request.body ?? []) {
    length += chunk.length
    if (length > limit) return 'too-long'
    chunks.push(chunk)
  }
  return Buffer.concat(chunks)
}
