/** Requests that the public pages and the pages of the sandbox must refuse. */
import { wrongMethods, type Case, elsewhere } from './rig.ts'

const base = 'http://127.0.0.1:3000'

export type PageCases = { readonly cases: readonly Case[]; readonly good: Request; readonly goodAddress?: string }

/** Public pages, with the path to request: a new one has to be added here. */
const open: Record<string, string> = {
  '/widget/wallet': '/widget/wallet',
  '/widget/topup': '/widget/topup',
  '/widget/logo': '/widget/logo',
  '/widget/logo/:clientId': '/widget/logo/app_none',
  '/widget/papers/:token': '/widget/papers/none',
  '/docs': '/docs',
  '/docs/:file': '/docs/start.js',
  '/assets/:file': '/assets/none.js',
  '/sdk/:file': '/sdk/billfold.js',
  '/api/log/tile/:level/:path{.+}': '/api/log/tile/0/000.p/1',
  '/mails/stop': '/mails/stop',
  '/verify': '/verify',
  '/verify/:address': '/verify/none',
  '/metrics': '/metrics',
  '/sandbox/style.css': '/sandbox/style.css',
  '/sandbox/panel': '/sandbox/panel',
}

export type Payment = { readonly id: string; readonly secret: string }

type Endpoint = { readonly method: string; readonly path: string; readonly has: readonly string[] }

/** Undefined for a new page that has no cases yet. */
export function pageCases(endpoint: Endpoint, payment: Payment, other: Payment): PageCases | undefined {
  const { method, path } = endpoint
  if (method === 'GET' && open[path] !== undefined) return openCases(endpoint, open[path])
  if (path === '/mails/stop') return stopCases(endpoint)
  if (path === '/admin/*') return { cases: [], good: new Request(`${base}/admin/nowhere`) }
  if (/^\/sandbox\/(card|challenge)\/:id$/.test(path)) return payerCases(endpoint, payment, other)
  if (path === '/sandbox/confirm') return confirmCases(endpoint, payment, other)
  return path.startsWith('/sandbox/panel/') && method === 'POST' ? panelCases(endpoint, payment) : undefined
}

const nonsense = ['%00', '%ED%A0%80', '%', 'x'.repeat(5_000), '..%2f..%2f', '%27%20or%201=1--']
const anything = ['200', '3*', '4*']

/** A public page refuses no caller, but no request may cause a server error. */
function openCases({ path, has }: Endpoint, target: string): PageCases {
  const isFile = /^\/(assets|docs|sdk)\b/.test(target)
  const cases: Case[] = wrongMethods(base + target, has, isFile ? ['HEAD'] : [])
  for (const text of nonsense) {
    const query = ['session', 'clientId', 'lang', 'theme', 'amount', 'token']
      .map((name) => `${name}=${text}&${name}=x`)
      .join('&')
    cases.push({ name: `the query ${text}`, request: new Request(`${base}${target}?${query}`), answers: anything })
    if (path.includes('/:'))
      cases.push({
        name: `the name ${text}`,
        request: new Request(base + path.replace(/:\w+/, text)),
        answers: ['404*'],
      })
  }
  if (path !== '/metrics') return { cases, good: new Request(base + target) }
  cases.push({ name: 'from another machine', request: new Request(base + target), answers: ['404*'] })
  return { cases, good: new Request(base + target), goodAddress: '127.0.0.1' }
}

const formType = { 'content-type': 'application/x-www-form-urlencoded' }

function post(path: string, body: string, headers: Record<string, string> = formType): Request {
  return new Request(base + path, { method: 'POST', headers, body })
}

/** Only a caller with the secret of the payment may see it and pay it. */
function payerCases({ method, path, has }: Endpoint, payment: Payment, other: Payment): PageCases {
  const card = { number: '4242424242424242', expiry: '12/40', cvc: '123', answer: 'approve' }
  const request = ({ id, secret }: Payment, headers?: Record<string, string>, more = '') => {
    const target = path.replace(':id', id)
    if (method === 'GET') return new Request(`${base}${target}?${new URLSearchParams({ secret })}`)
    return post(target, `${new URLSearchParams({ ...card, secret })}${more}`, headers)
  }
  const cases: Case[] = [
    ...wrongMethods(base + path.replace(':id', payment.id), has),
    ...wrongPayments(payment, other).map(([name, wrong]) => ({ name, request: request(wrong), answers: ['404'] })),
  ]
  if (method === 'POST') cases.push(...shapeCases((headers, more) => request(payment, headers, more)))
  return { cases, good: request(payment) }
}

