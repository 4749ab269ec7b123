/** The conformance kit: this service conforms, and a service that breaks one statement of the contract fails that statement alone. */
import { afterAll, beforeAll, beforeEach, describe, expect, setDefaultTimeout, test } from 'bun:test'
import { expectBalancedBooks } from '../test/books.ts'
import { newClient, type Client } from '../test/client.ts'
import { callCommand, runCommand } from '../test/command.ts'
import { newApp, newUser, openTestService, operator, type Credentials, type TestService } from '../test/service.ts'
import { freezeWallet } from '../src/actions/money/manage-wallets.ts'
import { conform, statements, type Conformance } from './conform.ts'

setDefaultTimeout(300_000)

let opened: TestService
let app: Credentials
let client: Client
let user: { userId: string; serviceUserId: string }
const parentOrigin = 'https://shop.example'

beforeAll(async () => {
  opened = await openTestService()
  app = await newApp(opened.service)
  client = newClient(opened.app.fetch, app)
  // The first page request builds all scripts, which on a busy machine takes longer than the kit's timeout.
  for (const path of ['wallet', 'topup'])
    await opened.app.fetch(new Request(`http://billfold.test/widget/${path}?clientId=${app.clientId}`))
})
beforeEach(async () => {
  user = await newUser(opened.service, app)
})
afterAll(async () => {
  await expectBalancedBooks(opened.service)
  await opened.close()
})

type Send = (request: Request) => Promise<Response>

const answer: Send = (request) => opened.app.fetch(request)
const away: Send = () => Promise.resolve(new Response('', { status: 503, headers: { 'retry-after': '0' } }))

/** Each subject has its own app, so that the wrong secrets of one do not slow down another. */
async function tryOn(send: Send, money = 0): Promise<Conformance> {
  const parentOrigin = `https://${crypto.randomUUID()}.example`
  const own = await newApp(opened.service, { allowedIframeParents: [parentOrigin] })
  const { serviceUserId } = await newUser(opened.service, own)
  if (money > 0) await newClient(opened.app.fetch, own).credit(serviceUserId, money)
  const settings = { ...own, serviceUserId, parentOrigin, send, withinMs: 600_000 }
  const result = await conform({ url: 'http://billfold.test/', ...settings })
  if ('problem' in result) throw new Error(result.problem)
  return result
}

const failedOf = ({ verdicts }: Conformance) =>
  verdicts.filter(({ verdict }) => verdict === 'fail').map(({ says }) => says)

describe('it works', () => {
  test('our service conforms over HTTP, and the wallet is left as it was', async () => {
    await client.credit(user.serviceUserId, 12.34)
    const server = Bun.serve({ port: 0, hostname: '127.0.0.1', fetch: (request) => opened.app.fetch(request) })
    const flags = ['--url', server.url.href, '--client-id', app.clientId, '--service-user-id', user.serviceUserId]
    const args = ['conform', ...flags, '--parent-origin', parentOrigin]
    const { exitCode, stdout, stderr } = await runCommand(args, {}, `${app.clientSecret}\n`)
    expect([stderr, stdout.split('\n').filter((line) => line.startsWith('FAIL')), exitCode]).toEqual(['', [], 0])
    const summary = `${statements.length} statements: ${statements.length - 3} passed, 0 failed, 3 could not be tried. The balance is as before: 12.34.`
    expect(stdout).toContain(summary)
    expect(await client.balance(user.serviceUserId)).toBe(12.34)

    const json = await callCommand([...args, '--json'], { BILLFOLD_CLIENT_SECRET: app.clientSecret })
    const verdicts = JSON.parse(json.stdout) as { failed: number; statements: { section: string; verdict: string }[] }
    expect([verdicts.failed, verdicts.statements.length, json.exitCode]).toEqual([0, statements.length, 0])
    expect(stdout + json.stdout).not.toContain(app.clientSecret)
    await server.stop(true)
  })

  test('an empty wallet is enough, and a service without cards has one statement fewer that can be tried', async () => {
    const plain = await openTestService({ CARD_PROCESSOR: 'none' })
    const other = await newApp(plain.service)
    const { serviceUserId } = await newUser(plain.service, other)
    const result = await conform({ url: 'http://billfold.test', ...other, serviceUserId, send: plain.app.fetch })
    if ('problem' in result) throw new Error(result.problem)
    expect(failedOf(result)).toEqual([])
    expect(result.verdicts.filter(({ verdict }) => verdict === 'not tried').map(({ why }) => why)).toContain(
      'it answered 503: it may have no card processor',
    )
    expect(result.balance).toEqual({ before: 0, after: 0 })
    await plain.close()
  })
})

