/**
 * Which nodes of the cluster are away. A posting needs two nodes: that of its wallet and that of its reference. While one is away, the
 * postings that need it fail at once, and the careful lane writes the others with statements that do not touch it. On plain PostgreSQL there is never an outage.
 */
import { setTimeout as sleep } from 'node:timers/promises'
import { plainArray, textArray } from '../connection/arrays.ts'
import { within, type Connection, type OpenClient, type Queryable } from '../connection/open-client.ts'
import { Unavailable, type PendingPosting } from '../writer/posting.ts'
import { askWithinMs, findAwayNodes, type AwayNode } from './away-nodes.ts'
import { guardReads } from './guarded-read.ts'
import { isAwaySql } from './reachable.ts'

export type Outage = {
  /** After a batch of this connection failed: returns once it is known which nodes are away. Concurrent calls share one attempt. */
  readonly examine: (client: OpenClient | undefined) => Promise<void>
  /** The same after another statement failed, which locked nothing on a node. */
  readonly ask: () => Promise<void>
  /** Whether a node is away. */
  readonly isOn: () => boolean
  /** The groups of the nodes that are away. */
  readonly away: () => readonly number[]
  /** Fails the postings that need a node that is away, and returns the others. */
  readonly keepReachable: (client: Queryable, batch: readonly PendingPosting[]) => Promise<readonly PendingPosting[]>
  readonly close: () => void
}

/** While a node is away, one connection of this process asks again so often. */
const examineAgainMs = 500

export function openOutage(connection: Connection, onChange: (names: readonly string[]) => void): Outage {
  let away: readonly AwayNode[] = []
  let examining: Promise<void> | undefined
  let isWatching = false
  /** The server processes of failed batches. */
  const failed = new Set<number>()
  const over = new AbortController()
  const look = async () => {
    try {
      const processIds = [...failed]
      const found = await findAwayNodes(connection, (client, nodes) => release(client, nodes, processIds))
      for (const id of processIds) failed.delete(id)
      const names = found.map(({ name }) => name)
      if (names.join() !== away.map(({ name }) => name).join()) onChange(names)
      away = found
    } catch {
      // The coordinator does not answer either: its lanes find that out by themselves.
    }
    examining = undefined
  }
  const examine = () => (examining ??= look())
  const watch = async () => {
    if (isWatching) return
    isWatching = true
    while (away.length > 0 && !over.signal.aborted) {
      await sleep(examineAgainMs, undefined, { ref: false })
      await examine()
    }
    isWatching = false
  }
  const ask = async () => {
    await examine()
    void watch()
  }
  const groups = () => away.map(({ group }) => group)
  guardReads(connection, { away: groups, ask })
  return {
    ask,
    isOn: () => away.length > 0,
    away: groups,
    examine: async (client) => {
      if (!client?.isCluster()) return
      if (client.processId !== null) failed.add(client.processId)
      await ask()
    },
    keepReachable: async (client, batch) => {
      if (away.length === 0) return batch
      const needing = await findNeeding(client, batch, away)
      for (const pending of needing)
        if (!pending.isAnswered) pending.fail(new Unavailable('a server that it needs is away'))
      return batch.filter((pending) => !needing.has(pending))
    },
    close: () => over.abort(),
  }
}

/** While a node is away, releases on the others what the failed batches have locked. */
async function release(client: OpenClient, away: readonly AwayNode[], failed: readonly number[]): Promise<void> {
  if (failed.length === 0) return
  await within(client, askWithinMs, client.query(releaseSql, [plainArray(away, ({ group }) => group), endSql(failed)]))
}

const releaseSql = `select r.success from (
    select array_agg(nodename::text) as names, array_agg(nodeport) as ports, array_agg($2::text) as commands from pg_dist_node
    where noderole = 'primary' and isactive and groupid <> 0 and groupid <> all($1::int[]) having count(*) > 0
  ) n cross join lateral master_run_on_worker(n.names, n.ports, n.commands, true) r`

/**
 * A process of the coordinator that waits for a silent node does not end, even when it is cancelled, and its transaction keeps the rows
 * that it locked on the other nodes. Its sessions there name it by the number of its node and its id.
 */
const endSql = (processIds: readonly number[]) => `select count(pg_terminate_backend(pid)) from pg_stat_activity
  where usename = current_user and datname = current_database()
    and substring(application_name from '^citus_internal gpid=(\\d+)$')::numeric % 10000000000 in (${processIds.join()})`

/** A link that does not exist needs no wallet. */
const needingSql = `select o.ordinal::int as ordinal from unnest($1::text[], $2::uuid[], $3::uuid[])
    with ordinality as o(link_id, wallet_id, reference_key, ordinal)
  left join links l on l.id = o.link_id
  where ${isAwaySql('wallets', 'coalesce(l.user_id, o.wallet_id)', '$4')} or ${isAwaySql('outcomes', 'o.reference_key', '$4')}`

async function findNeeding(
  client: Queryable,
  batch: readonly PendingPosting[],
  away: readonly AwayNode[],
): Promise<ReadonlySet<PendingPosting>> {
  const { rows } = await client.query<{ ordinal: number }>(needingSql, [
    textArray(batch, ({ by }) => ('walletId' in by ? null : by.serviceUserId)),
    plainArray(batch, ({ by }) => ('walletId' in by ? by.walletId : null)),
    plainArray(batch, (posting) => (hasReference(posting) ? posting.referenceKey : null)),
    plainArray(away, ({ group }) => group),
  ])
  return new Set(rows.map(({ ordinal }) => batch[ordinal - 1]!))
}

/** A void, an extension and an expiry have none. */
function hasReference({ hold }: PendingPosting): boolean {
  return hold === undefined || hold.kind === 'reserve' || hold.kind === 'capture'
}
