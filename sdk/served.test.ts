/** The SDK as a running service serves it: installed by npm in another project, and loaded by pages of another site. */
import { afterAll, afterEach, beforeAll, beforeEach, expect, setDefaultTimeout, test } from 'bun:test'
import { mkdir, mkdtemp, readFile, rm, symlink } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { Browser, ConsoleMessage, Page } from '@playwright/test'
import { launchChromium } from '../test/chromium.ts'
import { readGuides, snippetsOf } from '../test/example/snippets.ts'
import { freePort } from '../test/free-port.ts'
import { newApp, newUser, openTestService, type Credentials, type TestService } from '../test/service.ts'
import { Billfold } from './server.ts'
import { eventually } from './test/shop-visit.ts'

setDefaultTimeout(300_000)

const root = join(import.meta.dir, '..')
const snippets = snippetsOf((await readGuides()).filter(({ name }) => name === 'add-a-wallet.md'))

let opened: TestService
let service: Bun.Server<undefined>
let shop: Bun.Server<undefined>
let app: Credentials
let billfold: Billfold
let serviceUserId: string
let shopOrigin: string
let project = ''
let browser: Browser
let page: Page
let complaints: string[] = []
/** The files of the shop's page, by path. */
const shopFiles = new Map<string, { readonly type: string; readonly text: string }>()
let sessionsAsked = 0

beforeAll(async () => {
  const [port, shopPort] = await Promise.all([freePort(), freePort()])
  shopOrigin = `http://localhost:${shopPort}`
  opened = await openTestService({ PUBLIC_URL: `http://127.0.0.1:${port}` })
  service = Bun.serve({ port, hostname: '127.0.0.1', idleTimeout: 60, fetch: (request) => opened.app.fetch(request) })
  app = await newApp(opened.service, { allowedOrigins: [shopOrigin], allowedIframeParents: [shopOrigin] })
  ;({ serviceUserId } = await newUser(opened.service, app))
  billfold = new Billfold({ baseUrl: service.url.origin, ...app })
  shop = Bun.serve({ port: shopPort, hostname: 'localhost', fetch: answerShop })
  project = await mkdtemp(join(tmpdir(), 'billfold-served-'))
  await Bun.write(join(project, 'package.json'), JSON.stringify({ name: 'my-shop', private: true }))
  await run('npm', 'install', '--no-audit', '--no-fund', `${service.url.origin}/sdk/billfold-sdk.tgz`)
  await bundleReactApp()
  browser = await launchChromium()
})

afterAll(async () => {
  await browser?.close()
  await Promise.all([service.stop(true), shop.stop(true)])
  await opened.close()
  await rm(project, { recursive: true, force: true })
})

beforeEach(async () => {
  const context = await browser.newContext()
  context.setDefaultTimeout(60_000)
  page = await context.newPage()
  complaints = []
  sessionsAsked = 0
  page.on('console', (message: ConsoleMessage) => {
    if (['error', 'warning'].includes(message.type())) complaints.push(message.text())
  })
  page.on('pageerror', (error) => complaints.push(error.message))
})
afterEach(() => page.context().close())

async function answerShop(request: Request): Promise<Response> {
  const { pathname } = new URL(request.url)
  const file = shopFiles.get(pathname)
  if (file) return new Response(file.text, { headers: { 'content-type': `${file.type}; charset=utf-8` } })
  if (pathname !== '/wallet/session') return new Response(null, { status: 404 })
  sessionsAsked++
  return Response.json(await billfold.createSession({ serviceUserId, parentOrigin: shopOrigin }))
}

async function run(...command: string[]): Promise<string> {
  const child = Bun.spawn(command, { cwd: project, stdout: 'pipe', stderr: 'pipe' })
  const [out, err, status] = await Promise.all([
    new Response(child.stdout).text(),
    new Response(child.stderr).text(),
    child.exited,
  ])
  if (status !== 0) throw new Error(`${command.join(' ')} ended with ${status}\n${out}\n${err}`)
  return out.trim()
}

const filled = (text: string) =>
  text.replaceAll('http://127.0.0.1:3000', service.url.origin).replaceAll('app_…', app.clientId)
const putPage = (path: string, body: string) =>
  shopFiles.set(path, {
    type: 'text/html',
    text: `<!doctype html><link rel="icon" href="data:,"><title>Shop</title>${body}`,
  })
