/** The fields of a submitted form. A handler reads the fields it knows by name; all others are ignored. */
import { readBody } from '../../web/body.ts'

export type Form = {
  /** The first value of the field, or an empty text. */
  readonly text: (name: string) => string
  readonly list: (name: string) => string[]
  readonly isChecked: (name: string) => boolean
}

const usualMaxBytes = 64 * 1024

/** Fields that may repeat: checkboxes share a name. Any other repeated field is refused. */
const lists = ['scopes']

/** Undefined when the body is not a URL-encoded form. A route that sets `maxBytes` also accepts a multipart form with a file. */
export async function readForm(
  request: Request,
  maxBytes?: number,
): Promise<Form | 'too-late' | 'too-long' | 'twice' | undefined> {
  const type = request.headers.get('content-type') ?? ''
  const isPlain = /^application\/x-www-form-urlencoded\s*(;|$)/i.test(type)
  const hasFile = maxBytes !== undefined && /^multipart\/form-data\s*;/i.test(type)
  if (!isPlain && !hasFile) return undefined
  const body = await readBody(request, hasFile ? maxBytes : usualMaxBytes)
  if (body === 'too-late' || body === 'too-long') return body
  const fields = isPlain ? new URLSearchParams(new TextDecoder().decode(body)) : await readParts(body, type)
  if (!fields) return undefined
  const single = [...fields.keys()].filter((name) => !lists.includes(name))
  return new Set(single).size < single.length ? 'twice' : toForm(fields)
}

/** A file becomes a field with the file's text. Undefined when the multipart body is malformed. */
async function readParts(body: ArrayBuffer | Uint8Array, type: string): Promise<URLSearchParams | undefined> {
  const fields = new URLSearchParams()
  try {
    const parts = await new Response(body as BodyInit, { headers: { 'content-type': type } }).formData()
    for (const [name, value] of parts) fields.append(name, typeof value === 'string' ? value : await value.text())
    return fields
  } catch {
    return undefined
  }
}

export function toForm(fields: URLSearchParams): Form {
  return {
    text: (name) => tidy(fields.get(name) ?? ''),
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
