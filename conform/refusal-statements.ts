/** §5 and §7 of the contract: which calls are refused, and the shape of a refusal. */
import {
  demand,
  demandMoney,
  demandNumber,
  demandRefusal,
  demandSuccess,
  shownValue,
  type Statement,
} from './verdict.ts'
import type { Reply, Subject } from './subject.ts'

const routes = [
  'GET /api/server/wallet',
  'GET /api/server/wallet/check-balance',
  'POST /api/server/wallet/debit',
  'POST /api/server/wallet/credit',
]

/** Calls one of the four routes with valid fields, except for `changes`. */
function callRoute(
  subject: Subject,
  route: string,
  changes: Readonly<Record<string, string | undefined>>,
  headers = {},
): Promise<Reply> {
  const [method, path = ''] = route.split(' ')
  const { credentials, serviceUserId } = subject
  const who = { ...credentials, serviceUserId, ...changes }
  const present = Object.fromEntries(Object.entries(who).filter(([, value]) => value !== undefined)) as Record<
    string,
    string
  >
  if (method === 'POST') return subject.post(path, { ...present, amount: 1, ...subject.newReference() }, {}, headers)
  const query = new URLSearchParams({ ...present, ...(path.endsWith('check-balance') ? { requiredAmount: '1' } : {}) })
  return subject.call(`${path}?${query}`, { headers })
}

const badCredentials = (
  what: string,
  changesOf: (subject: Subject) => Record<string, string | undefined>,
): Statement[] =>
  routes.map((route) => ({
    section: '7',
    says: `${what} is 401 INVALID_CLIENT on ${route}`,
    attempt: async (subject) =>
      demandRefusal(await callRoute(subject, route, changesOf(subject)), route, {
        status: 401,
        code: 'INVALID_CLIENT',
      }),
  }))

const unknownUser: Statement[] = routes.map((route) => {
  const isRead = route.startsWith('GET')
  return {
    section: '7',
    says: `An unknown user is ${isRead ? '401' : '404 USER_NOT_FOUND'} on ${route}`,
    attempt: async (subject) => {
      const reply = await callRoute(subject, route, { serviceUserId: subject.stranger })
      demandRefusal(reply, route, isRead ? { status: 401 } : { status: 404, code: 'USER_NOT_FOUND' })
    },
  }
})

/** Makes calls that must be refused, to check the shape of their answers. */
async function refusalsOf(subject: Subject): Promise<Reply[]> {
  const strangers = routes.map((route) => callRoute(subject, route, { serviceUserId: subject.stranger }))
  const impostors = routes.map((route) => callRoute(subject, route, { clientSecret: 'wrong' }))
  return await Promise.all([...strangers, ...impostors, subject.debit(await moreThanThereIs(subject))])
}

async function moreThanThereIs(subject: Subject): Promise<number> {
  const { balance } = demandSuccess(await subject.wallet(), 'GET /api/server/wallet')
  return Math.floor(demandNumber(balance, 'balance')) + 1
}

const refusalField = (name: string, isRight: (value: unknown) => boolean, says: string): Statement => ({
  section: '7',
  says,
  attempt: async (subject) => {
    for (const { status, body, text } of await refusalsOf(subject)) {
      if (status < 400) continue
      demand(body !== undefined, `${status} has no JSON object: ${shownValue(text)}`)
      demand(isRight(body[name]), `${status} has ${name} ${shownValue(body[name])}`)
    }
  },
})

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
      const before = demandSuccess(await subject.wallet(), 'GET /api/server/wallet')['balance']
      await subject.debit(await moreThanThereIs(subject))
      const after = demandSuccess(await subject.wallet(), 'GET /api/server/wallet')['balance']
      demandMoney(after, demandNumber(before, 'balance'), 'the balance afterwards')
    },
  },
  ...unknownUser,
  ...badCredentials('A wrong secret', () => ({ clientSecret: 'not-the-secret' })),
  ...badCredentials('An unknown clientId', ({ stranger }) => ({ clientId: stranger })),
  ...routes.map((route) => ({
    section: '5',
    says: `Credentials in a header do not count on ${route}`,
    attempt: async (subject: Subject) => {
      const { clientId, clientSecret } = subject.credentials
      const authorization = `Basic ${btoa(`${clientId}:${clientSecret}`)}`
      const headers = { authorization, 'x-client-id': clientId, 'x-client-secret': clientSecret }
      const reply = await callRoute(subject, route, { clientId: undefined, clientSecret: undefined }, headers)
      demandRefusal(reply, route, { status: 401, code: 'INVALID_CLIENT' })
    },
  })),
  refusalField(
    'error',
    (value) => typeof value === 'string' && value !== '',
    'Every refusal is JSON with error, which is text',
  ),
  refusalField(
    'code',
    (value) => value === undefined || typeof value === 'string',
    'code, if a refusal has it, is text',
  ),
  refusalField(
    'requiresAuth',
    (value) => value === undefined || typeof value === 'boolean',
    'requiresAuth, if a refusal has it, is a boolean',
  ),
]
