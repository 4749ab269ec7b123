import { afterAll, beforeAll, expect, test } from 'bun:test'
import { createHash } from 'node:crypto'
import { openTestService, type TestService } from '../../test/service.ts'

let opened: TestService
beforeAll(async () => {
  opened = await openTestService({ PUBLIC_URL: 'https://wallet.example' })
})
afterAll(() => opened.close())

const get = async (path: string, headers: Record<string, string> = {}) =>
  await opened.app.fetch(new Request(`http://billfold.test${path}`, { headers }))
const sri = (algorithm: string, bytes: ArrayBuffer) =>
  `${algorithm}-${createHash(algorithm).update(new Uint8Array(bytes)).digest('base64')}`

type Index = {
  version: string
  package: string
  packageIntegrity: string
  script: string
  pinned: { src: string; integrity: string; tag: string }
}
const index = async () => (await (await get('/sdk/index.json')).json()) as Index
const caching = async (path: string) => (await get(path)).headers.get('cache-control')
const pathOf = (url: string) => new URL(url).pathname

test('the index names the archive and the script, with the integrity they really have', async () => {
  const { package: archive, packageIntegrity, script, pinned, version } = await index()
  expect([archive, script]).toEqual([
    'https://wallet.example/sdk/billfold-sdk.tgz',
    'https://wallet.example/sdk/billfold.js',
  ])
  expect(version).toMatch(/^\d+\.\d+\.\d+/)
  expect(sri('sha512', await (await get(pathOf(archive))).arrayBuffer())).toBe(packageIntegrity)
  expect(sri('sha384', await (await get(pathOf(script))).arrayBuffer())).toBe(pinned.integrity)
  expect(sri('sha384', await (await get(pathOf(pinned.src))).arrayBuffer())).toBe(pinned.integrity)
  expect(pinned.tag).toBe(
    `<script src="${pinned.src}" integrity="${pinned.integrity}" crossorigin="anonymous"></script>`,
  )
})

test('the script under its hash is cached for ever; a plain name is revalidated after five minutes', async () => {
  const { pinned } = await index()
  expect(pathOf(pinned.src)).toMatch(/^\/sdk\/billfold\.[0-9a-f]{12}\.js$/)
  expect(await caching(pathOf(pinned.src))).toBe('public, max-age=31536000, immutable')
  expect(await caching('/sdk/billfold.js')).toBe('public, max-age=300')
  expect(await caching('/sdk/billfold-sdk.tgz')).toBe('public, max-age=300')
})

test.each(['/sdk/billfold.js', '/sdk/billfold-sdk.tgz'])('%s is not sent to who has it already', async (path) => {
  const etag = (await get(path)).headers.get('etag')!
  const again = await get(path, { 'if-none-match': `"other", ${etag}` })
  expect([again.status, await again.text(), again.headers.get('etag')]).toEqual([304, '', etag])
  expect(again.headers.get('access-control-allow-origin')).toBe('*')
  expect(again.headers.get('vary')).toBe('accept-encoding')
  // A proxy that decompressed the file may have made the tag a strong one.
  expect((await get(path, { 'if-none-match': etag.replace('W/', '') })).status).toBe(304)
  expect((await get(path, { 'if-none-match': '"other"' })).status).toBe(200)
})

test('every page may load the SDK, compressed or not, and no other file of the folder is served', async () => {
  for (const path of [
    '/sdk/billfold.js',
    '/sdk/billfold-sdk.tgz',
    '/sdk/index.json',
    pathOf((await index()).pinned.src),
  ]) {
    const { headers } = await get(path)
    expect([headers.get('access-control-allow-origin'), headers.get('cross-origin-resource-policy')]).toEqual([
      '*',
      'cross-origin',
    ])
    expect(headers.get('x-content-type-options')).toBe('nosniff')
  }
  expect((await get('/sdk/billfold.js', { 'accept-encoding': 'br' })).headers.get('content-encoding')).toBe('br')
  for (const path of ['/sdk/', '/sdk/billfold.0000000000000000.js', '/sdk/package.json', '/sdk/..%2fsrc%2fmain.ts'])
    expect([path, (await get(path)).status]).toEqual([path, 404])
})
