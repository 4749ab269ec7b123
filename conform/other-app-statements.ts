/** §1, §5 of the contract: the platform has many tenants, and one app has no access to the users of another. */
import { callRoute, postRoutes, serverRoutes } from './server-call.ts'
import { NotTried, demandMoved, demandRefusal, demandSuccess, type Statement } from './verdict.ts'
import type { Credentials, Subject } from './subject.ts'

function otherOf({ other }: Subject): Credentials {
  if (!other)
    throw new NotTried('pass an app that this user has not signed in through as --other-client-id', '--other-client-id')
  return other
}

export const otherAppStatements: readonly Statement[] = [
  ...serverRoutes.slice(0, 2).map((route): Statement => ({
    section: '1, 5',
    says: `Another app cannot read this user’s wallet with ${route}`,
    attempt: async (subject) => demandRefusal(await callRoute(subject, route, { changes: otherOf(subject) }), 'it'),
  })),
  ...postRoutes.map((route): Statement => ({
    section: '1, 5',
    says: `Another app moves no money of this user with ${route}`,
    attempt: async (subject) => {
      const changes = otherOf(subject)
      await demandMoved(subject, 0, 'the other app', () => callRoute(subject, route, { changes }))
      demandRefusal(await callRoute(subject, route, { changes }), 'it')
    },
  })),
  {
    section: '1, 5',
    says: 'Another app does not get the outcome of this app’s pair',
    attempt: async (subject) => {
      const other = otherOf(subject)
      const reference = subject.newReference()
      demandSuccess(await subject.credit(1, reference), 'the credit')
      const changes = { ...other, ...reference }
      demandRefusal(await callRoute(subject, 'POST /api/server/wallet/credit', { changes }), 'the same pair')
    },
  },
  {
    section: '3, 5',
    says: 'Another app cannot create a session for this user',
    attempt: async (subject) => demandRefusal(await subject.session(otherOf(subject)), 'it'),
  },
  {
    section: '5, 7',
    says: 'The secret of another app is 401 INVALID_CLIENT',
    attempt: async (subject) => {
      const { clientSecret } = otherOf(subject)
      const reply = await callRoute(subject, 'GET /api/server/wallet', { changes: { clientSecret } })
      demandRefusal(reply, 'it', { status: 401, code: 'INVALID_CLIENT' })
    },
  },
]
