/** Closing a period on a cluster of which a worker is away. */
import { describe, expect, setDefaultTimeout, test } from 'bun:test'
import { findPrograms, startCluster } from '../../../test/citus-nodes.ts'
import { openClusterLedger } from '../../../test/cluster-ledger.ts'
import { eventually } from '../../../test/eventually.ts'
import { operator } from '../../../test/service.ts'
import { closePeriod } from '../../actions/money/close-period.ts'
import { listClosings } from '../closing/closings.ts'

setDefaultTimeout(600_000)

const programs = await findPrograms()

describe.skipIf(programs === undefined)(
  'on servers of its own (TEST_DATABASE_URL names no cluster on this machine)',
  () => {
    test.each([
      ['killed', 'kill', 'start'],
      ['stopped', 'freeze', 'thaw'],
    ] as const)(
      'while a worker is %s no period is closed, and when it is back, its references are answered from the closed one',
      async (_, leave, comeBack) => {
        const { workers, connection, remove } = await startCluster(programs!, 2)
        const worker = workers[1]!
        try {
          const ledger = await openClusterLedger(connection, { users: 12 })
          const { backend, users, client } = ledger
          const post = () => Promise.all(users.map((user) => backend.credit(user, 100, `${user} first`)))
          const before = await post()
          expect(before.map(({ status }) => status)).toEqual(users.map(() => 200))
          const tables = async () =>
            (await client.query(`select table_name::text, shard_count from citus_tables order by 1`)).rows
          const tablesBefore = await tables()
          await worker[leave]()
          const refusal = await closePeriod(connection, operator).catch((error: Error) => error.message)
          await worker[comeBack]()
          expect(refusal).toContain(`nothing was changed: 127.0.0.1:${worker.port}`)
          expect(await listClosings(client)).toEqual([])
          expect(await tables()).toEqual(tablesBefore)
          await eventually(async () => (await backend.wallet(users[0]!)).status, 200)
          await eventually(
            async () =>
              await closePeriod(connection, operator).then(
                () => true,
                () => false,
              ),
            true,
          )
          expect(await listClosings(client)).toMatchObject([{ id: 1, transfers: users.length, isIndexed: true }])
          // Each batch that a lost connection made undecided is tried again.
          for (const [i, user] of users.entries())
            await eventually(async () => {
              const { status, body } = await backend.credit(user, 100, `${user} first`)
              return [status, body['replayed'], body['transactionId']]
            }, [200, true, before[i]!.body['transactionId']])
          await ledger.expectExact(users.length)
          await ledger.close()
        } finally {
          await remove()
        }
      },
    )
  },
)
