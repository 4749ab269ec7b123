/** Which nodes of the cluster do not answer. */
import { within, type Connection, type OpenClient } from '../connection/open-client.ts'
import { openClient } from '../connection/servers.ts'

/** `name` is `host:port`. */
export type AwayNode = { readonly group: number; readonly name: string }

/** The coordinator tries to reach each node that has a part of the ledger; one that the network has lost answers after `connectWithinMs`. */
const awaySql = `select groupid as "group", nodename || ':' || nodeport as name from pg_dist_node n
  where noderole = 'primary' and groupid <> 0 and exists (select from pg_dist_placement p where p.groupid = n.groupid) and not citus_check_connection_to_node(nodename, nodeport) order by 1`

const connectWithinMs = 1_000
export const askWithinMs = 4_000

/**
 * On a separate connection: the coordinator would ask over connections that it has already, and a node that is silent gets no limit
 * there. `onAway` uses the same connection. None are away on plain PostgreSQL.
 */
export async function findAwayNodes(
  connection: Connection,
  onAway: (client: OpenClient, away: readonly AwayNode[]) => Promise<void> = async () => {},
): Promise<readonly AwayNode[]> {
  const settings = { 'citus.node_connection_timeout': String(connectWithinMs) }
  const client = await openClient(connection, { name: 'billfold nodes', settings })
  try {
    if (!client.isCluster()) return []
    const { rows } = await within(client, askWithinMs, client.query<AwayNode>(awaySql))
    if (rows.length > 0) await onAway(client, rows)
    return rows
  } finally {
    client.destroy()
  }
}
