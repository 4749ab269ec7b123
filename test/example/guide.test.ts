/** Follows the guides literally: registers by the command line, installs with npm, runs in Node, and opens the page in Chromium. */
import { afterAll, afterEach, beforeAll, beforeEach, expect, setDefaultTimeout, test } from 'bun:test'
import { mkdtemp, readFile, rm, symlink } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { Browser, BrowserContext, Page } from '@playwright/test'
import { Billfold } from '@billfold/sdk/server'
import { launchChromium, leaveBy } from '../chromium.ts'
import { startProcess, type ServiceProcess } from '../process.ts'
import { openTestService, type Credentials, type TestService } from '../service.ts'
import { freePort } from '../free-port.ts'
import { mailedCode, untilSaid } from './rig.ts'
import { readGuides, snippetsOf } from './snippets.ts'
import { press as enter, eventually, fillLogIn, logIn, signUp, type Account, type ReceivedMessage } from './visit.ts'

setDefaultTimeout(240_000)

const root = new URL('../..', import.meta.url).pathname
const snippets = snippetsOf((await readGuides()).filter(({ name }) => name !== 'plain-http.md'))
const files = [
  'wallet.mjs',
  'orders.mjs',
  'db.mjs',
  'shop.mjs',
  'server.mjs',
  'server-express.mjs',
  'page.html',
  'handle-errors.mjs',
  'verify.mjs',
]
/** These snippets run in orders.test.ts, servers.test.ts, sdk/served.test.ts, test/events, test/hold-docs.test.ts and src/cli. */
const elsewhere = [
  'events.sql',
  'events.mjs',
  'events.py',
  'events.php',
  'events.go',
  'read-events',
  'replay-events',
  'replay-answer',
  'events-commands',
  'listen',
  'an-event',
  'hold-order.mjs',
  'hold.sh',
  'check-payment',
  'verify-books',
  'check-payment.mjs',
  'db-postgres.mjs',
  'orders.sql',
  'server-hono.mjs',
  'app.jsx',
  'element.html',
  'pin',
  'pinned.html',
]

let opened: TestService
let service: ServiceProcess
let app: Credentials
let browser: Browser
let shop: Bun.Subprocess<'ignore', 'pipe', 'inherit'> | undefined
let folder = ''
let project = ''
let dataDir = ''
let origin = ''

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'billfold-guide-'))
  project = join(folder, 'my-shop')
  dataDir = await mkdtemp(join(tmpdir(), 'billfold-guide-data-'))
  const port = String(await freePort())
  origin = `http://localhost:${port}`
  opened = await openTestService({ DATA_DIR: dataDir })
  service = await startProcess({ DATABASE_URL: opened.databaseUrl, DATA_DIR: dataDir })
  app = await register(port)
  await install()
  for (const name of files) await Bun.write(join(project, name), snippets.get(name)!)
  const env = snippets
    .get('.env')!
    .replace('http://127.0.0.1:3000', service.url)
    .replace('app_…', app.clientId)
    .replace('SECRET=…', `SECRET=${app.clientSecret}`)
  await Bun.write(join(project, '.env'), env)
  await symlink(join(root, 'node_modules/express'), join(project, 'node_modules/express'))
  await startShop(words('run'))
  browser = await launchChromium()
})

afterAll(async () => {
  await browser?.close()
  shop?.kill()
  await shop?.exited
  await service?.stop()
  await opened?.close()
  await Promise.all([folder, dataDir].map((path) => rm(path, { recursive: true, force: true })))
})

async function startShop(command: string[]): Promise<void> {
  const started = Bun.spawn(command, {
    cwd: project,
    env: { ...process.env, PORT: new URL(origin).port },
    stdin: 'ignore',
    stdout: 'pipe',
    stderr: 'inherit',
  })
  shop = started
  process.on('exit', () => started.kill())
  await untilSaid(started.stdout, 'shop ready on')
}