const balance = () => page.frameLocator('iframe').locator('.hero-balance .visually-hidden').textContent()
const untilOpen = () => page.frameLocator('iframe').locator('.hero-balance .visually-hidden').waitFor()

const tsc = (...files: string[]) => {
  const options = ['--strict', '--target', 'ES2022', '--module', 'NodeNext', '--types', '', '--jsx', 'react-jsx']
  return run(join(root, 'node_modules/.bin/tsc'), ...options, ...files)
}

/** Declarations that the examples rely on: Node's and the shop's own. */
const surroundings = `
  declare const process: { argv: string[]; env: Record<string, string | undefined> }
  type User = { serviceUserId?: string }
  type Order = { id: string; attempt: number; amount: number }`

test('the package that npm installs from the service has the types that its README shows, and calls that service from Node', async () => {
  await Bun.write(join(project, 'surroundings.d.ts'), surroundings)
  const readme = await readFile(join(project, 'node_modules/@billfold/sdk/README.md'), 'utf8')
  const examples = [...readme.matchAll(/^```(tsx?)\n([^]*?)^```$/gm)].map(([, kind, code = ''], n) => {
    return { name: `example-${n}.${kind === 'ts' ? 'mts' : 'tsx'}`, code }
  })
  expect(examples).toHaveLength(3)
  for (const { name, code } of examples) await Bun.write(join(project, name), code)
  await Bun.write(
    join(project, 'use.mts'),
    `import { Billfold, BillfoldError, type PostingResult } from '@billfold/sdk/server'
     const [, , baseUrl = '', clientId = '', clientSecret = '', serviceUserId = ''] = process.argv
     const billfold = new Billfold({ baseUrl, clientId, clientSecret })
     const gift = { serviceUserId, amount: 20, referenceType: 'GIFT', referenceId: 'first' }
     const given: PostingResult = await billfold.credit(gift)
     const again: PostingResult = await billfold.credit(gift)
     const refused: unknown = await billfold.debit({ ...gift, amount: 99, referenceId: 'too-much' }).catch((error) => error)
     const code = refused instanceof BillfoldError ? [refused.code, refused.shortfall] : []
     console.log(JSON.stringify([given.balance, again.replayed, ...code]))`,
  )
  await Bun.write(
    join(project, 'hooked.tsx'),
    `import { useWallet, type WalletProps } from '@billfold/sdk/react'
     export const Hooked = (props: WalletProps) => {
       const { ref, status, error } = useWallet(props)
       return <div ref={ref} title={error?.code ?? status} style={props.style} />
     }`,
  )
  await tsc('surroundings.d.ts', 'use.mts', 'hooked.tsx', ...examples.map(({ name }) => name))
  const { clientId, clientSecret } = app
  const said = await run('node', 'use.mjs', service.url.origin, clientId, clientSecret, serviceUserId)
  expect(JSON.parse(said)).toEqual([20, true, 'INSUFFICIENT_BALANCE', 79])
})

test('every part of the SDK can be imported where pages are rendered on a server, and the element is left out there', async () => {
  await Bun.write(
    join(project, 'on-server.mjs'),
    `import { defineWalletElement } from '@billfold/sdk/browser'
     import '@billfold/sdk/script'
     defineWalletElement()
     console.log(typeof customElements)`,
  )
  expect(await run('node', 'on-server.mjs')).toBe('undefined')
})

/** Reads the pinned address as the guide describes. */
async function askForPin() {
  const said = await run('sh', '-c', filled(snippets.get('pin')!))
  return (JSON.parse(said) as { pinned: { tag: string; src: string; integrity: string } }).pinned
}

test('the pinned script tag of the service runs on another site, and makes the guide’s element a wallet', async () => {
  const pinned = await askForPin()
  const guide = snippets.get('pinned.html')!.trim()
  const ours = guide.replace(/src="[^"]*"/, `src="${pinned.src}"`).replace(/sha384-…/, pinned.integrity)
  expect(ours).toBe(pinned.tag)
  putPage('/pinned', `${pinned.tag}${filled(snippets.get('element.html')!)}`)
  await page.goto(`${shopOrigin}/pinned`)
  await untilOpen()
  expect(complaints).toEqual([])
})

test('a script that is not what the page expects does not run', async () => {
  const pinned = await askForPin()
  putPage('/other', pinned.tag.replace(/sha384-.{64}/, `sha384-${'A'.repeat(64)}`))
  await page.goto(`${shopOrigin}/other`)
  expect(await page.evaluate(() => 'Billfold' in window)).toBeFalse()
  await eventually(() => complaints.join().includes('integrity'), true)
})

