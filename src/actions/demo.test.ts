import { afterAll, beforeAll, expect, setDefaultTimeout, test } from 'bun:test'
import { mkdtemp, rm, stat } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { openTestService, operator, type TestService } from '../../test/service.ts'
import { findApp } from '../store/apps.ts'
import { listEndpoints } from '../store/events/endpoints.ts'
import { findWalletWithTransfers } from '../store/wallets.ts'
import { verifyBooks } from '../store/verify/verify.ts'
import { authenticate } from './apps/authenticate.ts'
import { createDemo, findUnsafeForProduction } from './demo.ts'
import { setAppActive, setAppEvents, createApp } from './apps/manage-apps.ts'
import { freezeWallet } from './money/manage-wallets.ts'
import { postForApp } from './money/post.ts'
import type { Service } from './service.ts'

setDefaultTimeout(180_000)

let opened: TestService
let service: Service
let dataDir: string

beforeAll(async () => {
  dataDir = await mkdtemp(join(tmpdir(), 'billfold-demo-'))
  opened = await openTestService({ DATA_DIR: join(dataDir, 'data') })
  service = opened.service
})

afterAll(async () => {
  await opened.close()
  await rm(dataDir, { recursive: true })
})

async function balanceOf(serviceUserId: string): Promise<bigint> {
  return (await service.reader.find('app_demo', serviceUserId))!.balanceMinor
}

test('two starts at once make one demo, and both know its secret', async () => {
  const [one, two] = await Promise.all([
    createDemo(service, { shopPort: 4001 }),
    createDemo(service, { shopPort: 4001 }),
  ])
  expect(one).toEqual(two)
  expect(one).toMatchObject({ clientId: 'app_demo', email: 'demo@billfold.example' })
  const { app } = await authenticate(service, one, { address: '127.0.0.1' })
  expect(app).toMatchObject({
    name: 'Small Hours',
    allowedIframeParents: ['http://localhost:4001', 'http://127.0.0.1:4001'],
  })
  expect(app!.secrets).toHaveLength(1)
  expect(await balanceOf(one.serviceUserId)).toBe(10_000n)
})

test('the app has events, and one endpoint that follows the port of the shop', async () => {
  const { webhookSecret } = await createDemo(service, { shopPort: 4001 })
  expect(webhookSecret).toStartWith('whsec_')
  const urls = async () => (await listEndpoints(service.db.pool, 'app_demo')).map(({ url }) => url)
  expect(await urls()).toEqual(['http://127.0.0.1:4001/webhooks/billfold'])
  const moved = await createDemo(service, { shopPort: 5001 })
  expect(await urls()).toEqual(['http://127.0.0.1:5001/webhooks/billfold'])
  expect((await createDemo(service, { shopPort: 5001 })).webhookSecret).toBe(moved.webhookSecret)
  await setAppEvents(service, operator, 'app_demo', false)
  expect((await createDemo(service, { shopPort: 5001 })).webhookSecret).toBeUndefined()
  await setAppEvents(service, operator, 'app_demo', true)
})

test('a secret of the endpoint that was sealed with a lost key is replaced', async () => {
  const before = await createDemo(service, { shopPort: 5001 })
  await service.db.pool.query(`update endpoints set secret = reverse(secret) where client_id = 'app_demo'`)
  const after = await createDemo(service, { shopPort: 5001 })
  expect([after.webhookSecret === before.webhookSecret, after.webhookSecret]).toEqual([
    false,
    expect.stringMatching(/^whsec_/),
  ])
  expect((await createDemo(service, { shopPort: 5001 })).webhookSecret).toBe(after.webhookSecret)
})

test('the secret is in a file that only its owner can read', async () => {
  const { mode } = await stat(join(dataDir, 'data', 'demo.json'))
  expect(mode & 0o777).toBe(0o600)
})

test('a later start gives no more money, and lets the shop move to another port', async () => {
  const before = await createDemo(service, { shopPort: 4001 })
  const app = (await findApp(service.db.pool, 'app_demo'))!
  await postForApp(service, app, {
    direction: 'debit',
    serviceUserId: before.serviceUserId,
    amountMinor: 10_000n,
    referenceType: 'ORDER',
    referenceId: '1',
    description: null,
  })
  const { webhookSecret: _, ...others } = before
  expect(await createDemo(service, { shopPort: 5001 })).toMatchObject(others)
  expect(await balanceOf(before.serviceUserId)).toBe(0n)
  const { allowedIframeParents } = (await findApp(service.db.pool, 'app_demo'))!
  expect(allowedIframeParents.slice(0, 2)).toEqual(['http://localhost:5001', 'http://127.0.0.1:5001'])
  const { walletId } = (await service.reader.find('app_demo', before.serviceUserId))!
  const { transfers } = (await findWalletWithTransfers(service.db.pool, walletId, { limit: 10 }))!
  expect(transfers.map((t) => t.referenceType)).toEqual(['ORDER', 'BONUS'])
})

test('where the file is lost, another secret is made, and the old one lives on for a while', async () => {
  const before = await createDemo(service, { shopPort: 4001 })
  await rm(join(dataDir, 'data', 'demo.json'))
  const after = await createDemo(service, { shopPort: 4001 })
  expect(after.clientSecret).not.toBe(before.clientSecret)
  for (const credentials of [before, after])
    expect((await authenticate(service, credentials, { address: '127.0.0.1' })).app?.clientId).toBe('app_demo')
})

test('in production the demo and plain-HTTP origins are told of until they are put right', async () => {
  const demo = await createDemo(service, { shopPort: 4001 })
  const settings = (await findApp(service.db.pool, 'app_demo'))!
  const { clientId } = await createApp(service, operator, { ...settings, name: 'Old', allowedOrigins: [] })
  const { clientId: good } = await createApp(service, operator, {
    ...settings,
    allowedOrigins: ['https://shop.example'],
    allowedIframeParents: [],
  })
  const problems = await findUnsafeForProduction(service)
  expect(problems).toHaveLength(3)
  expect(problems[0]).toContain('app deactivate app_demo')
  expect(problems[1]).toContain('well-known password')
  expect(problems[2]).toContain(`${clientId}) lists http://localhost:5001`)
  expect(problems.join()).not.toContain(good)
  const { walletId } = (await service.reader.find('app_demo', demo.serviceUserId))!
  await setAppActive(service, operator, 'app_demo', false)
  await setAppActive(service, operator, clientId, false)
  await freezeWallet(service, operator, walletId, 'demo')
  expect(await findUnsafeForProduction(service)).toEqual([])
})

test('the books are exact after all this', async () => {
  expect((await verifyBooks(service.db.connection)).faults).toBe(0)
})
