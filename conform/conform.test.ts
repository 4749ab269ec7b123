/** The conformance kit: as a command, its refusals to start, and its exit codes. */
import { afterAll, beforeAll, beforeEach, describe, expect, setDefaultTimeout, test } from 'bun:test'
import { expectBalancedBooks } from '../test/books.ts'
import { newClient, type Client } from '../test/client.ts'
import { newAppWithEvents } from '../test/events/rig.ts'
import { setAppEvents } from '../src/actions/apps/manage-apps.ts'
import { feedStatements } from './feed-statements.ts'
import { holdStatements } from './hold-statements.ts'
import { callCommand, runCommand } from '../test/command.ts'
import { newApp, newUser, openTestService, operator, type Credentials, type TestService } from '../test/service.ts'
import { freezeWallet } from '../src/actions/money/manage-wallets.ts'
import { replyTo } from '../src/cli/conform.ts'
import { conform, statements, type Conformance } from './conform.ts'
import { moneyStatements } from './money-statements.ts'
import { expiryStatements, sessionStatements } from './session-statements.ts'
import type { Statement, Verdict } from './verdict.ts'
import { widgetStatements } from './widget-statements.ts'

setDefaultTimeout(300_000)

let opened: TestService
let app: Credentials
let other: Credentials
let client: Client
let user: { userId: string; serviceUserId: string }
const parentOrigin = 'https://shop.example'

