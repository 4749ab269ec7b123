/** The fields of a submitted form. A handler reads the fields it knows by name; all others are ignored. */
import { beginBody, readBody } from '../../web/body.ts'

export type Form = {
  /** The first value of the field, or an empty text. */
  readonly text: (name: string) => string
  /** The bytes of an uploaded file. They are foreign and may be large: parse them in slices. */
  readonly file: (name: string) => Uint8Array | undefined
  readonly list: (name: string) => string[]
  readonly isChecked: (name: string) => boolean
}

const usualMaxBytes = 64 * 1024

/** A form with a file has a token and the file; a body of a million parts would hold the process while it is split. */
const maxParts = 8
/** Fields that may repeat: checkboxes share a name. Any other repeated field is refused. */
const lists = ['scopes', 'type']

export type FormProblem = 'too-late' | 'too-long' | 'twice'

/** Undefined when the body is not a URL-encoded form. */
export async function readForm(request: Request): Promise<Form | FormProblem | undefined> {
  if (!/^application\/x-www-form-urlencoded\s*(;|$)/i.test(request.headers.get('content-type') ?? '')) return undefined
  const body = await readBody(request, usualMaxBytes)
  if (body === 'too-late' || body === 'too-long') return body
  const fields = new URLSearchParams(new TextDecoder().decode(body))
  return isTwice([...fields.keys()]) ? 'twice' : toForm(fields)
}

/** A multipart form with a file, of which only the beginning was read. */
type Upload = {
  /** The field `_token`, which our pages send first; empty when another field is first. */
  readonly token: string
  readonly readRest: (maxBytes: number) => Promise<Form | FormProblem | undefined>
  readonly cancel: () => void
}

/** Undefined when the body is not a multipart form. */
export async function beginUpload(request: Request): Promise<Upload | 'too-late' | undefined> {
  const type = request.headers.get('content-type') ?? ''
  const boundary = /^multipart\/form-data\s*;\s*boundary="?([\w'()+,./:=?-]{1,70})"?\s*$/i.exec(type)?.[1]
  if (boundary === undefined) return undefined
  const tokenIn = (beginning: Uint8Array) => firstToken(new TextDecoder().decode(beginning), boundary)
  const begun = await beginBody(request, beginningBytes, (beginning) => tokenIn(beginning) !== undefined)
  if (begun === 'too-late') return begun
  const readRest = async (maxBytes: number) => {
    const body = await begun.readRest(maxBytes)
    return body === 'too-late' || body === 'too-long' ? body : await readParts(body, type, boundary)
  }
  return { token: tokenIn(begun.beginning) ?? '', readRest, cancel: begun.cancel }
}

/** Enough for the first part, whose value has 43 characters. */
const beginningBytes = 1_024

/** Undefined while the first part may still follow. */
function firstToken(text: string, boundary: string): string | undefined {
  const lines = text.slice(0, beginningBytes).split('\r\n', 6)
  if (lines.length < 6 && text.length < beginningBytes) return undefined
  const [edge, head = '', empty, value = '', end] = lines
  const isToken = /^content-disposition: form-data; name="_token"$/i.test(head) && empty === ''
  return isToken && edge === `--${boundary}` && end === edge ? value : ''
}

function isTwice(names: readonly string[]): boolean {
  const single = names.filter((name) => !lists.includes(name))
  return new Set(single).size < single.length
}

/** Undefined when the multipart body is malformed. */
async function readParts(
  body: ArrayBuffer | Uint8Array,
  type: string,
  boundary: string,
): Promise<Form | 'twice' | undefined> {
  if (!hasFewParts(body instanceof Buffer ? body : Buffer.from(body as ArrayBuffer), boundary)) return undefined
  const fields = new URLSearchParams()
  const files = new Map<string, Uint8Array>()
  try {
    const parts = await new Response(body as BodyInit, { headers: { 'content-type': type } }).formData()
    if (isTwice([...parts.keys()])) return 'twice'
    for (const [name, value] of parts) {
      if (typeof value !== 'string') files.set(name, new Uint8Array(await value.arrayBuffer()))
      else if (value.length <= usualMaxBytes) fields.append(name, value)
      else return undefined
    }
    return toForm(fields, files)
  } catch {
    return undefined
  }
}

function hasFewParts(body: Buffer, boundary: string): boolean {
  const delimiter = `--${boundary}`
  let at = body.indexOf(delimiter)
  for (let found = 0; at !== -1; found++) {
    if (found > maxParts) return false
    at = body.indexOf(delimiter, at + delimiter.length)
  }
  return true
}

export function toForm(fields: URLSearchParams, files: ReadonlyMap<string, Uint8Array> = new Map()): Form {
  return {
    text: (name) => tidy(fields.get(name) ?? ''),
    file: (name) => files.get(name),
    list: (name) => fields.getAll(name).map(tidy),
    isChecked: (name) => fields.has(name),
  }
}

/** Removes NUL characters and lone surrogates, which PostgreSQL text cannot hold. */
export function tidy(text: string): string {
  return text.toWellFormed().replaceAll('\0', '').replaceAll('\r\n', '\n')
}

/** The trimmed lines that are not empty. */
export function linesOf(text: string): string[] {
  return text
    .split('\n')
    .map((line) => line.trim())
    .filter((line) => line !== '')
}
