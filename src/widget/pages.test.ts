import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { brotliDecompressSync } from 'node:zlib'
import { newClient } from '../../test/client.ts'
import { newApp, newUser, openTestService, operator, type Credentials, type TestService } from '../../test/service.ts'
import { setAppActive } from '../actions/apps/manage-apps.ts'
import { languages } from '../languages/languages.ts'
import { scriptUrls } from '../web/assets.ts'
import { laterFiles } from './language-files.ts'
import { topupViews, walletViews } from './later-views.ts'
import type { PageData } from './page-data.ts'
import { serverWords, signInWords } from './page-words.ts'

let opened: TestService
let app: Credentials
let session: (parentOrigin?: string) => Promise<string>

const parents = ['https://shop.example', 'https://app.shop.example:8443']

beforeAll(async () => {
  opened = await openTestService()
  app = await newApp(opened.service, { allowedIframeParents: parents, name: 'Shop', accentColor: '#ffd400' })
  // Two apps list the same parent, so the address must name the app.
  await newApp(opened.service, { allowedIframeParents: ['https://two.example', parents[1]!] })
  const { serviceUserId } = await newUser(opened.service, app)
  const client = newClient(opened.app.fetch, app)
  await client.credit(serviceUserId, 900)
  for (const order of [1041, 1042, 1045, 1050, 1063, 1064, 1071, 1077, 1082])
    await client.post('/api/server/wallet/debit', {
      ...app,
      serviceUserId,
      amount: order / 100,
      referenceType: 'ORDER_PAYMENT',
      referenceId: `order-${order}`,
      description: `Order ${order}: Atlas of Remote Islands`,
    })
  session = async (parentOrigin) =>
    String((await client.post('/api/widget/session', { ...app, serviceUserId, parentOrigin })).body['sessionToken'])
})
afterAll(() => opened.close())

async function get(path: string, headers: Record<string, string> = {}) {
  const response = await opened.app.fetch(new Request(`http://billfold.test${path}`, { headers }))
  return { status: response.status, headers: response.headers, html: await response.text() }
}

function policyOf({ headers }: { headers: Headers }): Record<string, string> {
  const directives = headers.get('content-security-policy')!.split('; ')
  return Object.fromEntries(directives.map((line) => [line.split(' ')[0], line.split(' ').slice(1).join(' ')]))
}

const ancestors = async (path: string, headers = {}) => policyOf(await get(path, headers))['frame-ancestors']

describe('who may frame a page', () => {
  test('exactly the app’s list, without a session', async () => {
    expect(await ancestors(`/widget/wallet?clientId=${app.clientId}`)).toBe(parents.join(' '))
    expect(await ancestors('/widget/wallet', { referer: 'https://shop.example/' })).toBe(parents.join(' '))
  })

  test('the session’s own parent alone', async () => {
    expect(await ancestors(`/widget/wallet?session=${await session(parents[1])}`)).toBe(parents[1])
    expect(await ancestors(`/widget/topup?session=${await session(parents[1])}`)).toBe(parents[1])
    expect(await ancestors(`/widget/wallet?session=${await session()}`)).toBe(parents.join(' '))
  })

  test('no origin, if the app is unknown, unnamed or not active', async () => {
    const off = await newApp(opened.service, { allowedIframeParents: ['https://off.example'] })
    await setAppActive(opened.service, operator, off.clientId, false)
    for (const [path, status] of [
      ['/widget/wallet', 400],
      ['/widget/wallet?clientId=app_nobody', 403],
      [`/widget/wallet?clientId=${off.clientId}`, 403],
      ['/widget/topup', 400],
    ] as const) {
      const page = await get(path)
      expect({ path, status: page.status, framed: policyOf(page)['frame-ancestors'] }).toEqual({
        path,
        status,
        framed: "'none'",
      })
      expect(page.html).toContain('<h1>')
      expect(page.html).not.toContain('<script')
    }
  })
})