/** A command of the guide, split into words like a shell does. */
const words = (name: string) =>
  snippets
    .get(name)!
    .trim()
    .match(/"[^"]*"|\S+/g)!
    .map((word) => word.replaceAll('"', ''))

async function register(port: string): Promise<Credentials> {
  const [, , ...rest] = words('register').map((word) => word.replace('4000', port))
  expect(words('register').slice(0, 2)).toEqual(['npx', 'billfold'])
  const env = { DATABASE_URL: opened.databaseUrl, DATA_DIR: dataDir }
  return JSON.parse(
    await run([process.execPath, join(root, 'src/cli.ts'), ...rest, '--json'], root, env),
  ) as Credentials
}

/** The command of the guide, with the address of the running service. */
async function install(): Promise<void> {
  const script = snippets.get('install')!.replace('http://127.0.0.1:3000', service.url)
  await run(['sh', '-euc', script], folder)
}

async function run(command: string[], cwd: string, env: Record<string, string> = {}): Promise<string> {
  const child = Bun.spawn(command, { cwd, env: { ...process.env, ...env }, stdout: 'pipe', stderr: 'pipe' })
  const [out, err, status] = await Promise.all([
    new Response(child.stdout).text(),
    new Response(child.stderr).text(),
    child.exited,
  ])
  if (status !== 0) throw new Error(`${command.join(' ')} ended with ${status}\n${out}\n${err}`)
  return out
}

/** Runs code in Node beside the guide's files, with its settings. */
async function node<T>(code: string): Promise<T> {
  await Bun.write(join(project, 'try.mjs'), code)
  return JSON.parse(await run(['node', '--env-file=.env', 'try.mjs'], project)) as T
}

let context: BrowserContext
let page: Page
let account: Account | undefined

beforeEach(async () => {
  context = await browser.newContext()
  page = await context.newPage()
  page.setDefaultTimeout(60_000)
  await page.addInitScript(() => {
    window.shopReceived = []
    addEventListener('message', ({ origin, data }) =>
      window.shopReceived.push({ origin, data: data as ReceivedMessage['data'] }),
    )
  })
})
afterEach(() => context.close())

const wallet = () => page.frameLocator('iframe')
const balance = async () => await wallet().locator('.hero-balance .visually-hidden').textContent()
const mails = { mailedCode: (email: string) => mailedCode(dataDir, email) }
const success = async () =>
  (await page.evaluate(() => window.shopReceived)).find(({ data }) => data.type === 'SERVICE_AUTH_SUCCESS')!.data

/** Waits until the shop has removed the link: the widget shows its form earlier. */
async function logOut(): Promise<void> {
  const unlinked = page.waitForResponse((response) => response.url().endsWith('/wallet/unlink'))
  await enter(wallet(), 'Account')
  await enter(wallet(), 'Sign out')
  await unlinked
  await wallet().getByRole('button', { name: 'Create account' }).waitFor()
}

async function press(button: string): Promise<unknown> {
  const answering = page.waitForResponse((response) => response.url().includes('/order/'))
  await page.getByRole('button', { name: button }).click()
  return await (await answering).json()
}

test('every piece of code in the guides is run by a test', () => {
  const others = ['.env', 'install', 'listen.js', 'register', 'run']
  expect([...snippets.keys()].sort()).toEqual([...files, ...elsewhere, ...others].sort())
})

test('the guide “Add a wallet to your app” leads from nothing to a payment and a refund', async () => {
  await page.goto(origin)
  await wallet().getByRole('button', { name: 'Create account' }).waitFor()
  expect(await press('Pay 19.99')).toEqual({ status: 'not-linked' })
  account = await signUp(page, mails)
  expect(await press('Pay 19.99')).toEqual({ status: 'refused', shortfall: 19.99 })

  const billfold = new Billfold({ baseUrl: service.url, ...app })
  const serviceUserId = String((await success())['serviceUserId'])
  await billfold.credit({ serviceUserId, amount: 50, referenceType: 'GIFT', referenceId: '1' })
  await eventually(balance, '$50.00')
  expect(await press('Pay 19.99')).toEqual({ status: 'paid', balance: 30.01 })
  await eventually(balance, '$30.01')
  expect(await press('Refund')).toEqual({ status: 'refunded', balance: 50 })
  await eventually(balance, '$50.00')

  await logOut()
  expect(await press('Pay 19.99')).toEqual({ status: 'not-linked' })
})

