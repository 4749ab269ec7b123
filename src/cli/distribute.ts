/** Distributes the ledger over the nodes of a Citus cluster. */
import { distribute, type Distribution } from '../store/cluster/distribution.ts'
import { openClient } from '../store/connection/servers.ts'
import { textOf, UsageMistake, wholeNumber, type Command, type Invocation } from './command.ts'
import { withData } from './data.ts'

export const distributeCommands: readonly Command[] = [
  {
    name: 'distribute',
    database: 'writes',
    summary: 'distribute the ledger over the nodes of a Citus cluster; once, before it is large',
    flags: {
      'shards-per-node': { value: 'N', about: 'shards on each node (default: 1)' },
    },
    details: `DATABASE_URL names the coordinator. Wallets are distributed by id together with their transfers, outcomes by reference together
with the counts of repeats; people, apps, links, positions and all other tables stay on the coordinator. Afterwards every node
can coordinate a batch of debits, and DATABASE_URL may name the workers too.
Existing rows are moved. Stop the service first: tables are locked while they are moved. Tables that are already distributed
stay as they are, so the command can be repeated, also after an interruption. docs/scaling.md explains when a cluster is
worth it, and how to set one up.`,
    examples: ['distribute', 'distribute --shards-per-node 2', 'distribute --json'],
    run: async (invocation) => {
      const shardsPerNode = shardsOf(invocation)
      return await withData(invocation, async ({ connection }) => {
        const client = await openClient(connection, { name: 'billfold distribute' })
        try {
          const distribution = await distribute(client, shardsPerNode)
          return { json: distribution, text: describeDistribution(distribution) }
        } finally {
          await client.end()
        }
      })
    },
  },
]

function describeDistribution({ tables, nodes, staying }: Distribution): string {
  const lines = tables.map(
    ({ name, by, shards, isNew }) =>
      `${name}: by ${by}, in ${shards} ${shards === 1 ? 'shard' : 'shards'}${isNew ? '' : ', as before'}`,
  )
  const where = nodes.length === 1 ? `one node, ${nodes[0]}` : `${nodes.length} nodes, ${nodes.join(', ')}`
  const isDone = tables.every(({ isNew }) => !isNew)
  return `${isDone ? 'Nothing to do: the ledger is distributed' : 'The ledger is distributed'} over ${where}.
${lines.join('\n')}
The other ${staying} tables stay on the coordinator.`
}

const maxShardsPerNode = 64

function shardsOf(invocation: Invocation): number {
  const text = textOf(invocation, 'shards-per-node')
  if (text === undefined) return 1
  const shards = wholeNumber(text)
  if (shards === undefined || shards < 1 || shards > maxShardsPerNode)
    throw new UsageMistake(`--shards-per-node: write a whole number from 1 to ${maxShardsPerNode}.`)
  return shards
}
