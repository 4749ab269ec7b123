/** What a caller sent, read with bounds: a query without repeats, or one JSON object of at most 64 KiB. */
import { refuse, type Answer } from './reply.ts'
import { parseStrictJson, type Spoiled } from './strict-json.ts'

export type Input = {
  readonly values: Readonly<Record<string, unknown>>
  /** A field that cannot be believed, because it came twice or too long, and why. */
  readonly spoiled?: Spoiled | undefined
}

const maxBodyBytes = 64 * 1024

export function readQuery(request: Request): Input {
  const values: Record<string, unknown> = Object.create(null)
  let spoiled: Input['spoiled']
  for (const [name, value] of new URL(request.url).searchParams) {
    if (name in values) spoiled ??= { field: name, problem: 'is given twice' }
    values[name] = value
  }
  return { values, spoiled }
}

export async function readJson(request: Request): Promise<Input | Answer> {
  if (!isJson(request.headers.get('content-type'))) return refuse('UNSUPPORTED_MEDIA_TYPE')
  const bytes = await readBounded(request, maxBodyBytes)
  if (bytes === undefined) return refuse('PAYLOAD_TOO_LARGE')
  const parsed = parseStrictJson(bytes)
  if (parsed.value === undefined) return refuse('INVALID_REQUEST', { fields: { body: parsed.problem } })
  return { values: parsed.value, spoiled: parsed.spoiled }
}

function isJson(contentType: string | null): boolean {
  if (contentType === 'application/json') return true
  return /^application\/json\s*(;\s*charset\s*=\s*"?utf-8"?\s*)?$/i.test(contentType ?? '')
}

/** The body, or undefined when it is longer; no more than the limit is ever held. */
export function readBounded(request: Request, limit: number): Promise<ArrayBuffer | Uint8Array | undefined> {
  const declared = request.headers.get('content-length')
  if (declared === null) return readChunks(request, limit)
  return Number(declared) > limit ? Promise.resolve(undefined) : request.arrayBuffer()
}

async function readChunks(request: Request, limit: number): Promise<Uint8Array | undefined> {
  const chunks: Uint8Array[] = []
  let length = 0
  for await (const chunk of request.body ?? []) {
    length += chunk.length
    if (length > limit) return undefined
    chunks.push(chunk)
  }
  return Buffer.concat(chunks)
}
