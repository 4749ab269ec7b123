/** The body of a request, bounded in size and in time. */

/** Shorter than the runtime's own timeout, which would close the connection without an answer. */
const readMs = 10_000

type Body = ArrayBuffer | Uint8Array

/** Never buffers more than `limit` bytes. Throws the runtime's AbortError if the caller disconnects. */
export function readBody(request: Request, limit: number): Promise<Body | 'too-long' | 'too-late'> {
  const declared = request.headers.get('content-length')
  if (Number(declared) > limit) return Promise.resolve('too-long')
  const reading: Promise<Body | 'too-long'> = declared === null ? readChunks(request, limit) : request.arrayBuffer()
  // Most bodies arrive together with their headers, so there is nothing to wait for.
  return Bun.peek.status(reading) === 'fulfilled' ? reading : inTime(reading)
}

/** Bodies under way, in the order of their deadlines. One timer serves all: a timer per body costs a debit 3 µs. */
const underWay = new Set<{ readonly endsAt: number; readonly giveUp: () => void }>()
let isWatched = false

function inTime<T>(reading: Promise<T>): Promise<T | 'too-late'> {
  return new Promise((resolve, reject) => {
    const entry = { endsAt: performance.now() + readMs, giveUp: () => resolve('too-late') }
    underWay.add(entry)
    if (!isWatched) watch()
    reading.then(
      (body) => {
        underWay.delete(entry)
        resolve(body)
      },
      (error: unknown) => {
        underWay.delete(entry)
        reject(error)
      },
    )
  })
}

/** Checks the deadlines once a second while any body is under way. */
function watch(): void {
  isWatched = true
  const timer = setTimeout(() => {
    const now = performance.now()
    for (const entry of underWay) {
      if (entry.endsAt > now) break
      underWay.delete(entry)
      entry.giveUp()
    }
    isWatched = false
    if (underWay.size > 0) watch()
  }, 1_000)
  timer.unref()
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
