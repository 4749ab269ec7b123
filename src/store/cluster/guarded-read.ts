/**
 * Reads that do not wait for a node of the cluster that is away. A statement says how to find out which of its rows are there
 * (`findAway`); while a node is away it is refused at once, and its connection is free for reads of the other nodes. A read that is slow
 * makes the service ask which nodes are away, and starts over when it learns of one.
 */
import { setTimeout as sleep } from 'node:timers/promises'
import type { QueryConfig } from 'pg'
import { plainArray, textArray } from '../connection/arrays.ts'
import { DatabaseUnavailable, sqlState } from '../connection/database-unavailable.ts'
import type { Connection, OpenClient, Queryable } from '../connection/open-client.ts'
import { isAwaySql } from './reachable.ts'

/** Returns the keys of the rows that are on these groups of nodes. It reads nothing there. */
export type FindAway = (coordinator: Queryable, groups: string) => Promise<ReadonlySet<string>>

declare module 'pg' {
  interface QueryConfig {
    /** Of a read, which a pool then refuses with `NodeAway` while one of its rows is on a node that is away. */
    findAway?: FindAway
  }
}

/** Nothing was read. */
export class NodeAway extends DatabaseUnavailable {
  override name = 'NodeAway'
  /** The rows that are there; undefined when the node was found to be away during the read, which can start over. */
  readonly keys: ReadonlySet<string> | undefined

  constructor(keys?: ReadonlySet<string>) {
    super('a server that it needs is away')
    this.keys = keys
  }
}

/** What a read needs to know of the nodes. */
export type Nodes = { readonly away: () => readonly number[]; readonly ask: () => Promise<void> }

const known = new WeakMap<Connection, Nodes>()

/** Undefined where nothing asks for them, as in a command. */
export function nodesOf(connection: Connection): Nodes | undefined {
  return known.get(connection)
}

/** From now on, the pools of this connection guard their reads. */
export function guardReads(connection: Connection, nodes: Nodes): void {
  known.set(connection, nodes)
}

/** A read of a wallet takes some milliseconds. */
const slowAfterMs = 250

/** The client is one of a pool. It is destroyed when it waits for a node that is away. */
export async function readGuarded<T>(
  client: OpenClient,
  nodes: Nodes,
  findAway: FindAway,
  read: () => Promise<T>,
): Promise<T> {
  const away = nodes.away()
  if (away.length > 0) {
    const keys = await findAway(client, plainArray(away, String))
    if (keys.size > 0) throw new NodeAway(keys)
  }
  const isAnotherAway = () => nodes.away().some((group) => !away.includes(group))
  const answered = new AbortController()
  const watch = async () => {
    while (!client.isLost()) {
      await sleep(slowAfterMs, undefined, { ref: false, signal: answered.signal })
      await nodes.ask()
      if (isAnotherAway() && !answered.signal.aborted) client.destroy()
    }
  }
  watch().catch(() => {})
  try {
    return await read()
  } catch (error) {
    // A fault that the coordinator passed on: it lost the node.
    if (!client.isLost() && /^(08|57)/.test(sqlState(error) ?? '')) await nodes.ask()
    throw isAnotherAway() ? new NodeAway() : error
  } finally {
    answered.abort()
  }
}

export function findAwayOf([asked]: readonly unknown[]): FindAway | undefined {
  return (asked as QueryConfig | undefined)?.findAway
}

/** For statements that read the rows of one wallet. */
export const ofWallet =
  (walletId: string): FindAway =>
  async (coordinator, groups) =>
    await keysWhere(coordinator, isAwaySql('wallets', '$1::uuid', '$2'), 'select $1::text as key', [walletId, groups])

/** By serviceUserId. */
export const ofLinks =
  (ids: readonly string[]): FindAway =>
  async (coordinator, groups) =>
    await keysWhere(
      coordinator,
      isAwaySql('wallets', 'user_id', '$2'),
      'select id as key, user_id from links where id = any($1::text[])',
      [textArray(ids, (id) => id), groups],
    )

/** Widget sessions, by the hash of their token. */
export const ofSessions =
  (tokenHashes: readonly Buffer[]): FindAway =>
  async (coordinator, groups) =>
    await keysWhere(
      coordinator,
      isAwaySql('wallets', 'user_id', '$2'),
      `select encode(token_hash, 'hex') as key, user_id from widget_sessions where token_hash = any($1::bytea[])`,
      [tokenHashes, groups],
    )

/** The outcome of a hold, which may be on another node, has its wallet. */
export const ofHolds =
  (ids: readonly string[]): FindAway =>
  async (coordinator, groups) => {
    const lost = await keysWhere(
      coordinator,
      isAwaySql('outcomes', 'id', '$2'),
      `select replace(id::text, '-', '') as key, id from unnest($1::uuid[]) as i(id)`,
      [plainArray(ids, String), groups],
    )
    const { rows } = await coordinator.query<{ id: string; walletId: string }>(
      'select reference_key as id, wallet_id as "walletId" from all_outcomes where reference_key = any($1::uuid[])',
      [
        plainArray(
          ids.filter((id) => !lost.has(id)),
          String,
        ),
      ],
    )
    const ofLostWallets = await keysWhere(
      coordinator,
      isAwaySql('wallets', 'wallet_id', '$3'),
      `select replace(id::text, '-', '') as key, wallet_id from unnest($1::uuid[], $2::uuid[]) as i(id, wallet_id)`,
      [plainArray(rows, ({ id }) => id), plainArray(rows, ({ walletId }) => walletId), groups],
    )
    return new Set([...lost, ...ofLostWallets])
  }

async function keysWhere(
  coordinator: Queryable,
  isAway: string,
  keysSql: string,
  values: readonly unknown[],
): Promise<ReadonlySet<string>> {
  const { rows } = await coordinator.query<{ key: string }>(`select key from (${keysSql}) as k where ${isAway}`, [
    ...values,
  ])
  return new Set(rows.map(({ key }) => key))
}
