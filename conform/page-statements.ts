/** §4 D and §5 rule 3 of the contract: the hosted pages, and the origins that may embed them. */
import { newToken } from './session-statements.ts'
import { NotTried, demand, demandSuccess, type Statement } from './verdict.ts'
import type { Reply, Subject } from './subject.ts'

const isHtml = ({ headers }: Reply) => /^text\/html\b/.test(headers.get('content-type') ?? '')
const isPage = (reply: Reply) => reply.status === 200 && isHtml(reply)

const withSession = async (subject: Subject) => `?session=${await newToken(subject)}`

function refererOf({ parentOrigin }: Subject): Record<string, string> {
  return parentOrigin ? { referer: `${parentOrigin}/` } : {}
}

/** Without a session the service may need the Referer to know the app, and cannot if several apps list the same parent. */
async function openSignedOut(subject: Subject): Promise<Reply> {
  const headers = refererOf(subject)
  const reply = await subject.call('/widget/wallet', { headers })
  if (isPage(reply)) return reply
  const { clientId } = subject.credentials
  const named = await subject.call(`/widget/wallet?clientId=${encodeURIComponent(clientId)}`, { headers })
  if (subject.parentOrigin === undefined || isPage(named))
    throw new NotTried(
      `it answered ${reply.status}: it does not know which app embeds it`,
      subject.parentOrigin === undefined ? '--parent-origin' : undefined,
    )
  return reply
}

const open = async (subject: Subject, path: string) =>
  await subject.call(`${path}${await withSession(subject)}`, { headers: refererOf(subject) })

const pages: readonly (readonly [what: string, open: (subject: Subject) => Promise<Reply>])[] = [
  ['/widget/wallet without a session', openSignedOut],
  ['/widget/wallet with a session', (subject) => open(subject, '/widget/wallet')],
  ['/widget/topup with a session', (subject) => open(subject, '/widget/topup')],
]

/** The origins in frame-ancestors. Several policies apply all together; each is checked. Undefined without the directive. */
function ancestorsIn({ headers }: Reply): string[] | undefined {
  const policies = (headers.get('content-security-policy') ?? '').split(',')
  const directives = policies.flatMap((policy) => policy.split(';')).map((text) => text.trim().split(/\s+/))
  const found = directives.filter(([name]) => name?.toLowerCase() === 'frame-ancestors')
  return found.length === 0 ? undefined : found.flatMap(([, ...sources]) => sources)
}

/** `*`, `https:` and `https://*.example` match more than one origin. */
function isExact(source: string): boolean {
  return source === "'none'" || source === "'self'" || (!source.includes('*') && !source.endsWith(':'))
}

const foreignOrigin = 'https://conformance-foreign.example'

export const pageStatements: readonly Statement[] = [
  ...pages.map(([what, openPage]): Statement => ({
    section: '4.D',
    says: what.replace(' with', ' is a page with'),
    attempt: async (subject) => {
      const reply = await openPage(subject)
      const { status, headers } = reply
      demand(isPage(reply), `it answered ${status} with ${headers.get('content-type') ?? 'no content type'}`)
    },
  })),
  {
    section: '3, 4.D',
    says: '/widget/wallet with a token that was never issued is a page, which can show the error',
    attempt: async (subject) => {
      const { clientId } = subject.credentials
      const path = `/widget/wallet?session=ws_${crypto.randomUUID()}&clientId=${encodeURIComponent(clientId)}`
      const reply = await subject.call(path, { headers: refererOf(subject) })
      const isShown = isHtml(reply) && reply.status < 500
      demand(isShown, `it answered ${reply.status} with ${reply.headers.get('content-type') ?? 'no content type'}`)
    },
  },
  ...pages.map(([what, openPage]): Statement => ({
    section: '5 rule 3',
    says: `${what} names exactly the origins that may embed it, in frame-ancestors`,
    attempt: async (subject) => {
      const ancestors = ancestorsIn(await openPage(subject))
      demand(ancestors !== undefined, 'its Content-Security-Policy has no frame-ancestors')
      const wide = ancestors.find((source) => !isExact(source))
      demand(wide === undefined, `frame-ancestors has ${wide}, which is more than one origin`)
    },
  })),
  {
    section: '5 rule 3',
    says: 'The page that a session is for can embed the widget',
    attempt: async (subject) => {
      const { parentOrigin } = subject
      if (!parentOrigin)
        throw new NotTried('pass one of the app’s allowedIframeParents as --parent-origin', '--parent-origin')
      const { sessionToken } = demandSuccess(await subject.session({ parentOrigin }), 'POST /api/widget/session')
      const reply = await subject.call(`/widget/wallet?session=${String(sessionToken)}`)
      const ancestors = ancestorsIn(reply) ?? []
      demand(ancestors.includes(parentOrigin), `frame-ancestors does not have ${parentOrigin}`)
    },
  },
  {
    section: '5 rule 3',
    says: 'An origin that the app does not list cannot embed the widget, not even by its Referer or by a session for it',
    attempt: async (subject) => {
      const headers = { referer: `${foreignOrigin}/` }
      const created = await subject.session({ parentOrigin: foreignOrigin })
      const { sessionToken = await newToken(subject) } = created.status < 300 ? (created.body ?? {}) : {}
      for (const path of ['/widget/wallet', '/widget/topup']) {
        const reply = await subject.call(`${path}?session=${String(sessionToken)}`, { headers })
        const ancestors = ancestorsIn(reply) ?? ['*']
        demand(!ancestors.includes(foreignOrigin), `${path} has ${foreignOrigin} in frame-ancestors`)
      }
    },
  },
]
