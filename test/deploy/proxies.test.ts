/** deploy/nginx.conf and deploy/Caddyfile in front of a real service, with a self-signed certificate. */
import { afterAll, beforeAll, describe, expect, setDefaultTimeout, test } from 'bun:test'
import { readFile, rm } from 'node:fs/promises'
import { createConnection, createServer, type Server } from 'node:net'
import { join } from 'node:path'
import { probeHeader, sealProbe } from '../../src/actions/deployment/probe.ts'
import { newClient, type Client } from '../client.ts'
import { runCommand } from '../command.ts'
import { eventually } from '../eventually.ts'
import { freePort } from '../free-port.ts'
import { startProcess, type ServiceProcess } from '../process.ts'
import { newApp, newUser, openTestService, secretsKey, type Credentials, type TestService } from '../service.ts'
import { askWith, makeCertificate, proxies, type Certificate, type Proxy } from './proxies.ts'

setDefaultTimeout(180_000)

let opened: TestService
let certificate: Certificate
let ask: ReturnType<typeof askWith>
let app: Credentials
let serviceUserId: string

beforeAll(async () => {
  opened = await openTestService()
  certificate = await makeCertificate()
  ask = askWith(certificate)
  app = await newApp(opened.service)
  serviceUserId = (await newUser(opened.service, app)).serviceUserId
})
afterAll(async () => {
  await opened.close()
  await rm(certificate.folder, { recursive: true })
})

type Rig = {
  readonly proxy: Proxy
  readonly service: ServiceProcess
  readonly client: Client
  /** Past the proxy. */
  readonly direct: Client
  readonly directUrl: string
}

/** A proxy first, because the service has its address as PUBLIC_URL. */
async function startRig(name: keyof typeof proxies, others: readonly string[] = []): Promise<Rig> {
  const port = await freePort()
  const proxy = await proxies[name]([`127.0.0.1:${port}`, ...others], certificate)
  const environment = { DATABASE_URL: opened.databaseUrl, SECRETS_KEY: secretsKey, TRUSTED_PROXIES: '1' }
  const service = await startProcess({ ...environment, PUBLIC_URL: proxy.url, PORT: String(port) })
  const client = newClient((request) => ask(request), app, proxy.url)
  const directUrl = `http://127.0.0.1:${port}`
  const direct = newClient(service.send, app, directUrl)
  await direct.credit(serviceUserId, 100)
  return { proxy, service, client, direct, directUrl }
}

async function stopRig({ proxy, service }: Rig): Promise<void> {
  await proxy.stop()
  await service.stop()
  await rm(proxy.folder, { recursive: true })
}

