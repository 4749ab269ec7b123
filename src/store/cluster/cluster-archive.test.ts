/** Archiving periods on a cluster: beside traffic on every node, and while a worker is away. The tests of the archive run on a cluster too. */
import { afterAll, beforeAll, describe, expect, setDefaultTimeout, test } from 'bun:test'
import { mkdtemp, readdir, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { Client } from 'pg'
import { expectDone, openArchiveBench, rowsOf, settle, type ArchiveBench } from '../../../test/archived-period.ts'
import { callCommand } from '../../../test/command.ts'
import { eventually } from '../../../test/eventually.ts'
import { describeOnServers, testLoss } from '../../../test/lost-worker.ts'
import { openClusterLedger } from '../../../test/cluster-ledger.ts'
import { emptyDatabase, findCluster } from '../../../test/postgres.ts'
import { newUsers, operator } from '../../../test/service.ts'
import { closePeriod } from '../../actions/money/close-period.ts'
import { noMark } from '../closing/closings.ts'
import type { Connection } from '../connection/database.ts'
import { findArchivedReferences } from './archived-references.ts'
import { findOutcomesOnNodes, readEntriesOnNodes, readOnNodes } from './period-pages.ts'

setDefaultTimeout(600_000)

const nodes = await findCluster()

describe('a period', () => {
  let bench: ArchiveBench
  let users: string[]
  const references: { user: string; reference: string; id: unknown }[] = []

  const post = async (user: string, reference: string) => {
    const { status, body } = await bench.client.credit(user, 1, reference)
    return { status, id: body['transactionId'], isRepeat: body['replayed'] }
  }
  const repeat = async (at: number) => {
    const { user, reference, id } = references[at % references.length]!
    expect(await post(user, reference)).toEqual({ status: 200, id, isRepeat: true })
  }

  beforeAll(async () => {
    bench = await openArchiveBench(undefined, { WRITER_LANES: String(nodes?.length ?? 2) })
    users = (await newUsers(bench.service, bench.credentials, 12)).map(({ serviceUserId }) => serviceUserId)
    for (const [i, user] of users.entries())
      for (let j = 0; j <= (i === 0 ? 40 : i % 4); j++) {
        const reference = `closed ${i} ${j}`
        references.push({ user, reference, id: (await post(user, reference)).id })
      }
    await bench.client.debit(users[1]!, 5_000, 'refused')
    await bench.close()
    expectDone(await bench.write(1))
  })
  afterAll(async () => await bench.stop())

  test.each([1, 3, 7, 1_000])(
    'is read in pages of %d rows in the order of its keys, each row once, also where a wallet fills several pages',
    async (rowsPerPage) => {
      const { pool } = bench.service.db
      const keys: string[] = []
      for await (const page of readEntriesOnNodes<{ row: string }>(
        pool,
        'closed_transfers_1',
        `t.wallet_id || ' ' || t.sequence as row`,
        rowsPerPage,
      ))
        keys.push(...page.map(({ row }) => row))
      const entries = await bench.query<{ row: string }>(
        `select wallet_id || ' ' || sequence as row from closed_transfers_1 order by wallet_id, sequence`,
      )
      expect(keys).toEqual(entries.map(({ row }) => row))
      const found: string[] = []
      const pages = readOnNodes<{ row: string }>(
        pool,
        'closed_outcomes_1',
        'reference_key',
        'o.reference_key as row',
        'o.refusal is null',
        rowsPerPage,
      )
      for await (const page of pages) found.push(...page.map(({ row }) => row))
      const outcomes = await bench.query<{ row: string }>(
        `select reference_key as row from closed_outcomes_1 where refusal is null order by reference_key`,
      )
      expect(found).toEqual(outcomes.map(({ row }) => row))
    },
  )

  // Plain PostgreSQL does not know which shard has a key.
  test.skipIf(nodes === undefined)('gives the outcomes of the asked keys, shard by shard', async () => {
    const keys = (await bench.query<{ key: string }>('select reference_key as key from closed_outcomes_1')).map(
      ({ key }) => key,
    )
    const asked = [...keys.slice(5), crypto.randomUUID()]
    const found = await findOutcomesOnNodes<{ key: string }>(
      bench.service.db.pool,
      'closed_outcomes_1',
      'o.reference_key as key',
      asked,
    )
    expect(found.map(({ key }) => key).sort()).toEqual(keys.slice(5).sort())
  })

  test('that is archived after its filters were read is found by its mark, and its references are looked up', async () => {
    const keys = (
      await bench.query<{ key: string }>(`select replace(reference_key::text, '-', '') as key from closed_outcomes_1`)
    ).map(({ key }) => key)
    const found: string[] = []
    const before = {
      known: () => ({ lastMark: noMark, mayHave: () => false }),
      found: (mark: string) => void found.push(mark),
    }
    const { pool } = bench.service.db
    expect([...(await findArchivedReferences(pool, before, keys))]).toEqual([])
    expectDone(await bench.drop(1))
    expect([...(await findArchivedReferences(pool, before, keys))].sort()).toEqual(keys.toSorted())
    const unread = { ...before, known: () => undefined }
    expect([...(await findArchivedReferences(pool, unread, keys.slice(3, 5)))].sort()).toEqual(
      keys.slice(3, 5).toSorted(),
    )
    const marks = await bench.query<{ mark: string }>('select mark from closings')
    expect(found).toEqual([noMark, ...marks.map(({ mark }) => mark), ...marks.map(({ mark }) => mark)])
    expectDone(await bench.restore(1))
  })

  test('is dropped and restored beside traffic: whichever node coordinates a batch, a reference is used once and its repeats get the first answer', async () => {
    const rows = await rowsOf(bench.query, 1)
    const over = new AbortController()
    let posted = 0
    const traffic = users.map(async (user, i) => {
      for (let round = 0; !over.signal.aborted; round++) {
        const reference = `${user} ${round}`
        const { status, id, isRepeat } = await post(user, reference)
        expect([status, isRepeat]).toEqual([200, undefined])
        references.push({ user, reference, id })
        posted++
        await repeat(round * 7 + i)
        // One of the closed period.
        await repeat((round * 5 + i) % 40)
      }
    })
    const stopped = Promise.all(traffic)
    stopped.catch(() => {})
    try {
      for (let time = 0; time < 2; time++)
        for (const change of [bench.drop, bench.restore]) {
          const before = posted
          await eventually(() => posted > before + users.length, true)
          // The journal and the seals of the new entries do not matter to the closed ones.
          expectDone(await change(1))
        }
    } finally {
      over.abort()
    }
    await stopped
    expect(await rowsOf(bench.query, 1)).toEqual(rows)
    expectDone(await bench.drop(1))
    for (let at = 0; at < references.length; at++) await repeat(at)
    const counted = await bench.verify()
    expect(counted).toMatchObject({ faults: [], transfers: references.length })
    if (nodes)
      expect(
        await bench.query(
          `select count(distinct case when writer > 0 then 0 else -writer / 100000 end)::int as groups from positions`,
        ),
      ).toEqual([{ groups: nodes.length }])
    expectDone(await bench.restore(1))
  })
})

/** `npx billfold archive` for period 1, with a new folder. */
async function openCommands(connection: Connection) {
  const folder = await mkdtemp(join(tmpdir(), 'billfold-archive-'))
  const command = async (what: 'write' | 'drop' | 'restore') => {
    const flag = what === 'write' ? '--to' : '--from'
    const environment = { DATABASE_URL: connection.connectionString! }
    const { exitCode, stdout, stderr } = await callCommand(['archive', what, '1', flag, folder], environment)
    return { exitCode, said: stdout + stderr }
  }
  return { folder, command, remove: () => rm(folder, { recursive: true }) }
}

test.skipIf(nodes === undefined || nodes.length < 3)(
  'a node that joins while a period is archived can coordinate batches, and the period can be restored',
  async () => {
    const database = await emptyDatabase(2)
    const { others: _, ...connection } = database.connection
    const { backend, users, client, opened, expectExact, close } = await openClusterLedger(connection, { users: 8 })
    const { command, remove } = await openCommands(connection)
    const post = async () => await Promise.all(users.map((user) => backend.credit(user, 100, `${user} first`)))
    await post()
    await closePeriod(connection, operator)
    await settle(opened.service)
    expectDone(await command('write'))
    expectDone(await command('drop'))
    const { hostname, port } = new URL(nodes!.at(-1)!.connectionString!)
    await client.query('select citus_add_node($1, $2)', [hostname, Number(port)])
    await client.query(`select rebalance_table_shards('wallets'), rebalance_table_shards('outcomes')`)
    expect((await post()).map(({ body }) => body['replayed'])).toEqual(users.map(() => true))
    const joined = new Client({
      ...connection,
      connectionString: connection.connectionString!.replace(/:\d+\//, `:${port}/`),
    })
    await joined.connect()
    const { rows } = await joined.query('select count(*)::int as count from all_transfers where is_archived')
    await joined.end()
    expect(rows).toEqual([{ count: users.length }])
    expectDone(await command('restore'))
    expect((await post()).map(({ body }) => body['replayed'])).toEqual(users.map(() => true))
    await expectExact(users.length)
    await remove()
    await close()
    await database.drop()
  },
)

describeOnServers(() => {
  testLoss(
    'while a worker is %s no period is written, dropped or restored, and when it is back, all of it works',
    12,
    async ({ connection, backend, users, client, opened, expectExact }, worker) => {
      const { folder, command, remove } = await openCommands(connection)
      const post = () => Promise.all(users.map((user) => backend.credit(user, 100, `${user} first`)))
      expect((await post()).map(({ status }) => status)).toEqual(users.map(() => 200))
      await closePeriod(connection, operator)
      await settle(opened.service)
      const tables = async () =>
        (
          await client.query(
            `select relname from pg_class where relnamespace = 'public'::regnamespace and relkind = 'r' order by 1`,
          )
        ).rows
      const isBack = async () => await eventually(async () => (await backend.wallet(users[0]!)).status, 200)
      for (const what of ['write', 'drop', 'restore'] as const) {
        const before = [await tables(), await readdir(folder)]
        await worker.leave()
        const refused = await command(what)
        await worker.comeBack()
        expect([what, refused.exitCode, refused.said]).toEqual([
          what,
          1,
          expect.stringContaining(`nothing was changed: 127.0.0.1:${worker.port}`),
        ])
        expect([await tables(), await readdir(folder)]).toEqual(before)
        await isBack()
        let done = { exitCode: 1, said: '' }
        await eventually(async () => (done = await command(what)).exitCode, 0).catch(() => expectDone(done))
        for (const user of users)
          await eventually(async () => {
            const { status, body } = await backend.credit(user, 100, `${user} first`)
            return [status, body['replayed']]
          }, [200, true])
      }
      await expectExact(users.length)
      await remove()
    },
  )
})
