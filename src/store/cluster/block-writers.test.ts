/** The lock under which all nodes take their snapshots ends by itself, even when a node or the process does not answer. */
import { describe, expect, setDefaultTimeout, test } from 'bun:test'
import { PassThrough } from 'node:stream'
import { openClusterLedger, openImitatedLedger } from '../../../test/cluster-ledger.ts'
import { eventually } from '../../../test/eventually.ts'
import { openForwarder } from '../../../test/forwarder.ts'
import { describeOnServers, testLoss, withServers } from '../../../test/lost-worker.ts'
import { emptyDatabase, findCluster } from '../../../test/postgres.ts'
import { sortByNode } from '../../../test/sort-by-node.ts'
import { closeLedger } from '../closing/close-ledger.ts'
import { listClosings } from '../closing/closings.ts'
import { exportBooks } from '../copy/export.ts'
import { transact, type Connection } from '../connection/database.ts'
import type { OpenClient } from '../connection/open-client.ts'
import { openClient } from '../connection/servers.ts'
import { beginCheckStep } from '../verify/books-check.ts'
import { verifyBooks } from '../verify/verify.ts'
import { whileWritersWait } from './block-writers.ts'

setDefaultTimeout(600_000)

const people = 24
const messageOf = (work: Promise<unknown>) =>
  work.then(
    () => 'done',
    (error: Error) => error.message,
  )
const noSnapshot = expect.stringContaining('took no common snapshot in time')

describe.skipIf(process.env['TEST_DATABASE_URL'] !== undefined)('on one server that claims to be a cluster', () => {
  test.each([
    ['waits for a node without end', () => new Promise(() => {})],
    // No timer of this process fires meanwhile.
    ['stands still with its process', async () => Bun.sleepSync(3_500)],
    ['loses the lock and does not notice', (connection: Connection) => endHolder(connection)],
  ] as const)('work that %s fails, and a debit goes on', async (_, work) => {
    const { ledger } = await openImitatedLedger({ users: 2 })
    const { backend, users, opened } = ledger
    const { connection } = opened.service.db
    await backend.credit(users[0]!, 100, 'first')
    const held = Promise.withResolvers<void>()
    const blocked = messageOf(
      whileWritersWait(connection, async () => {
        held.resolve()
        await work(connection)
      }),
    )
    await held.promise
    expect((await backend.debit(users[0]!, 1, 'second')).status).toBe(200)
    expect(await blocked).toEqual(noSnapshot)
    expect(await messageOf(whileWritersWait(connection, async () => {}))).toBe('done')
    expect((await backend.debit(users[0]!, 1, 'third')).status).toBe(200)
    await opened.close()
  })

  test('the lock is not asked for while a node is away', async () => {
    const { ledger, worker } = await openImitatedLedger({ users: 2 })
    await worker.leave()
    let isAsked = false
    const work = async () => void (isAsked = true)
    expect(await messageOf(whileWritersWait(ledger.opened.service.db.connection, work))).toContain('away:5433')
    expect(isAsked).toBe(false)
    await ledger.opened.close()
  })
})

async function endHolder(connection: Connection): Promise<void> {
  const client = await openClient(connection, { name: 'test' })
  await client.query(`select pg_terminate_backend(pid) from pg_stat_activity
    where application_name = 'billfold snapshot' and datname = current_database()`)
  await eventually(async () => {
    const { rows } = await client.query(`select 1 from pg_stat_activity where application_name = 'billfold snapshot'
      and datname = current_database()`)
    return rows.length
  }, 0)
  await client.end()
}

const nodes = await findCluster()

describe.skipIf(nodes === undefined || nodes.length < 3)(
  'on a cluster with two workers (TEST_DATABASE_URL names none)',
  () => {
    test.each([
      ['verify', (connection) => verifyBooks(connection, { jobs: 2 })],
      [
        'export',
        (connection) => exportBooks(connection, new PassThrough().resume(), { currency: 'EUR', now: new Date() }),
      ],
    ] satisfies [string, (connection: Connection) => Promise<unknown>][])(
      'a worker that falls silent when %s asks for its snapshot stops no debit of another one',
      async (_, read) => {
        const database = await emptyDatabase(1)
        const wires = [await openForwarder(nodes![1]!), await openForwarder(nodes![2]!)]
        const [, wire] = wires as [(typeof wires)[0], (typeof wires)[0]]
        const { others: _others, ...connection } = database.connection
        const ledger = await openClusterLedger(connection, { users: people, lanes: 1 }, async (client) => {
          for (const { connection: at } of wires)
            await client.query(`select citus_add_node('127.0.0.1', $1)`, [at.port])
        })
        const { wallets, references } = await sortByNode(ledger, wire.connection.port!)
        const debits = () => wallets.living.map((user) => ledger.backend.credit(user, 1, references.living.pop()))
        wire.goSilentAt(`LIMIT '1'::bigint`)
        expect(await messageOf(read(connection))).toContain(`do not answer: 127.0.0.1:${wire.connection.port}`)
        for (const reply of await Promise.all(debits())) expect(reply.status).toBe(200)
        wire.cut()
        wire.mend()
        await eventually(() => messageOf(read(connection)), 'done')
        await ledger.close()
        await database.drop()
        for (const each of wires) each.close()
      },
    )
  },
)

