/** Each waiting app has its share of every batch, however much another app has waiting. */
import { afterAll, beforeAll, expect, setDefaultTimeout, test } from 'bun:test'
import { expectBalancedBooks } from '../../../test/books.ts'
import { eventually } from '../../../test/eventually.ts'
import { findCluster } from '../../../test/postgres.ts'
import { newPosting } from '../../../test/postings.ts'
import { newApp, newUsers, openTestService, type TestService, type TestUser } from '../../../test/service.ts'
import type { OpenClient } from '../connection/open-client.ts'
import { standbyOf, watchStandby } from '../connection/standby.ts'
import { enqueue } from './fair-queue.ts'
import { addToFastLane, isCrowded, openFastLane } from './fast-lane.ts'
import { newPending, Unavailable, type PendingPosting, type Posting, type PostingResult } from './posting.ts'
import { isShared, placesPerTurn, seeApp } from './turns.ts'
import { openWriter, type Writer } from './writer.ts'

setDefaultTimeout(60_000)

let opened: TestService
let writer: Writer
let greedy: Tenant
let other: Tenant

const sizes: number[] = []

const isOnCluster = (await findCluster()) !== undefined
const mostInBatch = isOnCluster ? 2_048 : 512

const newWriter = () =>
  openWriter(opened.service.db.connection, 1, {
    batch: (_, size) => sizes.push(size),
    fault: () => {},
    hold: () => {},
    nodeFault: () => {},
    outage: () => {},
  })

type Tenant = { readonly clientId: string; readonly users: TestUser[] }

beforeAll(async () => {
  opened = await openTestService()
  const newTenant = async () => {
    const { clientId } = await newApp(opened.service)
    return { clientId, users: await newUsers(opened.service, { clientId }, 50) }
  }
  greedy = await newTenant()
  other = await newTenant()
  writer = newWriter()
})
afterAll(async () => {
  await writer.close()
  await expectBalancedBooks(opened.service)
  await opened.close()
})

const credit = ({ clientId, users }: Tenant, i = 0, changes: Partial<Posting> = {}) =>
  newPosting({ clientId, serviceUserId: users[i % users.length]!.serviceUserId }, 1n, changes)
const credits = (tenant: Tenant, length: number) => Array.from({ length }, (_, i) => credit(tenant, i))
/** Each on its own, as requests that arrive together are. */
const send = (postings: readonly Posting[]) =>
  postings.map((posting) => {
    const result = writer.post(posting)
    // Not awaited by every test.
    result.catch(() => {})
    return result
  })
/** On a slow machine the last of thousands come too late, and are refused. */
const untilAnswered = async (results: readonly Promise<PostingResult>[]) => {
  for (const each of await Promise.allSettled(results))
    if (each.status === 'rejected') expect(each.reason).toBeInstanceOf(Unavailable)
}
const countAnswers = (results: readonly Promise<PostingResult>[]) => {
  const counter = { answered: 0 }
  for (const result of results)
    void result.then(
      () => counter.answered++,
      () => {},
    )
  return counter
}

test('an app that arrives behind thousands of postings of another app is in the same batch as their first', async () => {
  const many = send(credits(greedy, 3_000))
  const counter = countAnswers(many)
  await Promise.all(send(credits(other, 10)))
  expect(counter.answered).toBeLessThanOrEqual(512)
  await untilAnswered(many)
})

test('the estimate for an app counts the batches of its own queue, and only its place in the next one behind that of another app', async () => {
  await Promise.all(send(credits(greedy, 600)))
  await eventually(() => writer.depths().fast, 0)
  await eventually(isShared, false)
  // No batch is sent before the next tick, so all of them wait.
  const many = send(credits(greedy, 8_000))
  const [own, others] = [writer.estimateMs(greedy.clientId, 1), writer.estimateMs(other.clientId, 1)]
  expect(others).toBeGreaterThan(0)
  expect(own / others).toBeCloseTo(Math.ceil(8_001 / mostInBatch))
  seeApp(other.clientId)
  const beside = writer.estimateMs(greedy.clientId, 1)
  expect(beside / others).toBeCloseTo(Math.ceil(8_001 / 128))
  await untilAnswered(many)
})

