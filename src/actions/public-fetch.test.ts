import { afterAll, beforeAll, expect, test } from 'bun:test'
import { eventually } from '../../test/eventually.ts'
import { fetchPublic, isPublicAddress, NotPublic } from './public-fetch.ts'

const bounds = { maxBytes: 1_000, timeoutMs: 30_000 }
const here = { address: '127.0.0.1', family: 4 }
const isAllowed = () => true

/** One chunk, and then nothing. */
function begunOnly(): ReadableStream {
  let pieces = 0
  return new ReadableStream({
    pull: (controller) => (pieces++ === 0 ? controller.enqueue(new Uint8Array([120])) : new Promise(() => {})),
  })
}

/** More and more, until the other side has enough. */
function flowing(): ReadableStream {
  return new ReadableStream({
    pull: async (controller) => {
      await Bun.sleep(5)
      controller.enqueue(new Uint8Array(700))
    },
    cancel: () => void left++,
  })
}

let asked = 0
let left = 0
let server: ReturnType<typeof Bun.serve>
beforeAll(() => {
  server = Bun.serve({
    port: 0,
    hostname: '127.0.0.1',
    fetch: ({ url, headers }) => {
      asked++
      const { pathname } = new URL(url)
      if (pathname === '/long') return new Response('x'.repeat(1_001))
      if (pathname === '/flowing') return new Response(flowing())
      if (pathname === '/endless') return new Response(begunOnly())
      if (pathname === '/moved') return Response.redirect('/elsewhere')
      return new Response(`${pathname} for ${headers.get('user-agent')}`)
    },
  })
})
afterAll(() => server.stop(true))

const at = (path: string) => new URL(`http://shop.test:${server.port}${path}`)
const nameOf = (error: Error) => error.name
const named = { resolve: async () => [here], isAllowed }

test('a typed address is read at the address that was checked, whatever its name', async () => {
  const answer = await fetchPublic(at('/page'), { 'user-agent': 'billfold' }, bounds, named)
  expect(answer).toMatchObject({ status: 200, isWhole: true })
  expect(Buffer.from(answer.bytes).toString()).toBe('/page for billfold')
})

test('of a long answer no more is taken than was allowed', async () => {
  const answer = await fetchPublic(at('/long'), {}, bounds, named)
  expect([answer.bytes.length, answer.isWhole]).toEqual([1_000, false])
})

test('a server that sends more than was allowed loses its connection, long before the time is up', async () => {
  const before = left
  expect(await fetchPublic(at('/flowing'), {}, { maxBytes: 1_000, timeoutMs: 3_600_000 }, named)).toMatchObject({
    isWhole: false,
  })
  await eventually(() => left, before + 1)
})

test('a typed address that redirects is not followed', async () => {
  const before = asked
  expect((await fetchPublic(at('/moved'), {}, bounds, named)).status).toBe(302)
  expect(asked).toBe(before + 1)
})

test('an answer that never ends, and a name that is never resolved, are given up', async () => {
  const brief = { maxBytes: 1_000, timeoutMs: 200 }
  expect(await fetchPublic(at('/endless'), {}, brief, named).catch(nameOf)).toMatch(/^(Abort|Timeout)Error$/)
  const lost = { resolve: () => new Promise<never>(() => {}), isAllowed }
  expect(await fetchPublic(at('/page'), {}, brief, lost).catch(nameOf)).toBe('TimeoutError')
})

test('a host with one address that is not public gets no request, even if its other addresses are public', async () => {
  const before = asked
  const outside = { address: '93.184.216.34', family: 4 }
  for (const addresses of [[here], [here, outside], [outside, here], []]) {
    const found = fetchPublic(at('/page'), {}, bounds, { resolve: async () => addresses })
    expect(await found.catch((error: unknown) => error instanceof NotPublic)).toBe(true)
  }
  expect(asked).toBe(before)
})

test.each([
  ['93.184.216.34', true],
  ['2606:4700::1111', true],
  ['10.1.2.3', false],
  ['127.0.0.1', false],
  ['169.254.169.254', false],
  ['172.31.0.1', false],
  ['192.168.1.1', false],
  ['100.64.0.1', false],
  ['0.0.0.0', false],
  ['255.255.255.255', false],
  ['::1', false],
  ['::ffff:127.0.0.1', false],
  ['fe80::1', false],
  ['fd00::1', false],
  ['2001:db8::1', false],
  ['2002:7f00:1::', false],
  ['64:ff9b::7f00:1', false],
  ['localhost', false],
  ['not an address', false],
])('the address %s is public: %p', (address, isPublic) => {
  expect(isPublicAddress(address)).toBe(isPublic)
})
