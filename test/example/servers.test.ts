/** The guide's shop under Node, Express and Hono, through bad requests, double clicks, a wrong secret and a service that is away. */
import { afterAll, beforeAll, describe, expect, setDefaultTimeout, test } from 'bun:test'
import { mkdir, mkdtemp, rm, symlink } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { Billfold } from '@billfold/sdk/server'
import { buildPackage } from '../../sdk/build.ts'
import { connectApp } from '../../src/actions/people/manage-links.ts'
import { expectBalancedBooks } from '../books.ts'
import { freePort } from '../free-port.ts'
import { newApp, newUser, openTestService, type Credentials, type TestService } from '../service.ts'
import { openLossyWay } from './lossy-way.ts'
import { readGuides, snippetsOf } from './snippets.ts'

setDefaultTimeout(180_000)

const root = new URL('../../', import.meta.url).pathname
const snippets = snippetsOf((await readGuides()).filter(({ name }) => name === 'add-a-wallet.md'))

/** How each file of the guide is run, and whether it reads JSON without the header. */
const servers = {
  'server.mjs': { command: 'node', needsHeader: false },
  'server-express.mjs': { command: 'node', needsHeader: true },
  'server-hono.mjs': { command: process.execPath, needsHeader: false },
} as const

const devServer = 'http://localhost:5173'

type Shop = Awaited<ReturnType<typeof startShop>>

let opened: TestService
let app: Credentials
let way: Awaited<ReturnType<typeof openLossyWay>>
let folder = ''
const children: Bun.Subprocess[] = []
const shops = new Map<string, { right: Shop; wrong: Shop }>()

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'billfold-servers-'))
  opened = await openTestService()
  way = await openLossyWay((request) => opened.app.fetch(request))
  // Where npm would put them.
  for (const [path, bytes] of await buildPackage())
    await Bun.write(join(folder, 'node_modules/@billfold/sdk', path), bytes)
  for (const name of ['express', 'hono'])
    await symlink(join(root, 'node_modules', name), join(folder, 'node_modules', name))
  const ports = await Promise.all(Array.from({ length: 6 }, freePort))
  const origins = ports.map((port) => `http://localhost:${port}`)
  app = await newApp(opened.service, { allowedOrigins: origins, allowedIframeParents: origins })
  const starting = Object.keys(servers).map(async (file, n) => {
    const right = await startShop(file, ports[2 * n]!, app.clientSecret)
    shops.set(file, { right, wrong: await startShop(file, ports[2 * n + 1]!, 'sk_wrong', devServer) })
  })
  await Promise.all(starting)
})

afterAll(async () => {
  for (const child of children) child.kill()
  await Promise.all(children.map(({ exited }) => exited))
  way.close()
  await expectBalancedBooks(opened.service)
  await opened.close()
  await rm(folder, { recursive: true, force: true })
})

async function startShop(
  file: keyof typeof servers | (string & {}),
  port: number,
  clientSecret: string,
  pageOrigin?: string,
) {
  const project = join(folder, `${file}-${port}`)
  await mkdir(project)
  for (const name of ['wallet.mjs', 'orders.mjs', 'db.mjs', 'shop.mjs', 'page.html', file])
    await Bun.write(join(project, name), snippets.get(name)!)
  const env = { BILLFOLD_URL: way.url, BILLFOLD_CLIENT_ID: app.clientId, BILLFOLD_CLIENT_SECRET: clientSecret }
  const child = Bun.spawn([servers[file as keyof typeof servers].command, file], {
    cwd: project,
    // The wrong one takes its origin from the environment, as behind a development server.
    env: { PATH: process.env['PATH'] ?? '', PORT: String(port), ...(pageOrigin && { ORIGIN: pageOrigin }), ...env },
    stdin: 'ignore',
    stdout: Bun.file(join(project, 'log')),
    stderr: Bun.file(join(project, 'faults')),
  })
  children.push(child)
  const origin = pageOrigin ?? `http://localhost:${port}`
  const address = `http://127.0.0.1:${port}`
  await untilListening(address)
  return {
    page: async () => await (await fetch(address)).text(),
    faults: async () => await Bun.file(join(project, 'faults')).text(),
    post: async (
      path: string,
      body = '{}',
      headers: Record<string, string> = { 'content-type': 'application/json' },
    ) => {
      const response = await fetch(address + path, { method: 'POST', headers: { origin, ...headers }, body })
      return { status: response.status, body: (await response.json()) as unknown }
    },
  }
}

async function untilListening(address: string): Promise<void> {
  for (const endsAt = Date.now() + 60_000; Date.now() < endsAt; await Bun.sleep(50)) {
    if (
      await fetch(address).then(
        ({ ok }) => ok,
        () => false,
      )
    )
      return
  }
  throw new Error(`No shop at ${address}.`)
}

