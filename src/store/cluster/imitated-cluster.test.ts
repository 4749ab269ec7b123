/** The statements and lanes for a cluster, on one server that only claims to have Citus: their order and answers, not their distribution. */
import { afterAll, beforeAll, expect, setDefaultTimeout, test } from 'bun:test'
import { expectBalancedBooks } from '../../../test/books.ts'
import { verifyProof } from '../../../sdk/verify.ts'
import { eventually } from '../../../test/eventually.ts'
import { callCommand } from '../../../test/command.ts'
import { newClient } from '../../../test/client.ts'
import { imitate } from '../../../test/imitated-cluster.ts'
import { sealAll } from '../../../test/sealed-books.ts'
import { newApp, newUsers, openTestService, type TestService } from '../../../test/service.ts'
import { postForApp } from '../../actions/money/post.ts'
import { findApp } from '../apps.ts'
import { verifyBooks } from '../verify/verify.ts'

setDefaultTimeout(120_000)

const lanes = 3
let opened: TestService
// Another server may have a real cluster, and its superuser is unknown.
const isOtherServer = process.env['TEST_DATABASE_URL'] !== undefined
beforeAll(async () => {
  if (!isOtherServer) opened = await openTestService({ WRITER_LANES: String(lanes) }, { through: imitate })
})
afterAll(async () => await opened?.close())

test.skipIf(isOtherServer)(
  'batches on several nodes give each reference one outcome, and the books balance',
  async () => {
    const { service } = opened
    const { clientId } = await newApp(service)
    const app = (await findApp(service.db.pool, clientId))!
    const users = await newUsers(service, { clientId }, 20)
    const post = (serviceUserId: string, referenceId: string, direction: 'debit' | 'credit', amountMinor: bigint) =>
      postForApp(service, app, {
        referenceType: 'T',
        description: null,
        direction,
        amountMinor,
        serviceUserId,
        referenceId,
      })
    const results: Awaited<ReturnType<typeof post>>[] = []
    for (let round = 0; round < 20; round++) {
      const posts = users.flatMap(({ serviceUserId: id }) => [
        post(id, `${id} credit ${round}`, 'credit', 100n),
        post(id, `${id} debit ${round}`, 'debit', round % 5 === 0 ? 100_000n : 10n),
        post(id, `${id} credit ${round}`, 'credit', 100n),
      ])
      results.push(...(await Promise.all(posts)))
    }
    const count = (isSuch: (result: (typeof results)[number]) => boolean) => results.filter(isSuch).length
    expect(count((result) => result.kind === 'outcome' && result.replay !== undefined)).toBe(400)
    expect(count((result) => result.kind === 'outcome' && result.outcome.refusal === 'INSUFFICIENT_BALANCE')).toBe(80)
    expect((await post('su_unknown', 'x', 'debit', 1n)).kind).toBe('unknown-user')
    // A home for each lane and for the careful one, and two other nodes: the third lane's own node is the coordinator.
    const writers = `select count(*)::int as count from pg_stat_activity where application_name = 'billfold writer' and datname = current_database()`
    await eventually(async () => (await service.db.pool.query(writers)).rows[0].count, lanes + 1 + 2)
    await expectBalancedBooks(service)
    expect(await verifyBooks(service.db.connection, { jobs: 2 })).toMatchObject({ faults: 0, transfers: 720 })
    // A statement's own error, not the ROLLBACK that its COMMIT returns: that would look like a fault of the node.
    const faults = opened.logged.map((line) => JSON.parse(line)).filter(({ message }) => /writer failed/.test(message))
    expect(faults.map(({ code }) => code)).toEqual(faults.map(() => '23505'))
  },
)

test.skipIf(isOtherServer)(
  'the entries of several wallets are sealed by the statement for a cluster, and proven',
  async () => {
    const { service } = opened
    const app = await newApp(service)
    const client = newClient(opened.app.fetch, app)
    const users = await newUsers(service, app, 3)
    for (const [i, { serviceUserId }] of users.entries())
      for (let j = 0; j <= i; j++) await client.credit(serviceUserId, 1 + j, `${i}-${j}`)
    await sealAll(service)
    for (const referenceId of ['0-0', '1-1', '2-0', '2-2']) {
      const { body } = await client.get('/api/server/proof', { referenceType: 'ORDER', referenceId })
      const { proof, key } = body as { proof: string; key: string }
      expect(await verifyProof(proof, { keys: [key] })).toMatchObject({ ok: true })
    }
  },
)

test.skipIf(isOtherServer)('distribute names the settings that the nodes lack, and changes nothing', async () => {
  const { exitCode, stdout } = await callCommand(['distribute', '--json'], { DATABASE_URL: opened.databaseUrl })
  expect(exitCode).toBe(1)
  const { error } = JSON.parse(stdout) as { error: string }
  expect(error).toContain('The nodes of the cluster are not ready, and nothing was changed.')
  for (const node of ['coordinator', 'worker1', 'worker2'])
    expect(error).toContain(`${node}:5432: wal_level is replica, so its shards cannot move while the service works.`)
})