const begin = async (changes: object, send: Send = opened.app.fetch) => {
  const settings = { url: 'http://billfold.test', ...app, serviceUserId: user.serviceUserId, send, ...changes }
  return await conform(settings)
}

describe('it refuses to start', () => {
  test('without right credentials, a known user, an active wallet or an answer', async () => {
    expect(await begin({ clientSecret: 'wrong' })).toEqual({
      problem: 'The service does not accept these credentials.',
    })
    expect(await begin({ serviceUserId: 'su_nobody' })).toEqual({
      problem: 'The service does not know this serviceUserId.',
    })
    expect(await begin({}, () => Promise.reject(new Error('away')))).toEqual({
      problem: 'The service does not answer within ten seconds.',
    })
    await freezeWallet(opened.service, operator, user.userId, 'a test')
    expect(await begin({})).toEqual({ problem: 'The wallet is not active. Use a user with an active wallet.' })
  })

  test('with a secret as an argument, without a secret, or with an invalid address', async () => {
    const flags = ['conform', '--client-id', 'a', '--service-user-id', 'b']
    expect((await callCommand([...flags, '--url', 'http://x', '--client-secret', 's'], {})).exitCode).toBe(2)
    expect((await callCommand([...flags, '--url', 'http://127.0.0.1:9'], {})).stderr).toContain('No secret')
    expect((await callCommand([...flags, '--url', 'ftp://x'], { BILLFOLD_CLIENT_SECRET: 's' })).exitCode).toBe(2)
  })
})

type Body = Record<string, unknown>
type Seen = {
  readonly request: Request
  readonly path: string
  readonly sent: Body
  readonly status: number
  readonly body: Body
}

/** A proxy that changes answers: it returns a new status or body, or undefined to leave the answer as it is. */
const withAnswers = (change: (seen: Seen) => { status?: number; body?: Body } | undefined): Send => {
  return async (request) => {
    const [copy, path] = [request.clone(), new URL(request.url).pathname]
    const response = await answer(request)
    if (!response.headers.get('content-type')?.startsWith('application/json')) return response
    const sent =
      request.method === 'POST' ? ((await copy.json()) as Body) : Object.fromEntries(new URL(copy.url).searchParams)
    const body = (await response.json()) as Body
    const changed = change({ request: copy, path, sent, status: response.status, body })
    const headers = { 'content-type': 'application/json' }
    return Response.json(changed?.body ?? body, { status: changed?.status ?? response.status, headers })
  }
}

/** A proxy that changes requests: it returns the bodies to forward. */
const withRequests = (change: (path: string, sent: Body) => Body[]): Send => {
  return async (request) => {
    if (request.method === 'GET') return await answer(request)
    const { pathname } = new URL(request.url)
    const sent = (await request.json()) as Body
    let response: Response | undefined
    for (const body of change(pathname, sent)) {
      const { url, headers } = request
      response = await answer(new Request(url, { method: 'POST', headers, body: JSON.stringify(body) }))
    }
    return response!
  }
}

const changeId = (sent: Body, more: string): Body => ({ ...sent, referenceId: `${String(sent['referenceId'])}${more}` })

/** Replaces every reference of that direction by a new one. */
function forgetful(direction: string): Send {
  const seen = new Map<unknown, number>()
  return withRequests((path, sent) => {
    if (!path.endsWith(direction)) return [sent]
    const times = (seen.get(sent['referenceId']) ?? 0) + 1
    seen.set(sent['referenceId'], times)
    return [changeId(sent, `-${times}`)]
  })
}

