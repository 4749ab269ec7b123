/**
 * The servers of one database, and every connection of this process to them. New connections go to the newest primary. When
 * another server becomes the newest primary, or a connection is silent, the connections concerned are destroyed at once instead
 * of each one finding out by itself.
 */
import { setTimeout as sleep } from 'node:timers/promises'
import type { ClientConfig } from 'pg'
import { chooseServer, raiseTimelines, type Choice, type ServersProblem, type ServerState } from './choose-server.ts'
import { DatabaseUnavailable, sqlState } from './database-unavailable.ts'
import { openOn, within, type ClientOptions, type Connection, type OpenClient, type Queryable } from './open-client.ts'
import { one } from './rows.ts'
import { standbyOf, watchStandby } from './standby.ts'

type Servers = {
  readonly connection: Connection
  readonly list: readonly ClientConfig[]
  states: ServerState[]
  seen: ReadonlyMap<string, number>
  choice: Choice | undefined
  surveying: Promise<Choice> | undefined
  /** Connections that ask the servers which are not in use, while they are watched. */
  readonly asking: Map<number, OpenClient>
  isWatched: boolean
  onProblem: ((problem: ServersProblem | undefined, reasons: readonly string[]) => void) | undefined
  readonly clients: Map<OpenClient, { readonly server: number; readonly isPatient: boolean }>
}

/** One per connection of the configuration: a process that moved on from an old primary must not forget it. */
const known = new WeakMap<Connection, Servers>()

function serversOf(connection: Connection): Servers {
  let servers = known.get(connection)
  if (!servers) {
    servers = {
      connection,
      list: [connection, ...(connection.others ?? [])],
      states: [],
      seen: new Map(),
      choice: undefined,
      surveying: undefined,
      asking: new Map(),
      isWatched: false,
      onProblem: undefined,
      clients: new Map(),
    }
    known.set(connection, servers)
  }
  return servers
}

export type OpenOptions = ClientOptions & {
  /** Its statements may take long, so it is not destroyed while one is under way and another connection is silent. */
  readonly isPatient?: boolean
}

export async function openClient(connection: Connection, options: OpenOptions): Promise<OpenClient> {
  const servers = serversOf(connection)
  if (servers.list.length === 1) return await openRegistered(servers, 0, options, false)
  const choice = servers.choice ?? (await survey(servers))
  if (choice.index !== undefined) {
    try {
      return await openOnNewest(servers, choice.index, options)
    } catch {
      // Another server may be the primary by now.
    }
  }
  const { index, reasons } = await survey(servers)
  if (index !== undefined) return await openOnNewest(servers, index, options)
  const each = reasons.map((reason, i) => `server ${i + 1}: ${reason}`).join('; ')
  throw new DatabaseUnavailable(`None of the ${servers.list.length} servers can be used: ${each}`)
}

/** The index counts round robin. */
export function serverAt(connection: Connection, index: number): ClientConfig {
  const { list } = serversOf(connection)
  return list[index % list.length]!
}

/** The server to which new connections are opened. */
export function usedServer(connection: Connection): ClientConfig {
  return serverAt(connection, serversOf(connection).choice?.index ?? 0)
}

async function openRegistered(
  servers: Servers,
  server: number,
  { isPatient = false, ...options }: OpenOptions,
  mustTakeWrites: boolean,
): Promise<OpenClient> {
  let opened: OpenClient | undefined
  const client = await openOn(
    servers.list[server]!,
    {
      ...options,
      onLost: () => {
        if (opened) servers.clients.delete(opened)
        options.onLost?.()
      },
      standby: standbyOf(servers.connection),
      onSilent: (since) => {
        dropQuiet(servers, since)
        void watchStandby(servers.connection, () => openAsker(servers))
      },
    },
    mustTakeWrites,
  )
  opened = client
  if (!client.isLost()) servers.clients.set(client, { server, isPatient })
  return client
}

