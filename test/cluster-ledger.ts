/** A service on a cluster that a test changes, with users that it posts for, and what must be in the books at the end. */
import { expect } from 'bun:test'
import { distribute } from '../src/store/cluster/distribution.ts'
import type { Connection } from '../src/store/connection/database.ts'
import type { OpenClient } from '../src/store/connection/open-client.ts'
import { openClient } from '../src/store/connection/servers.ts'
import { migrate } from '../src/store/migrations/migrate.ts'
import { verifyBooks } from '../src/store/verify/verify.ts'
import { newClient } from './client.ts'
import { newApp, newUsers, openTestService } from './service.ts'

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
  const opened = await openTestService({ WRITER_LANES: String(lanes) }, undefined, () => connection)
  const credentials = await newApp(opened.service)
  const linked = await newUsers(opened.service, credentials, users)
  return {
    client,
    opened,
    clientId: credentials.clientId,
    backend: newClient((request) => opened.app.fetch(request), credentials),
    users: linked.map(({ serviceUserId }) => serviceUserId),
    /** Every acknowledged operation is in the books, once. */
    expectExact: async (acknowledged: number) => {
      const { rows } = await client.query(
        'select count(*)::int as count, count(distinct reference_id)::int as once from transfers',
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
