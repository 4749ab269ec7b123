/** listen as a real process: through a service that is killed, a receiver that is down, Ctrl-C, and what it refuses. */
import { afterAll, afterEach, beforeAll, describe, expect, setDefaultTimeout, test } from 'bun:test'
import { newClient, type Client } from '../../test/client.ts'
import { callCommand } from '../../test/command.ts'
import { newAppWithEvents, numberAll } from '../../test/events/rig.ts'
import { eventually } from '../../test/eventually.ts'
import { readGuides, snippetsOf } from '../../test/example/snippets.ts'
import { freePort } from '../../test/free-port.ts'
import { Billfold } from '../../sdk/server.ts'
import { findFeedEnd } from './feed/feed-end.ts'
import { startProcess } from '../../test/process.ts'
import { startReceiver, type WebhookReceiver } from '../../test/receiver.ts'
import { newApp, newUser, openTestService, type Credentials, type TestService } from '../../test/service.ts'

setDefaultTimeout(240_000)

let opened: TestService
let app: Credentials
let client: Client
let serviceUserId: string
beforeAll(async () => {
  opened = await openTestService()
  app = await newAppWithEvents(opened.service)
  client = newClient(opened.app.fetch, app)
  serviceUserId = (await newUser(opened.service, app)).serviceUserId
  await numberAll(opened.service)
})
afterAll(() => opened.close())

/** Written to the database, whether or not a process serves it: that gives the numbers later. */
async function credit(count: number): Promise<void> {
  for (let i = 0; i < count; i++) expect((await client.credit(serviceUserId, 1)).status).toBe(200)
  await numberAll(opened.service)
}

const credentialsOf = ({ clientId, clientSecret }: Credentials) => ({
  BILLFOLD_CLIENT_ID: clientId,
  BILLFOLD_CLIENT_SECRET: clientSecret,
})

type Listening = { readonly output: () => string; readonly interrupt: () => Promise<number>; readonly secret: string }
const children: Bun.Subprocess[] = []
afterEach(async () => {
  for (const child of children.splice(0)) {
    child.kill('SIGKILL')
    await child.exited
  }
})

/** The command line of docs/events.md, with the address of the test's receiver. */
const documented = snippetsOf((await readGuides()).filter(({ name }) => name === 'events.md')).get('listen')!

async function startListening(forwardTo: string, url: string, ...flags: string[]): Promise<Listening> {
  const { PATH = '', HOME = '' } = process.env
  const [program, ...line] = documented.trim().replace('http://127.0.0.1:4000/webhooks', forwardTo).split(' ')
  expect([program, line.shift(), line.includes(forwardTo)]).toEqual(['npx', 'billfold', true])
  const child = Bun.spawn([process.execPath, 'src/cli.ts', ...line, ...flags], {
    cwd: new URL('../..', import.meta.url).pathname,
    env: { PATH, HOME, BILLFOLD_URL: url, ...credentialsOf(app) },
    stdin: 'ignore',
    stdout: 'pipe',
    stderr: 'inherit',
  })
  children.push(child)
  let output = ''
  const collected = (async () => {
    for await (const chunk of child.stdout.pipeThrough(new TextDecoderStream())) output += chunk
  })()
  await eventually(() => /^The secret of the receiver is whsec_\S+$/m.test(output), true)
  return {
    output: () => output,
    secret: /whsec_\S+/.exec(output)![0],
    interrupt: async () => {
      child.kill('SIGINT')
      const code = await child.exited
      await collected
      return code
    },
  }
}

const numbersOf = (receivers: readonly WebhookReceiver[]) =>
  receivers.flatMap(({ received }) => received.map(({ event }) => event.number))
const upTo = (first: number, last: number) => Array.from({ length: last - first + 1 }, (_, i) => first + i)
const lastNumber = async () => Number((await client.get('/api/server/events', { limit: '1000' })).body['last'])