test('the guide “Messages” makes a page without the SDK link, renew, and ignore foreign messages', async () => {
  await page.route('**/sdk/billfold.js', (route) => route.abort())
  await page.goto(origin)
  const code = snippets.get('listen.js')!.replace('http://127.0.0.1:3000', service.url).replace('app_…', app.clientId)
  await page.addScriptTag({ content: code, type: 'module' })
  await wallet().getByRole('button', { name: 'Create account' }).waitFor()
  await logIn(page, account!)
  await eventually(balance, '$50.00')

  // Sends the message of the widget 45 seconds before the session ends.
  const frame = page.frames().find((one) => one.url().startsWith(service.url))!
  const renewing = page.waitForResponse((response) => response.url().endsWith('/wallet/session'))
  await frame.evaluate((target) => parent.postMessage({ type: 'SERVICE_SESSION_EXPIRING', version: 1 }, target), origin)
  expect((await renewing).status()).toBe(200)

  // A valid message from the wrong window.
  await page.evaluate(() => postMessage({ type: 'SERVICE_LOGOUT_REQUEST', version: 1 }, '*'))
  await Bun.sleep(300)
  expect(await balance()).toBe('$50.00')

  await logOut()
  expect(
    await page.evaluate(() => fetch('/wallet/session', { method: 'POST', body: '{}' }).then((r) => r.json())),
  ).toBeNull()

  // The session ends after the link is gone: there is no new session, and the widget starts again.
  const faults: string[] = []
  page.on('pageerror', (error) => faults.push(error.message))
  const startsOver = page.waitForEvent('framenavigated')
  const last = page.frames().find((one) => one.url().startsWith(service.url))!
  await leaveBy(last, (to) => parent.postMessage({ type: 'SERVICE_SESSION_EXPIRED', version: 1 }, to), origin)
  await startsOver
  await wallet().getByRole('button', { name: 'Create account' }).waitFor()
  expect(faults).toEqual([])
})

test('each of the four kinds of error has the effect that the guide “Errors” describes', async () => {
  const shown = await node<unknown[]>(`
    import { explain } from './handle-errors.mjs'
    import { billfold } from './wallet.mjs'
    import { Billfold } from '@billfold/sdk/server'
    const serviceUserId = 'su_' + '0'.repeat(32)
    const away = new Billfold({ baseUrl: 'http://127.0.0.1:9', clientId: 'a', clientSecret: 'b', maxRetries: 0 })
    const failures = [
      billfold.wallet({ serviceUserId: undefined }),
      billfold.wallet({ serviceUserId }),
      away.wallet({ serviceUserId }),
    ]
    const shown = await Promise.all(failures.map((failure) => failure.catch(explain)))
    console.log(JSON.stringify(shown))
  `)
  expect(shown).toEqual([{ show: 'widget' }, { show: 'widget' }, { show: 'try-again' }])
})

test('the code of the guide “Errors” distinguishes a shortfall from a frozen wallet', async () => {
  const { serviceUserId } = await newWallet()
  const attempt = (reference: string) =>
    node<unknown>(`
      import { explain } from './handle-errors.mjs'
      import { billfold } from './wallet.mjs'
      const debit = { serviceUserId: '${serviceUserId}', amount: 12.5, referenceType: 'ORDER', referenceId: '${reference}' }
      console.log(JSON.stringify(await billfold.debit(debit).catch(explain)))
    `)
  expect(await attempt('short')).toEqual({ show: 'top-up', amount: 12.5 })
  await command('wallet', 'freeze', serviceUserId, '--reason', 'a test')
  expect(await attempt('frozen')).toEqual({ show: 'frozen' })
})