test('an app that arrives while the batches of another app are under way is in the next batch', async () => {
  const many = send(credits(greedy, 8 * mostInBatch))
  const counter = countAnswers(many)
  await many[0]
  // Two more batches are under way by now. The express lane may take the first 16.
  await Promise.all(send(credits(other, 26)).slice(16))
  expect(counter.answered).toBeLessThanOrEqual(4 * mostInBatch)
  await untilAnswered(many)
})

test('while another app uses the lane too, an app takes at most 128 places of a batch', async () => {
  await eventually(() => writer.depths().fast, 0)
  const many = send(credits(greedy, 1_000))
  sizes.length = 0
  // More than the express lane takes.
  await Promise.all(send(credits(other, 40)))
  await untilAnswered(many)
  // Both arrived in one tick, so they share the first batch. The rule ends a second later, which a slow machine may need for the others.
  expect(sizes[0]).toBeLessThanOrEqual(128 + 40)
})

test('while another app only reads, an app takes at most 128 places of a batch', async () => {
  await eventually(() => writer.depths().fast, 0)
  sizes.length = 0
  seeApp(other.clientId)
  const many = send(credits(greedy, 1_000))
  await untilAnswered(many)
  expect(sizes[0]).toBe(128)
})

/** Returns once a large batch of the greedy app is written and others are under way. */
const crowd = async () => {
  const many = send(credits(greedy, 2_000))
  await many[0]
  sizes.length = 0
  return many
}
/**
 * While it has no connection, the usual lane takes what it would take, together with others of the crowd: only the express lane writes
 * a batch of one. A cluster has no express lane.
 */
const openExpressLane = async () => {
  if (isOnCluster) return
  do {
    const many = await crowd()
    await Promise.all(send(credits(other, 1)))
    await untilAnswered(many)
  } while (!sizes.includes(1))
}

test.skipIf(isOnCluster)(
  'a few postings of an app are written in batches of their own while another app crowds the lane',
  async () => {
    await openExpressLane()
    const many = await crowd()
    await Promise.all(send(credits(other, 3)))
    await untilAnswered(many)
    expect(sizes).toContain(3)
  },
)

test.skipIf(isOnCluster)(
  'an app with more than 16 postings takes its share of the usual lane, and stays there',
  async () => {
    await openExpressLane()
    const many = await crowd()
    const first = send(credits(other, 40))
    const second = send(credits(other, 5))
    await Promise.all([...first, ...second])
    await untilAnswered(many)
    expect(sizes).toContain(16)
    expect(sizes).not.toContain(5)
  },
)

test('repeats of a reference get one outcome while another app crowds the lane', async () => {
  await openExpressLane()
  const many = await crowd()
  const results = await Promise.all(
    send(Array.from({ length: 60 }, () => credit(other, 0, { referenceId: 'repeated' }))),
  )
  expect(results.filter((result) => result.kind === 'outcome' && !result.replay)).toHaveLength(1)
  await untilAnswered(many)
})

test('a list stays in its lane while another app crowds it, so that its order is kept', async () => {
  await openExpressLane()
  const many = await crowd()
  const { serviceUserId } = other.users[7]!
  const post = writer.openList()
  const debit = { ...credit(other), amountMinor: -5n, by: { clientId: other.clientId, serviceUserId } }
  const all = { ...credit(other), amountMinor: 5n, by: { clientId: other.clientId, serviceUserId } }
  const results = await Promise.all([post(all), post(debit)])
  expect(results.map((result) => result.kind === 'outcome' && result.outcome.refusal)).toEqual([null, null])
  await untilAnswered(many)
  expect(sizes).not.toContain(2)
})

/** Its connection never opens. */
const newLane = () => {
  const none = {} as Parameters<typeof openFastLane>[1]
  const events = {} as Parameters<typeof openFastLane>[2]
  const lane = openFastLane(opened.service.db.connection, none, events, { own: 0, index: 0 })
  lane.writer = new Promise(() => {})
  return lane
}

test('of a batch, the apps with at least 32 postings crowd the lane', async () => {
  const apps = [
    [greedy, 32],
    [other, 31],
  ] as const
  const lane = newLane()
  for (const [tenant, length] of apps)
    for (const posting of credits(tenant, length))
      addToFastLane(
        lane,
        newPending(
          posting,
          0,
          undefined,
          () => {},
          () => {},
        ),
      )
  await eventually(() => lane.underWay.size, 1)
  expect([...lane.underWay.keys()].map(({ postings }) => postings.length)).toEqual([63])
  expect([...lane.crowd.apps]).toEqual([greedy.clientId])
})