describeOnServers(() => {
  testLoss(
    'while a worker that was %s under the lock is away, the check fails, and debits that do not need it go on',
    people,
    async (ledger, worker) => {
      const { connection, backend, opened } = ledger
      const { wallets, references } = await sortByNode(ledger, worker.port)
      const credit = async () => (await backend.credit(wallets.living[0]!, 1, references.living.pop())).status
      expect(await credit()).toBe(200)
      const check = () => transact(opened.service.db.longRunning, (tx) => beginCheckStep(tx, connection, true))
      expect(await messageOf(check())).toBe('done')
      const reading = await openClient(connection, { name: 'test' })
      const refusal = await messageOf(
        whileWritersWait(connection, async () => {
          await worker.leave()
          await reading.query('select count(*) from wallets').catch(() => new Promise(() => {}))
        }),
      )
      expect(refusal).toContain(`127.0.0.1:${worker.port}`)
      expect(await messageOf(check())).toContain(`127.0.0.1:${worker.port}`)
      await eventually(credit, 200)
      await worker.comeBack()
      reading.destroy()
      await eventually(() => messageOf(check()), 'done')
    },
  )

  testLoss(
    'a worker that is %s right before the tables are exchanged stops no debit of another one, and no period is closed',
    people,
    async (ledger, worker) => {
      const { connection, backend, client } = ledger
      const { wallets, references } = await sortByNode(ledger, worker.port)
      const credit = async () => (await backend.credit(wallets.living[0]!, 1, references.living.pop())).status
      expect(await credit()).toBe(200)
      const closing = await openClient(connection, { name: 'test', settings: { statement_timeout: '0' } })
      const record = async () => await worker.leave()
      expect(await messageOf(closeLedger(connection, closing, { record }))).toContain(`127.0.0.1:${worker.port}`)
      await eventually(credit, 200)
      await worker.comeBack()
      expect(await listClosings(client)).toEqual([])
    },
  )

  test('a worker that is stopped in the middle of the exchange keeps it waiting, until the coordinator is restarted', async () => {
    await withServers(people, async (ledger, worker, coordinator) => {
      const { connection, backend } = ledger
      const { wallets, references } = await sortByNode(ledger, worker.port)
      const credit = async () => (await backend.credit(wallets.living[0]!, 1, references.living.pop())).status
      expect(await credit()).toBe(200)
      const client = await openClient(connection, { name: 'test', settings: { statement_timeout: '0' } })
      const query = (async (asked: string, ...rest: []) => {
        if (asked.startsWith?.('alter table transfers rename')) await worker.freeze()
        return await client.query(asked, ...rest)
      }) as OpenClient['query']
      const closing = closeLedger(connection, { ...client, query }, { record: async () => {} })
      expect(await messageOf(closing)).toContain('did not answer while the tables were exchanged')
      expect(await credit()).toBe(503)
      await coordinator.restart()
      await eventually(credit, 200)
      await worker.thaw()
      const after = await openClient(connection, { name: 'test' })
      expect(await listClosings(after)).toEqual([])
      await after.end()
      expect(await messageOf(verifyBooks(connection))).toBe('done')
    })
  })

  test('a command that stands still in the middle of the exchange keeps no debit waiting for long', async () => {
    await withServers(2, async (ledger) => {
      const { connection, backend, users } = ledger
      expect((await backend.credit(users[0]!, 1, 'first')).status).toBe(200)
      const client = await openClient(connection, {
        name: 'test',
        settings: { idle_in_transaction_session_timeout: '0' },
      })
      const halted = Promise.withResolvers<void>()
      const query = (async (asked: string, ...rest: []) => {
        if (!asked.startsWith?.('alter table transfers rename')) return await client.query(asked, ...rest)
        halted.resolve()
        return await new Promise(() => {})
      }) as OpenClient['query']
      const closing = messageOf(closeLedger(connection, { ...client, query }, { record: async () => {}, attempts: 1 }))
      await halted.promise
      expect((await backend.credit(users[0]!, 1, 'second')).status).toBe(200)
      client.destroy()
      void closing
      await ledger.expectExact(2)
    })
  })
})
