/** §1, §5 and §7 of the contract: what holds for every answer. Most of it is checked on all answers of the run so far. */
import { serverRoutes } from './server-call.ts'
import { newToken, walletPath } from './session-statements.ts'
import { NotTried, demand, shownValue, type Statement } from './verdict.ts'
import type { Seen, Subject } from './subject.ts'

const isApi = ({ route }: Seen) => route.includes(' /api/')
const isServer = ({ route }: Seen) => route.includes(' /api/server/')

/** Answers of a proxy before the service are not its own: 429, and every 5xx except 500. */
const isOwn = ({ status }: Seen) => status !== 429 && status <= 500

const shape = (
  says: string,
  isMeant: (seen: Seen) => boolean,
  problemOf: (seen: Seen) => string | undefined,
): Statement => ({
  section: '1, 7',
  says,
  attempt: async ({ seen }) => {
    for (const one of seen.filter((each) => isMeant(each) && isOwn(each))) {
      const problem = problemOf(one)
      demand(problem === undefined, `${one.route}: ${one.status} ${problem}`)
    }
  },
})

const isRefusal = ({ status }: Seen) => status >= 400

function errorProblem({ fields, contentType }: Seen): string | undefined {
  if (!fields) return `has no JSON object, but ${contentType || 'no content type'}`
  const { error } = fields
  return typeof error === 'string' && error !== '' ? undefined : `has error ${shownValue(error)}`
}

const foreignOrigin = 'https://conformance-foreign.example'
const widgetRoutes = [
  'POST /api/widget/session',
  `GET ${walletPath}`,
  'POST /api/widget/topup/create-intent',
  'POST /api/widget/topup/confirm',
]

const isOpen = (allowedOrigin: string | null) => allowedOrigin === '*' || allowedOrigin === foreignOrigin

/** Asks as a browser does before a script of another site may call. */
const preflight = (route: string): Statement => ({
  section: '5',
  says: `No script of another site may call ${route}`,
  attempt: async (subject) => {
    const [method = '', path = ''] = route.split(' ')
    const headers = {
      origin: foreignOrigin,
      'access-control-request-method': method,
      'access-control-request-headers': 'content-type',
    }
    const asked = await subject.call(path, { method: 'OPTIONS', headers })
    const allowed = asked.headers.get('access-control-allow-origin')
    demand(!isOpen(allowed), `the answer to a preflight has Access-Control-Allow-Origin ${allowed}`)
  },
})

export const answerStatements: readonly Statement[] = [
  shape(
    'Every refusal of /api/server is JSON with error, which is text',
    (s) => isRefusal(s) && isServer(s),
    errorProblem,
  ),
  shape(
    'Every refusal of /api/widget is JSON with error, which is text',
    (s) => isRefusal(s) && isApi(s) && !isServer(s),
    errorProblem,
  ),
  shape(
    'code, if a refusal has it, is text',
    (s) => isRefusal(s) && isApi(s),
    ({ fields }) =>
      fields?.code === undefined || typeof fields.code === 'string' ? undefined : `has code ${shownValue(fields.code)}`,
  ),
  shape(
    'requiresAuth, if a refusal has it, is a boolean',
    (s) => isRefusal(s) && isApi(s),
    ({ fields }) =>
      fields?.requiresAuth === undefined || typeof fields.requiresAuth === 'boolean'
        ? undefined
        : `has requiresAuth ${shownValue(fields.requiresAuth)}`,
  ),
  shape(
    'Every success of the API says that it is JSON, in its content type',
    (s) => isApi(s) && s.status >= 200 && s.status < 300 && !s.route.startsWith('OPTIONS'),
    ({ contentType }) =>
      /^application\/json\b/.test(contentType) ? undefined : `has the content type ${contentType || '(none)'}`,
  ),
  ...[...serverRoutes, ...widgetRoutes].map(preflight),
  {
    section: '5',
    says: 'No script of another site may read an answer of the API',
    attempt: async (subject) => {
      // Without the secret: a service may take a secret with an Origin as one that leaked into a page.
      for (const route of serverRoutes.slice(0, 2)) await readFrom(subject, route.split(' ')[1]!, {})
      await readFrom(subject, walletPath, { session: await newToken(subject) })
      const open = subject.seen.find(
        (one) => isApi(one) && !one.route.startsWith('OPTIONS') && isOpen(one.allowedOrigin),
      )
      demand(open === undefined, `${open?.route} has Access-Control-Allow-Origin ${open?.allowedOrigin}`)
    },
  },
  {
    section: '5 rule 1',
    says: 'No answer and no page contains the clientSecret',
    attempt: async ({ seen }) => {
      const leak = seen.find(({ hasSecret }) => hasSecret)
      demand(leak === undefined, `${leak?.route} does, with status ${leak?.status}`)
    },
  },
  {
    section: '5 rules 7 and 8, 6',
    says: 'Signing in, switching accounts, and the six messages to the embedding page',
    attempt: async () => {
      throw new NotTried('it needs a browser', 'a browser')
    },
  },
]

async function readFrom(subject: Subject, path: string, query: Readonly<Record<string, string>>): Promise<void> {
  await subject.call(`${path}?${new URLSearchParams(query)}`, { headers: { origin: foreignOrigin } })
}
