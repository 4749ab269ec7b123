/** Every call needs the apps: what one app does to the database must not keep the calls of another app waiting for them. */
import { afterAll, afterEach, beforeAll, describe, expect, setDefaultTimeout, test } from 'bun:test'
import { Client } from 'pg'
import { rotateSecret } from '../actions/apps/manage-apps.ts'
import { newClient, type Client as ApiClient } from '../../test/client.ts'
import { openForwarder } from '../../test/forwarder.ts'
import {
  newApp,
  newUser,
  newUsers,
  openTestService,
  operator,
  type Credentials,
  type TestService,
} from '../../test/service.ts'
import { openAppDirectory } from './app-directory.ts'

setDefaultTimeout(180_000)

let opened: TestService
let greedy: Credentials
let other: { readonly client: ApiClient; readonly serviceUserId: string }

beforeAll(async () => {
  opened = await openTestService()
  greedy = await newApp(opened.service)
  const credentials = await newApp(opened.service)
  const { serviceUserId } = await newUser(opened.service, credentials)
  other = { client: newClient(opened.app.fetch, credentials), serviceUserId }
  expect((await other.client.credit(serviceUserId, 1_000)).status).toBe(200)
})
afterAll(() => opened.close())

/** The copy of the apps is used for half a second. */
const letCopyAge = () => Bun.sleep(600)

/** Single debits of the other app, each after the copy of the apps has aged. */
async function debits(count: number): Promise<number[]> {
  const statuses: number[] = []
  for (let i = 0; i < count; i++) {
    await letCopyAge()
    statuses.push((await other.client.debit(other.serviceUserId, 1)).status)
  }
  return statuses
}

async function newSessions(count: number): Promise<string[]> {
  const client = newClient(opened.app.fetch, greedy)
  const tokens: string[] = []
  for (const { serviceUserId } of await newUsers(opened.service, greedy, count)) {
    const { body } = await client.post('/api/widget/session', { ...greedy, serviceUserId })
    tokens.push(String(body['sessionToken']))
  }
  return tokens
}

const widgetWallet = async (session: string) =>
  (await opened.app.fetch(new Request(`http://billfold.test/api/widget/wallet?session=${session}`))).status

/** Holds the table until `work` has ended. */
async function withLocked<T>(table: string, work: () => Promise<T>): Promise<T> {
  const holder = new Client(opened.service.db.connection)
  await holder.connect()
  await holder.query('begin')
  await holder.query(`lock table ${table} in access exclusive mode`)
  try {
    return await work()
  } finally {
    await holder.end()
  }
}

describe('debits of another app are not refused', () => {
  test('while 24 widgets wait for a locked table', async () => {
    const sessions = await newSessions(24)
    const { asked, statuses } = await withLocked('widget_sessions', async () => {
      const waiting = sessions.map(widgetWallet)
      while (opened.service.db.widget.pool.waitingCount === 0) await Bun.sleep(5)
      return { asked: waiting, statuses: await debits(3) }
    })
    await Promise.all(asked)
    expect(statuses).toEqual([200, 200, 200])
  })

  test('while an app holds every connection for requests', async () => {
    const { pool } = opened.service.db
    const held = await Promise.all(Array.from({ length: 7 }, () => pool.connect()))
    const reader = newClient(opened.app.fetch, greedy)
    const reads = Array.from({ length: 128 }, () => reader.wallet('su_00000000000000000000000000000000'))
    const statuses = await debits(3)
    for (const one of held) one.release()
    await Promise.all(reads)
    expect(statuses).toEqual([200, 200, 200])
  })

  test('while 600 event streams connect again and wait for a locked table', async () => {
    const sessions = await newSessions(100)
    const gone = new AbortController()
    const open = (session: string) =>
      opened.app.fetch(
        new Request(`http://billfold.test/api/widget/events?session=${session}`, { signal: gone.signal }),
      )
    const { streams, statuses } = await withLocked('widget_sessions', async () => {
      const connecting = Array.from({ length: 600 }, (_, i) => open(sessions[i % 100]!))
      while (opened.service.db.widget.pool.waitingCount === 0) await Bun.sleep(5)
      return { streams: connecting, statuses: await debits(3) }
    })
    for (const response of await Promise.all(streams)) await response.body?.cancel()
    gone.abort()
    expect(statuses).toEqual([200, 200, 200])
  })

  test('while the apps cannot be read: the last copy is used', async () => {
    expect(await withLocked('apps_version', () => debits(3))).toEqual([200, 200, 200])
  })
})

