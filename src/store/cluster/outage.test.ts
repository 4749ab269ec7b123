/** A worker that the network has cut off, on a cluster of the tests: a forwarder is its address. */
import { describe, expect, setDefaultTimeout, test } from 'bun:test'
import { eventually } from '../../../test/eventually.ts'
import { openForwarder } from '../../../test/forwarder.ts'
import { emptyDatabase, findCluster } from '../../../test/postgres.ts'
import { newApp, newUsers, openTestService } from '../../../test/service.ts'
import { postForApp } from '../../actions/money/post.ts'
import { findApp } from '../apps.ts'
import { openClient } from '../connection/servers.ts'
import { migrate } from '../migrations/migrate.ts'
import { verifyBooks } from '../verify/verify.ts'
import { isRetryable } from '../writer/posting.ts'
import { distribute } from './distribution.ts'

setDefaultTimeout(600_000)

const nodes = await findCluster()

describe.skipIf(nodes === undefined || nodes.length < 3)(
  'on a cluster with two workers (TEST_DATABASE_URL names none)',
  () => {
    test('while a worker is away, postings that do not need it go on, and the others are refused until it is back', async () => {
      const database = await emptyDatabase(2)
      const wire = await openForwarder(nodes![2]!)
      const { others: _, ...connection } = database.connection
      const client = await openClient(connection, { name: 'test' })
      await client.query(`select citus_add_node('127.0.0.1', $1)`, [wire.connection.port])
      await migrate(client)
      await distribute(client)
      const opened = await openTestService({ WRITER_LANES: '2' }, undefined, () => connection)
      const { service } = opened
      const { clientId } = await newApp(service)
      const app = (await findApp(service.db.pool, clientId))!
      const users = await newUsers(service, { clientId }, 24)
      let posted = 0
      const post = async (serviceUserId: string, referenceId: string) => {
        const result = await postForApp(service, app, {
          referenceType: 'T',
          description: null,
          direction: 'credit',
          amountMinor: 1n,
          serviceUserId,
          referenceId,
        })
        if (result.kind === 'outcome' && !result.replay) posted++
        return result.kind
      }
      const isRefused = async (serviceUserId: string, referenceId: string) =>
        await post(serviceUserId, referenceId).then(() => false, isRetryable)

      /** By the port of the node that has the row. */
      const portsOf = async (sql: string, values: unknown[]) => {
        const { rows } = await client.query<{ name: string; port: number }>(sql, values)
        return new Map(rows.map(({ name, port }) => [name, port]))
      }
      const wallets = await portsOf(
        `select l.id as name, n.nodeport as port from links l, pg_dist_placement p join pg_dist_node n on n.groupid = p.groupid
         where l.id = any($1) and p.shardid = get_shard_id_for_distribution_column('wallets', l.user_id)`,
        [users.map(({ serviceUserId }) => serviceUserId)],
      )
      const references = await portsOf(
        `select r as name, n.nodeport as port from unnest($1::text[]) as r, pg_dist_placement p join pg_dist_node n on n.groupid = p.groupid
         where p.shardid = get_shard_id_for_distribution_column('outcomes', encode(substring(sha256(
           convert_to('app:' || $2, 'UTF8') || '\\x00'::bytea || convert_to('T', 'UTF8') || '\\x00'::bytea || convert_to(r, 'UTF8')
         ) from 1 for 16), 'hex')::uuid)`,
        [Array.from({ length: 2_000 }, (_each, i) => `r${i}`), clientId],
      )
      const away = wire.connection.port
      const sortedBy = (ports: ReadonlyMap<string, number>) => ({
        living: [...ports].flatMap(([name, port]) => (port === away ? [] : [name])),
        lost: [...ports].flatMap(([name, port]) => (port === away ? [name] : [])),
      })
      const [ofWallets, ofReferences] = [sortedBy(wallets), sortedBy(references)]
      for (const { living, lost } of [ofWallets, ofReferences])
        for (const names of [living, lost]) expect(names.length).toBeGreaterThan(0)
      const [wallet, lostWallet] = [ofWallets.living[0]!, ofWallets.lost[0]!]
      const freeReference = () => ofReferences.living.pop()!
      try {
        expect(await Promise.all(users.map(({ serviceUserId: id }) => post(id, `${id} before`)))).toEqual(
          users.map(() => 'outcome'),
        )
        wire.cut()
        // The first posting that needs it finds out.
        expect(await isRefused(lostWallet, freeReference())).toBe(true)
        await eventually(() => opened.logged.some((line) => line.includes('nodes of the cluster are away')), true)
        for (let round = 0; round < 10; round++) {
          const lostReference = ofReferences.lost.pop()!
          const [good, ofLostWallet, ofLostReference] = await Promise.all([
            Promise.all(ofWallets.living.map((id) => post(id, freeReference()))),
            isRefused(lostWallet, `lost ${round}`),
            isRefused(wallet, lostReference),
          ])
          expect(good).toEqual(ofWallets.living.map(() => 'outcome'))
          expect([ofLostWallet, ofLostReference]).toEqual([true, true])
        }
        wire.mend()
        await eventually(() => opened.logged.some((line) => line.includes('all nodes of the cluster are back')), true)
        await eventually(async () => await isRefused(lostWallet, 'after'), false)
        expect(await Promise.all(users.map(({ serviceUserId: id }) => post(id, `${id} after`)))).toEqual(
          users.map(() => 'outcome'),
        )
      } finally {
        wire.mend()
      }
      const { rows } = await client.query(
        'select count(*)::int as count, count(distinct reference_id)::int as once from transfers',
      )
      expect(rows).toEqual([{ count: posted, once: posted }])
      expect(await verifyBooks(connection)).toMatchObject({ faults: 0, transfers: posted })
      await opened.close()
      await client.end()
      await database.drop()
      wire.close()
    })
  },
)
