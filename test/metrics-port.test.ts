/** The metrics on a separate port, of one process and of several. */
import { afterAll, beforeAll, expect, setDefaultTimeout, test } from 'bun:test'
import { eventually } from './eventually.ts'
import { freePort } from './free-port.ts'
import { startProcess, waitForWorkers, workersOf, type ServiceProcess } from './process.ts'
import { openTestService, type TestService } from './service.ts'

setDefaultTimeout(180_000)

let opened: TestService
const token = 'a-token-for-prometheus'

beforeAll(async () => {
  opened = await openTestService()
})
afterAll(() => opened.close())

async function start(environment: Record<string, string> = {}) {
  const port = String(await freePort())
  const service = await startProcess({ DATABASE_URL: opened.databaseUrl, METRICS_PORT: port, ...environment })
  return { service, port, url: `http://127.0.0.1:${port}/metrics` }
}

const statusOf = async (url: string, init: RequestInit = {}) => (await fetch(url, init)).status

/** The calls of /healthz by the metrics. A worker that does not answer in time is counted with its last answer. */
async function expectCounted(times: number, url: string, headers: Record<string, string> = {}): Promise<void> {
  const line = /^billfold_http_request_seconds_count\{route="\/healthz",method="GET",status="200"\} (\d+)$/m
  await eventually(async () => line.exec(await (await fetch(url, { headers })).text())?.[1], String(times))
}

/** Each on a new connection, so that the kernel spreads them over the workers. */
async function ask(service: ServiceProcess, times: number): Promise<void> {
  const alive = () => statusOf(`${service.url}/healthz`, { headers: { connection: 'close' } })
  const asked = await Promise.all(Array.from({ length: times }, alive))
  expect(new Set(asked)).toEqual(new Set([200]))
}

test('with METRICS_PORT the metrics are there and nowhere else, and nothing else is there', async () => {
  const { service, port, url } = await start()
  await ask(service, 3)
  await expectCounted(3, url)
  expect(await statusOf(`${service.url}/metrics`)).toBe(404)
  for (const path of ['/', '/readyz', '/admin', '/api/server/wallet', '/metrics/'])
    expect([path, await statusOf(`http://127.0.0.1:${port}${path}`)]).toEqual([path, 404])
  const posted = await fetch(url, { method: 'POST' })
  expect([posted.status, posted.headers.get('allow')]).toEqual([405, 'GET'])
  expect(await statusOf(url, { headers: { 'x-forwarded-for': '127.0.0.1' } })).toBe(404)
  expect(await service.stop()).toBe(0)
  expect(fetch(url)).rejects.toThrow()
})

test('one scrape of METRICS_PORT shows all workers as one, one that is silent, one that died and those that were replaced included', async () => {
  const { service, url } = await start({ WORKERS: '2', METRICS_TOKEN: token, DRAIN_ANNOUNCE_MS: '4000' })
  const headers = { authorization: `Bearer ${token}` }
  expect([await statusOf(url), await statusOf(`${service.url}/metrics`, { headers })]).toEqual([404, 404])
  await ask(service, 40)
  await expectCounted(40, url, headers)
  // What both workers measure is reported once: there is one database, and one version.
  const { rows } = await opened.service.db.pool.query<{ max: string }>(
    `select current_setting('max_connections') as max`,
  )
  const most = /^billfold_database_connections_max (\d+)$/m
  await eventually(async () => most.exec(await (await fetch(url, { headers })).text())?.[1], rows[0]!.max)
  expect(await (await fetch(url, { headers })).text()).toMatch(/^billfold_build_info\{.*\} 1$/m)
  const before = workersOf(service)
  process.kill(service.pid, 'SIGHUP')
  await waitForWorkers(service, before)
  await ask(service, 40)
  await expectCounted(80, url, headers)
  const [silent] = workersOf(service)
  process.kill(silent!, 'SIGSTOP')
  await expectCounted(80, url, headers).finally(() => process.kill(silent!, 'SIGCONT'))
  const [killed] = workersOf(service)
  process.kill(killed!, 'SIGKILL')
  await waitForWorkers(service, [killed!])
  await expectCounted(80, url, headers)
  // It is there until the last worker has gone.
  const ended = service.stop()
  await eventually(() => statusOf(`${service.url}/readyz`), 503)
  await expectCounted(80, url, headers)
  expect(await ended).toBe(0)
  expect(fetch(url)).rejects.toThrow()
})

test('a METRICS_PORT that is in use is refused in a sentence', async () => {
  const { service, port } = await start()
  for (const WORKERS of ['1', '2']) {
    const refused = startProcess({ DATABASE_URL: opened.databaseUrl, METRICS_PORT: port, WORKERS })
    const sentence = `Port ${port} of 127.0.0.1 is in use: stop what listens there, or set METRICS_PORT to another.`
    expect(refused).rejects.toThrow(`the service ended with 1: ${sentence}`)
    await refused.catch(() => {})
  }
  expect(await service.stop()).toBe(0)
})