describe('a page that belongs to no app', () => {
  const inFrame = { 'sec-fetch-dest': 'iframe' }

  test.each([
    ['no app is named', inFrame, '', 'names no app, and the embedding page sends no Referer'],
    [
      'two apps list the origin',
      { ...inFrame, referer: `${parents[1]}/x` },
      '',
      `More than one app lists ${parents[1]}`,
    ],
    ['no app lists the origin', { referer: 'https://far.example/' }, '', 'No app lists https://far.example among'],
    ['there is no such app', inFrame, '?clientId=app_nobody', 'no app with the clientId'],
  ])('names the cause and the remedy: %s', async (_, headers, query, cause) => {
    const { status, html } = await get(`/widget/wallet${query}`, headers)
    expect(status).toBe(403)
    expect(html).toContain(cause)
    const isNamed = query !== '' || cause.startsWith('No app lists')
    expect(html.includes('clientId=app_…')).toBe(!isNamed)
    expect(html.includes('not allowed to show this wallet')).toBe(isNamed)
  })

  test.each([
    ['without a Referer any page frames the explanation', { ...inFrame }, '', '*'],
    ['of two apps that page frames the explanation', { ...inFrame, referer: `${parents[1]}/x` }, '', parents[1]],
    ['a page that no app lists frames nothing', { ...inFrame, referer: 'https://far.example/' }, '', "'none'"],
    ['with an unknown clientId no page frames anything', inFrame, '?clientId=app_nobody', "'none'"],
    ['outside of a frame the explanation is not for frames', { 'sec-fetch-dest': 'document' }, '', "'none'"],
  ])('in a frame: %s', async (_, headers, query, framed) => {
    for (const page of ['wallet', 'topup']) {
      expect([page, await ancestors(`/widget/${page}${query}`, headers)]).toEqual([page, framed])
    }
  })

  test('what any page may frame has nothing to click, no data, no name and no script', async () => {
    const page = await get('/widget/wallet?lang=de', { ...inFrame, cookie: '__Host-billfold-device=x' })
    expect(policyOf(page)).toEqual({
      'default-src': "'none'",
      'style-src': "'self'",
      'frame-ancestors': '*',
      'form-action': "'none'",
      'base-uri': "'none'",
      sandbox: '',
    })
    expect(page.headers.get('x-frame-options')).toBeNull()
    expect(page.headers.get('set-cookie')).toBeNull()
    expect(page.html).toContain('<html lang="de"')
    expect(page.html).toContain('referrerpolicy=')
    expect(page.html.match(/<(a|button|form|input|iframe|script|img|svg|video|object|embed)\b/g)).toBeNull()
    expect(page.html).not.toContain('Billfold')
  })

  test('shows any origin as text', async () => {
    const { html } = await get('/widget/wallet', { referer: 'https://<img src=x>/' })
    expect(html).not.toContain('<img')
  })
})

test.each(['/widget/wallet', '/widget/topup'])(
  'a wrong method on %s is 405, and Allow names the right one',
  async (path) => {
    for (const method of ['POST', 'PUT', 'DELETE', 'OPTIONS']) {
      const response = await opened.app.fetch(new Request(`http://billfold.test${path}`, { method }))
      expect([method, response.status, response.headers.get('allow')]).toEqual([method, 405, 'GET'])
    }
  },
)

/** The page as a browser receives it. */
async function sent(path: string) {
  const headers = { 'accept-encoding': 'gzip, br' }
  const response = await opened.app.fetch(new Request(`http://billfold.test${path}`, { headers }))
  expect([path, response.status, response.headers.get('content-encoding')]).toEqual([path, 200, 'br'])
  const bytes = await response.arrayBuffer()
  return { weight: bytes.byteLength, text: brotliDecompressSync(bytes).toString() }
}

/** The bytes of an answer as they are sent, with those of the files that it names. */
async function weigh(path: string): Promise<number> {
  const { weight, text } = await sent(path)
  const files = [...text.matchAll(/(?:href|src)="(\/assets\/[^"]+)"/g)].map(([, file]) => file!)
  const weights = await Promise.all(files.map(async (file) => (await sent(file)).weight))
  return weights.reduce((sum, each) => sum + each, weight)
}

const inKb = (bytes: number) => Math.round(bytes / 100) / 10