const wrongPayments = (payment: Payment, other: Payment): [name: string, wrong: Payment][] => [
  ['no secret', { ...payment, secret: '' }],
  ['a wrong secret', { ...payment, secret: 'x' }],
  ['a NUL in the secret', { ...payment, secret: 'a\u0000b' }],
  ['the secret of another payment', { ...payment, secret: other.secret }],
  ['the secret for another payment', { ...other, secret: payment.secret }],
  ['a payment that is none', { id: 'pi_none', secret: payment.secret }],
  ['a NUL in the payment', { id: 'a%00b', secret: payment.secret }],
]

function shapeCases(request: (headers: Record<string, string>, more?: string) => Request): Case[] {
  const types = ['text/plain', 'application/octet-stream'].map((type) => ({
    name: `the content type ${type}`,
    request: request({ 'content-type': type }),
    answers: ['415*'],
  }))
  return [...types, { name: 'a long form', request: request(formType, `&more=${'x'.repeat(9_000)}`), answers: ['413'] }]
}

function confirmCases({ path, has }: Endpoint, payment: Payment, other: Payment): PageCases {
  const card = { number: '4242424242424242', expiry: '12/40', cvc: '123' }
  const json = { 'content-type': 'application/json' }
  const request = ({ id, secret }: Payment, headers: Record<string, string> = json, more = '') =>
    post(path, JSON.stringify({ ...card, paymentIntentId: id, clientSecret: secret, more }), headers)
  return {
    cases: [
      ...wrongMethods(base + path, has),
      ...wrongPayments(payment, other).map(([name, wrong]) => ({ name, request: request(wrong), answers: ['404'] })),
      ...shapeCases((headers, more) => request(payment, more === undefined ? headers : json, more)),
    ],
    good: request(payment),
  }
}

/** The token is the only credential: a mail program that posts sends no other. */
function stopCases({ path, has }: Endpoint): PageCases {
  const request = (token: string) => post(`${path}?token=${token}`, 'List-Unsubscribe=One-Click')
  const tokens = [...nonsense, '', 'sealed:1:', 'sealed:1:0:0', `sealed:1:00000000:${'A'.repeat(80)}`]
  const cases: Case[] = [
    ...wrongMethods(base + path, has),
    ...tokens.map((token) => ({ name: `the token ${token}`, request: request(token), answers: ['404*'] })),
  ]
  return { cases, good: request('none') }
}

/** The panel has no sign-in, because production does not have it; but another site may not submit its forms. */
function panelCases({ path, has }: Endpoint, payment: Payment): PageCases {
  const names: Record<string, string> = { id: payment.id, action: 'dispute', event: 'evt_none', when: 'now' }
  const fill = (id: string) =>
    path.replace(/:(\w+)/g, (_, name: string) => (name === 'id' ? id : (names[name] ?? 'none')))
  const host = { host: new URL(base).host }
  const own = { ...formType, ...host, origin: base, 'sec-fetch-site': 'same-origin' }
  const request = (headers: Record<string, string>, more = '') => post(fill(payment.id), `mode=once${more}`, headers)
  const cases: Case[] = [
    ...wrongMethods(base + fill(payment.id), has),
    ...elsewhere.map((from) => ({
      name: `from another site, ${JSON.stringify(from)}`,
      request: request({ ...formType, ...host, ...from }),
      answers: ['403'],
    })),
    ...shapeCases((headers, more) => request({ ...own, ...headers }, more)),
  ]
  if (path.includes(':id'))
    cases.push({ name: 'a payment that is none', request: post(fill('pi_none'), '', own), answers: ['404'] })
  return { cases, good: request(own) }
}
