import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { logoPath, serviceLogoPath } from '../actions/apps/logo-path.ts'
import { isPublicAddress } from '../actions/public-fetch.ts'
import { fetchLogo, openLogoCache, pictureType } from '../actions/fetch-logo.ts'

const png = new Uint8Array([0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a, 1, 2, 3])

/** A self-signed certificate for the host logo.test, used only here. */
let tls: { cert: string; key: string }
let server: ReturnType<typeof Bun.serve>
let asked = 0
const answers: Record<string, () => Response> = {
  '/logo.png': () => new Response(png),
  '/huge.png': () => new Response(new Uint8Array(200_000).fill(1)),
  '/logo.svg': () =>
    new Response('<svg xmlns="http://www.w3.org/2000/svg"/>', { headers: { 'content-type': 'image/png' } }),
  '/moved.png': () => Response.redirect('https://logo.test/logo.png'),
}

beforeAll(async () => {
  const folder = await mkdtemp(join(tmpdir(), 'billfold-logo-'))
  const subject = ['-subj', '/CN=logo.test', '-addext', 'subjectAltName=DNS:logo.test']
  const made = Bun.spawnSync(
    ['openssl', 'req', '-x509', '-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:prime256v1', '-nodes', '-days', '1']
      .concat(subject)
      .concat(['-keyout', `${folder}/key.pem`, '-out', `${folder}/cert.pem`]),
  )
  expect(made.exitCode).toBe(0)
  tls = { cert: await Bun.file(`${folder}/cert.pem`).text(), key: await Bun.file(`${folder}/key.pem`).text() }
  await rm(folder, { recursive: true })
  server = Bun.serve({
    port: 0,
    hostname: '127.0.0.1',
    tls,
    fetch: ({ url }) => {
      asked++
      return answers[new URL(url).pathname]?.() ?? new Response('', { status: 404 })
    },
  })
})
afterAll(() => server.stop(true))

const path = (logoUrl: string | null) => logoPath({ clientId: 'app_1', logoUrl })
const bytes = (text: string) => new Uint8Array(Buffer.from(text, 'latin1'))

const resolve = async () => [{ address: '127.0.0.1', family: 4 }]
const fetchHere = (path: string) =>
  fetchLogo(`https://logo.test:${server.port}${path}`, { resolve, isAllowed: () => true, ca: tls.cert })

describe('logos', () => {
  test('a logo is fetched, and its type is read from its bytes', async () => {
    expect(await fetchHere('/logo.png')).toEqual({ type: 'image/png', bytes: png })
  })

  test.each(['/huge.png', '/logo.svg', '/moved.png', '/none.png'])('the logo %s is refused', async (path) => {
    expect(await fetchHere(path)).toBeUndefined()
  })

  test('a logo is never fetched from an address that is not public', async () => {
    const before = asked
    const url = `https://logo.test:${server.port}/logo.png`
    const refused = { resolve, ca: tls.cert, isAllowed: isPublicAddress }
    expect(await fetchLogo(url, refused)).toBeUndefined()
    for (const literal of ['https://127.0.0.1/logo.png', 'https://[::1]/logo.png', 'http://logo.test/logo.png'])
      expect(await fetchLogo(literal, refused)).toBeUndefined()
    expect(asked).toBe(before)
  })

  test('a logo is fetched once for all visitors of an hour, and a failure is not tried again at once', async () => {
    let fetches = 0
    const keep = openLogoCache(async (url) => {
      fetches++
      return url === 'good' ? { type: 'image/png', bytes: png } : undefined
    })
    await Promise.all([keep('good', 0), keep('good', 1), keep('good', 3_599_000)])
    expect(fetches).toBe(1)
    await keep('good', 3_600_001)
    expect(fetches).toBe(2)
    await keep('bad', 0)
    await keep('bad', 299_000)
    expect(fetches).toBe(3)
    await keep('bad', 300_001)
    expect(fetches).toBe(4)
  })

  test('a logo has an address of our own that changes with the picture’s', () => {
    expect(path('https://cdn.example/a.png')).toMatch(/^\/widget\/logo\/app_1\?v=[0-9a-f]{8}$/)
    expect(path('https://cdn.example/a.png')).not.toBe(path('https://cdn.example/b.png'))
    expect(path(null)).toBeNull()
    expect(serviceLogoPath({ logoUrl: 'https://cdn.example/a.png' })).toMatch(/^\/widget\/logo\?v=[0-9a-f]{8}$/)
    expect(serviceLogoPath({ logoUrl: undefined })).toBeNull()
  })
})

test('a picture is known by its first bytes', () => {
  expect(pictureType(bytes('\xff\xd8\xff\xe0'))).toBe('image/jpeg')
  expect(pictureType(bytes('RIFF\0\0\0\0WEBPVP8 '))).toBe('image/webp')
  expect(pictureType(bytes('<svg'))).toBeUndefined()
})
