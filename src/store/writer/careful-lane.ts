/**
 * Where a batch is looked at before it is written: repeats, refusals, frozen wallets, the service's own movements, and
 * whatever went wrong elsewhere. One connection, one batch at a time, until every one of it has its result.
 */
import { setTimeout as sleep } from 'node:timers/promises'
import { isContention, isUnavailable, sqlState, uniqueViolation, type Connection } from '../database.ts'
import type { Entry, Line } from './entry.ts'
import { planBatch, writePlan, type PostResult } from './settle.ts'
import { destroyClient, openWriterClient, type WriterClient } from './writer-client.ts'

export type LaneEvents = {
  readonly batch: (size: number, isCareful: boolean, ms: number) => void
  readonly fault: (error: unknown) => void
}

export type CarefulLane = Line & {
  readonly connection: Connection
  readonly events: LaneEvents
  writer: WriterClient | undefined
  isRunning: boolean
}

const maxBatch = 512
const lockTimeoutMs = 3_000

export function openCarefulLane(connection: Connection, events: LaneEvents): CarefulLane {
  const lane: CarefulLane = {
    connection,
    events,
    queue: [],
    underWay: new Set(),
    giveUp: () => disconnect(lane),
    writer: undefined,
    isRunning: false,
  }
  return lane
}

export function postCarefully(lane: CarefulLane, entries: readonly Entry[]): void {
  lane.queue.push(...entries)
  if (!lane.isRunning) void run(lane)
}

export async function closeCarefulLane(lane: CarefulLane): Promise<void> {
  while (lane.isRunning) await sleep(5)
  await lane.writer?.client.end().catch(() => {})
  lane.writer = undefined
}

async function run(lane: CarefulLane): Promise<void> {
  lane.isRunning = true
  // One turn of the event loop, so that those of the same moment share the first batch.
  await new Promise((resolve) => setImmediate(resolve))
  while (lane.queue.length > 0) await runBatch(lane, lane.queue.splice(0, maxBatch))
  lane.isRunning = false
}

async function runBatch(lane: CarefulLane, batch: readonly Entry[]): Promise<void> {
  const startedAt = performance.now()
  lane.underWay.add(batch)
  for (let round = 1; ; round++) {
    const left = batch.filter((entry) => !entry.isSettled)
    if (left.length === 0) break
    await runRound(lane, left, round).catch((error: unknown) => recover(lane, left, error, round))
  }
  lane.underWay.delete(batch)
  lane.events.batch(batch.length, true, performance.now() - startedAt)
}

async function runRound(lane: CarefulLane, batch: readonly Entry[], round: number): Promise<void> {
  const writer = (lane.writer ??= await connect(lane))
  // Most wallets settle in the first round. One that others keep changing is locked first, so that it ends.
  if (round > 2) await settleLocked(writer, batch)
  else await writePlan(writer.client, await planBatch(writer.client, batch), writer.number)
}

const lockSql = `select 1 from wallets where id = $1::uuid for update`
const walletIdsSql = `select id from wallets where id = any($1::uuid[])
  union select user_id from links where id = any($2::text[]) order by 1`

async function settleLocked({ client, number }: WriterClient, batch: readonly Entry[]): Promise<void> {
  const walletIds = batch.flatMap(({ by }) => ('walletId' in by ? [by.walletId] : []))
  const links = batch.flatMap(({ by }) => ('walletId' in by ? [] : [by.serviceUserId]))
  const results: (() => void)[] = []
  // Nobody is told anything before the commit.
  const held = batch.map((entry) => ({ ...entry, settle: (r: PostResult) => results.push(() => entry.settle(r)) }))
  await client.query('begin')
  try {
    const { rows } = await client.query<{ id: string }>(walletIdsSql, [walletIds, links])
    for (const { id } of rows) await client.query({ name: 'lock-wallet', text: lockSql, values: [id] })
    await writePlan(client, await planBatch(client, held), number)
    // A pipelined commit of a failed transaction fulfils, with the command ROLLBACK.
    const { command } = await client.query('commit')
    if (command !== 'COMMIT') throw new Error(`the transaction ended in ${command}`)
  } catch (error) {
    await client.query('rollback').catch(() => {})
    throw error
  }
  for (const tell of results) tell()
}

/**
 * A batch may start again at any point, because its references make it idempotent; that is also how a commit of
 * unknown fate is resolved: the next round finds the outcomes, or does not.
 */
async function recover(lane: CarefulLane, batch: readonly Entry[], error: unknown, round: number): Promise<void> {
  if (mayPass(error)) return
  lane.events.fault(error)
  if (isUnavailable(error)) {
    disconnect(lane)
    await sleep(Math.min(50 * round, 500))
    return
  }
  // A fault of what was asked, which should have been refused earlier. It must not take its neighbours with it.
  const waiting = batch.filter((entry) => !entry.isSettled)
  if (waiting.length === 1) return waiting[0]!.fail(error)
  for (const entry of waiting) {
    await runRound(lane, [entry], 1).catch((alone: unknown) => {
      if (!mayPass(alone) && !isUnavailable(alone)) entry.fail(alone)
    })
  }
}

/** Somebody else was there first: the next round sees what they did. */
function mayPass(error: unknown): boolean {
  return sqlState(error) === uniqueViolation || isContention(error)
}

async function connect(lane: CarefulLane): Promise<WriterClient> {
  return await openWriterClient(lane.connection, lockTimeoutMs, (lost) => {
    if (lane.writer?.client === lost) lane.writer = undefined
  })
}

function disconnect(lane: CarefulLane): void {
  if (lane.writer) destroyClient(lane.writer.client)
  lane.writer = undefined
}
