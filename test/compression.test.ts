/** Which answers are compressed, and that only their encoding differs. */
import { afterAll, beforeAll, expect, test } from 'bun:test'
import { brotliDecompressSync, gunzipSync } from 'node:zlib'
import { z } from 'zod'
import { newClient } from './client.ts'
import { newApp, newUser, openTestService, type Credentials, type TestService } from './service.ts'

let opened: TestService
let shop: Credentials
const sessions = { long: '', short: '' }

beforeAll(async () => {
  opened = await openTestService()
  shop = await newApp(opened.service, { name: 'Fernweh Books' })
  const client = newClient(opened.app.fetch, shop)
  for (const name of ['long', 'short'] as const) {
    const { serviceUserId } = await newUser(opened.service, shop)
    for (let i = 0; i < (name === 'long' ? 10 : 0); i++) await client.credit(serviceUserId, 5)
    const { body } = await client.post('/api/widget/session', { ...shop, serviceUserId })
    sessions[name] = String(body['sessionToken'])
  }
})
afterAll(() => opened.close())

async function get(path: string, encoding?: string) {
  const headers: Record<string, string> = encoding ? { 'accept-encoding': encoding } : {}
  const response = await opened.app.fetch(new Request(`http://billfold.test${path}`, { headers }))
  return { response, encoding: response.headers.get('content-encoding'), vary: response.headers.get('vary') }
}

/** Without what differs between two answers by the clock. */
const stable = (text: string) => text.replace(/"serverTime":"[^"]*"/, '')

test('a long answer is the same in every encoding, and says that it varies', async () => {
  const path = `/api/widget/wallet?session=${sessions.long}`
  const plain = await get(path)
  const text = stable(await plain.response.text())
  expect([plain.encoding, plain.vary, plain.response.headers.get('content-type')]).toEqual([
    null,
    'accept-encoding',
    'application/json',
  ])
  const br = await get(path, 'gzip, deflate, br, zstd')
  const gzip = await get(path, 'gzip')
  const refused = await get(path, 'br;q=0, gzip;q=0')
  expect([br, gzip, refused].map(({ encoding, vary }) => [encoding, vary])).toEqual([
    ['br', 'accept-encoding'],
    ['gzip', 'accept-encoding'],
    [null, 'accept-encoding'],
  ])
  const bytes = await br.response.arrayBuffer()
  expect(bytes.byteLength).toBeLessThan(text.length / 2)
  expect(stable(brotliDecompressSync(bytes).toString())).toBe(text)
  expect(stable(gunzipSync(await gzip.response.arrayBuffer()).toString())).toBe(text)
  expect(stable(await refused.response.text())).toBe(text)
})

test('a short answer, a refusal and a wrong session are not compressed', async () => {
  const short = await get(`/api/widget/wallet?session=${sessions.short}`, 'br')
  expect([short.response.status, short.encoding, short.vary]).toEqual([200, null, 'accept-encoding'])
  expect(await short.response.json()).toMatchObject({ balance: 0 })
  const wrong = await get('/api/widget/wallet?session=ws_wrong', 'br')
  expect([wrong.response.status, wrong.encoding]).toEqual([401, null])
  expect(await wrong.response.json()).toMatchObject({ code: 'INVALID_SESSION' })
})

test('the stream of changes is not compressed, so no event waits for the next', async () => {
  const { response, encoding } = await get(`/api/widget/events?session=${sessions.long}`, 'br, gzip')
  expect([response.headers.get('content-type'), encoding]).toEqual(['text/event-stream', null])
  const reader = response.body!.getReader()
  const { value } = await reader.read()
  expect(new TextDecoder().decode(value)).toContain('retry:')
  await reader.cancel()
})

test('no call of a backend is compressed, and no answer with a token, a code or a link that works once', () => {
  const compressed = opened.app.routes.filter(({ isCompressed }) => isCompressed)
  expect(compressed.map(({ path }) => path).toSorted()).toEqual([
    '/api/widget/account/history',
    '/api/widget/activity',
    '/api/widget/holds',
    '/api/widget/links',
    '/api/widget/wallet',
  ])
  for (const { path, method, proof, output } of compressed) {
    expect([path, method]).toEqual([path, 'GET'])
    expect(['session', 'person']).toContain(proof!)
    const schema = JSON.stringify(z.toJSONSchema(output))
    expect(schema).not.toMatch(/"(sessionToken|deviceToken|linkCode|handle|path|clientSecret|code)":\{"type"/)
  }
})
