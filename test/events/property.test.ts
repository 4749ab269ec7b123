/**
 * Processes that write for two apps on the same wallets, roll back, commit late and are killed; processes that number and are killed;
 * and a reader beside them. Each app gets each of its entries once, in the order of each wallet, as the numbers 1 to n.
 */
import { afterAll, beforeAll, expect, setDefaultTimeout, test } from 'bun:test'
import type { Subprocess } from 'bun'
import { toEvent } from '../../src/actions/events/event-body.ts'
import { findEvents, type RecordedEvent } from '../../src/store/events/feed.ts'
import { numberEvents } from '../../src/store/events/number-events.ts'
import { linkUser, newUsers, openTestService, type TestService } from '../service.ts'
import { newAppWithEvents, numberAll, readAll, seeded, sequencesOf } from './rig.ts'
import type { WritePlan } from './write-process.ts'

setDefaultTimeout(600_000)

const isLong = process.env['TEST_ALL'] === '1'
const seeds = isLong ? Array.from({ length: 12 }, (_, i) => i + 1) : [1]
const batches = isLong ? 150 : 30

let opened: TestService
beforeAll(async () => void (opened = await openTestService()))
afterAll(() => opened.close())

const query = async <T extends object>(sql: string, values: unknown[] = []) =>
  (await opened.service.db.pool.query<T>(sql, values)).rows
const script = (name: string) => new URL(name, import.meta.url).pathname
const bun = (name: string, argument: string) =>
  Bun.spawn([process.execPath, script(name), argument], { stdout: 'pipe', stderr: 'inherit' })

/** Resolves when the process has printed so many lines, or has ended. */
async function untilLines({ stdout }: Subprocess<'ignore', 'pipe', 'inherit'>, count: number): Promise<void> {
  let seen = 0
  for await (const chunk of stdout) {
    seen += chunk.filter((byte) => byte === 10).length
    if (seen >= count) return
  }
}

/** One process after another; each but the last is killed in the middle of its batches. */
async function writeAndDie(plan: WritePlan, random: () => number): Promise<void> {
  for (let life = 0; life < 2; life++) {
    const child = bun('write-process.ts', JSON.stringify({ ...plan, seed: plan.seed + life * 10 }))
    await untilLines(child, life === 0 ? batches * (0.4 + random()) : Infinity)
    if (life === 0) child.kill('SIGKILL')
    const code = await child.exited
    if (life > 0 && code !== 0) throw new Error(`a writer ended with ${code}`)
  }
}

const lastNumbers = async () => Number((await query<{ sum: string }>('select sum(last) from event_heads'))[0]!.sum)

/** Numbers in processes that are killed after some numbers each. */
async function numberAndDie(isOver: () => boolean): Promise<void> {
  while (!isOver()) {
    const child = bun('number-process.ts', opened.databaseUrl)
    await untilLines(child, 1)
    const before = await lastNumbers()
    while (!isOver() && (await lastNumbers()) <= before + 10) await Bun.sleep(10)
    child.kill('SIGKILL')
    await child.exited
  }
}

/** Beside them, so that numbers are given all the time. */
async function numberAlways(isOver: () => boolean): Promise<void> {
  while (!isOver()) {
    await numberEvents(opened.service.db)
    await Bun.sleep(2)
  }
}

/** Follows the feed as an app does: by the last number that it saw. */
async function follow(clientId: string, isOver: () => boolean): Promise<RecordedEvent[]> {
  const seen: RecordedEvent[] = []
  for (let isLast = false; ;) {
    const { events } = await findEvents(opened.service.db.pool, clientId, { after: seen.length, limit: 23 })
    seen.push(...events)
    if (events.length > 0) continue
    if (isLast) return seen
    isLast = isOver()
    await Bun.sleep(10)
  }
}

/** What the ledger has for the app: its own entries and the service's, in order, by wallet. */
async function entriesFor(clientId: string, walletIds: readonly string[]): Promise<Record<string, number[]>> {
  const rows = await query<{ walletId: string; sequences: number[] }>(
    `select wallet_id as "walletId", array_agg(sequence::int order by sequence) as sequences from transfers
     where wallet_id = any($1::uuid[]) and counter_account in ('bonus', 'app:' || $2) group by wallet_id`,
    [walletIds, clientId],
  )
  return Object.fromEntries(rows.map(({ walletId, sequences }) => [walletId, sequences]))
}

const countFacts = async (clientId: string) =>
  (await query(`select from journal where client_id = $1 and fact = 'wallet.frozen'`, [clientId])).length

test.each(seeds)(
  'with seed %p: killed writers and killed numbering processes leave each app all its entries once, in order, as 1 to n',
  async (seed) => {
    const { service, databaseUrl } = opened
    const first = await newAppWithEvents(service)
    const second = await newAppWithEvents(service)
    const users = await newUsers(service, first, 8)
    const linked = []
    for (const { userId } of users) linked.push({ userId, serviceUserId: await linkUser(service, second, userId) })
    const apps = [
      { clientId: first.clientId, users },
      { clientId: second.clientId, users: linked },
    ]
    let isWriting = true
    let isNumbered = false
    const following = apps.map(({ clientId }) => follow(clientId, () => isNumbered))
    const numbering = Promise.all([numberAndDie(() => !isWriting), numberAlways(() => !isWriting)])
    const plan = { databaseUrl, batches, apps }
    await Promise.all(
      [0, 1].map((i) => writeAndDie({ ...plan, seed: seed * 1_000 + i * 100 }, seeded(seed * 1_000 + i * 100 + 50))),
    )
    isWriting = false
    await numbering
    await numberAll(service)
    isNumbered = true
    for (const [i, { clientId, users: own }] of apps.entries()) {
      const seen = await following[i]!
      expect(sequencesOf(seen)).toEqual(
        await entriesFor(
          clientId,
          users.map(({ userId }) => userId),
        ),
      )
      // The same events at every read, about the app's own links alone.
      const bytesOf = (event: RecordedEvent) => JSON.stringify(toEvent(event, clientId, service.config.currency))
      expect(seen.map(bytesOf)).toEqual((await readAll(service, clientId)).map(bytesOf))
      const ids = new Set(own.map(({ serviceUserId }) => serviceUserId))
      expect(seen.filter(({ fact, serviceUserId }) => fact !== 'test.ping' && !ids.has(serviceUserId!))).toEqual([])
      const facts = seen.filter(({ fact }) => fact === 'wallet.frozen')
      expect(facts.length).toBeGreaterThan(0)
      expect(facts).toHaveLength(await countFacts(clientId))
    }
  },
)
