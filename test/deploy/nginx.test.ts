/** deploy/nginx.conf in front of a real service, with a self-signed certificate. */
import { afterAll, beforeAll, describe, expect, setDefaultTimeout, test } from 'bun:test'
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { createConnection, createServer, type Server } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { probeHeader, sealProbe } from '../../src/actions/deployment/probe.ts'
import { newClient, type Client } from '../client.ts'
import { runCommand } from '../command.ts'
import { eventually } from '../eventually.ts'
import { freePort } from '../free-port.ts'
import { isRoot, run } from '../other-server.ts'
import { startProcess, type ServiceProcess } from '../process.ts'
import { ensureProgram } from '../system-package.ts'
import { newApp, newUser, openTestService, secretsKey, type Credentials, type TestService } from '../service.ts'

setDefaultTimeout(180_000)

const nginx = await ensureProgram('nginx', 'nginx-light')
const openssl = await ensureProgram('openssl', 'openssl')

describe('behind nginx', () => {
  let opened: TestService
  let service: ServiceProcess
  let servicePort: number
  let folder: string
  let url: string
  let plainUrl: string
  let ca: string
  let proxy: Bun.Subprocess
  let lossy: Server
  /** Answers lost between the service and nginx. */
  let lost = 0
  let app: Credentials
  let client: Client
  let serviceUserId: string

  beforeAll(async () => {
    opened = await openTestService()
    folder = await mkdtemp(join(tmpdir(), 'billfold-nginx-'))
    const [port, plainPort] = [await freePort(), await freePort()]
    url = `https://localhost:${port}`
    plainUrl = `http://localhost:${plainPort}`
    await makeCertificate()
    ca = await readFile(join(folder, 'cert.pem'), 'utf8')
    const environment = { DATABASE_URL: opened.databaseUrl, SECRETS_KEY: secretsKey, TRUSTED_PROXIES: '1' }
    servicePort = await freePort()
    service = await startProcess({ ...environment, PUBLIC_URL: url, PORT: String(servicePort) })
    lossy = await startLossy()
    await startNginx(port, plainPort)
    app = await newApp(opened.service)
    client = newClient(ask, app, url)
    serviceUserId = (await newUser(opened.service, app)).serviceUserId
    await client.credit(serviceUserId, 100)
  })
  afterAll(async () => {
    proxy.kill('SIGTERM')
    await proxy.exited
    lossy.close()
    await service.stop()
    await opened.close()
    await rm(folder, { recursive: true })
  })

  const ask = (request: Request) => fetch(request, { tls: { ca }, redirect: 'manual' })
  const get = (path: string, headers: Record<string, string> = {}) => ask(new Request(url + path, { headers }))

  async function makeCertificate(): Promise<void> {
    const subject = ['-subj', '/CN=localhost', '-addext', 'subjectAltName=DNS:localhost', '-days', '5', '-nodes']
    const files = ['-keyout', join(folder, 'key.pem'), '-out', join(folder, 'cert.pem')]
    const { code, output } = await run([openssl, 'req', '-x509', '-newkey', 'rsa:2048', ...subject, ...files])
    if (code !== 0) throw new Error(output)
  }

  /** A proxy that loses every answer after the service has sent it. */
  async function startLossy(): Promise<Server> {
    const server = createServer((near) => {
      const far = createConnection(servicePort, '127.0.0.1')
      near.pipe(far)
      far.once('data', () => {
        lost++
        near.destroy()
        far.destroy()
      })
      near.on('error', () => far.destroy())
      far.on('error', () => near.destroy())
    })
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
    return server
  }

  /** The file unchanged, except for ports, file names, and a second upstream. */
  async function startNginx(port: number, plainPort: number): Promise<void> {
    const { port: lossyPort } = lossy.address() as { port: number }
    const changes: [from: string, to: string][] = [
      ['server 127.0.0.1:3000;', `server 127.0.0.1:${servicePort}; server 127.0.0.1:${lossyPort} max_fails=0;`],
      ['listen 80;', `listen 127.0.0.1:${plainPort};`],
      ['listen 443 ssl http2;', `listen 127.0.0.1:${port} ssl http2;`],
      ['/var/log/nginx/', `${folder}/`],
      ['/etc/letsencrypt/live/wallet.example/fullchain.pem', join(folder, 'cert.pem')],
      ['/etc/letsencrypt/live/wallet.example/privkey.pem', join(folder, 'key.pem')],
    ]
    let text = await readFile(new URL('../../deploy/nginx.conf', import.meta.url), 'utf8')
    for (const [from, to] of changes) {
      expect(text).toContain(from)
      text = text.replaceAll(from, to)
    }
    await writeFile(join(folder, 'billfold.conf'), text)
    const temporary = ['client_body', 'proxy', 'fastcgi', 'uwsgi', 'scgi'].map(
      (kind) => `${kind}_temp_path ${folder}/${kind};`,
    )
    const main = `${isRoot ? 'user root;' : ''} daemon off; worker_processes 1; pid ${folder}/pid; error_log ${folder}/error.log;
      events {} http { access_log off; ${temporary.join(' ')} include ${folder}/billfold.conf; }`
    await writeFile(join(folder, 'main.conf'), main)
    proxy = Bun.spawn([nginx, '-c', join(folder, 'main.conf'), '-p', folder], { stdout: 'ignore', stderr: 'inherit' })
    while (
      await get('/healthz').then(
        (response) => response.status !== 200,
        () => true,
      )
    ) {
      if (proxy.exitCode !== null) throw new Error('nginx did not start')
      await Bun.sleep(50)
    }
  }

  test('plain HTTP redirects to TLS, and TLS leads to the service', async () => {
    const plain = await fetch(`${plainUrl}/widget/wallet?x=1`, { redirect: 'manual' })
    expect([plain.status, plain.headers.get('location')]).toEqual([308, 'https://localhost/widget/wallet?x=1'])
    await eventually(async () => (await get('/readyz')).status, 200)
  })

  test('/metrics is closed to outside callers, whatever address they claim, and open inside', async () => {
    for (const headers of [{}, { 'x-forwarded-for': '127.0.0.1' }, { authorization: 'Bearer x' }])
      expect((await get('/metrics', headers)).status).toBe(404)
    expect((await fetch(`http://127.0.0.1:${servicePort}/metrics`)).status).toBe(200)
  })

  test('the service sees the caller’s address, and not the one that the caller claims', async () => {
    const headers = {
      [probeHeader]: await sealProbe(opened.service.secrets, new Date()),
      'x-forwarded-for': '192.0.2.9',
    }
    const { seen } = (await (await get('/healthz', headers)).json()) as { seen: object }
    expect(seen).toMatchObject({ address: '127.0.0.1', forwardedFor: ['192.0.2.9', '127.0.0.1'] })
  })

  test('an event reaches the widget while the stream is open', async () => {
    const session = await client.post('/api/widget/session', { ...app, serviceUserId })
    const stream = await get(`/api/widget/events?session=${String(session.body['sessionToken'])}`)
    expect([stream.status, stream.headers.get('content-type')]).toEqual([200, 'text/event-stream'])
    const reader = stream.body!.pipeThrough(new TextDecoderStream()).getReader()
    let received = ''
    const receive = async (words: string) => {
      while (!received.includes(words)) {
        const { done, value = '' } = await reader.read()
        if (done) throw new Error(`the stream ended before it said ${words}`)
        received += value
      }
    }
    const before = String((await client.wallet(serviceUserId)).body['balance'])
    await receive(`"balance":${before},`)
    const { body } = await client.debit(serviceUserId, 1)
    await receive(`"balance":${String(body['balance'])},`)
    await reader.cancel()
  })

  test('a debit whose answer is lost on the way is sent again by nginx, and moves money once', async () => {
    const before = Number((await client.wallet(serviceUserId)).body['balance'])
    const lostBefore = lost
    const replies = []
    for (let i = 0; i < 8; i++) replies.push(await client.debit(serviceUserId, 1, `over-nginx-${i}`))
    expect(replies.map(({ status }) => status)).toEqual(Array.from({ length: 8 }, () => 200))
    expect(lost - lostBefore).toBeGreaterThan(0)
    expect(replies.filter(({ body }) => body['replayed'] === true).length).toBe(lost - lostBefore)
    const direct = newClient(service.send, app, `http://127.0.0.1:${servicePort}`)
    expect((await direct.wallet(serviceUserId)).body['balance']).toBe(before - 8)
  })

  test('the doctor finds one proxy, closed metrics, and a certificate that ends soon', async () => {
    const environment = { DATABASE_URL: opened.databaseUrl, SECRETS_KEY: secretsKey, TRUSTED_PROXIES: '1', DEMO: '0' }
    const trusted = { NODE_EXTRA_CA_CERTS: join(folder, 'cert.pem') }
    const { stdout } = await runCommand(['doctor', '--json'], { ...environment, ...trusted, PUBLIC_URL: url })
    const { checks } = JSON.parse(stdout) as { checks: { name: string; state: string; text: string }[] }
    const stateOf = (name: string) => checks.find((check) => check.name === name)?.state
    expect(['PUBLIC_URL', 'Proxy headers', '/metrics', 'Certificate'].map(stateOf)).toEqual([
      'good',
      'good',
      'good',
      'warn',
    ])
    const stranger = await runCommand(['doctor', '--json'], { ...environment, PUBLIC_URL: url })
    const found = (JSON.parse(stranger.stdout) as { checks: { name: string; text: string; fix: string }[] }).checks
    expect(found.find(({ name }) => name === 'PUBLIC_URL')!.fix).toContain('The certificate')
  })
})
