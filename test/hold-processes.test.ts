/** Holds in two real processes on one database, whose queues close expired holds while the calls race. */
import { afterAll, beforeAll, expect, setDefaultTimeout, test } from 'bun:test'
import { freezeWallet, unfreezeWallet } from '../src/actions/money/manage-wallets.ts'
import { postForService } from '../src/actions/money/post.ts'
import { transact } from '../src/store/connection/database.ts'
import { expectBalancedBooks } from './books.ts'
import { newClient, type Client, type Reply } from './client.ts'
import { eventually } from './eventually.ts'
import { holdClient, holdOf } from './holds.ts'
import { startProcess, type ServiceProcess } from './process.ts'
import {
  newApp,
  newUsers,
  openTestService,
  operator,
  type Credentials,
  type TestService,
  type TestUser,
} from './service.ts'

setDefaultTimeout(180_000)

let opened: TestService
let processes: ServiceProcess[]
let credentials: Credentials
let clients: Client[]
let holders: ReturnType<typeof holdClient>[]

beforeAll(async () => {
  opened = await openTestService()
  credentials = await newApp(opened.service)
  const environment = { DATABASE_URL: opened.databaseUrl }
  processes = await Promise.all([startProcess(environment), startProcess(environment)])
  clients = processes.map(clientOf)
  holders = clients.map((client) => holdClient(client, credentials))
}, 180_000)
afterAll(async () => {
  await Promise.all(processes.map((one) => one.stop()))
  await expectBalancedBooks(opened.service)
  await opened.close()
}, 180_000)

const clientOf = (one: ServiceProcess) => newClient(one.send, credentials, one.url)
const fundedUsers = async (count: number) => {
  const users = await newUsers(opened.service, credentials, count)
  await Promise.all(users.map(({ serviceUserId }) => clients[0]!.credit(serviceUserId, 100)))
  return users
}
const figures = async ({ serviceUserId }: TestUser) => {
  const { balance, available, held } = (await clients[0]!.wallet(serviceUserId)).body
  return [balance, available, held]
}
const codeOf = ({ status, body }: Reply) => (body['code'] as string | undefined) ?? String(status)
const codes = (replies: readonly Reply[]) => replies.map(codeOf).toSorted()

test('two captures of one hold, by two processes at once, take the money once', async () => {
  for (const user of await fundedUsers(20)) {
    const { id } = holdOf(await holders[0]!.place(user.serviceUserId, 60))
    const replies = await Promise.all(
      holders.map((holder, i) => holder.capture(id, { referenceType: 'RACE', referenceId: `${id} ${i}` })),
    )
    expect(codes(replies)).toEqual(['200', 'HOLD_CLOSED'])
    expect(await figures(user)).toEqual([40, 40, 0])
  }
})

test('a capture and a void of one hold, by two processes at once: one of them counts', async () => {
  for (const user of await fundedUsers(20)) {
    const { id } = holdOf(await holders[0]!.place(user.serviceUserId, 60))
    const [capture, release] = await Promise.all([holders[0]!.capture(id), holders[1]!.void(id)])
    expect(codes([capture, release])).toEqual(['200', 'HOLD_CLOSED'])
    expect(await figures(user)).toEqual(capture.status === 200 ? [40, 40, 0] : [100, 100, 0])
  }
})

test('one reference of a hold, sent by two processes at once, reserves once', async () => {
  for (const user of await fundedUsers(10)) {
    const referenceId = `twice ${user.userId}`
    const replies = await Promise.all(
      [0, 1, 0, 1].map((i) => holders[i]!.place(user.serviceUserId, 60, { referenceId })),
    )
    expect(replies.map(({ status }) => status)).toEqual([200, 200, 200, 200])
    expect(new Set(replies.map((reply) => holdOf(reply).id)).size).toBe(1)
    expect(replies.filter(({ body }) => body['replayed'] === undefined)).toHaveLength(1)
    expect(await figures(user)).toEqual([100, 40, 60])
  }
})

test('the last money goes to one hold or one debit', async () => {
  for (const user of await fundedUsers(10)) {
    const su = user.serviceUserId
    const replies = await Promise.all([holders[0]!.place(su, 60), clients[1]!.debit(su, 60), holders[1]!.place(su, 60)])
    expect(codes(replies)).toEqual(['200', 'INSUFFICIENT_BALANCE', 'INSUFFICIENT_BALANCE'])
  }
})

test('a process closes an expired hold by itself', async () => {
  const [user] = (await fundedUsers(1)) as [TestUser]
  const { id } = holdOf(await holders[0]!.place(user.serviceUserId, 60))
  await opened.service.db.pool.query(
    `update holds set created_at = now() - interval '8 days', expires_at = now() where id = $1`,
    [id.slice(5)],
  )
  const heldSql =
    'select held, (select ended_by from holds h where h.wallet_id = w.id) as end from wallets w where id = $1'
  await eventually(
    async () => (await opened.service.db.pool.query(heldSql, [user.userId])).rows,
    [{ held: 0n, end: 'expiry' }],
  )
})

/** Reproducible: a failure prints the seed. */
function openRandom(seed: number) {
  let state = seed
  const next = () => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0
    return state / 2 ** 32
  }
  return {
    upTo: (max: number) => Math.floor(next() * max),
    pick: <T>(items: readonly T[]) => items[Math.floor(next() * items.length)]!,
  }
}