test('every event comes once and in order, though the receiver is down and the service is killed in the middle', async () => {
  await credit(2)
  const before = await lastNumber()
  const environment = { DATABASE_URL: opened.databaseUrl, PORT: String(await freePort()) }
  let service = await startProcess(environment)
  const receivers = [startReceiver()]
  const port = Number(new URL(receivers[0]!.url).port)
  const listening = await startListening(receivers[0]!.url, service.url)
  const { output, secret } = listening
  receivers[0]!.secrets = [secret]
  expect(output()).toContain(`Forwarding the events after ${before} of ${service.url}/ to ${receivers[0]!.url}\n`)

  await credit(5)
  await eventually(() => numbersOf(receivers), upTo(before + 1, before + 5))

  await receivers[0]!.stop()
  await credit(5)
  const waiting = `\n${before + 6}  wallet.credited  → no connection to the receiver`
  await eventually(() => output().includes(waiting), true)
  // One that refuses is another reason to wait, and is sent the same event.
  receivers.push(startReceiver(port))
  await eventually(() => output().includes(`\n${before + 6}  wallet.credited  → the receiver answered 400.`), true)
  receivers[1]!.secrets = [secret]
  await eventually(() => numbersOf(receivers), upTo(before + 1, before + 10))

  await service.kill()
  await eventually(() => output().includes('The service cannot be reached. Waiting for it.\n'), true)
  await credit(5)
  service = await startProcess(environment)
  await eventually(() => numbersOf(receivers), upTo(before + 1, before + 15))
  await credit(5)
  await eventually(() => numbersOf(receivers), upTo(before + 1, before + 20))
  expect(output()).toContain('The service answers again.\n')

  await eventually(() => output().includes(`\n${before + 20}  wallet.credited  → 204\n`), true)
  expect(await listening.interrupt()).toBe(0)
  expect(output()).toEndWith(`Stopped. To continue: --after ${before + 20}\n`)
  expect(output()).not.toContain(app.clientSecret)
  const { events } = (await client.get('/api/server/events', { after: String(before) })).body
  const bodies = receivers.flatMap(({ received }) => received.map(({ body }) => body))
  expect(bodies).toEqual((events as object[]).map((event) => JSON.stringify(event)))
  await receivers[1]!.stop()
  await service.stop()
})

const absent = (body: string, type: string) =>
  Bun.serve({
    port: 0,
    hostname: '127.0.0.1',
    fetch: () => new Response(body, { status: 404, headers: { 'content-type': type } }),
  })

