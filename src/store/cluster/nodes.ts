/** Connections to the nodes that DATABASE_URL names. Any node can coordinate a batch. */
import {
  openOn,
  type ClientOptions,
  type Connection,
  type OpenClient,
  type Queryable,
} from '../connection/open-client.ts'
import { serverAt, usedServer } from '../connection/servers.ts'
import { maybe, one } from '../connection/rows.ts'
import { checkNode } from './membership.ts'

/** The index counts round robin over the named servers. */
export async function openNode(connection: Connection, nodeIndex: number, options: ClientOptions): Promise<OpenClient> {
  return await openOn(serverAt(connection, nodeIndex), options, true, checkNode)
}

/** Whether that node is the coordinator, to which the last connection was opened. */
export function isCoordinator(connection: Connection, nodeIndex: number): boolean {
  return serverAt(connection, nodeIndex) === usedServer(connection)
}

const identitySql = `select current_database() || ' ' || system_identifier as identity from pg_control_system()`

export async function readIdentity(coordinator: Queryable): Promise<string> {
  const { rows } = await coordinator.query<{ identity: string }>(identitySql)
  return one(rows).identity
}

/** The log shows only its name. */
class NodeOfAnotherCluster extends Error {
  override name = 'NodeOfAnotherCluster'
}

/** A node of another cluster would accept batches too, and this cluster would lack them. */
export async function refuseForeignNode(node: Queryable, identity: string): Promise<void> {
  const { rows } = await node.query<{ result: string }>('select result from run_command_on_coordinator($1)', [
    identitySql,
  ])
  if (maybe(rows)?.result !== identity)
    throw new NodeOfAnotherCluster('a server that DATABASE_URL names is a node of another cluster')
}
