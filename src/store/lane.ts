/** One queue, one connection, one batch at a time: whatever arrived while the last batch was committing is the next. */
import { setTimeout as sleep } from 'node:timers/promises'
import { Client } from 'pg'
import { isContention, isUnavailable, sqlState, uniqueViolation, type Connection, type Queryable } from './database.ts'
import { plainArray } from './array.ts'
import { settleRound, type PostResult, type Waiting } from './settle.ts'
import type { PostRequest } from './batch.ts'

/** The ledger could not be asked in time. The fate of the request is open, and sending it again is safe. */
export class Unavailable extends Error {}

export type LaneEvents = {
  readonly batch: (size: number, rounds: number, ms: number) => void
  readonly fault: (error: unknown) => void
}

type Entry = Waiting & {
  readonly deadline: number
  readonly fail: (error: unknown) => void
  isSettled: boolean
}

export type Lane = {
  readonly connection: Connection
  readonly events: LaneEvents
  queue: Entry[]
  current: Entry[]
  client: Client | undefined
  writer: number
  isRunning: boolean
  watch: ReturnType<typeof setInterval> | undefined
}

const maxBatch = 512
const maxQueued = 20_000
/** Clients wait ten seconds, so they are told before that. */
const answerWithinMs = 8_000

export function openLane(connection: Connection, events: LaneEvents): Lane {
  return {
    connection,
    events,
    queue: [],
    current: [],
    client: undefined,
    writer: 0,
    isRunning: false,
    watch: undefined,
  }
}

export function enqueue(lane: Lane, request: PostRequest): Promise<PostResult> {
  if (lane.queue.length >= maxQueued) return Promise.reject(new Unavailable('too many operations are waiting'))
  return new Promise((resolve, reject) => {
    const entry: Entry = {
      ...request,
      deadline: Date.now() + answerWithinMs,
      isSettled: false,
      settle: (result) => {
        entry.isSettled = true
        resolve(result)
      },
      fail: (error) => {
        entry.isSettled = true
        reject(error)
      },
    }
    lane.queue.push(entry)
    if (!lane.isRunning) void run(lane)
  })
}

/** Everything that was enqueued has an answer when this returns. */
export async function closeLane(lane: Lane): Promise<void> {
  while (lane.isRunning) await sleep(5)
  await lane.client?.end().catch(() => {})
  lane.client = undefined
}

async function run(lane: Lane): Promise<void> {
  lane.isRunning = true
  lane.watch = setInterval(() => expire(lane), 200)
  // One turn of the event loop, so that requests of the same moment share the first batch.
  await new Promise((resolve) => setImmediate(resolve))
  while (lane.queue.length > 0) {
    lane.current = lane.queue.splice(0, maxBatch)
    await runBatch(lane)
  }
  lane.current = []
  clearInterval(lane.watch)
  lane.isRunning = false
}

async function runBatch(lane: Lane): Promise<void> {
  const startedAt = performance.now()
  const size = lane.current.length
  let rounds = 0
  let left = lane.current
  while (left.length > 0) {
    rounds++
    try {
      await runRound(lane, left, rounds)
    } catch (error) {
      await recover(lane, left, error, rounds)
    }
    left = left.filter((entry) => !entry.isSettled)
  }
  lane.events.batch(size, rounds, performance.now() - startedAt)
}

async function runRound(lane: Lane, batch: Entry[], rounds: number): Promise<void> {
  const client = (lane.client ??= await connect(lane))
  // Most wallets settle in the first round. One that other processes keep changing is locked first, so that it ends.
  if (rounds <= 2) await settleRound(client, batch, lane.writer)
  else await settleLocked(client, batch, lane.writer)
}

const lockSql = `select 1 from wallets where id = $1::uuid for update`
const walletIdsSql = `select id from wallets where id = any($1::uuid[])
  union select user_id from links where id = any($2::text[]) order by 1`