test('in the code of the guide “Security” only the link code counts, and it works once', async () => {
  await page.route('**/wallet/link', (route) => route.abort())
  await page.goto(origin)
  await fillLogIn(page, account!)
  await eventually(
    async () =>
      (await page.evaluate(() => window.shopReceived)).some(({ data }) => data.type === 'SERVICE_AUTH_SUCCESS'),
    true,
  )
  const { serviceUserId, linkCode } = await success()
  const tried = await node<unknown[]>(`
    import { linkCurrentUser } from './verify.mjs'
    const [ada, mallory] = [{ name: 'Ada' }, { name: 'Mallory' }]
    const claim = { serviceUserId: 'su_somebody_elses_id', linkCode: '${String(linkCode)}' }
    await linkCurrentUser(ada, claim)
    const { code } = await linkCurrentUser(mallory, claim).catch((error) => error)
    console.log(JSON.stringify([ada, mallory, code]))
  `)
  expect(tried).toEqual([{ name: 'Ada', serviceUserId }, { name: 'Mallory' }, 'INVALID_LINK_CODE'])
})

/** Bundles the script of a README with the installed SDK, and opens a page of the shop that runs it. */
async function openScript(name: string, code: string): Promise<void> {
  const filled = code.replace(/https:\/\/wallet\.example(\.com)?/, service.url).replace('app_…', app.clientId)
  await Bun.write(join(project, name), filled)
  const built = await Bun.build({ entrypoints: [join(project, name)], target: 'browser' })
  const script = await built.outputs[0]!.text()
  const head = '<!doctype html><meta charset="utf-8"><title>Shop</title>'
  await Bun.write(join(project, 'page.html'), `${head}<div id="wallet"></div><script type="module">${script}</script>`)
  await page.goto(origin)
}

const scriptIn = async (readme: string, language: string) =>
  [...(await readFile(join(root, readme), 'utf8')).matchAll(new RegExp(`^\`\`\`${language}\\n([^]*?)^\`\`\`$`, 'gm'))]
    .map(([, code]) => code!)
    .find((code) => code.includes('mountWallet'))!

test('the scripts of both READMEs link a wallet under Express, and a refusal of the backend is named', async () => {
  shop!.kill()
  await shop!.exited
  await startShop(['node', '--env-file=.env', 'server-express.mjs'])
  for (const [readme, language] of [
    ['README.md', 'js'],
    ['sdk/README.md', 'ts'],
  ] as const) {
    await openScript(`script.${language}`, await scriptIn(readme, language))
    await wallet().getByRole('button', { name: 'Create account' }).waitFor()
    await logIn(page, account!)
    await eventually(balance, '$50.00')
    await logOut()
  }
  // As people write it: fetch sends JSON as text/plain unless it is given the header.
  const without = (await scriptIn('README.md', 'js')).replace('headers, ', '')
  const complaints: string[] = []
  page.on('console', (message) => message.type() === 'error' && complaints.push(message.text()))
  await openScript('without.js', without)
  await wallet().getByRole('button', { name: 'Create account' }).waitFor()
  await fillLogIn(page, account!)
  const expected =
    'Wallet: LINK_FAILED: /wallet/link answered 400: {"code":"INVALID_REQUEST"}. If the backend found no body: ' +
    'it reads JSON only from a request with the header content-type: application/json.'
  await eventually(() => complaints.includes(expected), true)
})

async function command(...words: string[]): Promise<string> {
  const env = { DATABASE_URL: opened.databaseUrl, DATA_DIR: dataDir, BILLFOLD_PASSWORD: 'small hours of the night' }
  return await run([process.execPath, join(root, 'src/cli.ts'), ...words, '--json'], root, env)
}

async function newWallet(): Promise<{ serviceUserId: string }> {
  const user = ['--email', 'grace@example.com', '--first', 'Grace', '--last', 'Hopper', '--link', app.clientId]
  return JSON.parse(await command('user', 'create', ...user)) as { serviceUserId: string }
}