const wallet = '/api/server/wallet'
const debit = `${wallet}/debit`
const credit = `${wallet}/credit`
const without = (body: Body, field: string): Body =>
  Object.fromEntries(Object.entries(body).filter(([name]) => name !== field))

const broken: Record<string, [send: () => Send, ...fails: string[]]> = {
  'a debit that moves twice': [
    () => withRequests((path, sent) => (path === debit ? [changeId(sent, '-twice'), sent] : [sent])),
    'A debit moves its amount, once',
  ],
  'a credit that moves twice': [
    () =>
      withRequests((path, sent) =>
        path === credit && sent['amount'] === 2 ? [changeId(sent, '-twice'), sent] : [sent],
      ),
    'A credit moves its amount, once',
  ],
  'a repeated debit that moves again': [
    () => forgetful('debit'),
    'A repeated debit does not change the balance again',
    'A repeated debit returns the original outcome, even after the balance has changed',
    'Eight equal debits sent at the same time all return the same outcome',
  ],
  'a key of the referenceId alone': [
    () =>
      withRequests((path, sent) => (path === credit || path === debit ? [{ ...sent, referenceType: 'ONE' }] : [sent])),
    'The key is the pair: the same referenceId with another referenceType, or the other way round, is another operation',
    'A refund with its own pair is not a repeat of the debit',
  ],
  'a list of labels': [
    () =>
      withAnswers(({ path, sent }) =>
        path === credit && sent['referenceType'] === 'CONFORMANCE_UNKNOWN_LABEL'
          ? { status: 400, body: { error: 'x' } }
          : undefined,
      ),
    'referenceType is a free label: no enumeration is enforced',
  ],
  'isActive as text': [
    () =>
      withAnswers(({ path, status, body }) =>
        path === wallet && status === 200 ? { body: { ...body, isActive: 'true' } } : undefined,
      ),
    'A wallet has balance (a number), transactions (a list of records) and isActive (a boolean)',
  ],
  'a debit without a message': [
    () =>
      withAnswers(({ path, status, body }) =>
        path === debit && status === 200 ? { body: without(body, 'message') } : undefined,
      ),
    'A debit answers balance (a number) and message (text), and balance is the one after it',
  ],
  'hasSufficientBalance as a number': [
    () =>
      withAnswers(({ body }) =>
        'hasSufficientBalance' in body
          ? { body: { ...body, hasSufficientBalance: body['hasSufficientBalance'] ? 1 : 0 } }
          : undefined,
      ),
    'check-balance answers balance, requiredAmount and hasSufficientBalance (a boolean)',
  ],
  'no money as 402': [
    () => withAnswers(({ body }) => (body['code'] === 'INSUFFICIENT_BALANCE' ? { status: 402 } : undefined)),
    'A debit beyond the balance is 400 INSUFFICIENT_BALANCE',
  ],
  'an unknown user as 404 where a wallet is read': [
    () =>
      withAnswers(({ path, body }) =>
        path === wallet && body['code'] === 'USER_NOT_FOUND' ? { status: 404 } : undefined,
      ),
    'An unknown user is 401 on GET /api/server/wallet',
  ],
  'an unknown user as 401 on a credit': [
    () =>
      withAnswers(({ path, body }) =>
        path === credit && body['code'] === 'USER_NOT_FOUND' ? { status: 401 } : undefined,
      ),
    'An unknown user is 404 USER_NOT_FOUND on POST /api/server/wallet/credit',
  ],
  'a wrong secret without a code': [
    () =>
      withAnswers(({ path, sent, body }) =>
        path === debit && sent['clientSecret'] === 'not-the-secret' ? { body: without(body, 'code') } : undefined,
      ),
    'A wrong secret is 401 INVALID_CLIENT on POST /api/server/wallet/debit',
  ],
  'credentials that count in a header': [
    () => async (request) => {
      const url = new URL(request.url)
      if (url.pathname === wallet && request.headers.has('authorization'))
        for (const [name, header] of [
          ['clientId', 'x-client-id'],
          ['clientSecret', 'x-client-secret'],
        ] as const)
          url.searchParams.set(name, request.headers.get(header)!)
      return await answer(new Request(url, request))
    },
    'Credentials in a header do not count on GET /api/server/wallet',
  ],
  'refusals without an error': [
    () => withAnswers(({ status, body }) => (status === 404 ? { body: without(body, 'error') } : undefined)),
    'Every refusal is JSON with error, which is text',
  ],
  'requiresAuth as text': [
    () => withAnswers(({ body }) => ('requiresAuth' in body ? { body: { ...body, requiresAuth: 'yes' } } : undefined)),
    'requiresAuth, if a refusal has it, is a boolean',
  ],
  'a session of ten minutes': [
    () =>
      withAnswers(({ path, body }) => {
        if (path !== '/api/widget/session' || !('sessionToken' in body)) return undefined
        const expiresAt = new Date(Date.parse(String(body['expiresAt'])) + 300_000).toISOString()
        return { body: { ...body, expiresAt } }
      }),
    'A session expires five minutes after its creation, and expiresAt says so',
  ],
  'every session the same token': [
    () => {
      let first: unknown
      return withAnswers(({ body }) =>
        'sessionToken' in body ? { body: { ...body, sessionToken: (first ??= body['sessionToken']) } } : undefined,
      )
    },
    'Every session has its own token',
  ],
  'a widget that lists nine': [
    () =>
      withAnswers(({ path, status, body }) =>
        path === '/api/widget/wallet' && status === 200
          ? { body: { ...body, transactions: (body['transactions'] as unknown[]).slice(1) } }
          : undefined,
      ),
    'GET /api/widget/wallet returns only the last 10 transactions',
  ],
  'a user without a name': [
    () =>
      withAnswers(({ path, status, body }) =>
        path === '/api/widget/wallet' && status === 200 ? { body: { ...body, user: {} } } : undefined,
      ),
    'GET /api/widget/wallet has user with firstName and lastName',
  ],
  'a widget that believes any token': [
    () =>
      withAnswers(({ path, status }) =>
        path === '/api/widget/wallet' && status === 401 ? { status: 200, body: { balance: 0 } } : undefined,
      ),
    'GET /api/widget/wallet is refused with a token that was never issued, and without one',
  ],
  'no page for a top-up': [
    () => async (request) =>
      new URL(request.url).pathname === '/widget/topup' ? new Response('', { status: 404 }) : await answer(request),
    '/widget/topup is a page with a session',
  ],
}

