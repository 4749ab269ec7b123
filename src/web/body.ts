/** The body of a request, bounded in size and in time. */

/** The answer is due after eight seconds. The runtime's own timeout is longer, and would close the connection without an answer. */
const readMs = 7_000

type Body = ArrayBuffer | Uint8Array

/** Never buffers more than `limit` bytes. Throws the runtime's AbortError if the caller disconnects. */
export function readBody(request: Request, limit: number): Promise<Body | 'too-long' | 'too-late'> {
  const declared = request.headers.get('content-length')
  if (Number(declared) > limit) return Promise.resolve('too-long')
  const reading: Promise<Body | 'too-long'> = declared === null ? readChunks(request, limit) : request.arrayBuffer()
  // Most bodies arrive together with their headers, so there is nothing to wait for.
  return Bun.peek.status(reading) === 'fulfilled' ? reading : inTime(reading)
}

/** Large bodies that are being received, by address. */
const large = new Map<string, number>()
const maxLarge = 16
const smallBytes = 65_536

/**
 * The same for bodies that may be much larger. An address may send so many of them at the same time; the next is not read. A body that
 * says it is small does not count: a card processor sends hundreds of events at once from one address.
 */
export async function readLargeBody(
  request: Request,
  limit: number,
  address: string,
): Promise<Body | 'too-long' | 'too-late' | 'too-many'> {
  const declared = request.headers.get('content-length')
  if (declared !== null && Number(declared) <= smallBytes) return await readBody(request, limit)
  const count = (large.get(address) ?? 0) + 1
  if (count > maxLarge) return 'too-many'
  large.set(address, count)
  try {
    return await readBody(request, limit)
  } finally {
    const left = large.get(address)! - 1
    if (left > 0) large.set(address, left)
    else large.delete(address)
  }
}

/** The beginning of a body, to decide whether the rest is read at all. */
type Begun = {
  readonly beginning: Uint8Array
  /** The whole body, with the beginning. */
  readonly readRest: (limit: number) => Promise<Uint8Array | 'too-long' | 'too-late'>
  /** Frees what has arrived; the rest is not read. */
  readonly cancel: () => void
}

/** Reads until `isEnough`, at most about `length` bytes: a chunk is read as a whole. */
export async function beginBody(
  request: Request,
  length: number,
  isEnough: (beginning: Uint8Array) => boolean,
): Promise<Begun | 'too-late'> {
  const reader = (request.body ?? new Blob().stream()).getReader()
  const chunks: Uint8Array[] = []
  let received = 0
  const receive = async (isOver: () => boolean) => {
    while (!isOver()) {
      const { value, done } = await reader.read()
      if (done) return
      received += value.length
      chunks.push(value)
    }
  }
  const cancel = () => void reader.cancel().catch(() => {})
  const receiveInTime = async (isOver: () => boolean) => {
    const isLate = (await inTime(receive(isOver))) === 'too-late'
    if (isLate) cancel()
    return !isLate
  }
  const readRest = async (limit: number) => {
    const isTooLong = () => Number(request.headers.get('content-length')) > limit || received > limit
    if (!(await receiveInTime(isTooLong))) return 'too-late'
    if (!isTooLong()) return Buffer.concat(chunks)
    cancel()
    return 'too-long'
  }
  const isBegun = () => received >= length || isEnough(Buffer.concat(chunks))
  return (await receiveInTime(isBegun)) ? { beginning: Buffer.concat(chunks), readRest, cancel } : 'too-late'
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

/** At the end of a process: a request whose body is incomplete has done nothing, so it is refused at once. */
export function giveUpBodies(): void {
  for (const { giveUp } of underWay) giveUp()
  underWay.clear()
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
