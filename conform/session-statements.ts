/** §2, §3, §4 B and §5 of the contract: widget sessions. */
import { headersOf } from './refusal-statements.ts'
import { NotTried, demand, demandRefusal, demandSuccess, shownValue, type Statement } from './verdict.ts'
import type { Query, Reply, Subject } from './subject.ts'

export const walletPath = '/api/widget/wallet'

export async function newToken(subject: Subject): Promise<string> {
  const { sessionToken } = demandSuccess(await subject.session(), 'POST /api/widget/session')
  demand(typeof sessionToken === 'string', `sessionToken is ${shownValue(sessionToken)}, not text`)
  return sessionToken
}

const lifetimeMs = 300_000
/** For clocks and slow answers. */
const marginMs = 15_000

/** Uses the service's Date header, which has whole seconds; without one the local clock, which may be off. */
function demandFiveMinutes({ headers, body }: Reply, askedAt: number): void {
  const expiresAt = Date.parse(String(body?.['expiresAt']))
  const serverNow = Date.parse(headers.get('date') ?? '')
  const tookMs = Date.now() - askedAt
  const [now, toleranceMs] = Number.isNaN(serverNow) ? [askedAt, 60_000 + tookMs] : [serverNow, 3_000 + tookMs]
  const seconds = Math.round((expiresAt - now) / 1000)
  demand(Math.abs(expiresAt - now - lifetimeMs) <= toleranceMs, `it lives for ${seconds} seconds, not 300`)
}

type WidgetCall = readonly [route: string, call: (subject: Subject, query: Query) => Promise<Reply>]

const calls: readonly WidgetCall[] = [
  [`GET ${walletPath}`, (subject, query) => subject.get(walletPath, query)],
  [
    'POST /api/widget/topup/create-intent',
    (subject, query) => subject.post('/api/widget/topup/create-intent', { amount: 10 }, query),
  ],
  [
    'POST /api/widget/topup/confirm',
    (subject, query) => subject.post('/api/widget/topup/confirm', { paymentIntentId: 'pi_unknown' }, query),
  ],
]

/** The last digit replaced, cut off, and one more. */
function neighboursOf(token: string): string[] {
  const [start, last] = [token.slice(0, -1), token.slice(-1)]
  return [`${start}${last === '0' ? '1' : '0'}`, start, `${token}0`]
}

async function agedToken(subject: Subject, ms: number): Promise<string> {
  const token = await subject.tokenOfAge(ms)
  if (token === undefined) throw new NotTried('it takes five minutes: pass --patient', '--patient')
  return token
}

export const sessionStatements: readonly Statement[] = [
  {
    section: '2, 4.B',
    says: 'A session token is ws_ followed by a UUID',
    attempt: async (subject) => {
      const token = await newToken(subject)
      const isRight = /^ws_[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/i.test(token)
      demand(isRight, `it is ${shownValue(token.replaceAll(/[0-9a-z]/gi, 'x'))}`)
    },
  },
  {
    section: '2, 8',
    says: 'A session expires five minutes after its creation, and expiresAt says so',
    attempt: async (subject) => {
      const askedAt = Date.now()
      const reply = await subject.session()
      const { expiresAt } = demandSuccess(reply, 'POST /api/widget/session')
      const isTime = typeof expiresAt === 'string' && !Number.isNaN(Date.parse(expiresAt))
      demand(isTime, `expiresAt is ${shownValue(expiresAt)}, not a timestamp`)
      demandFiveMinutes(reply, askedAt)
    },
  },
  {
    section: '5 rule 5',
    says: 'Every session has its own token',
    attempt: async (subject) => {
      demand((await newToken(subject)) !== (await newToken(subject)), 'two sessions have the same token')
    },
  },
  {
    section: '3',
    says: 'A new session does not end an earlier one',
    attempt: async (subject) => {
      const earlier = await newToken(subject)
      await newToken(subject)
      demandSuccess(await subject.get(walletPath, { session: earlier }), 'the earlier session')
    },
  },
  {
    section: '4.B',
    says: 'A session may name the origin of the embedding page',
    attempt: async (subject) => {
      const { parentOrigin } = subject
      if (!parentOrigin)
        throw new NotTried('pass one of the app’s allowedIframeParents as --parent-origin', '--parent-origin')
      demandSuccess(await subject.session({ parentOrigin }), 'POST /api/widget/session')
    },
  },
  {
    section: '3',
    says: 'No session is created with a wrong secret',
    attempt: async (subject) => demandRefusal(await subject.session({ clientSecret: 'not-the-secret' }), 'it'),
  },
  {
    section: '3',
    says: 'No session is created for an unknown user',
    attempt: async (subject) => demandRefusal(await subject.session({ serviceUserId: subject.stranger }), 'it'),
  },
  {
    section: '4.B',
    says: 'No session is created without a serviceUserId',
    attempt: async (subject) => demandRefusal(await subject.session({ serviceUserId: undefined }), 'it'),
  },
  {
    section: '5',
    says: 'No session is created with credentials in a header',
    attempt: async (subject) => {
      const { serviceUserId } = subject
      demandRefusal(await subject.post('/api/widget/session', { serviceUserId }, {}, headersOf(subject)), 'it')
    },
  },
  {
    section: '5',
    says: 'No session is created with credentials in the query',
    attempt: async (subject) => {
      const { serviceUserId, credentials } = subject
      demandRefusal(await subject.post('/api/widget/session', { serviceUserId }, credentials), 'it')
    },
  },
  ...calls.map(([route, call]): Statement => ({
    section: '3, 5 rule 5',
    says: `${route} is refused with a token that was never issued, and without one`,
    attempt: async (subject) => {
      demandRefusal(await call(subject, { session: `ws_${crypto.randomUUID()}` }), 'with such a token it')
      demandRefusal(await call(subject, {}), 'without one it')
    },
  })),
  ...calls.map(([route, call]): Statement => ({
    section: '3, 5 rule 5',
    says: `${route} is refused with a token that is almost right`,
    attempt: async (subject) => {
      for (const session of neighboursOf(await newToken(subject)))
        demandRefusal(await call(subject, { session }), 'with one character changed, cut off or added it')
    },
  })),
]

/** They wait, so they are the last of all. */
export const expiryStatements: readonly Statement[] = [
  {
    section: '3, 8',
    says: 'A session works until its five minutes are over',
    attempt: async (subject) => {
      const session = await agedToken(subject, lifetimeMs - marginMs)
      demandSuccess(await subject.get(walletPath, { session }), 'the wallet, 15 seconds before the end,')
    },
  },
  ...calls.map(([route, call]): Statement => ({
    section: '3',
    says: `${route} is refused with an expired session`,
    attempt: async (subject) => {
      const session = await agedToken(subject, lifetimeMs + marginMs)
      demandRefusal(await call(subject, { session }), 'it')
    },
  })),
  {
    section: '7',
    says: 'An expired session has the code SESSION_EXPIRED',
    attempt: async (subject) => {
      const session = await agedToken(subject, lifetimeMs + marginMs)
      demandRefusal(await subject.get(walletPath, { session }), walletPath, { code: 'SESSION_EXPIRED' })
    },
  },
]