/** Each page has a new one. */
const withoutNonce = (value: string | null) => value?.replaceAll(/nonce-[^']+/g, 'nonce')

describe.each(['nginx', 'Caddy'] as const)('behind %s', (name) => {
  let rig: Rig

  beforeAll(async () => (rig = await startRig(name)))
  afterAll(() => stopRig(rig))

  const get = (path: string, headers: Record<string, string> = {}) => ask(rig.proxy.url + path, { headers })
  const post = (path: string, body: string) =>
    ask(rig.proxy.url + path, { method: 'POST', body, headers: { 'content-type': 'application/json' } })

  test('plain HTTP redirects to TLS, and TLS leads to the service', async () => {
    const plain = await ask(`${rig.proxy.plainUrl}/widget/wallet?x=1`)
    expect(plain.status).toBe(308)
    // Without a port in the sample's own address.
    expect(plain.headers.get('location')).toMatch(/^https:\/\/localhost(:\d+)?\/widget\/wallet\?x=1$/)
    await eventually(async () => (await get('/readyz')).status, 200)
  })

  test('/metrics is closed to outside callers, whatever address they claim, and open inside', async () => {
    for (const headers of [{}, { 'x-forwarded-for': '127.0.0.1' }, { authorization: 'Bearer x' }])
      expect((await get('/metrics', headers)).status).toBe(404)
    expect((await fetch(`${rig.directUrl}/metrics`)).status).toBe(200)
  })

  test('the service sees the caller’s address, and not the one that the caller claims', async () => {
    const probe = await sealProbe(opened.service.secrets, new Date())
    const { seen } = (await (
      await get('/healthz', { [probeHeader]: probe, 'x-forwarded-for': '192.0.2.9' })
    ).json()) as { seen: { address: string; forwardedFor: string[] } }
    expect(['127.0.0.1', '::1']).toContain(seen.address)
    expect(seen.forwardedFor.at(-1)).toBe(seen.address)
  })

  test('the headers of the service arrive once each, and the proxy adds no version of its own', async () => {
    const through = await get('/widget/login')
    const straight = await fetch(`${rig.directUrl}/widget/login`, { redirect: 'manual' })
    const names = [...straight.headers.keys()].filter(
      (header) => !/^(date|connection|keep-alive|x-request-id|content-length|transfer-encoding)$/.test(header),
    )
    expect(names.length).toBeGreaterThan(4)
    for (const header of names)
      expect([header, withoutNonce(through.headers.get(header))]).toEqual([
        header,
        withoutNonce(straight.headers.get(header)),
      ])
    expect(through.headers.get('server') ?? '').not.toMatch(/\d/)
  })

  test('bodies that the service takes pass, and larger ones are refused with 413', async () => {
    const bulk = JSON.stringify({ ...app, operations: [], padding: 'x'.repeat(1_000_000) })
    expect((await post('/api/server/wallet/bulk', bulk)).status).toBe(400)
    const refused = await post('/api/server/wallet/debit', JSON.stringify({ ...app, padding: 'x'.repeat(100_000) }))
    expect([refused.status, await refused.json()]).toMatchObject([413, { code: 'PAYLOAD_TOO_LARGE' }])
    expect((await post('/api/server/wallet/bulk', 'x'.repeat(3_000_000))).status).toBe(413)
    // The service refuses it for want of a session, which it can only do if the proxy passes it on.
    const report = await post('/admin/reconciliation/file', 'x'.repeat(10_000_000))
    expect([report.status, report.headers.get('x-request-id')]).toEqual([401, expect.any(String)])
  })

  test('an event reaches the widget while the stream is open', async () => {
    const session = await rig.client.post('/api/widget/session', { ...app, serviceUserId })
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
    const before = String((await rig.client.wallet(serviceUserId)).body['balance'])
    await receive(`"balance":${before},`)
    const { body } = await rig.client.debit(serviceUserId, 1)
    await receive(`"balance":${String(body['balance'])},`)
    await reader.cancel()
  })

  test('calls that succeed leave no secret and no session in a file of the proxy', async () => {
    const query = new URLSearchParams({ ...app, serviceUserId }).toString()
    expect((await get(`/api/server/wallet?${query}`)).status).toBe(200)
    const files = await Array.fromAsync(new Bun.Glob('**/*').scan({ cwd: rig.proxy.folder, dot: true }))
    for (const file of files) {
      const text = await readFile(join(rig.proxy.folder, file), 'latin1')
      for (const secret of [app.clientSecret, 'clientSecret=', 'session=', serviceUserId])
        expect([file, secret, text.includes(secret)]).toEqual([file, secret, false])
    }
    expect(files.length).toBeGreaterThan(2)
  })

  test('the doctor finds one proxy, closed metrics, and a certificate that ends soon', async () => {
    const environment = { DATABASE_URL: opened.databaseUrl, SECRETS_KEY: secretsKey, TRUSTED_PROXIES: '1', DEMO: '0' }
    const trusted = { NODE_EXTRA_CA_CERTS: join(certificate.folder, 'cert.pem') }
    const { stdout } = await runCommand(['doctor', '--json'], { ...environment, ...trusted, PUBLIC_URL: rig.proxy.url })
    const { checks } = JSON.parse(stdout) as { checks: { name: string; state: string }[] }
    const stateOf = (check: string) => checks.find((each) => each.name === check)?.state
    expect(['PUBLIC_URL', 'Proxy headers', '/metrics', 'Certificate'].map(stateOf)).toEqual([
      'good',
      'good',
      'good',
      'warn',
    ])
  })
})

test('the doctor says so if nobody has signed the certificate', async () => {
  const rig = await startRig('Caddy')
  const environment = {
    DATABASE_URL: opened.databaseUrl,
    SECRETS_KEY: secretsKey,
    PUBLIC_URL: rig.proxy.url,
    DEMO: '0',
  }
  const { stdout } = await runCommand(['doctor', '--json'], environment)
  const { checks } = JSON.parse(stdout) as { checks: { name: string; fix: string }[] }
  expect(checks.find((check) => check.name === 'PUBLIC_URL')!.fix).toContain('The certificate')
  await stopRig(rig)
})

test('a debit whose answer is lost on the way is sent again by nginx, and moves money once', async () => {
  let lost = 0
  let port = 0
  /** Loses every answer after the service has sent it. */
  const lossy: Server = createServer((near) => {
    const far = createConnection(port, '127.0.0.1')
    near.pipe(far)
    far.once('data', () => {
      lost++
      near.destroy()
      far.destroy()
    })
    near.on('error', () => far.destroy())
    far.on('error', () => near.destroy())
  })
  await new Promise<void>((resolve) => lossy.listen(0, '127.0.0.1', resolve))
  const rig = await startRig('nginx', [`127.0.0.1:${(lossy.address() as { port: number }).port} max_fails=0`])
  port = Number(new URL(rig.directUrl).port)
  const before = Number((await rig.direct.wallet(serviceUserId)).body['balance'])
  const replies = []
  for (let i = 0; i < 8; i++) replies.push(await rig.client.debit(serviceUserId, 1, `over-nginx-${i}`))
  expect(replies.map(({ status }) => status)).toEqual(Array.from({ length: 8 }, () => 200))
  expect(lost).toBeGreaterThan(0)
  expect(replies.filter(({ body }) => body['replayed'] === true).length).toBe(lost)
  expect((await rig.direct.wallet(serviceUserId)).body['balance']).toBe(before - 8)
  await stopRig(rig)
  lossy.close()
})
