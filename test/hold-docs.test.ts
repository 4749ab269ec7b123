/** docs/holds.md, run: its three patterns, with the SDK as it is published. */
import { afterAll, beforeAll, expect, setDefaultTimeout, test } from 'bun:test'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { buildPackage } from '../sdk/build.ts'
import { expectBalancedBooks } from './books.ts'
import { newClient, type Client } from './client.ts'
import { readGuides, snippetsOf } from './example/snippets.ts'
import { letHoldsAge } from './holds.ts'
import { updateLinkDisconnected } from '../src/store/links.ts'
import { newApp, newUser, openTestService, type Credentials, type TestService } from './service.ts'

setDefaultTimeout(120_000)

const snippets = snippetsOf((await readGuides()).filter(({ name }) => name === 'holds.md'))

let opened: TestService
let app: Credentials
let client: Client
let server: ReturnType<typeof Bun.serve>
let folder = ''

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'billfold-holds-'))
  opened = await openTestService()
  app = await newApp(opened.service)
  client = newClient(opened.app.fetch, app)
  server = Bun.serve({ port: 0, hostname: '127.0.0.1', idleTimeout: 60, fetch: answer })
  for (const [path, bytes] of await buildPackage())
    await Bun.write(join(folder, 'node_modules/@billfold/sdk', path), bytes)
  await Bun.write(join(folder, 'hold-order.mjs'), snippets.get('hold-order.mjs')!)
})
afterAll(async () => {
  await expectBalancedBooks(opened.service)
  await server.stop(true)
  await opened.close()
  await rm(folder, { recursive: true })
})

/** Paths whose next answer is lost: the service did its part, and the program gets a closed connection. */
const losing = new Set<string>()

async function answer(request: Request): Promise<Response> {
  const { pathname } = new URL(request.url)
  const response = await opened.app.fetch(request)
  return losing.delete(pathname) ? new Response('gone', { status: 502 }) : response
}

const environment = () => ({
  PATH: process.env['PATH'] ?? '',
  BILLFOLD_URL: String(server.url).replace(/\/$/, ''),
  BILLFOLD_CLIENT_ID: app.clientId,
  BILLFOLD_CLIENT_SECRET: app.clientSecret,
})

/** Runs `body` in a separate process, with the functions of the page and an order of a new user who has 100. */
async function run(total: number, body: string) {
  const { serviceUserId } = await newUser(opened.service, app)
  await client.credit(serviceUserId, 100)
  const order = { id: `order-${serviceUserId}`, serviceUserId, total }
  return await say(order, `order.holdId = await page.reserve(order)\n${body}`)
}

async function say(order: { serviceUserId: string }, body: string) {
  const program = `import * as page from './hold-order.mjs'
    const order = ${JSON.stringify(order)}
    const run = async () => { ${body} }
    console.log(JSON.stringify({ said: await run(), order }))`
  await Bun.write(join(folder, 'run.mjs'), program)
  const child = Bun.spawn([process.execPath, 'run.mjs'], {
    cwd: folder,
    env: environment(),
    stdout: 'pipe',
    stderr: 'pipe',
  })
  const [out, fault] = await Promise.all([new Response(child.stdout).text(), new Response(child.stderr).text()])
  expect(fault).toBe('')
  const { body: wallet } = await client.wallet(order.serviceUserId)
  const parsed = JSON.parse(out) as { said: unknown; order: { serviceUserId: string } }
  return { ...parsed, balance: [wallet['balance'], wallet['available'], wallet['held']] }
}

test('the calls with curl hold, extend, capture a part, and are refused after that', async () => {
  const { serviceUserId } = await newUser(opened.service, app)
  await client.credit(serviceUserId, 100)
  await Bun.write(join(folder, 'hold.sh'), snippets.get('hold.sh')!)
  const child = Bun.spawn(['sh', 'hold.sh'], {
    cwd: folder,
    env: { ...environment(), SERVICE_USER_ID: serviceUserId, ORDER_ID: 'order-4711' },
    stdout: 'pipe',
    stderr: 'pipe',
  })
  const [out, fault] = await Promise.all([new Response(child.stdout).text(), new Response(child.stderr).text()])
  expect(fault).toBe('')
  expect(out.trim().split('\n')).toEqual([
    'held OPEN',
    'extended OPEN',
    'captured 75',
    'void HOLD_CLOSED',
    'list CAPTURED',
  ])
  expect((await client.wallet(serviceUserId)).body).toMatchObject({ balance: 75, available: 75, held: 0 })
})