/** The state is read on the connection itself: the server may have changed since it was chosen. */
async function openOnNewest(servers: Servers, server: number, options: OpenOptions): Promise<OpenClient> {
  const client = await openRegistered(servers, server, options, true)
  try {
    const state = await within(client, options.connectWithinMs ?? answerWithinMs, readServerState(client))
    const { index, reasons } = learn(servers, new Map([[server, state]]))
    if (index !== server) throw new DatabaseUnavailable(reasons[server])
    return client
  } catch (error) {
    client.destroy()
    throw error
  }
}

/* What the servers are. */

const answerWithinMs = 1_000
const askerOptions = { name: 'billfold servers', connectWithinMs: answerWithinMs, maxAbandoned: Infinity }

const isPrimarySql = `not (pg_is_in_recovery() or current_setting('transaction_read_only') = 'on')`

/**
 * An ordinary role may read all of it. The name of the current log file begins with the timeline; the control file of a server
 * that was just promoted still has the old one.
 */
export const serverStateSql = `select s.system_identifier::text as "systemId", pg_postmaster_start_time()::text as "startedAt",
    ${isPrimarySql} as "isPrimary",
    case when pg_is_in_recovery() then greatest(c.timeline_id, r.min_recovery_end_timeline)
      else ('x' || left(pg_walfile_name(pg_current_wal_lsn()), 8))::bit(32)::int end as timeline
  from pg_control_system() s, pg_control_checkpoint() c, pg_control_recovery() r`

type StateRow = {
  readonly systemId: string
  readonly startedAt: string
  readonly isPrimary: boolean
  readonly timeline: number
}

/** 42501: the role may not; 0A000 and 42883: the server has no such functions. */
export const readsNoTimeline = ['42501', '0A000', '42883']

export async function readServerState(client: Queryable): Promise<ServerState> {
  try {
    const { systemId, startedAt, isPrimary, timeline } = one((await client.query<StateRow>(serverStateSql)).rows)
    return isPrimary ? { kind: 'primary', systemId, timeline, startedAt } : { kind: 'standby', systemId, timeline }
  } catch (error) {
    if (!readsNoTimeline.includes(sqlState(error) ?? '')) throw error
    const { rows } = await client.query<{ isPrimary: boolean }>(`select ${isPrimarySql} as "isPrimary"`)
    return one(rows).isPrimary ? { kind: 'unnumbered' } : { kind: 'unknown', why: 'it takes no writes' }
  }
}

/** Asks all servers at once. Callers that come meanwhile share the answer. */
function survey(servers: Servers): Promise<Choice> {
  const ask = async () => {
    const states = await Promise.all(servers.list.map((_, index) => askServer(servers, index)))
    return learn(servers, new Map(states.entries()))
  }
  servers.surveying ??= ask().finally(() => (servers.surveying = undefined))
  return servers.surveying
}

async function askServer(servers: Servers, index: number): Promise<ServerState> {
  let client = servers.asking.get(index)
  try {
    if (!client || client.isLost()) client = await openOn(servers.list[index]!, askerOptions, false)
    const state = await within(client, answerWithinMs, readServerState(client))
    if (servers.isWatched) servers.asking.set(index, client)
    else void client.end()
    return state
  } catch (error) {
    client?.destroy()
    servers.asking.delete(index)
    return { kind: 'unknown', why: error instanceof Error ? error.message : String(error) }
  }
}

/** Takes over what was seen, and moves connections to the newest primary. */
function learn(servers: Servers, seen: ReadonlyMap<number, ServerState>): Choice {
  const unseen: ServerState = { kind: 'unknown', why: 'it was not asked yet' }
  servers.states = servers.list.map((_, index) => seen.get(index) ?? servers.states[index] ?? unseen)
  servers.seen = raiseTimelines(servers.seen, servers.states)
  const choice = chooseServer(servers.states, servers.seen)
  const before = servers.choice
  servers.choice = choice
  for (const [client, { server }] of servers.clients)
    if (mustLeave(servers.states[server]!, server, choice)) client.destroy()
  if (before?.problem !== choice.problem) servers.onProblem?.(choice.problem, choice.reasons)
  return choice
}

/** While no server can be used, connections stay on one that cannot be asked: it may only have no room for another. */
function mustLeave({ kind }: ServerState, server: number, { index }: Choice): boolean {
  return index === undefined ? kind === 'primary' : server !== index
}

