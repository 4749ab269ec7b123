/** Reads what the callbacks of the page return: a value, or the `Response` of the app's backend as `fetch` gives it. */
import { isSessionToken } from '../contract/messages.ts'

/** Longer answers, such as a framework's error page, are cut in errors. */
const maxShown = 300

/** Throws the cause if the backend answered with an error: `fetch` also resolves then, and a failed link must not look stored. */
export async function checkAnswer(result: unknown): Promise<void> {
  if (result instanceof Response && !result.ok) throw refusalOf(result, await textOf(result))
}

/** Returns null for a user without a link: an empty answer, `null`, or an error with `requiresAuth`. */
export async function readSessionToken(result: unknown): Promise<string | null> {
  const response = result instanceof Response ? result : undefined
  const text = response ? await textOf(response) : ''
  const value = response ? parse(text) : result
  if (isNotLinked(value)) return null
  if (response && !response.ok) throw refusalOf(response, text)
  if (value === null) return null
  const token = fieldOf(value, 'sessionToken')
  if (isSessionToken(token)) return token
  const got = value === undefined ? text : JSON.stringify(value)
  throw Object.assign(new TypeError(`fetchSession gave no session, but: ${shorten(got)}`), {
    code: fieldOf(value, 'code'),
  })
}

function refusalOf({ url, status }: Response, text: string): Error {
  const answer = shorten(text)
  const path = url && new URL(url).pathname
  // A framework that got no JSON body fails with one of these; the header is the usual reason.
  const hint = [400, 415, 422, 500].includes(status)
    ? ' If the backend found no body: it reads JSON only from a request with the header content-type: application/json.'
    : ''
  return Object.assign(new Error(`${path || 'The backend'} answered ${status}: ${answer || 'nothing'}.${hint}`), {
    status,
    answer,
    code: fieldOf(parse(text), 'code'),
  })
}

/** Empty if the page has read the answer already. */
async function textOf(response: Response): Promise<string> {
  return await response.text().catch(() => '')
}

function parse(text: string): unknown {
  try {
    return text === '' ? null : JSON.parse(text)
  } catch {
    return undefined
  }
}

function isNotLinked(value: unknown): boolean {
  return fieldOf(value, 'requiresAuth') === true || fieldOf(value, 'code') === 'ACCOUNT_NOT_LINKED'
}

function fieldOf(value: unknown, name: string): unknown {
  return (value as Record<string, unknown> | null | undefined)?.[name]
}

function shorten(text: string | undefined): string {
  const line = (text ?? 'nothing').replace(/\s+/g, ' ').trim()
  return line.length > maxShown ? `${line.slice(0, maxShown)}...` : line
}