test('the lanes of a cluster, and the lane of an app that crowds it, are not crowded', () => {
  const lane = newLane()
  lane.crowd = { apps: new Set(['greedy']), until: Infinity }
  expect(isCrowded({ ...lane, limits: { batch: 2_048, underWay: 1 } }, 'other')).toBeFalse()
  const usual = { ...lane, limits: { batch: 512, underWay: 2 } }
  expect(isCrowded(usual, 'other')).toBeTrue()
  expect(isCrowded(usual, 'greedy')).toBeFalse()
  enqueue(usual.waiting, 'other', {} as PendingPosting)
  expect(isCrowded(usual, 'other')).toBeFalse()
})

test('a turn of the event loop gives at most 128 answers to an app, of all its batches together', async () => {
  const alone = newWriter()
  seeApp(greedy.clientId)
  await eventually(isShared, false)
  sizes.length = 0
  let turn = 0
  let isOver = false
  const next = () => {
    turn++
    if (!isOver) setImmediate(next)
  }
  setImmediate(next)
  const answers = new Map<number, number>()
  const count = () => answers.set(turn, (answers.get(turn) ?? 0) + 1)
  await Promise.all(credits(greedy, 4_096).map((posting) => alone.post(posting).then(count)))
  isOver = true
  await alone.close()
  expect(Math.max(...sizes)).toBe(mostInBatch)
  // A turn may end, and the next one begin, between two callbacks of `setImmediate`.
  expect(Math.max(...answers.values())).toBeLessThanOrEqual(2 * placesPerTurn)
})

test('the movements of the service itself are one share among those of the apps', async () => {
  const { userId } = greedy.users[0]!
  // Opens the connection of its lane, which is the express lane after the tests before.
  await Promise.all(send(credits(other, 1)))
  const many = send(
    credits(greedy, 8_000).map((posting) => ({ ...posting, by: { walletId: userId }, counterAccount: 'cards' })),
  )
  const counter = countAnswers(many)
  // All but the first use of a reference that several users share are decided in the careful lane, as the movements are.
  const results = await Promise.all(
    send(other.users.slice(0, 20).map((_, i) => credit(other, i, { referenceId: 'shared' }))),
  )
  expect(results.filter((result) => result.kind === 'outcome' && result.replay)).toHaveLength(19)
  expect(counter.answered).toBeLessThanOrEqual(4_000)
  await untilAnswered(many)
})

test('an app that fills the queue is refused above its share, and another app is not', async () => {
  const many = send(credits(greedy, 20_100))
  const few = send(credits(other, 10))
  const refused = many.slice(20_000).map((result) => result.catch((error: unknown) => error))
  const accepted = Promise.allSettled(many.slice(0, 20_000))
  expect((await Promise.all(refused)).filter((error) => error instanceof Unavailable)).toHaveLength(100)
  expect((await Promise.all(few)).every(({ kind }) => kind === 'outcome')).toBeTrue()
  await accepted
})

const messageOf = ({ message }: Error) => message

test('while the standby is lost, at most 20,000 postings wait for the next question, and the others are refused at once', async () => {
  const { connection } = opened.service.db
  const asked = Promise.withResolvers<{ rows: { n: number }[] }>()
  // The first answer begins the loss; the second question is under way until `asked` is answered, and a failed one ends the questions.
  const answers = [Promise.resolve({ rows: [{ n: 1 }] }), asked.promise]
  const client = { query: () => answers.shift() ?? Promise.reject(new Error('away')), destroy: () => {} }
  const questions = watchStandby(connection, () => Promise.resolve(client as unknown as OpenClient))
  await eventually(() => Promise.resolve(standbyOf(connection).isLost), true)
  const results = send(credits(greedy, 20_100)).map((result) => result.then(() => 'posted', messageOf))
  expect(await Promise.all(results.slice(20_000))).toEqual(
    Array.from({ length: 100 }, () => 'no standby confirms commits'),
  )
  asked.resolve({ rows: [{ n: 1 }] })
  await questions
  await Promise.all(results)
  // It is back, and nothing waits any more.
  expect((await writer.post(credit(other))).kind).toBe('outcome')
})
