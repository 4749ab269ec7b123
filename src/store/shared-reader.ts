/** Look-ups of apps that arrive together share one query, each app its share of it, as debits share one batch. */
import { NodeAway } from './cluster/guarded-read.ts'
import type { Database, Queryable } from './connection/database.ts'
import { DatabaseUnavailable } from './connection/database-unavailable.ts'
import { hedgedRead } from './connection/pool.ts'
import { enqueue, itemsOf, newFairQueue, removeItems, takeInTurn } from './writer/fair-queue.ts'
import { findSessions, type Session } from './people/widget-sessions.ts'
import { findLinkedWallets, type LinkedWallet } from './wallets.ts'
import { runInTurn } from './writer/turns.ts'
import { findHolds, type SeenHold } from './writer/stored-holds.ts'

/** What belongs to another app is as unknown as what does not exist. */
export type SharedReader<T> = { readonly find: (clientId: string, id: string) => Promise<T | undefined> }

type Lookup<T> = {
  readonly clientId: string
  readonly id: string
  readonly since: number
  readonly resolve: (found: T | undefined) => void
  readonly reject: (error: unknown) => void
}

const maxBatch = 512
/** A session has many columns: the rows of 512 would take the event loop several milliseconds. */
const maxSessions = 32
const maxConcurrent = 2
/** The limit of each of the two reads of a batch. */
const answerWithinMs = 2_000
/** A read that begins later would be answered after the eight seconds of a call. */
const waitsAtMostMs = 6_000

/** Balances by serviceUserId. */
export function openBalanceReader(db: Database): SharedReader<LinkedWallet> {
  return openReader(db, findLinkedWallets, ({ clientId }) => clientId)
}

export function openHoldReader(db: Database): SharedReader<SeenHold> {
  return openReader(db, findHolds, ({ hold }) => hold.clientId)
}

/** Widget sessions by the hash of their token, in hexadecimal digits. They belong to no app, because the token alone names them. */
export function openSessionReader(db: Database): SharedReader<Session> {
  return openReader(db, readSessions, () => '', maxSessions)
}

async function readSessions(db: Queryable, ids: readonly string[]): Promise<ReadonlyMap<string, Session>> {
  const hashes = ids.map((id) => Buffer.from(id, 'hex'))
  const sessions = await findSessions(db, hashes)
  return new Map(sessions.map((session) => [session.tokenHash.toString('hex'), session]))
}

function openReader<T>(
  db: Database,
  read: (db: Queryable, ids: readonly string[]) => Promise<ReadonlyMap<string, T>>,
  clientIdOf: (found: T) => string,
  mostTogether = maxBatch,
): SharedReader<T> {
  const queue = newFairQueue<Lookup<T>>()
  let running = 0

  async function run(): Promise<void> {
    running++
    await new Promise((resolve) => setImmediate(resolve))
    while (queue.size > 0) {
      const batch: Lookup<T>[] = []
      takeInTurn(queue, mostTogether, (lookup) => {
        if (performance.now() - lookup.since < waitsAtMostMs) batch.push(lookup)
        else lookup.reject(new DatabaseUnavailable('the look-up waited too long for those before it'))
        return 'taken'
      })
      await answer(batch)
    }
    running--
  }

  async function answer(batch: Lookup<T>[]): Promise<void> {
    if (batch.length === 0) return
    const ids = batch.map((lookup) => lookup.id)
    try {
      const all = await hedgedRead(db.pool, answerWithinMs, (reader) => read(reader, ids))
      for (const { clientId, id, resolve } of batch) {
        const found = all.get(id)
        runInTurn(clientId, () => resolve(found && clientIdOf(found) === clientId ? found : undefined))
      }
    } catch (error) {
      const away = error instanceof NodeAway ? error.keys : undefined
      for (const lookup of batch) if (!away || away.has(lookup.id)) lookup.reject(error)
      // The others do not need the server that is away.
      if (away) return await answer(batch.filter(({ id }) => !away.has(id)))
      if (!(error instanceof DatabaseUnavailable)) return
      // What hung while the network was silent says nothing about now: look-ups that came lately are tried. For those that have
      // waited for long, the answer of another read would come too late.
      const before = performance.now() - answerWithinMs
      const isLate = ({ since }: Lookup<T>) => since < before
      for (const lookup of itemsOf(queue)) if (isLate(lookup)) lookup.reject(error)
      removeItems(queue, isLate)
    }
  }

  return {
    find: (clientId, id) =>
      new Promise((resolve, reject) => {
        enqueue(queue, clientId, { clientId, id, since: performance.now(), resolve, reject })
        if (running < maxConcurrent) void run()
      }),
  }
}
