/** Distributes the ledger over the nodes of a Citus cluster. */
import type { Check } from '../../actions/apps/examine-embedding.ts'
import { describeNode, examineCluster } from '../../actions/deployment/examine-cluster.ts'
import { defaultShards, distribute, type Distribution } from '../../store/cluster/distribution.ts'
import { commandConnectMs } from '../../store/connection/open-client.ts'
import { openClient } from '../../store/connection/servers.ts'
import { textOf, UsageMistake, wholeNumber, type Command, type Invocation } from '../command.ts'
import { withData } from '../data.ts'
import { formatCheck } from '../doctor.ts'

export const distributeCommands: readonly Command[] = [
  {
    name: 'distribute',
    database: 'writes',
    summary: 'distribute the ledger over the nodes of a Citus cluster; once, before it is large',
    flags: {
      shards: { value: 'N', about: `shards of each table: the most nodes it can ever use (default: ${defaultShards})` },
    },
    details: `DATABASE_URL names the coordinator. Wallets are distributed by id together with their transfers and holds, outcomes by reference
together with the counts of repeats; people, apps, links, positions and all other tables stay on the coordinator. Afterwards every node
can coordinate a batch of debits, and DATABASE_URL may name the workers too.
Existing rows are moved. Stop the service first: tables are locked while they are moved. Tables that are already distributed
stay as they are, so the command can be repeated, also after an interruption. It says which node holds what, and what is wrong
with the cluster. Settings that the nodes lack are named before anything is changed. docs/operations/cluster.md explains when a cluster is
worth it, and how to set one up.`,
    examples: ['distribute', 'distribute --shards 24', 'distribute --json'],
    run: async (invocation) => {
      const shards = shardsOf(invocation)
      return await withData(invocation, async ({ connection }) => {
        const client = await openClient(connection, { name: 'billfold distribute', connectWithinMs: commandConnectMs })
        try {
          const distribution = await distribute(client, shards)
          const checks = examineCluster(distribution.cluster)
          return { json: { ...distribution, checks }, text: describeDistribution(distribution, checks) }
        } finally {
          await client.end()
        }
      })
    },
  },
]

function describeDistribution({ tables, cluster, staying }: Distribution, checks: readonly Check[]): string {
  const lines = tables.map(
    ({ name, by, shards, isNew }) =>
      `${name}: by ${by}, in ${shards} ${shards === 1 ? 'shard' : 'shards'}${isNew ? '' : ', as before'}`,
  )
  const holding = cluster.nodes.filter(({ shards }) => shards > 0)
  const where = holding.length === 1 ? 'one node' : `${holding.length} nodes`
  const isDone = tables.every(({ isNew }) => !isNew)
  const nodes = cluster.nodes
    .filter(({ mayHold, shards }) => mayHold || shards > 0)
    .map((node) => `${describeNode(node)}.`)
  const problems = checks.filter(({ state }) => state !== 'good').map(formatCheck)
  return [
    `${isDone ? 'Nothing to do: the ledger is distributed' : 'The ledger is distributed'} over ${where}.`,
    ...lines,
    `The other ${staying} tables stay on the coordinator.`,
    ...nodes,
    ...(problems.length > 0 ? ['', ...problems] : []),
  ].join('\n')
}

const maxShards = 1_024

function shardsOf(invocation: Invocation): number {
  const text = textOf(invocation, 'shards')
  if (text === undefined) return defaultShards
  const shards = wholeNumber(text)
  if (shards === undefined || shards < 1 || shards > maxShards)
    throw new UsageMistake(`--shards: write a whole number from 1 to ${maxShards.toLocaleString('en-US')}.`)
  return shards
}
