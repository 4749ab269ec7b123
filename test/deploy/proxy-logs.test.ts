/**
 * The samples of nginx and Caddy with every kind of broken service behind them. All routes are called with a secret, a session and a
 * cookie, and every file that the proxy wrote is searched for them.
 */
import { afterAll, beforeAll, describe, expect, setDefaultTimeout, test } from 'bun:test'
import { mkdir, mkdtemp, readFile, readdir, readlink, rm, writeFile } from 'node:fs/promises'
import { createServer, type Server, type Socket } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { eventually } from '../eventually.ts'
import { freePort } from '../free-port.ts'
import { isRoot, run } from '../other-server.ts'
import { openTestService, type TestService } from '../service.ts'
import { ensureProgram } from '../system-package.ts'

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

type Proxy = {
  readonly url: string
  readonly plainUrl: string
  readonly folder: string
  readonly pid: number
  readonly stop: () => Promise<void>
}

let opened: TestService
let certificates: string
let ca: string

beforeAll(async () => {
  opened = await openTestService()
  certificates = await mkdtemp(join(tmpdir(), 'billfold-certificate-'))
  const subject = ['-subj', '/CN=localhost', '-addext', 'subjectAltName=DNS:localhost', '-days', '5', '-nodes']
  const files = ['-keyout', join(certificates, 'key.pem'), '-out', join(certificates, 'cert.pem')]
  const { code, output } = await run([
    await ensureProgram('openssl', 'openssl'),
    'req',
    '-x509',
    '-newkey',
    'rsa:2048',
    ...subject,
    ...files,
  ])
  if (code !== 0) throw new Error(output)
  ca = await readFile(join(certificates, 'cert.pem'), 'utf8')
})
afterAll(async () => {
  await opened.close()
  await rm(certificates, { recursive: true })
})

async function readSample(name: string, changes: readonly (readonly [from: string, to: string])[]): Promise<string> {
  let text = await readFile(new URL(`../../deploy/${name}`, import.meta.url), 'utf8')
  for (const [from, to] of changes) {
    expect(text).toContain(from)
    text = text.replaceAll(from, to)
  }
  return text
}

async function start(command: string[], folder: string, url: string): Promise<Bun.Subprocess> {
  const output = Bun.file(join(folder, 'output'))
  const child = Bun.spawn(command, {
    stdout: output,
    stderr: Bun.file(join(folder, 'errors')),
    env: { ...process.env, HOME: folder },
  })
  const isUp = () =>
    ask(`${url}/metrics`).then(
      ({ status }) => status === 404,
      () => false,
    )
  while (!(await isUp())) {
    if (child.exitCode !== null) throw new Error(await readFile(join(folder, 'errors'), 'utf8'))
    await Bun.sleep(50)
  }
  return child
}

const ask = (url: string, init: RequestInit = {}) => fetch(url, { ...init, tls: { ca }, redirect: 'manual' })

async function startNginx(upstream: string): Promise<Proxy> {
  const program = await ensureProgram('nginx', 'nginx-light')
  const folder = await mkdtemp(join(tmpdir(), 'billfold-nginx-logs-'))
  const [port, plainPort] = [await freePort(), await freePort()]
  const url = `https://localhost:${port}`
  const sample = await readSample('nginx.conf', [
    ['server 127.0.0.1:3000;', `server ${upstream};`],
    ['listen 80;', `listen 127.0.0.1:${plainPort};`],
    ['listen 443 ssl http2;', `listen 127.0.0.1:${port} ssl http2;`],
    ['/etc/letsencrypt/live/wallet.example/fullchain.pem', join(certificates, 'cert.pem')],
    ['/etc/letsencrypt/live/wallet.example/privkey.pem', join(certificates, 'key.pem')],
    ['proxy_read_timeout 15s;', 'proxy_read_timeout 1s;'],
    ['proxy_read_timeout 1h;', 'proxy_read_timeout 1s;'],
  ])
  await writeFile(join(folder, 'billfold.conf'), sample.replaceAll('/var/log/nginx/', `${folder}/`))
  const temporary = ['client_body', 'proxy', 'fastcgi', 'uwsgi', 'scgi']
  for (const kind of temporary) await mkdir(join(folder, kind))
  // The logs as Debian's own nginx.conf sets them, which a sample in conf.d inherits.
  const main = `${isRoot ? 'user root;' : ''} daemon off; worker_processes 1; pid ${folder}/pid; error_log ${folder}/error.log;
    events {} http { access_log ${folder}/access.log; ${temporary.map((kind) => `${kind}_temp_path ${folder}/${kind};`).join(' ')}
    include ${folder}/billfold.conf; }`
  await writeFile(join(folder, 'main.conf'), main)
  const child = await start([program, '-c', join(folder, 'main.conf'), '-p', folder], folder, url)
  return { url, plainUrl: `http://localhost:${plainPort}`, folder, pid: child.pid, stop: () => stop(child) }
}

async function startCaddy(upstream: string): Promise<Proxy> {
  const program = await ensureProgram('caddy', 'caddy')
  const folder = await mkdtemp(join(tmpdir(), 'billfold-caddy-logs-'))
  const [port, plainPort] = [await freePort(), await freePort()]
  const url = `https://localhost:${port}`
  const files = `${join(certificates, 'cert.pem')} ${join(certificates, 'key.pem')}`
  const sample = await readSample('Caddyfile', [
    ['127.0.0.1:3000', upstream.replace(/^unix:/, 'unix/')],
    ['wallet.example {', `https://localhost:${port} {\n\ttls ${files}`],
    ['response_header_timeout 15s', 'response_header_timeout 1s'],
  ])
  // Only the ports and the place of its files are not the sample's.
  const own = `admin off\n\thttp_port ${plainPort}\n\thttps_port ${port}\n\tstorage file_system ${folder}/storage`
  const text = /^\{\n/m.test(sample) ? sample.replace(/^\{\n/m, `{\n\t${own}\n`) : `{\n\t${own}\n}\n${sample}`
  await writeFile(join(folder, 'Caddyfile'), text)
  const child = await start([program, 'run', '--config', join(folder, 'Caddyfile')], folder, url)
  return { url, plainUrl: `http://localhost:${plainPort}`, folder, pid: child.pid, stop: () => stop(child) }
}

async function stop(child: Bun.Subprocess): Promise<void> {
  child.kill('SIGTERM')
  await child.exited
}

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

/** Files of the folder that the proxy has open. A temporary file has no name any more when it is written, but it is on the disk. */
async function openFiles({ folder, pid }: Proxy): Promise<string[]> {
  const { stdout } = Bun.spawnSync(['pgrep', '-P', String(pid)])
  const pids = [pid, ...stdout.toString().split('\n').filter(Boolean)]
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

const proxies = { nginx: startNginx, Caddy: startCaddy }

describe.each(Object.entries(proxies))('%s', (_name, startProxy) => {
  async function expectNoLeak(upstream: string): Promise<void> {
    const proxy = await startProxy(upstream)
    try {
      const during = new Set<string>()
      const search = async () => {
        const files = [...(await filesBelow(proxy.folder)), ...(await openFiles(proxy))]
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
    await expectNoLeak(`unix:${certificates}/no-socket`)
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
