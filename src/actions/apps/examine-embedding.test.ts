import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import type { App } from '../../store/apps.ts'
import { examineEmbedding, type Check, type Embedding, type PageFacts } from './examine-embedding.ts'
import { isPublicAddress } from '../public-fetch.ts'
import { readPage } from './read-embedding.ts'

const app: App = {
  clientId: 'app_1',
  name: 'Shop',
  allowedOrigins: [],
  allowedIframeParents: ['https://shop.example', 'https://admin.shop.example:8443'],
  scopes: [],
  strictReferences: false,
  accentColor: null,
  logoUrl: null,
  maxOperations: null,
  hasEvents: false,
  isActive: true,
  createdAt: new Date(),
  secrets: [],
}

const facts: PageFacts = {
  status: 200,
  location: null,
  referrerPolicy: null,
  openerPolicy: null,
  contentPolicy: null,
  frames: [],
}

function examine(
  page: string,
  changes: Partial<Embedding> = {},
  changedFacts: Partial<PageFacts> = {},
): Record<string, Check> {
  const url = new URL(page)
  const listing = app.allowedIframeParents.includes(url.origin) ? [app] : []
  const checks = examineEmbedding({
    url,
    outer: undefined,
    parentOrigin: undefined,
    app,
    listing,
    isOnlyApp: false,
    page: { ...facts, ...changedFacts },
    publicUrl: 'https://pay.example',
    isProduction: true,
    ...changes,
  })
  return Object.fromEntries(checks.map((check) => [check.name, check]))
}

const frame = (attributes: Record<string, string>) => ({
  frames: [{ src: 'https://pay.example/widget/wallet', ...attributes }],
})
const wholeSandbox = 'allow-same-origin allow-scripts allow-forms allow-popups allow-popups-to-escape-sandbox'

test('a page that does everything right has no failing check', () => {
  const checks = examine(
    'https://shop.example/x',
    { parentOrigin: 'https://shop.example' },
    frame({ sandbox: wholeSandbox }),
  )
  expect(Object.values(checks).filter((check) => check.state === 'bad' || check.state === 'warn')).toEqual([])
})

test.each([
  ['another scheme', 'http://shop.example/', {}, {}, 'Listed as a parent', 'bad', 'scheme differs'],
  ['another port', 'https://shop.example:8443/', {}, {}, 'Listed as a parent', 'bad', 'port differs'],
  ['a subdomain', 'https://www.shop.example/', {}, {}, 'Listed as a parent', 'bad', 'subdomain'],
  ['a stranger', 'https://other.example/', {}, {}, 'Listed as a parent', 'bad', 'not on the list'],
  ['a file', 'file:///tmp/x.html', {}, {}, 'Listed as a parent', 'bad', 'no origin'],
  ['plain http', 'http://shop.example/', {}, {}, 'HTTPS', 'bad', 'plain http'],
  [
    'an http service in an https page',
    'https://shop.example/',
    { publicUrl: 'http://pay.example' },
    {},
    'HTTPS',
    'bad',
    'block',
  ],
  [
    'an inactive app',
    'https://shop.example/',
    { app: { ...app, isActive: false } },
    {},
    'Which app',
    'bad',
    'not active',
  ],
  ['no app', 'https://other.example/', { app: undefined }, {}, 'Which app', 'bad', 'No app lists'],
  ['two apps', 'https://shop.example/', { app: undefined, listing: [app, app] }, {}, 'Which app', 'warn', '2 apps'],
  [
    'another parentOrigin',
    'https://shop.example/',
    { parentOrigin: 'https://other.example' },
    {},
    'parentOrigin',
    'bad',
    'no page can frame',
  ],
  [
    'an unlisted page around it',
    'https://shop.example/',
    { outer: new URL('https://portal.example/') },
    {},
    'Nested pages',
    'bad',
    'every page',
  ],
  [
    'a listed page around it',
    'https://shop.example/',
    { outer: new URL('https://shop.example/') },
    {},
    'Nested pages',
    'good',
    'on the list',
  ],
  [
    'a sandbox without scripts',
    'https://shop.example/',
    {},
    frame({ sandbox: 'allow-forms allow-same-origin' }),
    'Sandbox',
    'bad',
    'allow-scripts',
  ],
  ['no Referer', 'https://shop.example/', {}, { referrerPolicy: 'no-referrer' }, 'Referer', 'warn', 'no Referer'],
  [
    'no Referer and a frame that names no app',
    'https://shop.example/',
    {},
    { referrerPolicy: 'strict-origin, same-origin', ...frame({}) },
    'Referer',
    'bad',
    'refuses it',
  ],
  [
    'no Referer, of the only app there is',
    'https://shop.example/',
    { isOnlyApp: true },
    { referrerPolicy: 'no-referrer', ...frame({}) },
    'Referer',
    'good',
    'one active app',
  ],
  [
    'a frame that names no app, where two apps list the origin',
    'https://shop.example/',
    { listing: [app, app] },
    frame({}),
    'Referer',
    'bad',
    'Several apps',
  ],
  [
    'no Referer, but a clientId',
    'https://shop.example/',
    {},
    { referrerPolicy: 'no-referrer', ...frame({ src: 'https://pay.example/widget/wallet?clientId=app_1' }) },
    'Referer',
    'good',
    'clientId',
  ],
  [
    'an opener policy',
    'https://shop.example/',
    {},
    { openerPolicy: 'same-origin' },
    'Cross-Origin-Opener-Policy',
    'warn',
    'opener',
  ],
  [
    'a mild opener policy',
    'https://shop.example/',
    {},
    { openerPolicy: 'same-origin-allow-popups' },
    'Cross-Origin-Opener-Policy',
    'good',
    'opener',
  ],
  [
    'a content policy without us',
    'https://shop.example/',
    {},
    { contentPolicy: "default-src 'self'" },
    'Content-Security-Policy',
    'bad',
    'does not allow',
  ],
  [
    'a content policy with us',
    'https://shop.example/',
    {},
    { contentPolicy: "frame-src https://pay.example; default-src 'none'" },
    'Content-Security-Policy',
    'good',
    'allows',
  ],
  [
    'a redirect',
    'https://shop.example/',
    {},
    { location: 'https://www.shop.example/' },
    'The page itself',
    'warn',
    'redirects',
  ],
] as const)('the doctor looks at a page with %s: %s', (_, page, changes, changedFacts, name, state, text) => {
  const check = examine(page, changes, changedFacts)[name]!
  expect(check.state).toBe(state)
  expect(check.text).toContain(text)
})

