/** An operator with a browser's manners: cookies are kept, forms carry their token, requests say where they come from. */
import { createOperator } from '../src/actions/operators/manage-operators.ts'
import { formTokenOf, startSession } from '../src/actions/operators/manage-sessions.ts'
import type { App } from '../src/app.ts'
import type { Role } from '../src/store/operators.ts'
import { operator as testActor, type TestService } from './service.ts'

export const host = 'http://127.0.0.1:3000'

export type Visitor = {
  readonly get: (path: string, headers?: Record<string, string>) => Promise<Response>
  /** Sends a form as one of our pages would; `_token` and headers can be overridden, undefined leaves one out. */
  readonly post: (path: string, fields?: Fields, headers?: Record<string, string | undefined>) => Promise<Response>
  readonly cookies: Map<string, string>
}

type Fields = Readonly<Record<string, string | readonly string[] | undefined>>

export function newVisitor(app: App, cookies = new Map<string, string>(), address?: string): Visitor {
  const send = async (request: Request) => {
    request.headers.set('cookie', [...cookies].map(([name, value]) => `${name}=${value}`).join('; '))
    const response = await app.fetch(request, address)
    for (const line of response.headers.getSetCookie()) {
      const [, name = '', value = ''] = /^([^=]+)=([^;]*)/.exec(line) ?? []
      if (value === '') cookies.delete(name)
      else cookies.set(name, value)
    }
    return response
  }
  return {
    cookies,
    get: (path, headers = {}) => send(new Request(host + path, { headers })),
    post: (path, fields = {}, headers = {}) => {
      const bound = cookies.get('billfold-session') ?? cookies.get('billfold-form') ?? ''
      const body = new URLSearchParams()
      for (const [name, value] of Object.entries({ _token: formTokenOf(bound), ...fields }))
        for (const each of typeof value === 'string' ? [value] : (value ?? [])) body.append(name, each)
      const all = { origin: host, host: new URL(host).host, 'sec-fetch-site': 'same-origin', ...headers }
      const given = Object.entries(all).filter((entry): entry is [string, string] => entry[1] !== undefined)
      return send(new Request(host + path, { method: 'POST', body, headers: given }))
    },
  }
}

export const password = 'correct horse battery staple'

export type TestOperator = Visitor & {
  readonly id: string
  readonly name: string
  readonly email: string
  readonly token: string
}

let made = 0

/** Signed in, second factor and all. */
export async function newOperator({ service, app }: TestService, role: Role = 'admin'): Promise<TestOperator> {
  const email = `operator${++made}@example.com`
  const name = `Operator ${made}`
  const id = (await createOperator(service, testActor, { email, name, password, role }))!
  const token = await startSession(service, service.db.pool, id, 'full', { address: '127.0.0.1', browser: 'Test' })
  return { ...newVisitor(app, new Map([['billfold-session', token]])), id, name, email, token }
}