test('an order is reserved, charged once, and refused after its hold has ended', async () => {
  const paid = await run(30, 'return [await page.charge(order), await page.charge(order)]')
  expect([paid.said, paid.balance]).toEqual([
    [true, true],
    [70, 70, 0],
  ])
  const cancelled = await run(
    30,
    'return [await page.cancel(order), await page.cancel(order), await page.charge(order)]',
  )
  expect([cancelled.said, cancelled.balance]).toEqual([
    [true, true, false],
    [100, 100, 0],
  ])
  const shipped = await run(30, 'return [await page.charge(order), await page.cancel(order)]')
  expect([shipped.said, shipped.balance]).toEqual([
    [true, false],
    [70, 70, 0],
  ])
  const waiting = await run(30, 'return null')
  expect(waiting.balance).toEqual([100, 70, 30])
  await letHoldsAge(opened, 8 * 24 * 3_600)
  const late = await say(waiting.order, 'return [await page.charge(order), await page.cancel(order)]')
  expect([late.said, late.balance]).toEqual([
    [false, true],
    [100, 100, 0],
  ])
})

test('a tip takes more than was held, and a lighter parcel less', async () => {
  const tipped = await run(30, 'return page.chargeFinal(order, 36)')
  expect([tipped.said, tipped.balance]).toEqual([36, [64, 64, 0]])
  const light = await run(30, 'return page.chargeFinal(order, 28.5)')
  expect([light.said, light.balance]).toEqual([28.5, [71.5, 71.5, 0]])
})

test('an escrow is paid by milestones, lasts longer when asked, and its rest is charged or given back', async () => {
  const parts = `const left = [await page.payMilestone(order, 1, 20), await page.payMilestone(order, 1, 20), await page.payMilestone(order, 2, 10)]
    const until = await page.keepLonger(order, 20)`
  const given = await run(
    60,
    `${parts}\n await page.cancel(order); return [left, Date.parse(until) - Date.now() > 19 * 86_400_000]`,
  )
  expect([given.said, given.balance]).toEqual([
    [[40, 40, 30], true],
    [70, 70, 0],
  ])
  const charged = await run(60, `${parts}\n return page.charge(order)`)
  expect([charged.said, charged.balance]).toEqual([true, [40, 40, 0]])
})

test('lost answers at the hold, the capture and the void change nothing', async () => {
  for (const path of ['hold', 'hold/capture']) losing.add(`/api/server/wallet/${path}`)
  const paid = await run(30, 'return [await page.reserve(order) === order.holdId, await page.charge(order)]')
  expect([losing.size, paid.said, paid.balance]).toEqual([0, [true, true], [70, 70, 0]])
  losing.add('/api/server/wallet/hold/void')
  const cancelled = await run(30, 'return page.cancel(order)')
  expect([losing.size, cancelled.said, cancelled.balance]).toEqual([0, true, [100, 100, 0]])
})

test('a program that was killed after its capture finds the order charged, also after the hold’s time', async () => {
  const { said, order } = await run(30, 'return page.charge(order)')
  expect(said).toBe(true)
  await letHoldsAge(opened, 8 * 24 * 3_600)
  const again = await say(order, 'return page.charge(order)')
  expect([again.said, again.balance]).toEqual([true, [70, 70, 0]])
})

test('a wallet without the money gets no hold, and a tip beyond it takes what was held', async () => {
  const poor = await run(130, 'return order.holdId')
  expect([poor.said, poor.balance]).toEqual([null, [100, 100, 0]])
  const tipped = await run(95, 'return [await page.chargeFinal(order, 110), await page.chargeFinal(order, 110)]')
  expect([tipped.said, tipped.balance]).toEqual([
    [95, 95],
    [5, 5, 0],
  ])
})

test('a user who disconnects keeps what was promised: the order is charged, and a new one is refused', async () => {
  const { order } = await run(30, 'return null')
  const { pool } = opened.service.db
  const { rows } = await pool.query<{ user_id: string }>('select user_id from links where id = $1', [
    order.serviceUserId,
  ])
  await updateLinkDisconnected(pool, rows[0]!.user_id, order.serviceUserId)
  const body = `const charged = await page.charge(order)
    return [charged, await page.reserve({ ...order, id: order.id + '/2' }).catch(({ code }) => code)]`
  expect((await say(order, body)).said).toEqual([true, 'USER_NOT_FOUND'])
})