async function settleLocked(client: Queryable, batch: Entry[], writer: number): Promise<void> {
  const walletIds = batch.flatMap(({ by }) => ('walletId' in by ? [by.walletId] : []))
  const links = batch.flatMap(({ by }) => ('walletId' in by ? [] : [by.serviceUserId]))
  const results: (() => void)[] = []
  // Nobody is told anything before the commit.
  const held = batch.map((entry) => ({ ...entry, settle: (r: PostResult) => results.push(() => entry.settle(r)) }))
  await client.query('begin')
  try {
    const { rows } = await client.query<{ id: string }>(walletIdsSql, [plainArray(walletIds), links])
    for (const { id } of rows) await client.query({ name: 'lock-wallet', text: lockSql, values: [id] })
    await settleRound(client, held, writer)
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
async function recover(lane: Lane, batch: Entry[], error: unknown, rounds: number): Promise<void> {
  const waiting = batch.filter((entry) => !entry.isSettled)
  if (sqlState(error) === uniqueViolation || isContention(error)) return
  if (isUnavailable(error)) {
    lane.events.fault(error)
    disconnect(lane)
    await sleep(Math.min(50 * rounds, 500))
    return
  }
  // A fault of what was asked, which should have been refused earlier. It must not take its neighbours with it.
  lane.events.fault(error)
  if (waiting.length === 1) return waiting[0]!.fail(error)
  for (const entry of waiting) {
    lane.current = [entry]
    await runRound(lane, [entry], 1).catch((alone: unknown) => {
      if (isUnavailable(alone) || isContention(alone) || sqlState(alone) === uniqueViolation) return
      entry.fail(alone)
    })
  }
  lane.current = batch
}

/** Fails what is past its time, also while a query hangs; a connection that hangs so long is given up. */
function expire(lane: Lane): void {
  const now = Date.now()
  let hasExpired = false
  for (const entry of lane.current) {
    if (entry.isSettled || entry.deadline > now) continue
    entry.fail(new Unavailable('the ledger did not answer in time'))
    hasExpired = true
  }
  if (hasExpired) disconnect(lane)
  if (lane.queue.some((entry) => entry.deadline <= now)) {
    for (const entry of lane.queue) if (entry.deadline <= now) entry.fail(new Unavailable('the ledger is busy'))
    lane.queue = lane.queue.filter((entry) => !entry.isSettled)
  }
}

function disconnect(lane: Lane): void {
  const client = lane.client
  lane.client = undefined
  if (!client) return
  // A connection that hangs would not answer a polite goodbye.
  ;(client as unknown as { connection: { stream: { destroy(): void } } }).connection.stream.destroy()
}

/**
 * Generic plans, because planning a batch costs more than running it. No sequential or bitmap scans: see writeSql. A
 * server that is set to acknowledge before the disk has it is overruled.
 */
const settingsSql = `select set_config('enable_seqscan', 'off', false), set_config('enable_bitmapscan', 'off', false),
  set_config('plan_cache_mode', 'force_generic_plan', false), set_config('jit', 'off', false),
  set_config('statement_timeout', '7000', false), set_config('lock_timeout', '3000', false),
  set_config('synchronous_commit', case current_setting('synchronous_commit') when 'off' then 'on'
    else current_setting('synchronous_commit') end, false)`

async function connect(lane: Lane): Promise<Client> {
  const client = new Client({
    ...lane.connection,
    pipeline: true,
    connectionTimeoutMillis: 3_000,
    application_name: 'billfold writer',
  })
  client.on('error', () => {
    if (lane.client === client) lane.client = undefined
  })
  await client.connect()
  await client.query(settingsSql)
  lane.writer = await takeWriterNumber(client)
  return client
}

const writerLocks = 0x62696c6c

/** The lowest number that no living connection holds. Positions are kept by writer, so no two ever share a row. */
async function takeWriterNumber(client: Client): Promise<number> {
  for (let number = 1; ; number++) {
    const { rows } = await client.query<{ taken: boolean }>('select pg_try_advisory_lock($1, $2) as taken', [
      writerLocks,
      number,
    ])
    if (rows[0]!.taken) return number
  }
}
