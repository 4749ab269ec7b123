/** Checks the nodes of a cluster: which holds what, and what keeps shards or commits from going where they should. Pure. */
import type { Check } from '../apps/examine-embedding.ts'
import { findMissingSettings } from '../../store/cluster/node-settings.ts'
import type { ClusterNode, ClusterState } from '../../store/cluster/state.ts'

export function examineCluster(state: ClusterState): Check[] {
  return [
    checkNodes(state),
    checkShards(state),
    checkSettings(state),
    checkRebalance(state),
    checkPrepared(state),
    checkClocks(state),
  ]
}

function checkNodes({ nodes }: ClusterState): Check {
  const name = 'Nodes'
  const away = nodes.flatMap(({ name: node, report }) => (typeof report === 'string' ? [`${node}: ${report}`] : []))
  if (away.length === 0) return { name, state: 'good', text: `All ${nodes.length} nodes of the cluster answer.` }
  return {
    name,
    state: 'bad',
    text: `Of ${nodes.length} nodes, ${away.length} cannot be asked. ${away.join('; ')}.`,
    fix: 'Start it, or promote its standby and name that with citus_update_node: docs/operations/cluster.md#when-a-node-is-lost.',
  }
}

const rebalance = `select citus_rebalance_start(rebalance_strategy := 'by_shard_count');`
const drain = 'select citus_rebalance_start(drain_only := true);'

function checkShards({ nodes }: ClusterState): Check {
  const name = 'Shards'
  if (nodes.every(({ shards }) => shards === 0))
    return {
      name,
      state: 'warn',
      text: 'The database has Citus, but the ledger is not distributed.',
      fix: 'npx billfold distribute',
    }
  const text = nodes.filter(({ mayHold, shards }) => mayHold || shards > 0).map(describeNode)
  const leaving = nodes.some(({ mayHold, shards }) => !mayHold && shards > 0)
  const empty = nodes.some(({ mayHold, shards }) => mayHold && shards === 0)
  if (!leaving && !empty) return { name, state: 'good', text: `${text.join(', ')}.` }
  return {
    name,
    state: 'warn',
    text: `${text.join(', ')}.`,
    fix: `On the coordinator, while the service works: ${leaving ? drain : rebalance} docs/operations/cluster.md#add-a-node.`,
  }
}

export function describeNode({ name, mayHold, shards, bytes }: ClusterNode): string {
  if (shards === 0) return `${name} is empty`
  const size = bytes === undefined ? 'of unknown size' : `of ${(bytes / 1e6).toFixed(1)} MB`
  return `${name} has ${shards} ${shards === 1 ? 'shard' : 'shards'} ${size}${mayHold ? '' : ', although it should have none'}`
}

function checkSettings({ nodes }: ClusterState): Check {
  const name = 'Settings of the nodes'
  const missing = findMissingSettings(nodes)
  if (missing.length === 0) return { name, state: 'good', text: 'Every node that answers has what the cluster needs.' }
  const text = missing.map((each) => `${each.node}: ${each.text}`).join(' ')
  return { name, state: 'warn', text, fix: missing.map(({ node, fix }) => `${node}: ${fix}`).join('\n') }
}

function checkRebalance({ rebalance: job }: ClusterState): Check {
  const name = 'Rebalance'
  if (!job) return { name, state: 'good', text: 'No shards are to move.' }
  const moved = `${job.movesDone} of ${job.moves} moves of shards are done`
  if (job.state === 'running' && job.error === undefined) return { name, state: 'good', text: `${moved}.` }
  const rest = job.state === 'failed' ? 'The rest was given up' : 'A move fails and is tried again'
  return {
    name,
    state: 'bad',
    text: `${moved}. ${rest}: ${(job.error ?? 'unknown reason').trim()}`,
    fix: `select citus_rebalance_stop(); repair the cause, then ${rebalance}`,
  }
}

/** Recovery runs every few seconds. */
const maxPreparedSeconds = 60

function checkPrepared({ nodes }: ClusterState): Check {
  const name = 'Prepared transactions'
  const left = nodes.flatMap(({ name: node, report }) =>
    typeof report !== 'string' && report.prepared.oldestSeconds > maxPreparedSeconds
      ? [
          `${node} has ${report.prepared.count}, the oldest for ${Math.round(report.prepared.oldestSeconds / 60)} minutes`,
        ]
      : [],
  )
  if (left.length === 0) return { name, state: 'good', text: 'None was left by a crash.' }
  return {
    name,
    state: 'bad',
    text: `${left.join('; ')}: their wallets wait.`,
    fix: 'The node that coordinated them resolves them when it is back, or: select recover_prepared_transactions(); there.',
  }
}

function checkClocks({ clocksApartSeconds: apart }: ClusterState): Check {
  const name = 'Clocks of the nodes'
  if (apart < 2) return { name, state: 'good', text: 'They agree within two seconds.' }
  return {
    name,
    state: apart < 60 ? 'warn' : 'bad',
    text: `They are at least ${apart.toFixed(1)} s apart: entries of one wallet keep their order, those of different wallets do not.`,
    fix: 'Synchronize all nodes with NTP (chrony, systemd-timesyncd).',
  }
}
