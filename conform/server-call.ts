/** The four server-to-server calls, with valid fields except for what a statement changes. */
import type { Query, Reply, Subject } from './subject.ts'

export const postRoutes = ['POST /api/server/wallet/debit', 'POST /api/server/wallet/credit'] as const

export const serverRoutes = ['GET /api/server/wallet', 'GET /api/server/wallet/check-balance', ...postRoutes] as const

export type ServerRoute = (typeof serverRoutes)[number]

type Different = {
  /** A field that is undefined is left out. */
  readonly changes?: Readonly<Record<string, unknown>>
  readonly query?: Query
  readonly headers?: Query
}

export function callRoute(
  subject: Subject,
  route: ServerRoute,
  { changes = {}, query = {}, headers = {} }: Different,
): Promise<Reply> {
  const [method, path = ''] = route.split(' ')
  const who = { ...subject.credentials, serviceUserId: subject.serviceUserId }
  if (method === 'POST') {
    const body = { ...who, amount: 1, ...subject.newReference(), ...changes }
    return subject.post(path, body, query, headers)
  }
  const asked = path.endsWith('check-balance') ? { requiredAmount: '1' } : {}
  const fields = Object.entries({ ...who, ...asked, ...changes }).filter(([, value]) => value !== undefined)
  return subject.call(`${path}?${new URLSearchParams(fields)}`, {
    headers,
  })
}
