/**
 * A connection pool. Every wait has a limit: for a free connection, for a new one, for an answer. A connection that exceeds its
 * limit is destroyed together with the idle ones, because the cause rarely affects only one.
 */
import { setTimeout as sleep } from 'node:timers/promises'
import { limitTime, within, type OpenClient, type Queryable } from './open-client.ts'
import { DatabaseUnavailable, sqlState, StandbyLost } from './database-unavailable.ts'
import { findAwayOf, NodeAway, readGuarded, type Nodes } from '../cluster/guarded-read.ts'

export type PooledClient = Queryable & {
  readonly isCluster: () => boolean
  /** Returns it to the pool. The fault, if any, decides whether it is reused; `true` always discards it. */
  readonly release: (fault?: unknown) => void
  readonly destroy: () => void
}

export type Pool = Queryable & {
  /** The limit for an answer. The wait for a connection before it ends by then, too. */
  readonly limitMs: number
  /** The same connections with a shorter limit. */
  readonly within: (limitMs: number) => Queryable
  readonly connect: () => Promise<PooledClient>
  /** Destroys the idle connections, when they are probably dead. */
  readonly dropIdle: () => void
  readonly end: () => Promise<void>
  readonly totalCount: number
  readonly idleCount: number
  readonly waitingCount: number
  /** How often callers had to wait for a connection, and for how long in total. */
  readonly waits: number
  readonly waitedMs: number
}

type Waiter = {
  readonly since: number
  readonly resolve: (client: OpenClient) => void
  readonly reject: (error: unknown) => void
}

type State = {
  readonly open: () => Promise<OpenClient>
  readonly max: number
  readonly waitMs: number
  readonly beside: Pool | undefined
  readonly nodes: () => Nodes | undefined
  readonly openedAt: WeakMap<OpenClient, number>
  idle: { readonly client: OpenClient; readonly since: number }[]
  readonly busy: Set<OpenClient>
  opening: number
  readonly waiting: Set<Waiter>
  waits: number
  waitedMs: number
  isEnding: boolean
}

const idleForMs = 60_000
/** A server process keeps the memory it has allocated, and the write probe's temporary table ages. */
const openForMs = 30 * 60_000
/** How long the end waits for statements under way: callers have their answers by then, and jobs run again elsewhere. */
const endWithinMs = 1_000

type PoolOptions = {
  /** The limit for the wait for a free connection, where it is less than that for an answer. */
  readonly waitMs?: number
  /** Another pool on the same servers: its idle connections are dropped with this pool's, and it ends with this one. */
  readonly beside?: Pool
  readonly nodes?: () => Nodes | undefined
}

export function openPool(
  open: () => Promise<OpenClient>,
  max: number,
  limitMs: number,
  { waitMs = limitMs, beside, nodes = () => undefined }: PoolOptions = {},
): Pool {
  const state: State = {
    open,
    max,
    waitMs,
    beside,
    nodes,
    openedAt: new WeakMap(),
    idle: [],
    busy: new Set(),
    opening: 0,
    waiting: new Set(),
    waits: 0,
    waitedMs: 0,
    isEnding: false,
  }
  const reaping = setInterval(() => reap(state), idleForMs / 4)
  reaping.unref()
  return {
    limitMs,
    query: queryWithin(state, limitMs),
    within: (ms) => ({ query: queryWithin(state, ms) }),
    connect: async () => {
      const client = await take(state, limitMs)
      const query = (...call: Parameters<Queryable['query']>) => within(client, limitMs, ask(state, client, call))
      return {
        query: query as unknown as Queryable['query'],
        isCluster: client.isCluster,
        release: (fault) => giveBack(state, client, fault),
        destroy: client.destroy,
      }
    },
    dropIdle: () => dropIdle(state),
    end: async () => {
      clearInterval(reaping)
      await Promise.all([end(state, Math.min(limitMs, endWithinMs)), beside?.end()])
    },
    get totalCount() {
      return countOf(state)
    },
    get idleCount() {
      return state.idle.length
    },
    get waitingCount() {
      return state.waiting.size
    },
    get waits() {
      return state.waits
    },
    get waitedMs() {
      return state.waitedMs
    },
  }
}

/** After a late connection at least half of the time is left for the answer, or a good connection would be destroyed. */
function queryWithin(state: State, limitMs: number): Queryable['query'] {
  const once = async (call: Parameters<Queryable['query']>) => {
    const startedAt = performance.now()
    const client = await take(state, limitMs)
    const leftMs = Math.max(limitMs / 2, limitMs - (performance.now() - startedAt))
    let fault: unknown
    try {
      return await within(client, leftMs, ask(state, client, call))
    } catch (error) {
      fault = error
      throw error
    } finally {
      giveBack(state, client, fault)
    }
  }
  const query = (...call: Parameters<Queryable['query']>) =>
    once(call).catch((error: unknown) => {
      if (error instanceof NodeAway && !error.keys) return once(call)
      throw error
    })
  return query as unknown as Queryable['query']
}

async function ask(state: State, client: OpenClient, call: Parameters<Queryable['query']>): Promise<unknown> {
  const findAway = client.isCluster() ? findAwayOf(call) : undefined
  const nodes = findAway && state.nodes()
  const read = () => promised(client, call)
  return await (nodes ? readGuarded(client, nodes, findAway, read) : read())
}

