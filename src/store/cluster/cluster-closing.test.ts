/** Closing a period on a cluster of which a worker is away. */
import { expect, setDefaultTimeout } from 'bun:test'
import { eventually } from '../../../test/eventually.ts'
import { describeOnServers, testLoss } from '../../../test/lost-worker.ts'
import { operator } from '../../../test/service.ts'
import { closePeriod } from '../../actions/money/close-period.ts'
import { listClosings } from '../closing/closings.ts'

setDefaultTimeout(600_000)

describeOnServers(() => {
  testLoss(
    'while a worker is %s no period is closed, and when it is back, its references are answered from the closed one',
    12,
    async ({ connection, backend, users, client, expectExact }, worker) => {
      const post = () => Promise.all(users.map((user) => backend.credit(user, 100, `${user} first`)))
      const before = await post()
      expect(before.map(({ status }) => status)).toEqual(users.map(() => 200))
      const tables = async () =>
        (await client.query(`select table_name::text, shard_count from citus_tables order by 1`)).rows
      const tablesBefore = await tables()
      await worker.leave()
      const refusal = await closePeriod(connection, operator).catch((error: Error) => error.message)
      await worker.comeBack()
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
      await expectExact(users.length)
    },
  )
})
