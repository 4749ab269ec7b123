/**
 * The samples of nginx and Caddy with every kind of broken service behind them. All routes are called with a secret, a session and a
 * cookie, and every file that the proxy wrote is searched for them.
 */
import { afterAll, beforeAll, describe, expect, setDefaultTimeout, test } from 'bun:test'
import { readFile, readdir, readlink, rm } from 'node:fs/promises'
import { createServer, type Server, type Socket } from 'node:net'
import { join } from 'node:path'
import { eventually } from '../eventually.ts'
import { freePort } from '../free-port.ts'
import { openTestService, type TestService } from '../service.ts'
import { askWith, makeCertificate, proxies, type Certificate, type Proxy } from './proxies.ts'

setDefaultTimeout(180_000)

const marks = {
  secret: 'cs_mark_of_the_secret',
  session: 'ws_mark_of_the_session',
  cookie: 'mark_of_the_cookie',
  path: 'mark_of_the_path',
}
const query = `clientId=shop&clientSecret=${marks.secret}&session=${marks.session}&serviceUserId=su_mark`
/** Any of them in a file is a leak. */
const forbidden = [...Object.values(marks), 'clientSecret=', 'session=', 'su_mark']

/** What the proxy finds behind it. Each answers the first bytes of a request in its way. */
const behind: Readonly<Record<string, (socket: Socket) => void>> = {
  'resets the connection': (socket) => void socket.resetAndDestroy(),
  'closes the connection': (socket) => void socket.destroy(),
  'never answers': () => {},
  'stops in the middle of an answer': (socket) =>
    void socket.write('HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\nhalf', () => socket.resetAndDestroy()),
  'answers nonsense': (socket) => void socket.end('nonsense\r\n\r\n'),
  'answers with a header that is too large': (socket) =>
    void socket.end(`HTTP/1.1 200 OK\r\nX-Large: ${'x'.repeat(100_000)}\r\n\r\n`),
}

/** Without the sample's patience, so that a service that never answers does not take a minute. */
const hurried = {
  nginx: [
    ['proxy_read_timeout 15s;', 'proxy_read_timeout 1s;'],
    ['proxy_read_timeout 1h;', 'proxy_read_timeout 1s;'],
  ],
  Caddy: [['response_header_timeout 15s', 'response_header_timeout 1s']],
} as const

let opened: TestService
let certificate: Certificate
let ask: ReturnType<typeof askWith>

beforeAll(async () => {
  opened = await openTestService()
  certificate = await makeCertificate()
  ask = askWith(certificate)
})
afterAll(async () => {
  await opened.close()
  await rm(certificate.folder, { recursive: true })
})

/** Every route of the service, on the way that carries its secrets, and a body large enough for a temporary file. */
async function callEverything({ url, plainUrl }: Proxy): Promise<void> {
  const headers = { cookie: `billfold-session=${marks.cookie}`, referer: `${url}/widget/wallet?${query}` }
  const named = [...opened.app.routes, ...opened.app.pages].filter(({ path }) => !path.includes('*'))
  const calls = named.map(({ method, path }) => {
    const target = `${path.replace(/:\w+/g, marks.path)}?${query}`
    const body =
      method === 'POST' ? JSON.stringify({ clientSecret: marks.secret, more: 'x'.repeat(50_000) }) : undefined
    const signal = AbortSignal.timeout(5_000)
    return ask(url + target, { signal, method: method === 'ALL' ? 'GET' : method, headers, ...(body && { body }) })
  })
  const plain = [ask(`${plainUrl}/api/server/wallet?${query}`, { headers })]
  const answers = await Promise.allSettled([...calls, ...plain].map(async (call) => (await call).text()))
  expect(answers.length).toBeGreaterThan(50)
}

async function filesBelow(folder: string): Promise<string[]> {
  const entries = await readdir(folder, { recursive: true, withFileTypes: true })
  return entries.filter((entry) => entry.isFile()).map((entry) => join(entry.parentPath, entry.name))
}

/** Of a proxy that answers: its worker stays the same one. */
function processesOf({ pid }: Proxy): string[] {
  const { stdout } = Bun.spawnSync(['pgrep', '-P', String(pid)])
  return [String(pid), ...stdout.toString().split('\n').filter(Boolean)]
}

/** Files of the folder that the processes have open. A temporary file has no name any more when it is written, but it is on the disk. */
async function openFiles(folder: string, pids: readonly string[]): Promise<string[]> {
  const found: string[] = []
  for (const each of pids)
    for (const name of await readdir(`/proc/${each}/fd`).catch(() => [])) {
      const path = `/proc/${each}/fd/${name}`
      if ((await readlink(path).catch(() => '')).startsWith(folder)) found.push(path)
    }
  return found
}

async function leaksIn(files: readonly string[]): Promise<string[]> {
  const leaks: string[] = []
  for (const file of files) {
    const text = await readFile(file, 'latin1').catch(() => '')
    for (const word of forbidden) {
      const at = text.indexOf(word)
      if (at >= 0) leaks.push(`${file}: ${text.slice(Math.max(0, at - 150), at + 60)}`)
    }
  }
  return leaks
}

describe.each(['nginx', 'Caddy'] as const)('%s', (name) => {
  const startProxy = (upstream: string) => proxies[name]([upstream], certificate, hurried[name])

  async function expectNoLeak(upstream: string): Promise<void> {
    const proxy = await startProxy(upstream)
    try {
      const during = new Set<string>()
      const pids = processesOf(proxy)
      const search = async () => {
        const files = [...(await filesBelow(proxy.folder)), ...(await openFiles(proxy.folder, pids))]
        for (const leak of await leaksIn(files)) during.add(leak)
      }
      const calling = callEverything(proxy)
      const isOver = () => Bun.peek.status(calling) !== 'pending'
      while (!isOver()) {
        await search()
        await Bun.sleep(20)
      }
      await calling
      await search()
      expect([...during]).toEqual([])
    } finally {
      await proxy.stop()
    }
    expect(await leaksIn(await filesBelow(proxy.folder))).toEqual([])
    await rm(proxy.folder, { recursive: true })
  }

  test('logs no secret when nothing listens behind it', async () => {
    await expectNoLeak(`127.0.0.1:${await freePort()}`)
  })

  test('logs no secret when the socket behind it does not exist', async () => {
    await expectNoLeak(`unix:${certificate.folder}/no-socket`)
  })

  test.each(Object.entries(behind))('logs no secret when the service %s', async (_, answer) => {
    const sockets = new Set<Socket>()
    const server: Server = createServer((socket) => {
      sockets.add(socket)
      socket.on('error', () => {})
      socket.once('data', () => answer(socket))
    })
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
    await expectNoLeak(`127.0.0.1:${(server.address() as { port: number }).port}`)
    for (const socket of sockets) socket.destroy()
    server.close()
  })

  test('says what became of a request, without its query', async () => {
    const proxy = await startProxy(`127.0.0.1:${await freePort()}`)
    await ask(`${proxy.url}/api/server/wallet?${query}`)
    const written = async () =>
      (await Promise.all((await filesBelow(proxy.folder)).map((file) => readFile(file, 'latin1')))).join('\n')
    await eventually(async () => /\b502\b/.test(await written()), true)
    await proxy.stop()
    await rm(proxy.folder, { recursive: true })
  })
})