/**
 * A hedged read, for requests. When one connection is silent for half of the time, a second one is asked as well, and the first
 * answer counts; on a server that is only slow it may be the first connection's. Opening a connection may take half as long
 * again, so the read ends after twice the time.
 */
export async function hedgedRead<T>(pool: Pool, limitMs: number, ask: (reader: Queryable) => Promise<T>): Promise<T> {
  const reader = pool.within(limitMs)
  const first = ask(reader)
  const isAnswered = await new Promise((resolve) => {
    const timer = setTimeout(resolve, limitMs / 2, false)
    const end = (is: boolean) => {
      clearTimeout(timer)
      resolve(is)
    }
    // A refusal is an answer: another connection would get the same.
    first.then(
      () => end(true),
      (error: unknown) => end(!(error instanceof DatabaseUnavailable) || error instanceof NodeAway),
    )
  })
  if (isAnswered) return await first
  pool.dropIdle()
  return await Promise.any([first, ask(reader)]).catch(() => first)
}

/** The overload of the driver's query that returns a promise. */
function promised(client: OpenClient, call: Parameters<Queryable['query']>): Promise<unknown> {
  return client.query(...call) as unknown as Promise<unknown>
}

async function take(state: State, limitMs: number): Promise<OpenClient> {
  const waitMs = Math.min(limitMs, state.waitMs)
  if (state.isEnding) throw new DatabaseUnavailable('the service is ending')
  for (let free = state.idle.pop(); free; free = state.idle.pop()) {
    if (free.client.isLost()) continue
    state.busy.add(free.client)
    return free.client
  }
  state.waits++
  const startedAt = performance.now()
  return await new Promise((resolve, reject) => {
    const cancel = limitTime(waitMs, () =>
      waiter.reject(new DatabaseUnavailable(`no free connection within ${waitMs} ms`)),
    )
    const settle = () => {
      cancel()
      state.waiting.delete(waiter)
      state.waitedMs += performance.now() - startedAt
    }
    const waiter: Waiter = {
      since: startedAt,
      resolve: (client) => {
        settle()
        resolve(client)
      },
      reject: (error) => {
        settle()
        reject(error)
      },
    }
    state.waiting.add(waiter)
    openMore(state)
  })
}

function openMore(state: State): void {
  while (state.opening < state.waiting.size && countOf(state) < state.max) void openOne(state)
}

/**
 * A connection that cannot be opened fails one caller that has waited for it from its start; the others may get one that becomes
 * free. A caller that came later gets an new attempt: what hung while the network was silent says nothing about now.
 */
async function openOne(state: State): Promise<void> {
  state.opening++
  const startedAt = performance.now()
  try {
    const client = await state.open()
    state.openedAt.set(client, performance.now())
    state.opening--
    handOut(state, client)
  } catch (error) {
    state.opening--
    const waiter = nextWaiter(state)
    if (waiter && waiter.since <= startedAt) waiter.reject(error)
    openMore(state)
  }
}

function handOut(state: State, client: OpenClient): void {
  const waiter = nextWaiter(state)
  if (waiter) {
    state.busy.add(client)
    waiter.resolve(client)
  } else if (state.isEnding) void client.end()
  else state.idle.push({ client, since: performance.now() })
}

function giveBack(state: State, client: OpenClient, fault: unknown): void {
  state.busy.delete(client)
  // A server that has become read-only is abandoned: another one may be the primary now.
  const isReadOnly = sqlState(fault) === '25006'
  const isSuspect =
    fault instanceof DatabaseUnavailable && !(fault instanceof StandbyLost) && !(fault instanceof NodeAway)
  if (isSuspect || isReadOnly) dropIdle(state)
  const isGood = !client.isLost() && !client.isInTransaction() && !isReadOnly && fault !== true
  const isOld = performance.now() - state.openedAt.get(client)! > openForMs
  if (isGood && !isOld) return handOut(state, client)
  if (isGood) void client.end()
  else client.destroy()
  openMore(state)
}

function dropIdle(state: State): void {
  for (const { client } of state.idle.splice(0)) client.destroy()
  state.beside?.dropIdle()
}

function reap(state: State): void {
  const before = performance.now() - idleForMs
  const isOld = ({ client, since }: State['idle'][number]) => since < before || client.isLost()
  for (const { client } of state.idle.filter(isOld)) void client.end()
  state.idle = state.idle.filter((one) => !isOld(one))
}

async function end(state: State, limitMs: number): Promise<void> {
  state.isEnding = true
  for (const waiter of state.waiting) waiter.reject(new DatabaseUnavailable('the service is ending'))
  const until = performance.now() + limitMs
  while (state.busy.size + state.opening > 0 && performance.now() < until) await sleep(5)
  for (const client of state.busy) client.destroy()
  await Promise.all(state.idle.splice(0).map(({ client }) => client.end()))
}

function countOf(state: State): number {
  return state.idle.length + state.busy.size + state.opening
}

function nextWaiter(state: State): Waiter | undefined {
  const [waiter] = state.waiting
  return waiter
}
