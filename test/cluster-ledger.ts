/** A service on a cluster that a test changes, with users that it posts for, and what must be in the books at the end. */
import { expect } from 'bun:test'
import { distribute } from '../src/store/cluster/distribution.ts'
import type { Connection } from '../src/store/connection/database.ts'
import type { OpenClient } from '../src/store/connection/open-client.ts'
import { openClient } from '../src/store/connection/servers.ts'
import { migrate } from '../src/store/migrations/migrate.ts'
import { verifyBooks } from '../src/store/verify/verify.ts'
import { newClient } from './client.ts'
import { asSuperuser, imitate, loseNode, placeShards } from './imitated-cluster.ts'
import { newApp, newUsers, openTestService, type TestService } from './service.ts'

export type ClusterLedger = Awaited<ReturnType<typeof openClusterLedger>>

/** On an empty database. `connection` names only the coordinator; `join` adds the nodes that have not joined yet. */
export async function openClusterLedger(
  connection: Connection,
  { users, lanes = 2 }: { readonly users: number; readonly lanes?: number },
  join: (client: OpenClient) => Promise<unknown> = async () => {},
) {
  const client = await openClient(connection, { name: 'test' })
  await join(client)
  await migrate(client)
  await distribute(client)
  const opened = await openTestService({ WRITER_LANES: String(lanes) }, { through: () => connection })
  return {
    connection,
    client,
    opened,
    ...(await newUsersOf(opened, users)),
    /** Every acknowledged operation is in the books, once. */
    expectExact: async (acknowledged: number) => {
      const { rows } = await client.query(
        'select count(*)::int as count, count(distinct reference_id)::int as once from all_transfers',
      )
      expect(rows).toEqual([{ count: acknowledged, once: acknowledged }])
      expect(await verifyBooks(connection)).toMatchObject({ faults: 0, transfers: acknowledged })
    },
    close: async () => {
      await opened.close()
      await client.end()
    },
  }
}

/** An app with users, and how its backend calls the service. */
async function newUsersOf({ service, app }: TestService, count: number) {
  const credentials = await newApp(service)
  const linked = await newUsers(service, credentials, count)
  return {
    clientId: credentials.clientId,
    credentials,
    backend: newClient((request) => app.fetch(request), credentials),
    users: linked.map(({ serviceUserId }) => serviceUserId),
  }
}

/** The same on one server that only claims to be a cluster, and one of its workers. */
export async function openImitatedLedger({ users }: { readonly users: number }) {
  let server: Connection | undefined
  const opened = await openTestService(
    { WRITER_LANES: '2' },
    {
      through: async (connection) => {
        server = await imitate(connection)
        await asSuperuser(connection, placeShards)
        return connection
      },
    },
  )
  return {
    ledger: { client: opened.service.db.pool, opened, ...(await newUsersOf(opened, users)) },
    worker: {
      port: 5433,
      leave: () => asSuperuser(server!, loseNode('worker2', 'away')),
      comeBack: () => asSuperuser(server!, loseNode('away', 'worker2')),
    },
  }
}
