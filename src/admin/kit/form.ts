/** The fields of a form that was sent. A handler reads the fields it knows by name; all others are ignored. */
import { readBody } from '../../web/body.ts'

export type Form = {
  /** The first value of the field, or an empty text. */
  readonly text: (name: string) => string
  readonly list: (name: string) => string[]
  readonly isChecked: (name: string) => boolean
}

const maxFormBytes = 64 * 1024

/** Boxes that are ticked share a name; no other field may come twice. */
const lists = ['scopes']

/** Undefined when the body is not a URL-encoded form. */
export async function readForm(request: Request): Promise<Form | 'too-late' | 'too-long' | 'twice' | undefined> {
  const type = request.headers.get('content-type') ?? ''
  if (!/^application\/x-www-form-urlencoded\s*(;|$)/i.test(type)) return undefined
  const body = await readBody(request, maxFormBytes)
  if (body === 'too-late' || body === 'too-long') return body
  const fields = new URLSearchParams(new TextDecoder().decode(body))
  const single = [...fields.keys()].filter((name) => !lists.includes(name))
  return new Set(single).size < single.length ? 'twice' : toForm(fields)
}

export function toForm(fields: URLSearchParams): Form {
  return {
    text: (name) => tidy(fields.get(name) ?? ''),
    list: (name) => fields.getAll(name).map(tidy),
    isChecked: (name) => fields.has(name),
  }
}

/** Without NUL characters and lone surrogates, which PostgreSQL's text cannot hold. */
export function tidy(text: string): string {
  return text.toWellFormed().replaceAll('\0', '').replaceAll('\r\n', '\n')
}

/** One text for each line that is not empty. */
export function linesOf(text: string): string[] {
  return text
    .split('\n')
    .map((line) => line.trim())
    .filter((line) => line !== '')
}
