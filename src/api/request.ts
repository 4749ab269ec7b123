/** Reads the input of a call within bounds: a query without repeated names, or one JSON object of at most 64 KiB. */
import { readBody } from '../web/body.ts'
import { refuse, type Answer } from './reply.ts'
import { parseStrictJson, type Parsed, type Spoiled } from './strict-json.ts'

export type Input = {
  readonly values: Readonly<Record<string, unknown>>
  /** The first field whose value is not trustworthy, because it came twice or has too many digits, and the reason. */
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
  const body = await readBody(request, maxBodyBytes)
  if (body === 'too-long') return refuse('PAYLOAD_TOO_LARGE')
  if (body === 'too-late') return refuseLate()
  return toInput(parseStrictJson(body))
}

export function toInput(parsed: Parsed): Input | Answer {
  if (parsed.value === undefined) return refuse('INVALID_REQUEST', { fields: { body: parsed.problem } })
  return { values: parsed.value, spoiled: parsed.spoiled }
}

/** Closes the connection: the rest of the body may still arrive and must not be parsed as the next request. */
export function refuseLate(): Answer {
  return refuse('REQUEST_TIMEOUT', {}, { connection: 'close' })
}

export function isJson(contentType: string | null): boolean {
  if (contentType === 'application/json') return true
  return /^application\/json\s*(;\s*charset\s*=\s*"?utf-8"?\s*)?$/i.test(contentType ?? '')
}