describe('a service that breaks a statement fails it, and no other', () => {
  // These tests mostly wait for the disk, so several run in parallel.
  test.concurrent.each(Object.entries(broken))('%s', async (_, [send, ...fails]) => {
    expect(failedOf(await tryOn(send()))).toEqual(fails)
  })

  test('a rate limit breaks nothing, because the contract has none', async () => {
    const limited = withAnswers(({ path }) => (path === '/api/widget/session' ? { status: 429 } : undefined))
    const result = await tryOn(limited)
    expect(failedOf(result)).toEqual([])
    const { why } = result.verdicts.find(({ says }) => says.startsWith('A session token is ws_'))!
    expect(why).toBe('the service limits the rate of requests')
  })

  test('a service that is busy for a short time breaks nothing, because it is asked again', async () => {
    const seen = new Map<string, number>()
    const busy: Send = async (request) => {
      const { pathname } = new URL(request.url)
      const times = (seen.get(pathname) ?? 0) + 1
      seen.set(pathname, times)
      // The first calls of every path fail: some are refused, and of some the answer is lost.
      if (times === 1) return await away(request)
      const response = await answer(request)
      return times === 3 ? await away(request) : response
    }
    expect(failedOf(await tryOn(busy))).toEqual([])
    expect(await begin({}, away)).toEqual({
      problem: 'GET /api/server/wallet answered 503, so there is no wallet to check with.',
    })
  })

  test('the wallet ends with its first balance, even if the service moved too much money', async () => {
    const { balance } = await tryOn(broken['a debit that moves twice']![0](), 5)
    expect(balance).toEqual({ before: 5, after: 5 })
  })
})