const guess = async (_: unknown, number: number) => {
  const statuses: number[] = []
  for (let i = 0; i < 30; i++) {
    const guessed = { clientId: `app_${number}_${i}`, clientSecret: 'bfs_guessed' }
    statuses.push((await newClient(opened.app.fetch, guessed).wallet('su_x')).status)
  }
  return statuses
}

const isRefused = async (found: Promise<unknown>) =>
  await found.then(
    () => false,
    () => true,
  )

describe('a refusal', () => {
  test('is not made from an old copy: while the apps cannot be read, an unknown secret is 503', async () => {
    const wrong = newClient(opened.app.fetch, { ...greedy, clientSecret: 'bfs_wrong' })
    expect(await withLocked('apps_version', async () => (await wrong.wallet('su_x')).status)).toBe(503)
    expect((await wrong.wallet('su_x')).status).toBe(401)
  })

  test('of guessed secrets costs at most one read in 20 ms, however many are guessed', async () => {
    // oxlint-disable-next-line typescript/unbound-method -- It is called with its own client below.
    const query = Client.prototype.query as (this: Client, ...sent: unknown[]) => unknown
    let reads = 0
    Client.prototype.query = function (this: Client, ...sent: unknown[]) {
      if (String(sent[0]).includes('from apps_version')) reads++
      return query.apply(this, sent)
    } as typeof Client.prototype.query
    const startedAt = performance.now()
    try {
      const statuses = (await Promise.all(Array.from({ length: 40 }, guess))).flat()
      expect(new Set(statuses)).toEqual(new Set([401]))
    } finally {
      Client.prototype.query = query as typeof Client.prototype.query
    }
    const tookMs = performance.now() - startedAt
    expect(reads).toBeGreaterThan(0)
    expect(reads).toBeLessThanOrEqual(2 + tookMs / 20)
  })
})

describe('a directory that has lost its database', () => {
  let wire: Awaited<ReturnType<typeof openForwarder>>
  afterEach(() => wire.close())

  const openSilent = async () => {
    wire = await openForwarder(opened.service.db.connection)
    const faults: unknown[] = []
    const directory = openAppDirectory(wire.connection, (error) => faults.push(error))
    // Its copy is not older than this.
    const readAt = performance.now()
    await directory.refresh()
    wire.goSilent()
    return { directory, faults, readAt }
  }
  test('answers from its last copy for ten seconds and then not at all, and says so once', async () => {
    const { directory, faults, readAt } = await openSilent()
    await letCopyAge()
    expect(directory.staleMs()).toBe(0)
    expect((await directory.known(greedy.clientId))?.clientId).toBe(greedy.clientId)
    let isOver = false
    while (!isOver) {
      isOver = await isRefused(Promise.resolve(directory.known(greedy.clientId)))
      await Bun.sleep(100)
    }
    expect(performance.now() - readAt).toBeGreaterThan(10_000)
    expect(faults).toHaveLength(1)
    expect(directory.staleMs()).toBeGreaterThan(10_000)
    wire.mend()
    expect((await directory.find(greedy.clientId))?.clientId).toBe(greedy.clientId)
    expect(directory.staleMs()).toBe(0)
    await directory.close()
  })

  test('never accepts what this process has revoked, and still accepts the others', async () => {
    const revoked = await newApp(opened.service)
    const { directory } = await openSilent()
    await rotateSecret({ ...opened.service, apps: directory }, operator, revoked.clientId, 'none')
    expect(await isRefused(Promise.resolve(directory.known(revoked.clientId)))).toBeTrue()
    expect((await directory.known(greedy.clientId))?.clientId).toBe(greedy.clientId)
    wire.mend()
    const [, ended] = (await directory.find(revoked.clientId))!.secrets
    expect(ended!.expiresAt).not.toBeNull()
    await directory.close()
  })
})
