/** Posting through the guarded door: connections are kept, and each was checked when it was opened. */
import { afterAll, beforeAll, beforeEach, expect, test } from 'bun:test'
import { Agent, createServer, type Server } from 'node:http'
import type { AddressInfo, Socket } from 'node:net'
import { fetchPublic, NotPublic, type Elsewhere } from './public-fetch.ts'

const bounds = { maxBytes: 1_000, timeoutMs: 30_000 }
const here = [{ address: '127.0.0.1', family: 4 }]

const sockets = new Set<Socket>()
let opened = 0
let bodies: string[] = []
let server: Server
let port = 0

beforeAll(async () => {
  server = createServer((request, response) => {
    let body = ''
    request.setEncoding('utf8').on('data', (chunk: string) => (body += chunk))
    request.on('end', () => {
      bodies.push(`${request.method} ${request.headers.host} ${body}`)
      if (request.url === '/close') response.setHeader('connection', 'close')
      if (request.url === '/endless') response.write('x'.repeat(2_000))
      else if (request.url === '/cut') {
        response.writeHead(200, { 'content-length': '100' })
        response.write('half', () => request.socket.destroy())
      } else response.end('thanks')
    })
  })
  server.on('connection', (socket) => {
    opened++
    sockets.add(socket.on('close', () => sockets.delete(socket)))
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  ;({ port } = server.address() as AddressInfo)
})
afterAll(() => {
  server.closeAllConnections()
  server.close()
})

let agent: Agent
let lookups = 0
let addresses = here
const elsewhere: Elsewhere = {
  resolve: async () => {
    lookups++
    return addresses
  },
  isAllowed: (address) => address === '127.0.0.1',
}
beforeEach(() => {
  agent = new Agent({ keepAlive: true })
  bodies = []
  opened = lookups = 0
  addresses = here
})

const post = (path: string, body = '{}') =>
  fetchPublic(new URL(`http://hook.test:${port}${path}`), {}, bounds, elsewhere, { body, agent })

test('posts of one agent share a connection, which was looked up and checked once', async () => {
  for (let i = 0; i < 3; i++) expect(await post('/', `{"i":${i}}`)).toMatchObject({ status: 200, address: '127.0.0.1' })
  expect([opened, lookups]).toEqual([1, 1])
  expect(bodies).toEqual([0, 1, 2].map((i) => `POST hook.test:${port} {"i":${i}}`))
})

test('the next connection is checked again: a name that now has a private address gets no request', async () => {
  await post('/close')
  addresses = [...here, { address: '10.0.0.7', family: 4 }]
  expect(await post('/').catch((error: unknown) => error instanceof NotPublic)).toBe(true)
  expect([opened, lookups, bodies.length]).toEqual([1, 2, 1])
})

test('a kept connection that the receiver has closed costs no attempt', async () => {
  await post('/')
  // Without a FIN that the agent could see beforehand: the next request finds the connection reset.
  for (const socket of sockets) socket.resetAndDestroy()
  expect((await post('/')).status).toBe(200)
  expect(bodies.length).toBe(2)
})

test('an address in the URL itself is checked too', async () => {
  for (const host of ['10.0.0.7', '[::1]', '2130706434', '0x7f000002'])
    expect(
      await fetchPublic(new URL(`http://${host}:${port}/`), {}, bounds, elsewhere, { body: '', agent }).catch(
        (error: unknown) => error instanceof NotPublic,
      ),
    ).toBe(true)
  expect(opened).toBe(0)
})

test('an answer without an end is cut, and its connection is not used again', async () => {
  expect(await post('/endless')).toMatchObject({ isWhole: false })
  await post('/')
  expect(opened).toBe(2)
})

test('an answer that is cut off in its middle is a fault, not an answer', async () => {
  const fault: unknown = await post('/cut').then(
    () => undefined,
    (error: unknown) => error,
  )
  expect(fault).toMatchObject({ code: 'ECONNRESET' })
  expect(await post('/')).toMatchObject({ status: 200 })
})
