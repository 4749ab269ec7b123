/** Large bodies: what the caller proves is checked before they are read, and an address sends only some of them at once. */
import { afterAll, beforeAll, expect, setDefaultTimeout, test } from 'bun:test'
import { formTokenOf } from '../../src/actions/operators/manage-sessions.ts'
import { host, newOperator, type TestOperator } from '../operator.ts'
import { openBench, type Bench } from '../topup/rig.ts'

setDefaultTimeout(120_000)

let bench: Bench
let finance: TestOperator
let viewer: TestOperator
beforeAll(async () => {
  bench = await openBench({}, 20_000)
  finance = await newOperator(bench.opened, 'finance')
  viewer = await newOperator(bench.opened, 'viewer')
})
afterAll(() => bench.close())

const chunkBytes = 16 * 1024
const fileBytes = 8 * 1024 * 1024
/** What a runtime may fetch ahead, and the beginning that is read for the token. */
const smallBytes = 4 * chunkBytes

const partOf = (name: string, value: string) =>
  `--edge\r\nContent-Disposition: form-data; name="${name}"\r\n\r\n${value}\r\n`
const fileHead = '--edge\r\nContent-Disposition: form-data; name="report"; filename="r.csv"\r\n\r\n'

/** A body of 8 MiB that is produced only as far as it is read. */
function bodyOf(beginning: string) {
  const read = { bytes: 0, isEnded: false }
  const parts = (function* () {
    yield Buffer.from(beginning + fileHead)
    for (let sent = 0; sent < fileBytes; sent += chunkBytes) yield Buffer.alloc(chunkBytes, 'x')
    yield Buffer.from('\r\n--edge--\r\n')
  })()
  const stream = new ReadableStream<Uint8Array>(
    {
      pull: (controller) => {
        const { value, done } = parts.next()
        if (done) return controller.close()
        read.bytes += value.length
        controller.enqueue(value)
      },
      cancel: () => void (read.isEnded = true),
    },
    { highWaterMark: 0 },
  )
  return { stream, read }
}

async function upload(who: { readonly token: string } | undefined, beginning: string, changes: object = {}) {
  const { stream, read } = bodyOf(beginning)
  const headers = {
    origin: host,
    host: new URL(host).host,
    'content-type': 'multipart/form-data; boundary=edge',
    ...(who && { cookie: `billfold-session=${who.token}` }),
    ...changes,
  }
  const request = new Request(`${host}/admin/reconciliation/file`, { method: 'POST', body: stream, headers })
  const { status } = await bench.app.fetch(request)
  return { status, bytes: read.bytes, isEnded: read.isEnded }
}

const tokenOf = (who: TestOperator) => partOf('_token', formTokenOf(who.token))

test('an upload is read to its end when session, origin, right and token are right', async () => {
  // The file itself is no report.
  const { status, bytes } = await upload(finance, tokenOf(finance))
  expect([status, bytes > fileBytes]).toEqual([422, true])
})

const refused: [string, () => ReturnType<typeof upload>, number][] = [
  ['without a session', () => upload(undefined, tokenOf(finance)), 401],
  ['with an invented session', () => upload({ token: 'x'.repeat(43) }, tokenOf(finance)), 401],
  ['from another site', () => upload(finance, tokenOf(finance), { origin: 'https://evil.example' }), 403],
  ['without the right', () => upload(viewer, tokenOf(viewer)), 403],
  ['without a token', () => upload(finance, ''), 403],
  ['with the token of another session', () => upload(finance, tokenOf(viewer)), 403],
  ['with a field before the token', () => upload(finance, partOf('other', 'x') + tokenOf(finance)), 403],
  ['with a token that never ends', () => upload(finance, tokenOf(finance).replace('\r\n--', '').trimEnd()), 403],
  ['with another boundary', () => upload(finance, tokenOf(finance).replaceAll('edge', 'ledge')), 403],
]
test.each(refused)('an upload %s is refused, and hardly any of it is read', async (_, send, expected) => {
  const { status, bytes } = await send()
  expect(status).toBe(expected)
  expect(bytes).toBeLessThan(smallBytes)
})

test('uploads that are refused keep no place of the few that are read at once', async () => {
  const silent = Array.from({ length: 5 }, () => {
    const pending = Promise.withResolvers<void>()
    const pull = async (controller: ReadableStreamDefaultController<Uint8Array>) => {
      await pending.promise
      controller.close()
    }
    const stream = new ReadableStream<Uint8Array>({ pull }, { highWaterMark: 0 })
    const headers = {
      origin: host,
      host: new URL(host).host,
      'content-type': 'multipart/form-data; boundary=edge',
      cookie: `billfold-session=${finance.token}`,
    }
    const request = new Request(`${host}/admin/reconciliation/file`, { method: 'POST', body: stream, headers })
    return { answer: bench.app.fetch(request), end: pending.resolve }
  })
  for (let i = 0; i < 3; i++) expect((await upload(finance, tokenOf(viewer))).status).toBe(403)
  expect((await upload(finance, tokenOf(finance))).status).toBe(422)
  for (const { end } of silent) end()
  for (const { answer } of silent) expect((await answer).status).toBe(403)
})

test('a webhook without a signature is refused before its body is read', async () => {
  const { stream, read } = bodyOf('')
  const request = new Request('http://billfold.test/api/processor/stripe', { method: 'POST', body: stream })
  const response = await bench.app.fetch(request)
  expect([response.status, ((await response.json()) as { code: string }).code]).toEqual([400, 'INVALID_REQUEST'])
  expect(read.bytes).toBeLessThan(smallBytes)
})

test('of large bodies that one network sends at once only sixteen are read, and other networks are served', async () => {
  const body = JSON.stringify({ id: 'evt_1', type: 'nothing' })
  const headers = { 'stripe-signature': bench.standIn.sign(body) }
  const send = (address: string, content: BodyInit) =>
    bench.app.fetch(
      new Request('http://billfold.test/api/processor/stripe', { method: 'POST', body: content, headers }),
      address,
    )
  const open = Array.from({ length: 16 }, (_, i) => {
    const held = Promise.withResolvers<void>()
    const stream = new ReadableStream<Uint8Array>(
      {
        pull: async (controller) => {
          await held.promise
          controller.enqueue(Buffer.from(body))
          controller.close()
        },
      },
      { highWaterMark: 0 },
    )
    return { answer: send(`2001:db8:9:9::${i + 1}`, stream), finish: held.resolve }
  })
  const busy = await send('2001:db8:9:9::99', body)
  expect([busy.status, busy.headers.has('retry-after')]).toEqual([429, true])
  expect((await send('2001:db8:9:a::1', body)).status).toBe(200)
  for (const { finish } of open) finish()
  for (const { answer } of open) expect((await answer).status).toBe(200)
  expect((await send('2001:db8:9:9::99', body)).status).toBe(200)
})