describe('the pages', () => {
  test('runs only what carries its nonce, and talks to us alone', async () => {
    const page = await get(`/widget/wallet?clientId=${app.clientId}`)
    const policy = policyOf(page)
    const nonce = /nonce="([\w-]{24})"/.exec(page.html)![1]!
    expect(policy).toEqual({
      'default-src': "'none'",
      'script-src': `'nonce-${nonce}'`,
      'style-src': `'self' 'nonce-${nonce}'`,
      'img-src': "'self' data:",
      'connect-src': "'self'",
      'frame-src': "'none'",
      'frame-ancestors': parents.join(' '),
      'form-action': "'none'",
      'base-uri': "'none'",
    })
    const again = await get(`/widget/wallet?clientId=${app.clientId}`)
    expect(again.html).not.toContain(nonce)
  })

  test('every page has the other headers too, errors included, and only a page that no origin may frame has X-Frame-Options', async () => {
    const paths = [`/widget/wallet?session=${await session()}`, '/widget/wallet', '/widget/nothing', '/widget/logo/x']
    for (const path of paths) {
      const { headers } = await get(path)
      expect({ path, ...Object.fromEntries(headers) }).toMatchObject({
        path,
        'referrer-policy': 'no-referrer',
        'x-content-type-options': 'nosniff',
        'cache-control': 'no-store',
        'content-security-policy': expect.stringContaining("default-src 'none'"),
      })
      expect(headers.get('set-cookie')).toBeNull()
      expect(headers.get('access-control-allow-origin')).toBeNull()
    }
    expect((await get(paths[0]!)).headers.get('permissions-policy')).toContain('camera=()')
    expect((await get(paths[0]!)).headers.has('x-frame-options')).toBe(false)
    expect((await get(paths[2]!)).headers.get('x-frame-options')).toBe('DENY')
  })

  test('every page does not repeat the token, and logs neither it nor the query', async () => {
    const token = await session()
    const before = opened.logged.length
    const page = await get(`/widget/wallet?session=${token}&secret=marmalade`)
    expect(page.html).not.toContain(token)
    const logged = opened.logged.slice(before).join('')
    expect(logged).toContain('"route":"/widget/wallet"')
    expect(logged).not.toContain(token.slice(3))
    expect(logged).not.toContain('marmalade')
  })

  test('every page shows any app name as text', async () => {
    const name = '</script><script>alert(1)</script><img src=x onerror=alert(1)>"\'&'
    const mean = await newApp(opened.service, { name })
    const { html } = await get(`/widget/wallet?clientId=${mean.clientId}`)
    expect(html).not.toContain('<script>alert')
    expect(html).not.toContain('<img src=x')
    const data = JSON.parse(/id="data">(.*?)<\/script>/s.exec(html)![1]!) as { appName: string }
    expect(data.appName).toBe(name)
  })

  test('every page comes in the language asked for, else in the browser’s', async () => {
    const path = `/widget/wallet?clientId=${app.clientId}`
    expect((await get(`${path}&lang=ar`)).html).toContain('<html lang="ar" dir="rtl"')
    expect((await get(path, { 'accept-language': 'ja,en;q=0.5' })).html).toContain('<html lang="ja" dir="ltr"')
    expect((await get(`${path}&theme=dark`)).html).toContain('data-theme="dark"')
    expect((await get(`${path}&theme=%22onload=`)).html).not.toContain('onload')
  })

  test('a form that is seen before its script runs cannot be sent', async () => {
    for (const path of [`wallet?clientId=${app.clientId}`, `topup?session=${await session()}`]) {
      const { html } = await get(`/widget/${path}`)
      const [form = ''] = /<form.*<\/form>/s.exec(html) ?? []
      const [button = ''] = /<button class="button"[^>]*>/.exec(form) ?? []
      expect(button).toContain(' disabled')
    }
  })

  test.each([
    ['signed out', 30, async (lang: string) => weigh(`/widget/wallet?clientId=${app.clientId}&lang=${lang}`)],
    [
      'the wallet with its ten entries',
      30,
      async (lang: string) => {
        const token = await session()
        const page = await weigh(`/widget/wallet?session=${token}&lang=${lang}`)
        return page + (await sent(`/api/widget/wallet?session=${token}`)).weight
      },
    ],
    [
      'topping up',
      30,
      async (lang: string) => {
        const token = await session()
        const page = await weigh(`/widget/topup?session=${token}&lang=${lang}`)
        return page + (await sent(`/api/widget/wallet?session=${token}`)).weight
      },
    ],
  ])('the first view %s weighs at most %p kB in every language, with its data', async (_, kB, weighIn) => {
    const over: Record<string, number> = {}
    for (const lang of languages.keys()) {
      const total = await weighIn(lang)
      if (total > kB * 1000) over[lang] = inKb(total)
    }
    expect(over).toEqual({})
  })

  test.each([
    ['wallet', 'account', 11],
    ['wallet', 'activity', 12.5],
    ['wallet', 'pending', 3],
    ['wallet', 'prove', 4.5],
    ['wallet', 'ended', 4],
    ['topup', 'ended', 4],
    ['topup', 'pay', 8],
  ] as const)(
    'on the page %s the view %s, which loads later, weighs at most %p kB in every language',
    async (page, view, kB) => {
      const over: Record<string, number> = {}
      const here = new Set(await scriptUrls(`${page}.js`))
      const scripts = (await scriptUrls(`${view}.js`)).filter((file) => !here.has(file))
      for (const [code, language] of languages) {
        const { words, style } = (await laterFiles(page, language))[view]!
        const weights = await Promise.all([...scripts, words, style].map(async (file) => (await sent(file)).weight))
        const total = weights.reduce((sum, each) => sum + each, 0)
        if (total > kB * 1000) over[code] = inKb(total)
      }
      expect(over).toEqual({})
    },
  )

  test('no script of a page shows a word that is not in its data', async () => {
    for (const [page, missing] of [
      ['wallet', serverWords],
      ['topup', [...serverWords, ...signInWords]],
    ] as const) {
      const scripts = await Promise.all((await scriptUrls(`${page}.js`)).map(async (file) => (await sent(file)).text))
      const all = scripts.join('\n')
      expect(all).toContain('addMoney')
      expect(missing.filter((key) => new RegExp(`[".']${key}\\b`).test(all))).toEqual([])
    }
  })

  test('the words of a view that is loaded later are not in the page, but in a file of the language', async () => {
    const german = languages.get('de')!
    for (const [page, views, absent] of [
      ['wallet', walletViews, german.account.appsText],
      ['topup', topupViews, german.pay.topupDoneTitle],
    ] as const) {
      const { html } = await get(`/widget/${page}?clientId=${app.clientId}&lang=de`)
      const { later } = JSON.parse(/id="data">(.*?)<\/script>/s.exec(html)![1]!) as PageData
      expect(Object.keys(later)).toEqual([...views])
      for (const view of views) {
        const response = await opened.app.fetch(new Request(`http://billfold.test${later[view]!.words}`))
        expect(response.headers.get('cache-control')).toContain('immutable')
        expect(await response.json()).toEqual(german[view])
      }
      expect(html).not.toContain(absent)
    }
  })
})

test('without a card processor the top-up page says so', async () => {
  const plain = await openTestService({ CARD_PROCESSOR: 'none' })
  const { clientId } = await newApp(plain.service)
  const response = await plain.app.fetch(new Request(`http://billfold.test/widget/topup?clientId=${clientId}`))
  const html = await response.text()
  expect(html).toContain('"processor":"none"')
  await plain.close()
})

test.each([
  ['12.34', 12.34],
  ...['0', 'abc', '-5', '1e3', '5.001', '99999999999999999'].map((none) => [none, null] as const),
])('an amount of %s in the address of the top-up page is a need of %p', async (amount, need) => {
  const { html } = await get(`/widget/topup?clientId=${app.clientId}&amount=${amount}`)
  const { topup } = JSON.parse(/id="data">(.*?)<\/script>/s.exec(html)![1]!) as PageData
  expect(topup.need).toBe(need)
})
