/** After every kind of failure on the way, the order and the wallet agree, and no money moves twice. */
import { afterAll, beforeAll, describe, expect, setDefaultTimeout, test } from 'bun:test'
import { randomUUID } from 'node:crypto'
import { mkdtemp, rm, symlink } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { Client } from 'pg'
import { Billfold } from '@billfold/sdk/server'
import { buildShop } from '../../example/app.ts'
import { openStore } from '../../example/store.ts'
import { buildPackage } from '../../sdk/build.ts'
import { freezeWallet, unfreezeWallet } from '../../src/actions/money/manage-wallets.ts'
import { updateLinkDisconnected } from '../../src/store/links.ts'
import { expectBalancedBooks } from '../books.ts'
import { eventually } from '../eventually.ts'
import { testDatabase, type TestDatabase } from '../postgres.ts'
import { linkUser, newApp, newUser, openTestService, operator, type Credentials, type TestService } from '../service.ts'
import { openLossyWay } from './lossy-way.ts'
import { orderCases, type Trial } from './order-cases.ts'
import { readGuides, snippetsOf } from './snippets.ts'

setDefaultTimeout(180_000)

const snippets = snippetsOf((await readGuides()).filter(({ name }) => name === 'add-a-wallet.md'))
const root = new URL('../../', import.meta.url).pathname

type Verb = 'pay' | 'refund'

type Shop = (serviceUserId: string) => Promise<{
  readonly id: string
  readonly amount: number
  readonly link: (serviceUserId: string) => void
  /** The message that the person sees, also after a failure. */
  readonly click: (verb: Verb) => Promise<unknown>
  readonly status: () => Promise<string>
}>

let opened: TestService
let app: Credentials
let way: Awaited<ReturnType<typeof openLossyWay>>
let shopDatabase: TestDatabase
let folder = ''
const children: Bun.Subprocess[] = []

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'billfold-orders-'))
  opened = await openTestService()
  app = await newApp(opened.service)
  way = await openLossyWay((request) => opened.app.fetch(request))
  shopDatabase = await testDatabase()
  await query(shopDatabase, snippets.get('orders.sql')!)
  // Where npm would put them.
  for (const [path, bytes] of await buildPackage())
    await Bun.write(join(folder, 'node_modules/@billfold/sdk', path), bytes)
  await symlink(join(root, 'node_modules/pg'), join(folder, 'node_modules/pg'))
})

afterAll(async () => {
  for (const child of children) child.kill()
  await Promise.all(children.map(({ exited }) => exited))
  way.close()
  await expectBalancedBooks(opened.service)
  await opened.close()
  await shopDatabase.drop()
  await rm(folder, { recursive: true, force: true })
})

async function query({ url }: TestDatabase, sql: string): Promise<void> {
  const client = new Client({ connectionString: url })
  await client.connect()
  await client.query(sql)
  await client.end()
}

const shops: Record<string, () => Promise<Shop>> = {
  'the guide’s code with its file': () => startGuide('file', 'db.mjs', 1),
  'the guide’s code with a table, in two processes': () => startGuide('table', 'db-postgres.mjs', 2),
  'the example shop': startExample,
}

const started = new Map<string, Shop>()
const results = new Map<string, Awaited<ReturnType<typeof tryOut>>>()
const resultKey = (name: string, fact: string) => `${name}: ${fact}`

/** Runs several cases at once, each with its own wallet and order: most of a case is waiting for the SDK's retries. */
beforeAll(async () => {
  for (const [name, start] of Object.entries(shops)) started.set(name, await start())
  const all = [...started].flatMap(([name, shop]) => orderCases.map((orderCase) => ({ name, shop, orderCase })))
  const lane = async () => {
    for (let next = all.shift(); next; next = all.shift()) {
      const { name, shop, orderCase } = next
      results.set(resultKey(name, orderCase[0]), await tryOut(shop, orderCase))
    }
  }
  await Promise.all(Array.from({ length: 8 }, lane))
})

describe.each(Object.keys(shops))('%s', (name) => {
  test.each(orderCases)('%s', (fact, _wallet, _act, entries, status) => {
    expect(results.get(resultKey(name, fact))).toEqual({ entries: [...entries], status })
  })
})

test.each(Object.keys(shops).slice(0, 2))(
  '%s: an answer that comes last does not undo what was done since',
  async (name) => {
    const { userId, serviceUserId } = await newUser(opened.service, app)
    const order = await started.get(name)!(serviceUserId)
    const billfold = new Billfold({ baseUrl: way.url, ...app })
    await billfold.credit({ serviceUserId, amount: 200, referenceType: 'GIFT', referenceId: userId })
    way.lose(order.id, 'slow', 1)
    const first = order.click('pay')
    await eventually(() => way.countHeld(order.id), 1)
    expect(await order.click('pay')).toMatchObject({ status: 'paid' })
    expect(await order.click('refund')).toMatchObject({ status: 'refunded' })
    await way.deliverLate(order.id)
    expect(await first).toMatchObject({ status: 'refunded' })
    expect([await order.status(), await entriesOf(userId, order.id)]).toEqual(['refunded', ['-1', '+1']])
  },
)

