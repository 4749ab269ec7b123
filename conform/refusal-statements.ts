/** §5 and §7 of the contract: which calls are refused, with which status and code, and that they move nothing. */
import { callRoute, postRoutes, serverRoutes } from './server-call.ts'
import { balanceOf, demandMoved, demandRefusal, type Statement } from './verdict.ts'
import type { Subject } from './subject.ts'

const invalidClient = { status: 401, code: 'INVALID_CLIENT' }

type Changes = Readonly<Record<string, string | undefined>>

const badCredentials = (what: string, changesOf: (subject: Subject) => Changes): Statement[] =>
  serverRoutes.map((route) => ({
    section: '7',
    says: `${what} is 401 INVALID_CLIENT on ${route}`,
    attempt: async (subject) =>
      demandRefusal(await callRoute(subject, route, { changes: changesOf(subject) }), route, invalidClient),
  }))

const unknownUser: Statement[] = serverRoutes.map((route) => {
  const isRead = route.startsWith('GET')
  return {
    section: '7',
    says: `An unknown user is ${isRead ? '401' : '404 USER_NOT_FOUND'} on ${route}`,
    attempt: async (subject) => {
      const reply = await callRoute(subject, route, { changes: { serviceUserId: subject.stranger } })
      demandRefusal(reply, route, isRead ? { status: 401 } : { status: 404, code: 'USER_NOT_FOUND' })
    },
  }
})

async function moreThanThereIs(subject: Subject): Promise<number> {
  return Math.floor(await balanceOf(subject)) + 1
}

/** Close to the right one: a service that compares a part of it, or ignores case, accepts one of these. */
function almostRight(secret: string): string[] {
  const flipped = Array.from(secret, (c) => (c === c.toLowerCase() ? c.toUpperCase() : c.toLowerCase())).join('')
  return [secret.slice(0, -1), `${secret}x`, ...(flipped === secret ? [] : [flipped])]
}

export const refusalStatements: readonly Statement[] = [
  {
    section: '7',
    says: 'A debit beyond the balance is 400 INSUFFICIENT_BALANCE',
    attempt: async (subject) => {
      const reply = await subject.debit(await moreThanThereIs(subject))
      demandRefusal(reply, 'the debit', { status: 400, code: 'INSUFFICIENT_BALANCE' })
    },
  },
  {
    section: '1, 7',
    says: 'A debit beyond the balance moves nothing',
    attempt: async (subject) => {
      const amount = await moreThanThereIs(subject)
      await demandMoved(subject, 0, `a debit of ${amount}`, () => subject.debit(amount))
    },
  },
  ...unknownUser,
  ...badCredentials('A wrong secret', () => ({ clientSecret: 'not-the-secret' })),
  ...badCredentials('An unknown clientId', ({ stranger }) => ({ clientId: stranger })),
  ...badCredentials('A call without a secret', () => ({ clientSecret: undefined })),
  ...badCredentials('A call without credentials', () => ({ clientId: undefined, clientSecret: undefined })),
  {
    section: '5, 7',
    says: 'A secret that is almost right is 401 INVALID_CLIENT',
    attempt: async (subject) => {
      for (const clientSecret of almostRight(subject.credentials.clientSecret)) {
        const reply = await callRoute(subject, 'GET /api/server/wallet', { changes: { clientSecret } })
        demandRefusal(reply, 'a part of the secret, more than it, or its letters in another case', invalidClient)
      }
    },
  },
  ...postRoutes.map((route): Statement => ({
    section: '5, 7',
    says: `A wrong secret moves nothing on ${route}`,
    attempt: (subject) =>
      demandMoved(subject, 0, 'a call with a wrong secret', () =>
        callRoute(subject, route, { changes: { clientSecret: 'not-the-secret' } }),
      ),
  })),
  {
    section: '7',
    says: 'A wrong secret is 401 INVALID_CLIENT also where the user is unknown',
    attempt: async (subject) => {
      const changes = { clientSecret: 'not-the-secret', serviceUserId: subject.stranger }
      for (const route of postRoutes) demandRefusal(await callRoute(subject, route, { changes }), route, invalidClient)
    },
  },
  ...serverRoutes.map((route): Statement => ({
    section: '5',
    says: `Credentials in a header do not count on ${route}`,
    attempt: async (subject) => {
      const changes = { clientId: undefined, clientSecret: undefined }
      const reply = await callRoute(subject, route, { changes, headers: headersOf(subject) })
      demandRefusal(reply, route, invalidClient)
    },
  })),
  ...postRoutes.map((route): Statement => ({
    section: '5',
    says: `Credentials in the query do not count on ${route}`,
    attempt: async (subject) => {
      const changes = { clientId: undefined, clientSecret: undefined }
      const reply = await callRoute(subject, route, { changes, query: subject.credentials })
      demandRefusal(reply, route, invalidClient)
    },
  })),
]

export function headersOf({ credentials: { clientId, clientSecret } }: Subject): Record<string, string> {
  const authorization = `Basic ${btoa(`${clientId}:${clientSecret}`)}`
  return { authorization, 'x-client-id': clientId, 'x-client-secret': clientSecret }
}
