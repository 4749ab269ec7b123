/** Sessions, the calls of the widget and its pages: §2, §3, §4 B to D and §5 of the contract, as far as a backend can check them. */
import {
  NotTried,
  demand,
  demandMoney,
  demandNumber,
  demandRefusal,
  demandSuccess,
  shownValue,
  type Statement,
} from './verdict.ts'
import type { Reply, Subject } from './subject.ts'

const walletPath = '/api/widget/wallet'

async function newToken(subject: Subject): Promise<string> {
  const { sessionToken } = demandSuccess(await subject.session(), 'POST /api/widget/session')
  demand(typeof sessionToken === 'string', `sessionToken is ${shownValue(sessionToken)}, not text`)
  return sessionToken
}

const lifetimeMs = 300_000

/** Uses the service's Date header, which has whole seconds; without one the local clock, which may be off. */
function demandFiveMinutes({ headers, body }: Reply, askedAt: number): void {
  const expiresAt = Date.parse(String(body?.['expiresAt']))
  const serverNow = Date.parse(headers.get('date') ?? '')
  const tookMs = Date.now() - askedAt
  const [now, toleranceMs] = Number.isNaN(serverNow) ? [askedAt, 60_000 + tookMs] : [serverNow, 3_000 + tookMs]
  const seconds = Math.round((expiresAt - now) / 1000)
  demand(Math.abs(expiresAt - now - lifetimeMs) <= toleranceMs, `it lives for ${seconds} seconds, not 300`)
}

const calls: readonly (readonly [
  route: string,
  call: (subject: Subject, query: Record<string, string>) => Promise<Reply>,
])[] = [
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

const sessionStatements: readonly Statement[] = [
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
    section: '4.B',
    says: 'A session may name the origin of the embedding page',
    attempt: async (subject) => {
      const { parentOrigin } = subject
      if (!parentOrigin) throw new NotTried('pass one of the app’s allowedIframeParents as --parent-origin')
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
  ...calls.map(([route, call]): Statement => ({
    section: '3, 5 rule 5',
    says: `${route} is refused with a token that was never issued, and without one`,
    attempt: async (subject) => {
      demandRefusal(await call(subject, { session: `ws_${crypto.randomUUID()}` }), 'with such a token it')
      demandRefusal(await call(subject, {}), 'without one it')
    },
  })),
  {
    section: '3',
    says: 'An expired session is refused',
    attempt: async () => {
      throw new NotTried('it would take five minutes')
    },
  },
]

const callStatements: readonly Statement[] = [
  {
    section: '4.C',
    says: 'GET /api/widget/wallet has the balance of the wallet, transactions and isActive',
    attempt: async (subject) => {
      const shown = demandSuccess(await subject.get(walletPath, { session: await newToken(subject) }), walletPath)
      const wallet = demandSuccess(await subject.wallet(), 'GET /api/server/wallet')
      demandMoney(shown['balance'], demandNumber(wallet['balance'], 'balance'), 'balance')
      demand(Array.isArray(shown['transactions']), `transactions is ${shownValue(shown['transactions'])}, not a list`)
      demand(typeof shown['isActive'] === 'boolean', `isActive is ${shownValue(shown['isActive'])}, not a boolean`)
    },
  },
  {
    section: '4.C, 8',
    says: 'GET /api/widget/wallet returns only the last 10 transactions',
    attempt: async (subject) => {
      // Twelve new ones, so that there are more than ten in any case.
      for (let i = 0; i < 6; i++) {
        demandSuccess(await subject.credit(1), 'a credit')
        demandSuccess(await subject.debit(1), 'a debit')
      }
      const shown = demandSuccess(await subject.get(walletPath, { session: await newToken(subject) }), walletPath)
      const { transactions } = shown
      demand(
        Array.isArray(transactions) && transactions.length === 10,
        `there are ${(transactions as unknown[] | undefined)?.length}`,
      )
    },
  },
  {
    section: '4.C',
    says: 'GET /api/widget/wallet has user with firstName and lastName',
    attempt: async (subject) => {
      const { user } = demandSuccess(await subject.get(walletPath, { session: await newToken(subject) }), walletPath)
      const { firstName, lastName } = (user ?? {}) as Record<string, unknown>
      demand(typeof firstName === 'string' && typeof lastName === 'string', `user is ${shownValue(user)}`)
    },
  },
  {
    section: '4.C',
    says: 'POST /api/widget/topup/create-intent starts a top-up, which adds nothing before it is paid',
    attempt: async (subject) => {
      const before = demandSuccess(await subject.wallet(), 'GET /api/server/wallet')
      const session = await newToken(subject)
      const reply = await subject.post('/api/widget/topup/create-intent', { amount: 10 }, { session })
      if (reply.status >= 500) throw new NotTried(`it answered ${reply.status}: it may have no card processor`)
      if (reply.status === 400 || reply.status === 422)
        throw new NotTried('it does not accept 10; the bounds are up to the service')
      const intent = demandSuccess(reply, 'create-intent')
      const paymentIntentId = intent['paymentIntentId'] ?? intent['id']
      // The contract leaves the shape of the answer open, so the unpaid intent is confirmed only if its id is found.
      if (typeof paymentIntentId === 'string')
        await subject.post('/api/widget/topup/confirm', { paymentIntentId }, { session })
      const after = demandSuccess(await subject.wallet(), 'GET /api/server/wallet')
      demandMoney(after['balance'], demandNumber(before['balance'], 'balance'), 'the balance afterwards')
    },
  },
]

const isPage = ({ status, headers }: Reply) => status === 200 && /^text\/html\b/.test(headers.get('content-type') ?? '')

const page = (path: string, says: string, queryOf: (subject: Subject) => Promise<string>): Statement => ({
  section: '4.D',
  says,
  attempt: async (subject) => {
    const { parentOrigin, credentials } = subject
    const headers: Record<string, string> = parentOrigin ? { referer: `${parentOrigin}/` } : {}
    const query = await queryOf(subject)
    const reply = await subject.call(`${path}${query}`, { headers })
    // Without a session the service may need the Referer to know the app, and cannot if several apps list the same parent.
    if (!isPage(reply) && query === '') {
      const named = await subject.call(`${path}?clientId=${encodeURIComponent(credentials.clientId)}`, { headers })
      const isKnown = parentOrigin === undefined || isPage(named)
      if (isKnown) throw new NotTried(`it answered ${reply.status}: it does not know which app embeds it`)
    }
    demand(isPage(reply), `it answered ${reply.status} with ${reply.headers.get('content-type') ?? 'no content type'}`)
  },
})

const withSession = async (subject: Subject) => `?session=${await newToken(subject)}`

const byBrowser = (section: string, says: string): Statement => ({
  section,
  says,
  attempt: async () => {
    throw new NotTried('it needs a browser')
  },
})

export const widgetStatements: readonly Statement[] = [
  ...sessionStatements,
  ...callStatements,
  page('/widget/wallet', '/widget/wallet is a page without a session', async () => ''),
  page('/widget/wallet', '/widget/wallet is a page with a session', withSession),
  page('/widget/topup', '/widget/topup is a page with a session', withSession),
  byBrowser('5 rule 3', 'Only an allowed parent can embed the widget'),
  byBrowser('5 rules 7 and 8, 6', 'Signing in, switching accounts, and the six messages to the embedding page'),
]