/** What is wrong with the servers as they were last seen. */
export function serversProblem(connection: Connection): ServersProblem | undefined {
  return serversOf(connection).choice?.problem
}

export async function examineServers(connection: Connection): Promise<Choice> {
  return await survey(serversOf(connection))
}

const watchEveryMs = 1_000
/** A server that could not be asked is asked again after this time. */
const retryAfterMs = 5_000

/**
 * Watches the servers that are not in use: one of them may become the primary while this process still reaches the old one.
 * Returns a function that ends it.
 */
export function watchServers(connection: Connection, onProblem: NonNullable<Servers['onProblem']>): () => void {
  const servers = serversOf(connection)
  if (servers.list.length === 1) return () => {}
  servers.isWatched = true
  servers.onProblem = onProblem
  if (servers.choice?.problem) onProblem(servers.choice.problem, servers.choice.reasons)
  const nextAt = new Map<number, number>()
  const watchOne = async (index: number): Promise<void> => {
    nextAt.set(index, Infinity)
    const state = await askServer(servers, index)
    nextAt.set(index, performance.now() + (state.kind === 'unknown' ? retryAfterMs : 0))
    if (!servers.isWatched) return
    // The state of the server in use may be old: it is asked before it counts as a second primary.
    if (state.kind === 'primary') await survey(servers)
    else learn(servers, new Map([[index, state]]))
  }
  const timer = setInterval(() => {
    const used = servers.choice?.index
    for (const index of servers.list.keys())
      if (index !== used && (nextAt.get(index) ?? 0) <= performance.now()) void watchOne(index)
  }, watchEveryMs)
  timer.unref()
  return () => {
    clearInterval(timer)
    servers.isWatched = false
    servers.onProblem = undefined
    for (const client of servers.asking.values()) void client.end()
    servers.asking.clear()
  }
}

/* Silence. */

/**
 * A connection waited in vain since `since`. Connections that received no answer since then are probably dead too: the next
 * caller must not wait for each of them in turn. A live one is only opened again.
 */
function dropQuiet(servers: Servers, since: number): void {
  const slow: OpenClient[] = []
  for (const [client, { isPatient }] of servers.clients)
    if (client.lastAnswerAt() < since) {
      if (isPatient && client.isBusy()) slow.push(client)
      else client.destroy()
    }
  if (slow.length > 0) void checkSlow(servers, slow)
}

const activeSql = `select pid from pg_stat_activity where pid = any($1::int[]) and state = 'active'`
const checkEveryMs = 1_000
/** For an answer that is on its way. */
const answerTravelsMs = 300

/** A long statement is under way only if its server process executes it. Asks until the server answers or no client is left. */
async function checkSlow(servers: Servers, suspects: readonly OpenClient[]): Promise<void> {
  let slow = suspects
  for (let isChecked = false; !isChecked && slow.length > 0; slow = slow.filter((client) => !client.isLost())) {
    const before = new Map(slow.map((client) => [client, client.lastAnswerAt()]))
    const active = await findActive(servers, slow).catch(() => undefined)
    await sleep(active ? answerTravelsMs : checkEveryMs, undefined, { ref: false })
    isChecked = active !== undefined
    for (const client of active ? slow : [])
      if (!active!.has(client.processId) && client.isBusy() && client.lastAnswerAt() === before.get(client))
        client.destroy()
  }
}

async function openAsker(servers: Servers): Promise<OpenClient> {
  return await openOn(servers.list[servers.choice?.index ?? 0]!, askerOptions, false)
}

async function findActive(servers: Servers, clients: readonly OpenClient[]): Promise<ReadonlySet<number | null>> {
  const asker = await openAsker(servers)
  try {
    const pids = clients.map(({ processId }) => processId)
    const { rows } = await within(asker, answerWithinMs, asker.query<{ pid: number }>(activeSql, [pids]))
    return new Set(rows.map(({ pid }) => pid))
  } finally {
    void asker.end()
  }
}

/** A new connection answers at once while another one has been silent since `since`. */
export function reportSilence(connection: Connection, since: number): void {
  dropQuiet(serversOf(connection), since)
}
