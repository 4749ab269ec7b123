/** Closing periods on a cluster: beside traffic on every node, and while a worker is away. */
import { expect, setDefaultTimeout, test } from 'bun:test'
import { newClient } from '../../../test/client.ts'
import { eventually } from '../../../test/eventually.ts'
import { describeOnServers, testLoss } from '../../../test/lost-worker.ts'
import { findCluster } from '../../../test/postgres.ts'
import { newApp, newUsers, openTestService, operator } from '../../../test/service.ts'
import { closePeriod } from '../../actions/money/close-period.ts'
import { listClosings } from '../closing/closings.ts'
import { verifyBooks } from '../verify/verify.ts'

setDefaultTimeout(600_000)

const nodes = await findCluster()

const groupsSql = `select count(distinct case when writer > 0 then 0 else -writer / 100000 end)::int as groups from positions`

// TEST_DATABASE_URL names no cluster where this is skipped.
test.skipIf(nodes === undefined)(
  'beside closings, whichever node coordinates a batch, a reference is used once and its repeats get the first answer',
  async () => {
    const { app, service, close } = await openTestService({ WRITER_LANES: String(nodes!.length) })
    const credentials = await newApp(service)
    const backend = newClient((request) => app.fetch(request), credentials)
    const users = (await newUsers(service, credentials, 12)).map(({ serviceUserId }) => serviceUserId)
    const credit = async (user: string, reference: string) => {
      const { status, body } = await backend.credit(user, 1, reference)
      return { status, id: body['transactionId'], isRepeat: body['replayed'] }
    }
    const first: { user: string; reference: string; id: unknown }[] = []
    const over = new AbortController()
    const traffic = users.map(async (user, i) => {
      for (let round = 0; !over.signal.aborted; round++) {
        const reference = `${user} ${round}`
        const { status, id } = await credit(user, reference)
        expect(status).toBe(200)
        first.push({ user, reference, id })
        const earlier = first[(round * 7 + i) % first.length]!
        const repeated = { status: 200, id: earlier.id, isRepeat: true }
        expect(await credit(earlier.user, earlier.reference)).toEqual(repeated)
      }
    })
    for (let id = 1; id <= 3; id++) {
      const before = first.length
      await eventually(() => first.length > before + users.length, true)
      expect(await closePeriod(service.db.connection, operator)).toMatchObject([{ id }])
    }
    await eventually(async () => (await service.db.pool.query(groupsSql)).rows, [{ groups: nodes!.length }])
    over.abort()
    await Promise.all(traffic)
    const repeats = await Promise.all(first.map(({ user, reference }) => credit(user, reference)))
    expect(repeats).toEqual(first.map(({ id }) => ({ status: 200, id, isRepeat: true })))
    expect(await verifyBooks(service.db.connection)).toMatchObject({ faults: 0, transfers: first.length })
    await close()
  },
)

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
