/**
 * Calls as the hosted pages make them, over HTTP or straight into the app; and the mail a user would read. One page is one browser:
 * it holds the handle of the newest code that it asked for.
 */
import { randomBytes } from 'node:crypto'
import type { Reply, Send } from './client.ts'

export type Page = ReturnType<typeof newPage>

const ownPage: Record<string, string> = { 'sec-fetch-site': 'same-origin' }

/** `always`: headers of every call, such as the cookie of a device. */
export function newPage(send: Send, baseUrl = 'http://billfold.test', always: Record<string, string> = {}) {
  async function call(
    method: 'GET' | 'POST',
    path: string,
    body?: string,
    extra: Record<string, string> = {},
  ): Promise<Reply> {
    const type: Record<string, string> = body === undefined ? {} : { 'content-type': 'application/json' }
    const headers = { ...ownPage, ...type, ...always, ...extra }
    const request = new Request(baseUrl + path, body === undefined ? { method, headers } : { method, headers, body })
    const response = await send(request)
    const answer = JSON.parse(await response.text())
    return { status: response.status, headers: response.headers, body: answer }
  }
  const post = (path: string, body: unknown) => call('POST', path, JSON.stringify(body))
  const handles = new Map<string, unknown>()
  async function auth(step: string, body: object): Promise<Reply> {
    const email = String('email' in body && body.email)
      .trim()
      .toLowerCase()
    const handle = ['confirm', 'reset', 'login'].includes(step) ? handles.get(email) : undefined
    const reply = await post(`/api/widget/auth/${step}`, { handle, ...body })
    if ('handle' in reply.body) handles.set(email, reply.body['handle'])
    return reply
  }
  return {
    call,
    post,
    get: (path: string) => call('GET', path),
    auth,
    wallet: (session: unknown) => call('GET', `/api/widget/wallet?session=${String(session)}`),
  }
}

/** A new address. */
export function newEmail(): string {
  return `${randomBytes(6).toString('hex')}@example.com`
}

export type Letter = { readonly to: string; readonly subject: string; readonly text: string }

/**
 * The mails to an address so far, oldest first, without the welcome, which comes at any time. They are sent in the
 * background, several at once: this waits for the given number, and takes their order from the names of their files.
 */
export async function mailsTo(email: string, logged: readonly string[], count: number): Promise<Letter[]> {
  for (let tries = 0; ; tries++) {
    const letters = logged
      .map((line) => JSON.parse(line))
      .filter(({ message, to, subject }) => message === 'mail' && to === email && subject !== 'Welcome to Billfold')
      .toSorted((a, b) => String(a.file).localeCompare(String(b.file)))
    if (letters.length >= count || tries === 1_500) return letters
    await Bun.sleep(20)
  }
}

export async function mailedCode(email: string, logged: readonly string[], count = 1): Promise<string> {
  const letters = await mailsTo(email, logged, count)
  return /\b\d{6}\b/.exec(letters.at(-1)?.text ?? '')?.[0] ?? 'no code was mailed'
}

export type StreamEvent = { readonly event: string; readonly data: Record<string, unknown> }

/** The events of a stream as they come: `next` waits for one, and answers undefined once the stream has ended. */
export function readEvents(response: Response) {
  const reader = response.body!.pipeThrough(new TextDecoderStream()).getReader()
  let held = ''
  async function next(): Promise<StreamEvent | undefined> {
    for (;;) {
      const end = held.indexOf('\n\n')
      if (end < 0) {
        const { value, done } = await reader.read()
        if (done) return undefined
        held += value
        continue
      }
      const lines = held.slice(0, end).split('\n')
      held = held.slice(end + 2)
      const event = lines.find((line) => line.startsWith('event: '))?.slice(7)
      const data = lines.find((line) => line.startsWith('data: '))?.slice(6)
      if (event) return { event, data: JSON.parse(data ?? '{}') }
    }
  }
  return { next, cancel: () => reader.cancel() }
}