/** The guide's component, and one that uses the hook, with the page's own React in its development build, which warns. */
async function bundleReactApp(): Promise<void> {
  await mkdir(join(project, 'node_modules/@types'))
  for (const name of ['react', 'react-dom', '@types/react']) {
    await symlink(join(root, 'node_modules', name), join(project, 'node_modules', name))
  }
  await Bun.write(join(project, 'app.jsx'), filled(snippets.get('app.jsx')!))
  await Bun.write(
    join(project, 'shop.jsx'),
    filled(await readFile(join(import.meta.dir, 'test/react-shop.jsx'), 'utf8')),
  )
  const define = { 'process.env.NODE_ENV': '"development"' }
  const jsx = { runtime: 'automatic', importSource: 'react', development: true } as const
  const entrypoints = [join(project, 'shop.jsx')]
  const built = await Bun.build({ entrypoints, target: 'browser', define, jsx })
  shopFiles.set('/shop.js', { type: 'text/javascript', text: await built.outputs[0]!.text() })
  const forNode = await Bun.build({ entrypoints, target: 'node', define, jsx, packages: 'external' })
  await Bun.write(join(project, 'shop.mjs'), await forNode.outputs[0]!.text())
}

const reactPage = (inner: string) => `<div id="root">${inner}</div><script type="module" src="/shop.js"></script>`

test('the component shows the wallet in strict mode, requests one session, and leaves nothing behind', async () => {
  putPage('/react', reactPage(''))
  await page.goto(`${shopOrigin}/react`)
  await untilOpen()
  expect([await page.locator('iframe').count(), sessionsAsked]).toEqual([1, 1])

  // New functions on every render change nothing; another option remounts the widget.
  const before = await page.locator('iframe').elementHandle()
  await page.getByRole('button', { name: 'Render' }).click()
  await eventually(async () => await page.locator('#renders').textContent(), '2')
  expect(await before.evaluate((frame) => frame.isConnected)).toBeTrue()
  await page.getByRole('button', { name: 'Dark' }).click()
  await eventually(
    async () => (await page.locator('iframe').getAttribute('src'))?.includes('theme=dark') ?? false,
    true,
  )
  await untilOpen()
  expect([await page.locator('iframe').count(), sessionsAsked]).toEqual([1, 2])

  await page.getByRole('button', { name: 'Hide' }).click()
  await eventually(() => page.locator('iframe').count(), 0)
  expect(complaints).toEqual([])
})

test('the hook reports the state of the widget, calls the newest callbacks, and requests a top-up', async () => {
  putPage('/hook', reactPage(''))
  await page.goto(`${shopOrigin}/hook?hook`)
  await eventually(async () => await page.locator('#status').textContent(), 'ready')
  await page.getByRole('button', { name: 'Render' }).click()
  await eventually(async () => await page.locator('#renders').textContent(), '2')
  await billfold.credit({ serviceUserId, amount: 1, referenceType: 'GIFT', referenceId: 'seen-by-the-hook' })
  // Called through the callback of the second render, not through the one that the widget was mounted with.
  await eventually(async () => await page.locator('#updated').textContent(), 'updated in render 2')
  await page.getByRole('button', { name: 'Reload' }).click()
  await eventually(() => sessionsAsked, 2)
  await eventually(async () => await page.locator('#status').textContent(), 'ready')
  const opening = page.waitForEvent('popup')
  await page.getByRole('button', { name: 'Add', exact: true }).click()
  const topup = await opening
  await topup.getByText('You need $5.00 more').waitFor()
  await topup.close()
  await eventually(async () => await page.locator('#added').textContent(), 'closed')
  expect(complaints).toEqual([])
})

test('a page rendered on a server is taken over without a warning', async () => {
  const html = await run(
    'node',
    '--input-type=module',
    '-e',
    `
    import { renderShop } from './shop.mjs'
    console.log(renderShop())`,
  )
  expect(html).toContain('<div')
  expect(html).not.toContain('iframe')
  putPage('/rendered', reactPage(html))
  await page.goto(`${shopOrigin}/rendered`)
  await untilOpen()
  expect(await balance()).toStartWith('$')
  expect([await page.locator('iframe').count(), sessionsAsked, complaints]).toEqual([1, 1, []])
})