/** A user with 100, and the code with which the shop links the wallet. */
async function newPayer() {
  const { userId } = await newUser(opened.service, app)
  const registered = (await opened.service.apps.findActive(app.clientId))!
  const linked = (await connectApp(opened.service.db.pool, registered, userId, '10.0.0.1'))!
  const billfold = new Billfold({ baseUrl: way.url, ...app })
  const { serviceUserId } = linked
  await billfold.credit({ serviceUserId, amount: 100, referenceType: 'GIFT', referenceId: userId })
  const movements = async () => {
    const text = "select amount from transfers where wallet_id = $1 and reference_type <> 'GIFT' order by sequence"
    return (await opened.service.db.pool.query<{ amount: bigint }>(text, [userId])).rows.map(({ amount }) => amount)
  }
  return { linkCode: linked.linkCode, movements }
}

describe.each(Object.keys(servers) as (keyof typeof servers)[])('%s', (file) => {
  const right = () => shops.get(file)!.right
  const wrong = () => shops.get(file)!.wrong

  test('the page has the address of the service, and no secret', async () => {
    const page = await right().page()
    expect(page).toContain(way.url)
    expect(page).toContain(app.clientId)
    expect(page).not.toContain(app.clientSecret)
  })

  test.each([
    ['a page of another site', '/order/pay', '{}', { origin: 'https://evil.example' }, 403, 'FOREIGN_ORIGIN'],
    ['an unknown path', '/order/give', '{}', {}, 404, 'NOT_FOUND'],
    ['a path of the language', '/constructor', '{}', {}, 404, 'NOT_FOUND'],
    ['a body that is not JSON', '/order/pay', '{"linkCode":', {}, 400, 'BAD_BODY'],
    [
      'a body that is too large',
      '/wallet/link',
      JSON.stringify({ linkCode: 'x'.repeat(200_000) }),
      {},
      400,
      'BAD_BODY',
    ],
    ['a link without a code', '/wallet/link', '{}', {}, 400, 'INVALID_REQUEST'],
    [
      'a code that the service does not know',
      '/wallet/link',
      '{"linkCode":"lc_unknown"}',
      {},
      400,
      'INVALID_LINK_CODE',
    ],
  ])('%s is refused by its cause', async (_, path, body, headers, status, code) => {
    const answer = await right().post(path, body, { 'content-type': 'application/json', ...headers })
    expect(answer).toEqual({ status, body: { code } })
  })

  test('a wrong secret is named, and is in no answer and no log', async () => {
    expect(await wrong().post('/wallet/session')).toEqual({ status: 200, body: null })
    const answer = await wrong().post('/wallet/link', '{"linkCode":"lc_any"}')
    expect(answer).toEqual({ status: 502, body: { code: 'INVALID_CLIENT' } })
    const faults = await wrong().faults()
    expect(faults).toContain(`${way.url}/api/server/link/verify`)
    expect(faults).not.toContain('sk_wrong')
  })

  test('from the link to a payment: once, however often it is sent, and while the service is away', async () => {
    const shop = right()
    const { linkCode, movements } = await newPayer()
    const link = JSON.stringify({ linkCode })
    expect(await shop.post('/order/pay')).toEqual({ status: 200, body: { status: 'not-linked' } })
    // fetch sends this type unless it is given another.
    const plain = await shop.post('/wallet/link', link, { 'content-type': 'text/plain;charset=UTF-8' })
    if (servers[file].needsHeader) {
      expect(plain).toEqual({ status: 400, body: { code: 'INVALID_REQUEST' } })
      expect(await shop.faults()).toContain('content-type: application/json')
      expect(await shop.post('/wallet/link', link)).toEqual({ status: 200, body: null })
    } else expect(plain).toEqual({ status: 200, body: null })
    // The same submit again: the code works once, and the link stays.
    expect(await shop.post('/wallet/link', link)).toEqual({ status: 400, body: { code: 'INVALID_LINK_CODE' } })
    expect((await shop.post('/wallet/session')).body).toMatchObject({ sessionToken: expect.stringMatching(/^ws_/) })

    const clicks = await Promise.all(Array.from({ length: 5 }, () => shop.post('/order/pay')))
    expect(clicks.every(({ status }) => status === 200)).toBeTrue()
    expect(await movements()).toEqual([-1999n])
    expect((await shop.post('/order/refund')).body).toEqual({ status: 'refunded', balance: 100 })

    // Every attempt of one call is lost on its way to the service.
    way.lose('', 'request')
    expect(await shop.post('/order/pay')).toEqual({ status: 502, body: { code: 'NETWORK_ERROR' } })
    way.lose('', 'page')
    expect(await shop.post('/order/pay')).toEqual({ status: 502, body: { code: 'BAD_RESPONSE' } })
    expect((await shop.post('/order/pay')).body).toEqual({ status: 'paid', balance: 80.01 })
    expect(await movements()).toEqual([-1999n, 1999n, -1999n])
    expect(await shop.post('/wallet/unlink')).toEqual({ status: 200, body: null })
    expect(await shop.post('/wallet/session')).toEqual({ status: 200, body: null })
  })
})
