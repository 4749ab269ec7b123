/** Calls of a client app's backend, over HTTP or straight into the app. */
import type { Credentials } from './service.ts'

export type Send = (request: Request) => Promise<Response>

export type Reply = { readonly status: number; readonly headers: Headers; readonly body: Record<string, unknown> }

export type Client = ReturnType<typeof newClient>

const origin = 'http://billfold.test'

export function newClient(send: Send, credentials: Credentials, baseUrl = origin) {
  async function call(request: Request): Promise<Reply> {
    const response = await send(request)
    const text = await response.text()
    const body = text === '' ? {} : JSON.parse(text)
    return { status: response.status, headers: response.headers, body }
  }
  const get = (path: string, query: Record<string, string>) =>
    call(new Request(`${baseUrl}${path}?${new URLSearchParams({ ...credentials, ...query })}`))
  const post = (path: string, body: unknown) =>
    call(
      new Request(`${baseUrl}${path}`, {
        method: 'POST',
        headers: { 'content-type': 'application/json' },
        body: JSON.stringify(body),
      }),
    )
  let count = 0
  const posting = (direction: string) => (serviceUserId: string, amount: number, referenceId?: string) =>
    post(`/api/server/wallet/${direction}`, {
      ...credentials,
      serviceUserId,
      amount,
      referenceType: 'ORDER',
      referenceId: referenceId ?? `auto-${++count}-${Math.random()}`,
    })
  return {
    call,
    get,
    post,
    debit: posting('debit'),
    credit: posting('credit'),
    wallet: (serviceUserId: string, query: Record<string, string> = {}) =>
      get('/api/server/wallet', { serviceUserId, ...query }),
    balance: async (serviceUserId: string) => (await get('/api/server/wallet', { serviceUserId })).body['balance'],
    checkBalance: (serviceUserId: string, requiredAmount: string) =>
      get('/api/server/wallet/check-balance', { serviceUserId, requiredAmount }),
  }
}
