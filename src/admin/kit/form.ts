/** The fields of a form that was sent. A handler reads the fields it knows by name; all others are ignored. */
import { readBody } from '../../web/body.ts'

export type Form = {
  /** The first value of the field, or an empty text. */
  readonly text: (name: string) => string
  readonly list: (name: string) => string[]
  readonly isChecked: (name: string) => boolean
}

const maxFormBytes = 64 * 1024

/** Undefined when the body is not a URL-encoded form, or is longer than 64 KiB. */
export async function readForm(request: Request): Promise<Form | 'too-late' | undefined> {
  const type = request.headers.get('content-type') ?? ''
  if (!/^application\/x-www-form-urlencoded\s*(;|$)/i.test(type)) return undefined
  const body = await readBody(request, maxFormBytes)
  if (body === 'too-late') return body
  if (body === 'too-long') return undefined
  return toForm(new URLSearchParams(new TextDecoder().decode(body)))
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