test('a thousand random calls about few wallets leave sums that are exact', async () => {
  const seed = Date.now() % 1_000_000
  const random = openRandom(seed)
  const users = await fundedUsers(5)
  const moved = new Map(users.map(({ userId }) => [userId, 100]))
  const ids: { id: string; user: TestUser }[] = []
  const answers = new Map<string, number>()
  const add = (user: TestUser, amount: number) =>
    moved.set(user.userId, Math.round((moved.get(user.userId)! + amount) * 100) / 100)
  const one = async (): Promise<void> => {
    const user = random.pick(users)
    const { serviceUserId } = user
    const amount = 1 + random.upTo(20)
    const side = random.upTo(2)
    const known = ids.length > 0 ? random.pick(ids) : undefined
    const kind = random.upTo(12)
    let reply: Reply | undefined
    if (kind <= 2 || !known) {
      reply = await holders[side]!.place(serviceUserId, amount, { expiresIn: 60 + random.upTo(1_000) })
      if (reply.status === 200) ids.push({ id: holdOf(reply).id, user })
    } else if (kind <= 5) {
      const final = random.upTo(2) === 0
      const reference = { referenceType: 'RANDOM', referenceId: `${known.id} ${random.upTo(1e9)}` }
      reply = await holders[side]!.capture(known.id, { amount, final, allowExtra: random.upTo(3) === 0, ...reference })
      if (reply.status === 200) add(known.user, -amount)
    } else if (kind === 6) reply = await holders[side]!.void(known.id)
    else if (kind === 7) {
      // The end of the hold: as if its time had come.
      await transact(opened.service.db, async (tx) => {
        await tx.query('select from wallets where id = $1 for update', [known.user.userId])
        await tx.query(
          `update holds set created_at = least(created_at, now() - interval '1 hour'), expires_at = now()
           where wallet_id = $1 and id = $2 and closed_at is null`,
          [known.user.userId, known.id.slice(5)],
        )
      })
    } else if (kind === 10) reply = await holders[side]!.extend(known.id, 60 + random.upTo(10_000))
    else if (kind === 11) {
      // More often active than frozen.
      const change = random.upTo(3) === 0 ? freezeWallet : unfreezeWallet
      await change(opened.service, operator, user.userId, 'random')
    } else if (kind === 8) {
      reply = await clients[side]!.debit(serviceUserId, amount)
      if (reply.status === 200) add(user, -amount)
    } else if (random.upTo(2) === 0) {
      reply = await clients[side]!.credit(serviceUserId, amount)
      if (reply.status === 200) add(user, amount)
    } else {
      await postForService(opened.service, {
        walletId: user.userId,
        counterAccount: 'cards',
        amountMinor: BigInt(-amount) * 100n,
        isReversal: true,
        referenceType: 'CHARGEBACK',
        referenceId: `random ${random.upTo(1e9)} ${ids.length}`,
        description: null,
      })
      add(user, -amount)
    }
    const answer = reply ? codeOf(reply) : 'done'
    answers.set(answer, (answers.get(answer) ?? 0) + 1)
  }
  for (let done = 0; done < 1_000; done += 10) await Promise.all(Array.from({ length: 10 }, one))
  const allowed = [
    '200',
    'done',
    'INSUFFICIENT_BALANCE',
    'WALLET_INACTIVE',
    'HOLD_CLOSED',
    'HOLD_EXPIRED',
    'HOLD_EXCEEDED',
    'HOLD_UNCOVERED',
    'HOLD_LIMIT',
  ]
  expect(
    [...answers.keys()].filter((answer) => !allowed.includes(answer)),
    `seed ${seed}`,
  ).toEqual([])
  for (const user of users) expect((await figures(user))[0], `seed ${seed}`).toBe(moved.get(user.userId))
  await expectBalancedBooks(opened.service)
})

test('a process that is killed during captures leaves each of them done or not, and a repeat finds out', async () => {
  const users = await fundedUsers(32)
  const victim = await startProcess({ DATABASE_URL: opened.databaseUrl })
  const doomed = holdClient(clientOf(victim), credentials)
  const placed = await Promise.all(
    users.flatMap((user) =>
      Array.from({ length: 2 }, async () => holdOf(await holders[0]!.place(user.serviceUserId, 10)).id),
    ),
  )
  let answered = 0
  const captures = placed.map(async (id) => {
    const reply = await doomed.capture(id).catch(() => undefined)
    if (reply) answered++
    return reply
  })
  await eventually(() => answered > 0, true)
  await victim.kill()
  const first = await Promise.all(captures)
  // The repeat goes to another process: it answers what the first one came to, or captures now.
  const again = await Promise.all(placed.map((id, i) => holders[i % 2]!.capture(id)))
  expect(new Set(again.map(({ status }) => status))).toEqual(new Set([200]))
  for (const [i, reply] of first.entries())
    if (reply?.status === 200) expect(again[i]!.body['transactionId']).toBe(reply.body['transactionId'])
  for (const user of users) expect(await figures(user)).toEqual([80, 80, 0])
  await expectBalancedBooks(opened.service)
})
