/** The settings that every node of a cluster needs. Pure. */
import type { ClusterNode, NodeReport } from './state.ts'

/** A sentence about the node, and the line for its `postgresql.conf`. */
export type MissingSetting = { readonly node: string; readonly text: string; readonly fix: string }

/** Of every node that answers. */
export function findMissingSettings(nodes: readonly ClusterNode[]): MissingSetting[] {
  const coordinators = nodes.flatMap(({ isCoordinator, report }) =>
    isCoordinator && typeof report !== 'string' ? [report.maxConnections] : [],
  )
  const connections = Math.max(1, ...coordinators)
  return nodes.flatMap(({ name: node, report }) =>
    typeof report === 'string' ? [] : missingOn(report, connections).map((missing) => ({ node, ...missing })),
  )
}

const maxRecoverAfterMs = 10_000

/** Each connection of the coordinator may have one transaction prepared on each node. */
function missingOn(
  { walLevel, maxPreparedTransactions, recoverAfterMs }: NodeReport,
  connections: number,
): Omit<MissingSetting, 'node'>[] {
  const missing: Omit<MissingSetting, 'node'>[] = []
  if (walLevel !== 'logical')
    missing.push({
      text: `wal_level is ${walLevel}, so its shards cannot move while the service works.`,
      fix: 'wal_level = logical',
    })
  if (maxPreparedTransactions < connections)
    missing.push({
      text: `max_prepared_transactions is ${maxPreparedTransactions}, less than the ${connections} connections of the coordinator, so commits can fail.`,
      fix: `max_prepared_transactions = ${connections}`,
    })
  if (recoverAfterMs < 0 || recoverAfterMs > maxRecoverAfterMs)
    missing.push({
      text: `citus.recover_2pc_interval is ${recoverAfterMs < 0 ? 'off' : `${recoverAfterMs / 1_000} s`}, so the wallets of a commit that a crash interrupted wait too long.`,
      fix: 'citus.recover_2pc_interval = 5s',
    })
  return missing
}