async function tryOut(shop: Shop, [, wallet, act]: (typeof orderCases)[number]) {
  const { service } = opened
  const { userId, serviceUserId } = await newUser(service, app)
  let linkId = serviceUserId
  const billfold = new Billfold({ baseUrl: way.url, ...app })
  const order = await shop(linkId)
  const { id } = order
  const trial: Trial = {
    pay: () => order.click('pay'),
    refund: () => order.click('refund'),
    payTwice: async () => {
      way.lose(id, 'slow', 2)
      const clicks = [order.click('pay'), order.click('pay')]
      await eventually(() => way.countHeld(id), 2)
      await way.deliverLate(id)
      await Promise.all(clicks)
    },
    lose: (loss) => way.lose(id, loss),
    deliverLate: async () => expect((await way.deliverLate(id)).length).toBe(3),
    credit: () => billfold.credit({ serviceUserId: linkId, amount: 200, referenceType: 'GIFT', referenceId: userId }),
    freeze: (isFrozen) => (isFrozen ? freezeWallet : unfreezeWallet)(service, operator, userId, 'a test'),
    relink: async () => {
      expect(await updateLinkDisconnected(service.db.pool, userId, linkId)).toBeTrue()
      linkId = await linkUser(service, app, userId)
      order.link(linkId)
    },
  }
  if (wallet === 'rich') await trial.credit()
  await act(trial)
  const status = await order.status()
  return { entries: await entriesOf(userId, id), status: /^(open|refused)$/.test(status) ? 'unpaid' : status }
}

async function entriesOf(walletId: string, orderId: string): Promise<string[]> {
  const { rows } = await opened.service.db.pool.query<{ amount: string; reference_id: string }>(
    'select amount, reference_id from transfers where wallet_id = $1 and reference_id like $2 order by sequence',
    [walletId, `${orderId}-%`],
  )
  return rows.map(({ amount, reference_id }) => `${Number(amount) < 0 ? '-' : '+'}${reference_id.split('-').at(-1)}`)
}

/** Lets the test call the exports of the guide's files: one line for each call and each answer. */
const driver = `
  import { createInterface } from 'node:readline'
  import { addOrder, findOrder } from './db.mjs'
  import { pay, refund } from './orders.mjs'
  const calls = { addOrder, pay, refund, status: async (id) => (await findOrder(id)).status }
  for await (const line of createInterface({ input: process.stdin })) {
    const { n, call, words } = JSON.parse(line)
    calls[call](...words)
      .catch((error) => ({ failed: error.code ?? String(error) }))
      .then((answer) => console.log(JSON.stringify({ n, answer })))
  }`

/** The guide's files in Node, in several processes that are called in turn. */
async function startGuide(name: string, database: string, processes: number): Promise<Shop> {
  const project = join(folder, name)
  for (const file of ['wallet.mjs', 'orders.mjs']) await Bun.write(join(project, file), snippets.get(file)!)
  await Bun.write(join(project, 'db.mjs'), snippets.get(database)!)
  await Bun.write(join(project, 'driver.mjs'), driver)
  const calls = Array.from({ length: processes }, () => startNode(project))
  let turn = 0
  const call = (name: string, ...words: unknown[]) => calls[turn++ % calls.length]!(name, words)
  return async (linked) => {
    const user = { serviceUserId: linked }
    const id = randomUUID()
    await call('addOrder', { id, amount: 19.99 })
    return {
      id,
      amount: 19.99,
      link: (serviceUserId) => void Object.assign(user, { serviceUserId }),
      click: (verb) => (verb === 'pay' ? call('pay', user, id) : call('refund', user, id)),
      status: async () => String(await call('status', id)),
    }
  }
}

function startNode(project: string): (call: string, words: unknown[]) => Promise<unknown> {
  const child = Bun.spawn(['node', 'driver.mjs'], {
    cwd: project,
    env: {
      PATH: process.env['PATH'] ?? '',
      BILLFOLD_URL: way.url,
      BILLFOLD_CLIENT_ID: app.clientId,
      BILLFOLD_CLIENT_SECRET: app.clientSecret,
      DATABASE_URL: shopDatabase.url,
    },
    stdin: 'pipe',
    stdout: 'pipe',
    stderr: 'inherit',
  })
  children.push(child)
  const waiting: ((answer: unknown) => void)[] = []
  const read = async () => {
    let rest = ''
    for await (const chunk of child.stdout.pipeThrough(new TextDecoderStream())) {
      const lines = (rest + chunk).split('\n')
      rest = lines.pop()!
      for (const { n, answer } of lines.map((line) => JSON.parse(line) as { n: number; answer: unknown }))
        waiting[n]!(answer)
    }
    for (const answer of waiting) answer({ failed: 'the process has ended' })
  }
  void read()
  return async (call, words) => {
    const { promise, resolve } = Promise.withResolvers<unknown>()
    const n = waiting.push(resolve) - 1
    void child.stdin.write(`${JSON.stringify({ n, call, words })}\n`)
    await child.stdin.flush()
    return await promise
  }
}

async function startExample(): Promise<Shop> {
  const store = openStore(join(folder, 'shop.json'))
  const config = {
    host: '127.0.0.1',
    port: 0,
    dataDir: folder,
    currency: 'USD',
    webhookSecrets: [],
    billfold: { baseUrl: way.url, ...app },
  }
  const shop = buildShop(config, store, { script: '', style: '' })
  let count = 0
  return async (serviceUserId) => {
    const user = store.getOrInsertUser(`Guest ${++count}`)
    store.setLink(user, serviceUserId)
    const cookie = `shop_session=${store.insertSession(user)}`
    const order = store.insertOrder({ userId: user.id, productId: 'mug', amount: 18 }, new Date())
    const headers = { cookie, host: 'shop.test', origin: 'http://shop.test' }
    return {
      id: order.id,
      amount: order.amount,
      link: (serviceUserId) => store.setLink(user, serviceUserId),
      click: async (verb) => await shop.request(`/api/orders/${order.id}/${verb}`, { method: 'POST', headers }),
      // Read from the file: a status that is only in memory would be lost when the shop ends.
      status: async () => openStore(join(folder, 'shop.json')).findOrder(user, order.id)!.status,
    }
  }
}
