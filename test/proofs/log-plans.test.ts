/** Pages of a long log are read in the order of an index, with and without statistics: an order by a converted number sorts everything. */
import { afterAll, beforeAll, expect, setDefaultTimeout, test } from 'bun:test'
import type { Queryable } from '../../src/store/connection/database.ts'
import { listIncarnationLeaves, listIncarnations } from '../../src/store/proofs/incarnations.ts'
import {
  findLatestCheckpoint,
  findNewestCheckpoint,
  listLeafHashes,
  listOtherOrigins,
  listSealedStates,
} from '../../src/store/proofs/proof-log.ts'
import { nextSealed } from '../../src/store/proofs/wallet-trees.ts'
import { openTestService, type TestService } from '../service.ts'

setDefaultTimeout(180_000)

let rig: TestService

const busy = '00000000-0000-4000-8000-000000000001'

beforeAll(async () => {
  rig = await openTestService()
  const { pool } = rig.service.db.longRunning
  for (const table of ['log_leaves', 'log_checkpoints', 'log_incarnations'])
    await pool.query(`alter table ${table} set (autovacuum_enabled = false)`)
  await pool.query(
    `insert into log_leaves (number, kind, subject, size, hash)
     select i, 'wallet', case when i % 2 = 0 then $1::uuid else gen_random_uuid() end, i + 1, sha256(int8send(i)) from generate_series(0, 29999) i`,
    [busy],
  )
  await pool.query(
    `insert into log_checkpoints (origin, size, note, at)
     select 'a/books/b', i, repeat('x', 300), now() - (30000 - i) * interval '1 minute' from generate_series(1, 30000) i`,
  )
  await pool.query(
    `insert into log_incarnations (number, id, previous, reason) select i, i, i - 1, 'moved' from generate_series(1, 30000) i`,
  )
})
afterAll(() => rig.close())

type Node = { 'Node Type': string; Plans?: Node[] }

const stepsOf = (node: Node): string[] => [node['Node Type'], ...(node.Plans ?? []).flatMap(stepsOf)]

/** The steps of every plan of what this reads. */
async function stepsFor(read: (db: Queryable) => Promise<unknown>): Promise<string[]> {
  const { pool } = rig.service.db.longRunning
  const steps: string[] = []
  const query = async (text: string, values: unknown[]) => {
    type Answer = { 'QUERY PLAN': [{ Plan: Node }] }
    const { rows } = await pool.query<Answer>(`explain (format json) ${text}`, values)
    steps.push(...stepsOf(rows[0]!['QUERY PLAN'][0].Plan))
    return await pool.query(text, values)
  }
  await read({ query } as unknown as Queryable)
  return steps
}

const reads: [string, (db: Queryable) => Promise<unknown>][] = [
  ['the states of a wallet', (db) => listSealedStates(db, [busy], 10_000, 29_000, 100)],
  ['the leaves', (db) => listLeafHashes(db, 10_000, 1_000)],
  ['the newest checkpoint', (db) => findNewestCheckpoint(db, 'a/books/b')],
  ['the last checkpoint of any name', (db) => findLatestCheckpoint(db)],
  ['the newest incarnations', (db) => listIncarnations(db, 10)],
]

async function expectWalks(): Promise<void> {
  for (const [name, read] of reads) {
    const steps = await stepsFor(read)
    expect([name, steps.filter((step) => step.includes('Sort') || step === 'Seq Scan')]).toEqual([name, []])
  }
  for (const read of [
    (db: Queryable) => listIncarnationLeaves(db, 0, 30_000, 100),
    (db: Queryable) => nextSealed(db, null, 100),
  ])
    expect(await stepsFor(read)).not.toContain('Sort')
  expect(await stepsFor((db) => listOtherOrigins(db, 'c/books/b', 'b'))).not.toContain('Seq Scan')
}

test('without statistics', expectWalks)

test('with statistics', async () => {
  for (const table of ['log_leaves', 'log_checkpoints', 'log_incarnations'])
    await rig.service.db.longRunning.pool.query(`analyze ${table}`)
  await expectWalks()
})