beforeAll(async () => {
  opened = await openTestService()
  app = await newAppWithEvents(opened.service)
  other = await newApp(opened.service, { allowedIframeParents: ['https://other.example'] })
  await setAppEvents(opened.service, operator, other.clientId, true)
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
async function tryOn(send: Send, tried: readonly Statement[]): Promise<Conformance> {
  const parentOrigin = `https://${crypto.randomUUID()}.example`
  const own = await newApp(opened.service, { allowedIframeParents: [parentOrigin] })
  const { serviceUserId } = await newUser(opened.service, own)
  const settings = { ...own, serviceUserId, parentOrigin, send, withinMs: 600_000 }
  const result = await conform({ url: 'http://billfold.test/', ...settings }, {}, tried)
  if ('problem' in result) throw new Error(result.problem)
  return result
}

const failedOf = ({ verdicts }: Conformance) =>
  verdicts.filter(({ verdict }) => verdict === 'fail').map(({ says }) => says)

describe('it works', () => {
  test('our service conforms over HTTP, and the wallet is left as it was', async () => {
    await client.credit(user.serviceUserId, 12.34)
    const server = Bun.serve({
      port: 0,
      hostname: '127.0.0.1',
      idleTimeout: 60,
      fetch: (request) => opened.app.fetch(request),
    })
    const flags = ['--url', server.url.href, '--client-id', app.clientId, '--service-user-id', user.serviceUserId]
    const args = ['conform', ...flags, '--parent-origin', parentOrigin, '--other-client-id', other.clientId]
    const environment = { BILLFOLD_OTHER_CLIENT_SECRET: other.clientSecret }
    const { exitCode, stdout, stderr } = await runCommand(args, environment, `${app.clientSecret}\n`)
    expect([stdout.split('\n').filter((line) => line.startsWith('FAIL')), exitCode]).toEqual([[], 3])
    const patient = expiryStatements.length
    const summary = `${statements.length - patient - 2} hold, 0 broken, ${patient + 2} not tried (1 needs events that are gone, 1 needs a browser, ${patient} need --patient).`
    expect(stdout).toContain(summary)
    expect(await Bun.file(new URL('../docs/plain-http.md', import.meta.url)).text()).toContain(summary.slice(0, -1))
    expect(stdout).toEndWith('Own movements: all undone, their sum is 0.\nThe balance is as before: 12.34.\n')
    expect(stderr).toContain(`This test moves money in the wallet of ${user.serviceUserId} at ${server.url.href}`)
    expect(await client.balance(user.serviceUserId)).toBe(12.34)

    // Another app: too many wrong secrets of one are answered slowly.
    const second = await newApp(opened.service)
    const { serviceUserId } = await newUser(opened.service, second)
    const others = ['--url', server.url.href, '--client-id', second.clientId, '--service-user-id', serviceUserId]
    const json = await callCommand(['conform', ...others, '--json'], { BILLFOLD_CLIENT_SECRET: second.clientSecret })
    expect(json.stdout.match(/"needs": "events that are on"/g)).toHaveLength(feedStatements.length)
    const verdicts = JSON.parse(json.stdout) as { failed: number; statements: { section: string; verdict: string }[] }
    expect([verdicts.failed, verdicts.statements.length, json.exitCode]).toEqual([0, statements.length, 3])
    for (const { clientSecret } of [app, other, second])
      expect(stdout + stderr + json.stdout).not.toContain(clientSecret)
    await server.stop(true)
  })

  test('an empty wallet is enough, and a service without cards has one statement fewer that can be tried', async () => {
    const plain = await openTestService({ CARD_PROCESSOR: 'none' })
    const other = await newApp(plain.service)
    const { serviceUserId } = await newUser(plain.service, other)
    const settings = { url: 'http://billfold.test', ...other, serviceUserId, send: plain.app.fetch }
    const result = await conform(settings, {}, [...moneyStatements, ...widgetStatements])
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
  test('on a terminal without a yes; --yes does not ask', async () => {
    const server = Bun.serve({ port: 0, hostname: '127.0.0.1', fetch: () => new Response('', { status: 404 }) })
    const flags = ['--url', server.url.href, '--client-id', app.clientId, '--service-user-id', user.serviceUserId]
    const ask = async (typed: string, ...more: string[]) =>
      await callCommand(['conform', ...flags, ...more], { BILLFOLD_CLIENT_SECRET: 's' }, typed, { isTTY: true })
    const declined = await ask('\n')
    expect([declined.exitCode, declined.stderr]).toEqual([
      1,
      expect.stringContaining('Continue? [y/N] Not started; nothing has moved.'),
    ])
    expect((await ask('y\n')).stderr).toContain('so there is no wallet to check with')
    const unasked = await ask('', '--yes')
    expect(unasked.stderr).toContain('so there is no wallet to check with')
    expect(unasked.stderr).not.toContain('Continue?')
    await server.stop(true)
  })

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
    const url = ['--url', 'http://127.0.0.1:9']
    const sameApp = await callCommand([...flags, ...url, '--other-client-id', 'a'], { BILLFOLD_CLIENT_SECRET: 's' })
    expect(sameApp.stderr).toContain('--other-client-id: name another app than --client-id.')
    const noOther = await callCommand([...flags, ...url, '--other-client-id', 'c'], { BILLFOLD_CLIENT_SECRET: 's' })
    expect(noOther.stderr).toContain('set BILLFOLD_OTHER_CLIENT_SECRET')
  })
})

const limited: Send = async (request) => {
  const response = await answer(request)
  return request.url.endsWith('/api/widget/session') ? new Response(response.body, { status: 429 }) : response
}

const withoutFeed: Send = async (request) =>
  new URL(request.url).pathname === '/api/server/events'
    ? Response.json({ error: 'no such route', code: 'NOT_FOUND' }, { status: 404 })
    : await answer(request)

const withoutHolds: Send = async (request) =>
  new URL(request.url).pathname.startsWith('/api/server/wallet/hold')
    ? Response.json({ error: 'no such route', code: 'NOT_FOUND' }, { status: 404 })
    : await answer(request)

describe('it bears with a service', () => {
  test('that has no holds: its statements are not tried, and keep the exit code 0', async () => {
    const result = await tryOn(withoutHolds, holdStatements)
    expect(result.verdicts.map(({ verdict, needs }) => `${verdict}: ${needs}`)).toEqual(
      holdStatements.map(() => 'not tried: holds'),
    )
    expect(replyTo('http://x', result).exitCode).toBe(0)
  })

  test('that has no feed of events: its statements are not tried, and keep the exit code 0', async () => {
    const result = await tryOn(withoutFeed, feedStatements)
    const { verdicts } = result
    expect(verdicts.map(({ verdict, needs }) => `${verdict}: ${needs}`)).toEqual(
      feedStatements.map(() => 'not tried: a feed of events'),
    )
    const reply = replyTo('http://x', result)
    expect([reply.exitCode, reply.text]).toEqual([
      0,
      expect.stringContaining(`${verdicts.length} need a feed of events`),
    ])
  })

  test('that limits the rate of requests: the contract has no limits, so that breaks nothing', async () => {
    const result = await tryOn(limited, sessionStatements)
    expect(failedOf(result)).toEqual([])
    const { why } = result.verdicts.find(({ says }) => says.startsWith('A session token is ws_'))!
    expect(why).toBe('the service limits the rate of requests')
  })

  test('that is busy for a short time: it asks again', async () => {
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
    expect(failedOf(await tryOn(busy, [...moneyStatements, ...widgetStatements]))).toEqual([])
    expect(await begin({}, away)).toEqual({
      problem: 'GET /api/server/wallet answered 503, so there is no wallet to check with.',
    })
  })
})

const verdict = (kind: Verdict['verdict'], needs?: Verdict['needs']): Verdict => ({
  section: '1',
  says: 'x',
  verdict: kind,
  ...(needs && { needs }),
})
const browser = verdict('not tried', 'a browser')
const reply = (verdicts: Verdict[], more: Partial<Conformance> = {}) =>
  replyTo('http://x', { verdicts, left: [], balance: { before: 1, after: 1 }, isInterrupted: false, ...more })

describe('the exit code', () => {
  test('is 0 only if everything holds that can be tried over HTTP, and the summary counts what was not tried', () => {
    const whole = reply([verdict('pass'), verdict('pass'), browser])
    expect(whole.exitCode).toBe(0)
    expect(whole.text).toContain('2 hold, 0 broken, 1 not tried (1 needs a browser).')
    const part = reply([verdict('pass'), verdict('not tried', '--patient'), verdict('not tried', '--patient'), browser])
    expect(part.exitCode).toBe(3)
    expect(part.text).toContain('1 hold, 0 broken, 3 not tried (2 need --patient, 1 needs a browser).')
    expect(reply([verdict('pass'), verdict('not tried')]).exitCode).toBe(3)
  })

  test('is 1 for a broken statement and for money that is left, and 130 after an interruption', () => {
    expect(reply([verdict('fail'), verdict('not tried')]).exitCode).toBe(1)
    const left = [{ clientId: 'app_1', serviceUserId: 'su_1', sum: 3, unknown: [] }]
    const unpaid = reply([verdict('pass')], { left })
    expect(unpaid.exitCode).toBe(1)
    expect(unpaid.text).toContain('NOT UNDONE: +3 in the wallet of su_1, by app_1')
    expect(reply([verdict('pass')], { isInterrupted: true }).exitCode).toBe(130)
  })
})