describe('in front of the service in this process', () => {
  let server: ReturnType<typeof Bun.serve>
  beforeAll(() => {
    server = Bun.serve({
      port: 0,
      hostname: '127.0.0.1',
      idleTimeout: 60,
      fetch: (request) => opened.app.fetch(request),
    })
  })
  afterAll(() => server.stop(true))

  test('it begins after a number, with some types only', async () => {
    await credit(1)
    expect((await client.debit(serviceUserId, 1)).status).toBe(200)
    await credit(1)
    const receiver = startReceiver()
    const types = ['--types', 'link.created,wallet.debited']
    const listening = await startListening(receiver.url, server.url.href, '--after', '0', ...types)
    receiver.secrets = [listening.secret]
    const last = await lastNumber()
    await eventually(() => numbersOf([receiver]), [2, last - 1])
    expect(await listening.interrupt()).toBe(0)
    await receiver.stop()
  })

  test('Ctrl-C ends it with 0 also while it waits for the receiver, and names the last event that was taken', async () => {
    const last = await lastNumber()
    const receiver = startReceiver()
    await receiver.stop()
    const listening = await startListening(receiver.url, server.url.href)
    await credit(1)
    await eventually(() => listening.output().includes('no connection to the receiver'), true)
    expect(await listening.interrupt()).toBe(0)
    expect(listening.output()).toEndWith(`Stopped. To continue: --after ${last}\n`)
  })

  const refusedBy = async (args: string[], environment: Record<string, string>, url = server.url.href) => {
    const all = ['listen', '--forward-to', 'http://127.0.0.1:9/', '--base-url', url, ...args]
    const { exitCode, stdout, stderr } = await callCommand(all, environment)
    expect(stdout + stderr).not.toContain(app.clientSecret)
    return [exitCode, stderr]
  }

  test('it ends with 1 and the reason when the service refuses', async () => {
    const wrong = { ...app, clientSecret: 'wrong' }
    const credentials = 'refuses these credentials: check BILLFOLD_CLIENT_ID and BILLFOLD_CLIENT_SECRET.\n'
    expect(await refusedBy([], credentialsOf(wrong))).toEqual([1, `${server.url.href} ${credentials}`])
    expect(await refusedBy(['--after', '1'], credentialsOf(wrong))).toEqual([1, `${server.url.href} ${credentials}`])
    const off = await newApp(opened.service)
    const said = `The events of ${off.clientId} are off. Switch them on with "app events ${off.clientId} on".\n`
    expect(await refusedBy([], credentialsOf(off))).toEqual([1, said])
    const last = await lastNumber()
    expect(await refusedBy(['--after', String(last + 9)], credentialsOf(app))).toEqual([
      1,
      `--after ${last + 9}: it is above the last event, which has the number ${last}. The number is of another app or database.\n`,
    ])
  })

  test('it says what to do about events that are no longer kept, and begins at the end without --after', async () => {
    const old = await newAppWithEvents(opened.service)
    for (let i = 0; i < 4; i++) await newUser(opened.service, old)
    await numberAll(opened.service)
    await opened.service.db.pool.query('delete from event_pages where client_id = $1 and first < 4', [old.clientId])
    expect(await refusedBy(['--after', '1'], credentialsOf(old))).toEqual([
      1,
      'The events up to 3 are no longer kept. Read the wallets that you care about, then continue with --after 3.\n',
    ])
    const { signal } = new AbortController()
    expect(await findFeedEnd(new Billfold({ baseUrl: server.url.href, ...old }), signal)).toBe(5)
    const { clientId } = old
    await opened.service.db.pool.query('delete from event_pages where client_id = $1', [clientId])
    expect(await findFeedEnd(new Billfold({ baseUrl: server.url.href, ...old }), signal)).toBe(5)
  })

  test('it names a service without events, and one that is none', async () => {
    for (const other of [absent('{"error":"no","code":"NOT_FOUND"}', 'application/json'), absent('no', 'text/plain')]) {
      const said = `${other.url.href} has no feed of events: GET /api/server/events is 404.\n`
      expect(await refusedBy([], credentialsOf(app), other.url.href)).toEqual([1, said])
      await other.stop(true)
    }
    const page = Bun.serve({ port: 0, hostname: '127.0.0.1', fetch: () => new Response('<html>') })
    const [code, said] = await refusedBy(['--after', '0'], credentialsOf(app), page.url.href)
    expect([code, said]).toEqual([1, expect.stringContaining('answered 200 with')])
    await page.stop(true)
  })

  test('it needs credentials of the environment, and a command line that is understood', async () => {
    const needed = 'Set BILLFOLD_CLIENT_ID and BILLFOLD_CLIENT_SECRET in the environment.\n'
    expect(await refusedBy([], {})).toEqual([1, needed])
    expect(await refusedBy([], { BILLFOLD_CLIENT_ID: app.clientId })).toEqual([1, needed])
    const short = { ...credentialsOf(app), BILLFOLD_WEBHOOK_SECRET: 'whsec_c2hvcnQ=' }
    expect((await refusedBy([], short))[1]).toStartWith('BILLFOLD_WEBHOOK_SECRET must be whsec_')
    for (const flags of [
      ['--after', '-1'],
      ['--types', 'wallet.debted'],
      ['--types', ''],
      ['--client-secret', 'x'],
    ])
      expect([flags, (await refusedBy(flags, credentialsOf(app)))[0]]).toEqual([flags, 2])
    for (const [flag, address] of [
      ['--forward-to', 'shop'],
      ['--forward-to', 'ftp://shop/'],
      ['--forward-to', 'http://ann:secret@shop/'],
      ['--base-url', 'http://x/?a=1'],
    ] as const) {
      const args = ['listen', ...(flag === '--base-url' ? ['--forward-to', 'http://x'] : []), flag, address]
      expect([address, (await callCommand(args, credentialsOf(app))).exitCode]).toEqual([address, 2])
    }
  })
})