test('a check that fails says what to write', () => {
  expect(examine('https://www.shop.example/')['Listed as a parent']!.fix).toContain('\nhttps://www.shop.example')
})

describe('reading the page', () => {
  let server: ReturnType<typeof Bun.serve>
  beforeAll(() => {
    server = Bun.serve({
      port: 0,
      hostname: '127.0.0.1',
      fetch: () =>
        new Response(
          `<meta name="referrer" content="no-referrer"><iframe SANDBOX='allow-forms' src="http://pay.example/widget/wallet?a=1&amp;b=2"></iframe><iframe src="https://other.example">`,
          { headers: { 'content-type': 'text/html', 'cross-origin-opener-policy': 'same-origin' } },
        ),
    })
  })
  afterAll(() => server.stop(true))

  test('its headers, meta tags and the frame of the widget are found', async () => {
    const page = await readPage(server.url, 'http://pay.example', () => true)
    expect(page).toMatchObject({
      status: 200,
      referrerPolicy: 'no-referrer',
      openerPolicy: 'same-origin',
      frames: [{ sandbox: 'allow-forms', src: 'http://pay.example/widget/wallet?a=1&b=2' }],
    })
  })

  test('in production nothing in the service’s own network is asked', async () => {
    for (const address of [
      server.url.href,
      'http://localhost/',
      'http://[::1]/',
      'http://169.254.169.254/',
      'http://10.0.0.1/',
    ])
      expect(await readPage(new URL(address), 'http://pay.example', isPublicAddress)).toEqual({
        problem: 'its address is not on the public internet',
      })
  })
})

test('a page made of nothing but begun tags does not hold the process', async () => {
  const server = Bun.serve({
    port: 0,
    hostname: '127.0.0.1',
    fetch: () => new Response('<meta '.repeat(85_000), { headers: { 'content-type': 'text/html' } }),
  })
  const before = process.cpuUsage()
  const page = await readPage(server.url, 'http://pay.example', () => true)
  const { user, system } = process.cpuUsage(before)
  await server.stop(true)
  expect(page).toMatchObject({ status: 200, frames: [] })
  // A parser that scans the rest of the page for each tag would take more than ten seconds.
  expect((user + system) / 1000).toBeLessThan(5_000)
})
