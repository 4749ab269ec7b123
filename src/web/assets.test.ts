import { afterAll, beforeAll, expect, test } from 'bun:test'
import { brotliDecompressSync, gunzipSync } from 'node:zlib'
import { openTestService, type TestService } from '../../test/service.ts'
import { scriptUrls, styleUrl } from './assets.ts'

let opened: TestService
beforeAll(async () => {
  opened = await openTestService()
})
afterAll(() => opened.close())

const get = async (path: string, encoding?: string) =>
  await opened.app.fetch(
    new Request(`http://billfold.test${path}`, { headers: encoding ? { 'accept-encoding': encoding } : {} }),
  )

test('an asset is named by its hash, cached for ever, and the same in every compression', async () => {
  const url = await styleUrl('style.css')
  expect(url).toMatch(/^\/assets\/style\.[0-9a-f]{12}\.css$/)
  const plain = await get(url)
  expect(Object.fromEntries(plain.headers)).toMatchObject({
    'cache-control': 'public, max-age=31536000, immutable',
    'content-type': 'text/css; charset=utf-8',
    'x-content-type-options': 'nosniff',
    vary: 'accept-encoding',
  })
  const text = await plain.text()
  const [br, gzip] = [await get(url, 'gzip, deflate, br'), await get(url, 'gzip')]
  expect([br, gzip].map(({ headers }) => headers.get('content-encoding'))).toEqual(['br', 'gzip'])
  expect(brotliDecompressSync(await br.arrayBuffer()).toString()).toBe(text)
  expect(gunzipSync(await gzip.arrayBuffer()).toString()).toBe(text)
})

test('a script and its imports are the production build, cached for ever and compressed', async () => {
  const urls = await scriptUrls('wallet.js')
  expect(urls.length).toBeGreaterThan(1)
  expect(urls.at(-1)).toMatch(/^\/assets\/wallet-page\.[0-9a-f]{12}\.js$/)
  for (const url of urls) {
    const response = await get(url, 'br')
    expect(Object.fromEntries(response.headers)).toMatchObject({
      'cache-control': 'public, max-age=31536000, immutable',
      'content-type': 'text/javascript; charset=utf-8',
      'content-encoding': 'br',
    })
    const text = brotliDecompressSync(await response.arrayBuffer()).toString()
    expect(text).not.toMatch(/jsxDEV|sourceMappingURL|process\.env/)
    for (const [, file] of text.matchAll(/from"\.\/([^"]+)"/g)) expect(urls).toContain(`/assets/${file}`)
  }
})

test('another process gives every script the same name', async () => {
  const names = ['wallet.js', 'topup.js', 'account.js', 'activity.js', 'admin.js'] as const
  const asked = `console.log(JSON.stringify(await Promise.all(${JSON.stringify(names)}.map((name) => scriptUrls(name)))))`
  const code = `import { scriptUrls } from ${JSON.stringify(`${import.meta.dir}/assets.ts`)}; ${asked}`
  const { stdout } = Bun.spawnSync([process.execPath, '-e', code], { cwd: '/' })
  expect(JSON.parse(stdout.toString())).toEqual(await Promise.all(names.map((name) => scriptUrls(name))))
})

test.each([
  '/assets/style.css',
  '/assets/style.0000000000000000.css',
  '/assets/constructor',
  '/assets/shared.0000000000000000.js',
  '/assets/..%2fassets.ts',
])('%s is not there', async (path) => {
  const { status, headers } = await get(path)
  expect(status).toBe(404)
  expect(headers.get('cache-control')).toBe('no-store')
})
