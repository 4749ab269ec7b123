/** Requests that no client sends by mistake, over a real connection to a real process. */
import { afterAll, beforeAll, expect, setDefaultTimeout, test } from 'bun:test'
import { connect } from 'node:net'
import { eventually } from './eventually.ts'
import { startProcess, type ServiceProcess } from './process.ts'
import { openTestService, type TestService } from './service.ts'

setDefaultTimeout(180_000)

let opened: TestService
let service: ServiceProcess

beforeAll(async () => {
  opened = await openTestService()
  service = await startProcess({ DATABASE_URL: opened.databaseUrl })
})
afterAll(async () => {
  await service.stop()
  await opened.close()
})

/** Everything the service says until it has said all. */
async function exchange(...lines: string[]): Promise<{ status: number; body: string }> {
  const { hostname, port } = new URL(service.url)
  const socket = connect(Number(port), hostname)
  socket.write(Buffer.from(`${[...lines, 'connection: close'].join('\r\n')}\r\n\r\n`, 'latin1'))
  let text = ''
  for await (const chunk of socket as AsyncIterable<Buffer>) text += chunk.toString('latin1')
  const [head = '', body = ''] = text.split('\r\n\r\n')
  return { status: Number(head.slice(9, 12)), body }
}

const paths = [
  '/healthz',
  '/api/server/wallet?clientId=a&clientSecret=b&serviceUserId=c',
  '/api/server/nothing',
  '/widget/wallet?clientId=a',
  '/widget/logo/a',
  '/admin/sign-in',
  '/sandbox/panel',
  '/docs',
  '/metrics',
]

test.each([
  '[',
  ']',
  'a:99999',
  'a:b',
  '%zz',
  '%00',
  'a b',
  'a/b',
  'a@b',
  'a#b',
  'a\\b',
  '<a>',
  '::1',
  'a,b',
  '\xff',
  '..%2f',
  'a?b',
])('a Host of %j is refused with 400 in JSON on every kind of path', async (host) => {
  for (const path of paths)
    for (const method of ['GET', 'HEAD', 'POST']) {
      const answer = await exchange(`${method} ${path} HTTP/1.1`, `host: ${host}`, 'content-length: 0')
      expect({ method, path, status: answer.status }).toEqual({ method, path, status: 400 })
      if (method !== 'HEAD')
        expect(JSON.parse(answer.body)).toMatchObject({ code: 'INVALID_REQUEST', error: expect.any(String) })
    }
  expect(service.output()).not.toContain('a request failed')
})

test.each(['/healthz', '/readyz'])('%s answers a probe that speaks HTTP/1.0 without a Host', async (path) => {
  await eventually(async () => {
    const { status, body } = await exchange(`GET ${path} HTTP/1.0`)
    return [status, (JSON.parse(body) as { status: string }).status]
  }, [200, 'ok'])
})

test('without a Host every other path is refused with 400', async () => {
  for (const path of paths.slice(1)) {
    const { status } = await exchange(`GET ${path} HTTP/1.0`)
    expect({ path, status }).toEqual({ path, status: 400 })
  }
})

test.each(['/healthz', '/readyz'])('%s answers HEAD with 200 and no body', async (path) => {
  const head = async () => {
    const response = await fetch(service.url + path, { method: 'HEAD' })
    return [response.status, await response.text()]
  }
  await eventually(head, [200, ''])
  await eventually(async () => (await exchange(`HEAD ${path} HTTP/1.0`)).status, 200)
})

test.each([
  '/sandbox/card/%00',
  '/sandbox/card/a?secret=%00',
  `/sandbox/card/${'x'.repeat(8_000)}`,
  '/sandbox/challenge/%00?secret=%00',
  '/sandbox/card/%zz',
  '/sandbox/card/%ff',
])('%.40s is a payment nobody has', async (path) => {
  const { status } = await fetch(service.url + path)
  expect(status).toBeWithin(400, 500)
})

const form = 'application/x-www-form-urlencoded'
test.each([
  ['/sandbox/card/%00', form, 'secret=%00&number=%00'],
  ['/sandbox/card/a', form, `secret=${'x'.repeat(9_000)}`],
  ['/sandbox/challenge/%00', form, 'secret=%00&answer=approve'],
  ['/sandbox/confirm', 'application/json', '{"paymentIntentId":"\\u0000","clientSecret":"\\u0000"}'],
  ['/sandbox/confirm', 'application/json', '['],
  ['/sandbox/confirm', 'application/json', 'x'.repeat(9_000)],
  ['/sandbox/panel/settings', 'multipart/form-data; boundary=x', '--y\r\n'],
  ['/sandbox/panel/settings', form, 'mode=%00'],
  ['/sandbox/panel/settings', form, `mode=${'x'.repeat(5_000)}`],
  ['/sandbox/panel/payments/%00/refund', form, 'amount=%00'],
  ['/sandbox/panel/payments/%00/dispute', form, ''],
  ['/sandbox/panel/payments/%00/events/%00/now', form, ''],
])('POST %s as %s with nonsense is answered 4xx', async (path, type, body) => {
  const { status } = await fetch(service.url + path, { method: 'POST', headers: { 'content-type': type }, body })
  expect(status).toBeWithin(400, 500)
})
