/** Services with wrong pages and headers. */
import {
  answering,
  asking,
  hasSession,
  heading,
  readAsked,
  session,
  tokenOf,
  wallet,
  widgetWallet,
  without,
  type Asked,
  type Body,
  type Mutant,
} from './proxy.ts'

const isPage = (asked: Asked, path?: string) =>
  asked.path.startsWith('/widget/') && (path === undefined || asked.path === path)

const policy = (path: string, isMeant: (asked: Asked) => boolean, ancestors: string) =>
  heading((asked, response) => {
    const header = response.headers.get('content-security-policy')
    if (!isPage(asked, path) || !isMeant(asked) || header === null) return undefined
    return { 'content-security-policy': header.replace(/frame-ancestors [^;]*;?/, ancestors) }
  })

const embedded = (page: string) => `${page} names exactly the origins that may embed it, in frame-ancestors`
const foreign = 'https://conformance-foreign.example'

export const pageMutants: readonly Mutant[] = [
  {
    name: 'answers without a content type of JSON',
    send: heading((asked, response) =>
      asked.path === wallet && response.status === 200 ? { 'content-type': 'text/plain' } : undefined,
    ),
    breaks: ['Every success of the API says that it is JSON, in its content type'],
  },
  {
    name: 'no page for a top-up',
    send: (around) => async (request) =>
      new URL(request.url).pathname === '/widget/topup'
        ? new Response('', { status: 404 })
        : await around.answer(request),
    breaks: ['/widget/topup is a page with a session', embedded('/widget/topup with a session')],
  },
  {
    name: 'a wallet page only with a session',
    send: (around) => async (request) => {
      const asked = await readAsked(request)
      return asked.path === '/widget/wallet' && !hasSession(asked)
        ? new Response('', { status: 404 })
        : await around.answer(request)
    },
    breaks: ['/widget/wallet is a page without a session', embedded('/widget/wallet without a session')],
  },
  {
    name: '500 for a page whose token is unknown',
    send: (around) => async (request) => {
      const asked = await readAsked(request)
      const isMeant = isPage(asked) && asked.url.searchParams.size === 2
      return isMeant ? new Response('', { status: 500 }) : await around.answer(request)
    },
    breaks: ['/widget/wallet with a token that was never issued is a page, which can show the error'],
  },
  {
    name: 'frame-ancestors missing',
    send: policy('/widget/wallet', hasSession, ''),
    breaks: [embedded('/widget/wallet with a session'), 'The page that a session is for can embed the widget'],
  },
  {
    name: 'frame-ancestors of all origins',
    send: policy('/widget/topup', hasSession, 'frame-ancestors *;'),
    breaks: [embedded('/widget/topup with a session')],
  },
  {
    name: 'frame-ancestors of all https origins, before the sign-in',
    send: policy('/widget/wallet', (asked) => !hasSession(asked), 'frame-ancestors https:;'),
    breaks: [embedded('/widget/wallet without a session')],
  },
  {
    name: 'frame-ancestors with a wildcard host',
    send: policy('/widget/topup', hasSession, 'frame-ancestors https://*.example;'),
    breaks: [embedded('/widget/topup with a session')],
  },
  {
    name: 'frame-ancestors without the app’s page',
    send: policy('/widget/wallet', hasSession, "frame-ancestors 'none';"),
    breaks: ['The page that a session is for can embed the widget'],
  },
  {
    name: 'frame-ancestors that repeat the Referer',
    send: heading((asked, response) => {
      const header = response.headers.get('content-security-policy')
      const referer = asked.headers.get('referer')
      if (!isPage(asked) || header === null || referer === null || !hasSession(asked)) return undefined
      return {
        'content-security-policy': header.replace(
          /frame-ancestors [^;]*/,
          `frame-ancestors ${new URL(referer).origin}`,
        ),
      }
    }),
    breaks: [
      'An origin that the app does not list cannot embed the widget, not even by its Referer or by a session for it',
    ],
  },
  {
    name: 'a session for any parentOrigin',
    send: (around) => {
      const foreignTokens = new Set<string>()
      const send = asking(({ path, sent }) =>
        path === session && sent['parentOrigin'] === foreign ? [without(sent, 'parentOrigin')] : undefined,
      )(around)
      return async (request) => {
        const asked = await readAsked(request)
        const response = await send(request)
        if (asked.path === session && asked.sent['parentOrigin'] === foreign)
          foreignTokens.add(String(((await response.clone().json()) as Body)['sessionToken']))
        if (!isPage(asked) || !foreignTokens.has(tokenOf(asked))) return response
        const header = response.headers.get('content-security-policy')!
        const headers = new Headers(response.headers)
        headers.set('content-security-policy', header.replace(/frame-ancestors [^;]*/, `frame-ancestors ${foreign}`))
        return new Response(response.body, { headers })
      }
    },
    breaks: [
      'An origin that the app does not list cannot embed the widget, not even by its Referer or by a session for it',
    ],
  },
  {
    name: 'CORS for all sites',
    send: heading((asked) =>
      asked.path === wallet && asked.method === 'GET' ? { 'access-control-allow-origin': '*' } : undefined,
    ),
    breaks: ['No script of another site may read an answer of the API'],
  },
  {
    name: 'CORS that repeats the origin',
    send: heading((asked) =>
      asked.path === widgetWallet && asked.method === 'GET' && asked.headers.has('origin')
        ? { 'access-control-allow-origin': asked.headers.get('origin')! }
        : undefined,
    ),
    breaks: ['No script of another site may read an answer of the API'],
  },
  {
    name: 'a preflight that allows a debit from every site',
    send: (around) => async (request) =>
      request.method === 'OPTIONS' && request.url.endsWith('/debit')
        ? new Response(null, { status: 204, headers: { 'access-control-allow-origin': '*' } })
        : await around.answer(request),
    breaks: ['No script of another site may call POST /api/server/wallet/debit'],
  },
  {
    name: 'a secret in an error',
    send: answering(({ path, status, sent, body }) =>
      path === session && status >= 400 ? { body: { ...body, received: sent } } : undefined,
    ),
    breaks: ['No answer and no page contains the clientSecret'],
  },
]
