/** A copy of a database with periods in files: what is made from it answers, verifies and goes on as the original does. */
import { afterAll, beforeAll, describe, expect, setDefaultTimeout, test } from 'bun:test'
import { createHash } from 'node:crypto'
import { Readable, Writable } from 'node:stream'
import { gunzipSync, gzipSync } from 'node:zlib'
import { parseCheckpoint, parseNote } from '../../../sdk/verify/note.ts'
import { verifyProof } from '../../../sdk/verify.ts'
import { expectDone, openArchiveBench, rowsOf, type ArchiveBench } from '../../../test/archived-period.ts'
import { openReferences } from '../../../test/archived-references.ts'
import { asSuperuser } from '../../../test/imitated-cluster.ts'
import { dropDatabase, emptyDatabase, findCluster, testDatabase, type TestDatabase } from '../../../test/postgres.ts'
import { newestSigned, sealAll } from '../../../test/sealed-books.ts'
import { newUser, type TestUser } from '../../../test/service.ts'
import { listArchives } from '../closing/archive/archived-periods.ts'
import { listClosings } from '../closing/closings.ts'
import { distribute } from '../cluster/distribution.ts'
import type { Connection } from '../connection/database.ts'
import { openClient } from '../connection/servers.ts'
import { verifyBooks } from '../verify/verify.ts'
import { exportBooks } from './export.ts'
import { importBooks, type ImportOptions } from './import.ts'

setDefaultTimeout(180_000)

const isOnCluster = (await findCluster()) !== undefined
const now = new Date('2026-03-01T00:00:00Z')

let bench: ArchiveBench
let copied: ArchiveBench
let ann: TestUser
let bob: TestUser
let references: Awaited<ReturnType<typeof openReferences>>
/** Of the archived periods, before they were. */
let rows: string[][]
let copy: Buffer

async function exported(connection: Connection): Promise<Buffer> {
  const chunks: Buffer[] = []
  const output = new Writable({
    write: (chunk: Buffer, _, done) => {
      chunks.push(chunk)
      done()
    },
  })
  await exportBooks(connection, output, { currency: 'USD', now })
  return Buffer.concat(chunks)
}

const restore = (connection: Connection, bytes: Buffer, options: Partial<ImportOptions> = {}) =>
  importBooks(connection, Readable.from([bytes]), { currency: 'USD', ...options })

/** Periods 1 and 2 are in files, period 3 is closed, and the open one has entries. */
beforeAll(async () => {
  bench = await openArchiveBench()
  const { service, client, credentials, query } = bench
  ann = await newUser(service, credentials)
  bob = await newUser(service, credentials)
  references = await openReferences(bench, ann, bob, await newUser(service, credentials))
  await references.answers(bench)
  // More than a block.
  for (let i = 0; i < 700; i += 20) {
    const operations = Array.from({ length: 20 }, (_, j) => ({
      serviceUserId: ann.serviceUserId,
      amount: (1 + ((i + j) % 90)) / 100,
      referenceType: 'ORDER',
      referenceId: crypto.randomUUID(),
      direction: 'debit',
    }))
    expect((await client.post('/api/server/wallet/bulk', { ...credentials, operations })).status).toBe(200)
  }
  await bench.close()
  expectDone(await bench.write(1))
  await client.credit(bob.serviceUserId, 20, 'second-period')
  await bench.close()
  expectDone(await bench.write(2))
  rows = [await rowsOf(query, 1), await rowsOf(query, 2)]
  for (const period of [1, 2]) expectDone(await bench.drop(period))
  await client.debit(bob.serviceUserId, 1, 'third-period')
  await bench.close()
  await client.debit(ann.serviceUserId, 1, 'open-period')
  await sealAll(service)
  copy = await exported(service.db.connection)
  copied = await openArchiveBench({ from: bench, fill: (connection) => restore(connection, copy) })
})
afterAll(async () => {
  await copied.stop()
  await bench.stop()
})

const linesOf = (bytes: Buffer) => gunzipSync(bytes).toString().split('\n')

describe('a copy with archived periods', () => {
  test('gives the very same copy again when it was imported', async () => {
    const empty = await testDatabase()
    const { head, verified } = await restore(empty.connection, copy)
    expect(head).toMatchObject({ format: 'billfold copy 2', archived: [1, 2] })
    expect(verified).toEqual(await verifyBooks(bench.service.db.connection))
    expect([verified.faults, verified.archived > 700]).toEqual([0, true])
    expect(linesOf(await exported(empty.connection))).toEqual(linesOf(copy))
    await empty.drop()
  })

  test('brings the periods that are in files, and those that are not as the open one', async () => {
    const archives = await listArchives(bench.service.db.pool)
    expect(await listArchives(copied.service.db.pool)).toEqual(archives)
    const closings = await listClosings(bench.service.db.pool)
    expect(closings).toHaveLength(3)
    expect(await listClosings(copied.service.db.pool)).toEqual(closings.slice(0, 2))
    const entries = 'select reference_id from all_transfers where not is_archived order by created_at'
    expect(await copied.query('select reference_id from transfers order by created_at')).toEqual(
      await bench.query(entries),
    )
    const definitions = `select c.relname, c.reloptions, (select json_agg(json_build_array(attname, atttypid, attnotnull, attstorage, attcollation) order by attnum)
        from pg_attribute where attrelid = c.oid and attnum > 0) as columns,
      (select json_agg(pg_get_triggerdef(t.oid)) from pg_trigger t where t.tgrelid = c.oid and not t.tgisinternal) as triggers,
      (select json_agg(pg_get_indexdef(indexrelid)) from pg_index where indrelid = c.oid) as indexes
      from pg_class c where c.relname like 'archived%' and c.relkind = 'r' order by 1`
    const made = await copied.query(definitions)
    expect(made).toHaveLength(8)
    expect(made).toEqual(await bench.query(definitions))
    // A block is read from one page of its table.
    const bits = `select distinct attstorage from pg_attribute where attname = 'bits' and attrelid::regclass::text ~ '^archived_references_\\d$'`
    expect(await copied.query(bits)).toEqual([{ attstorage: 'p' }])
    if (!isOnCluster) return
    const placed = `select nodeport, count(*)::int as shards, (run_command_on_all_nodes('select count(*) from all_transfers where is_archived')).result
      from citus_shards where table_name::text like 'archived%' group by 1 order by 1`
    expect(await copied.query(placed)).toEqual(await bench.query(placed))
  })

  test('answers every reference as before, and moves no money', async () => {
    const before = await bench.verify()
    expect(before.faults).toEqual([])
    const original = await references.answers(bench)
    expect(await references.answers(copied)).toEqual(original)
    for (const [user, id] of [
      [ann, 'kept-debit'],
      [bob, 'third-period'],
      [ann, 'open-period'],
    ] as const)
      expect((await copied.client.debit(user.serviceUserId, id === 'kept-debit' ? 5 : 1, id)).body['replayed']).toBe(
        true,
      )
    await sealAll(copied.service)
    expect(await copied.verify()).toEqual(before)
    const { body } = await copied.client.wallet(ann.serviceUserId)
    expect(body).toMatchObject({ hasArchived: true, nextBefore: null })
    expect(body['transactions']).toEqual((await bench.client.wallet(ann.serviceUserId)).body['transactions'])
  })

  test('continues the log under another name, whose proofs go back to archived entries', async () => {
    await copied.client.debit(ann.serviceUserId, 1, 'after-the-import')
    await sealAll(copied.service)
    const [incarnation] = await copied.query<{ previous: string; reason: string; note: string }>(
      'select previous, reason, note from log_incarnations order by number desc limit 1',
    )
    expect(incarnation).toMatchObject({ reason: 'moved' })
    const left = await newestSigned(bench.service)
    const { origin, size } = parseCheckpoint(parseNote(incarnation!.note)!.text)!
    expect([origin, size]).toEqual([left.origin, left.size])
    const [{ sequence } = { sequence: 0 }] = await copied.query<{ sequence: number }>(
      'select sequence::float8 as sequence from archived_wallets where wallet_id = $1',
      [ann.userId],
    )
    const fields = { referenceType: 'ORDER', referenceId: 'after-the-import', since: String(sequence + 1) }
    const { status, body } = await copied.client.get('/api/server/proof', fields)
    expect(status).toBe(200)
    const { proof, key } = body as { proof: string; key: string }
    expect(await verifyProof(proof, { keys: [key] })).toMatchObject({ ok: true })
    const archived = await copied.client.get('/api/server/proof', { ...fields, referenceId: 'kept-debit' })
    expect(archived.body['error']).toContain('in the archive')
    expect((await copied.verify()).faults).toEqual([])
  })

  test('has its periods brought back from the same files, which it can drop again', async () => {
    expect((await copied.restore(1)).said).toContain('Restore period 2 first')
    const before = await copied.verify()
    for (const period of [2, 1]) {
      expectDone(await copied.restore(period))
      expect(await rowsOf(copied.query, period)).toEqual(rows[period - 1]!)
    }
    expect(await copied.verify()).toEqual(before)
    expect(await references.answers(copied)).toEqual(await references.answers(bench))
    await copied.settle()
    for (const period of [1, 2]) expectDone(await copied.drop(period))
    expect(await copied.verify()).toEqual(before)
    expect(await references.answers(copied)).toEqual(await references.answers(bench))
    expect(await listArchives(copied.service.db.pool)).toMatchObject(
      (await listArchives(bench.service.db.pool)).map(({ id, sha256, carried }) => ({ id, sha256, carried })),
    )
    // Its next period has the number of the one that was closed and not archived.
    await copied.close()
    expect((await listClosings(copied.service.db.pool)).map(({ id }) => id)).toEqual([1, 2, 3])
    expect((await copied.verify()).faults).toEqual([])
  })
})

type Table = { readonly head: string; readonly rows: readonly string[] }

const sha256 = (text: string) => createHash('sha256').update(text).digest('hex')

/** The copy with other rows in a table, and checksums that agree, as a person makes them who can write the file. */
function forged(name: string, change: (rows: readonly string[]) => readonly string[], head?: object): Buffer {
  const [first, ...lines] = linesOf(copy)
  const tables: { head: string; rows: string[] }[] = []
  for (const line of lines.slice(0, -2))
    if (line.startsWith('{"table"')) tables.push({ head: line, rows: [] })
    else if (line.startsWith('[')) tables.at(-1)!.rows.push(line)
  const isNamed = ({ head }: Table) => (JSON.parse(head) as { table: string }).table === name
  if (name) expect(tables.some(isNamed)).toBe(true)
  const written = [`${JSON.stringify({ ...(JSON.parse(first!) as object), ...head })}\n`]
  const texts = [...written]
  let count = 0
  for (const table of tables) {
    const kept = isNamed(table) ? change(table.rows) : table.rows
    if (isNamed(table)) expect(kept).not.toEqual(table.rows)
    const text = kept.map((row) => `${row}\n`).join('')
    const end = `${JSON.stringify({ rows: kept.length, sha256: sha256(text) })}\n`
    written.push(`${table.head}\n`, end)
    texts.push(`${table.head}\n`, text, end)
    count += kept.length
  }
  texts.push(`${JSON.stringify({ tables: tables.length, rows: count, sha256: sha256(written.join('')) })}\n`)
  return gzipSync(texts.join(''))
}

/** The copy with another first row in a table, and the checksums that it had before. */
function damaged(name: string, change: (rows: readonly string[]) => readonly string[]): Buffer {
  const lines = linesOf(copy)
  const at = 1 + lines.findIndex((line) => line.startsWith(`{"table":"${name}"`))
  const [row = ''] = change([lines[at]!])
  expect(row).not.toBe(lines[at]!)
  return gzipSync(lines.with(at, row).join('\n'))
}

/** A row with another value in one of its columns. */
const put =
  (column: number, value: (text: string) => string) =>
  ([row, ...others]: readonly string[]) => {
    const values = JSON.parse(row!) as string[]
    return [JSON.stringify(values.with(column, value(values[column]!))), ...others]
  }
const without = ([, ...others]: readonly string[]) => others
const flip = (digit: number) => (text: string) =>
  text.slice(0, digit) + (Number.parseInt(text[digit]!, 16) ^ 1).toString(16) + text.slice(digit + 1)

const refusals: [name: string, bytes: () => Buffer, refusal: RegExp][] = [
  [
    'a changed block, and its old checksum',
    () => damaged('archived_references_1', put(7, flip(40))),
    /the rows of archived_references_1 are not those/,
  ],
  [
    'a changed block',
    () => forged('archived_references_1', put(7, flip(40))),
    /period 1: its references in the database/,
  ],
  [
    'half a block',
    () =>
      forged(
        'archived_references_1',
        put(7, (text) => text.slice(0, 99)),
      ),
    /period 1: its references in the database/,
  ],
  ['a block less', () => forged('archived_references_1', without), /period 1: its references in the database/],
  [
    'another wallet of references',
    () =>
      forged(
        'archived_wallet_ids_2',
        put(1, (t) => t.replace(/[0-9a-f]/, 'f')),
      ),
    /period 2: its wallets in the/,
  ],
  [
    'a changed filter',
    () =>
      forged(
        'closed_references',
        put(2, (text) => `${text.slice(0, -1)}${text.endsWith('0') ? 1 : 0}`),
      ),
    /period 1: the filter of its references is not/,
  ],
  ['no last entry', () => forged('archived_entries_2', without), /period 2: its last entries in the/],
  [
    'other sums',
    () =>
      forged(
        'archived_sums_2',
        put(2, (text) => `${text}1`),
      ),
    /period 2: its sums in the/,
  ],
  [
    'a block that is none',
    () =>
      forged(
        'archived_references_1',
        put(7, () => 'xyz'),
      ),
    /the rows of archived_references_1 are/,
  ],
  ['half a filter', () => forged('closed_references', without), /its archived periods are not those/],
  ['a closing less', () => forged('closings', without), /are not those/],
  ['an archived period less', () => forged('archives', without), /its archived periods are not those/],
  ['a head that names fewer periods', () => forged('', without, { archived: [1] }), /no table archived_entries_2/],
  [
    'a head that names no number',
    () => forged('', without, { archived: ['1; drop table users'] }),
    /names no archived/,
  ],
  ['a head that names nothing', () => forged('', without, { archived: undefined }), /names no archived periods/],
  [
    'the format of a version to come',
    () => forged('', without, { format: 'billfold copy 3' }),
    /another version of Bi/,
  ],
  ['the format without archives', () => forged('', without, { format: 'billfold copy 1' }), /no table closings with/],
  ['half the bytes', () => copy.subarray(0, copy.length / 2), /damaged|cut short/],
]

/** With the faults that it names. */
async function refusalOf(connection: Connection, bytes: Buffer): Promise<string> {
  const faults: string[] = []
  return await restore(connection, bytes, { onFault: ({ message }) => void faults.push(message) }).then(
    () => 'it was accepted',
    (error: Error) => [`${error.name}: ${error.message}`, ...faults].join('\n'),
  )
}

describe('nothing is imported of a copy', () => {
  let empty: TestDatabase
  beforeAll(async () => (empty = await testDatabase()))
  afterAll(async () => await empty.drop())

  for (const [name, bytes, refusal] of refusals)
    test(`with ${name}`, async () => {
      expect(await refusalOf(empty.connection, bytes())).toMatch(new RegExp(`^CopyRefused: .*${refusal.source}`, 's'))
      const client = await openClient(empty.connection, { name: 'test' })
      const { rows: left } = await client.query(
        `select relname from pg_class where relname ~ '^archived_.*\\d' union all select email from users`,
      )
      await client.end()
      expect(left).toEqual([])
    })

  test('into a database of a cluster over which the ledger is not distributed yet', async () => {
    const target = isOnCluster ? await emptyDatabase() : empty
    if (!isOnCluster)
      await asSuperuser(
        target.connection,
        `set allow_system_table_mods = on; create table pg_catalog.pg_dist_local_group as select 0 as groupid;
        create table pg_catalog.pg_dist_shard (shardid int, logicalrelid oid);
        grant select on pg_dist_local_group, pg_dist_shard to public;
        insert into pg_extension (oid, extname, extowner, extnamespace, extrelocatable, extversion) select 99999, 'citus', 10, 11, false, '0'`,
      )
    expect(await refusalOf(target.connection, copy)).toContain('Distribute this empty database first')
    if (isOnCluster) await target.drop()
  })
})

// A database of the coordinator that has no Citus is as on plain PostgreSQL.
test.skipIf(!isOnCluster)(
  'a copy of a cluster is the same on plain PostgreSQL, which refuses to be distributed with archived periods, and its copy is imported into a cluster',
  async () => {
    const name = `copy_${crypto.randomUUID().replaceAll('-', '')}`
    const { pool } = bench.service.db
    await pool.query(`create database ${name}`)
    const url = new URL(bench.service.db.connection.connectionString!)
    url.pathname = `/${name}`
    const plain = { connectionString: url.href }
    const { verified } = await restore(plain, copy)
    expect(verified).toEqual(await verifyBooks(bench.service.db.connection))
    const again = await exported(plain)
    expect(linesOf(again)).toEqual(linesOf(copy))

    const client = await openClient(plain, { name: 'test' })
    const relationsSql = `select relname, relkind from pg_class where relnamespace = 'public'::regnamespace and relname !~ '^citus_' order by 1`
    const { rows: before } = await client.query(relationsSql)
    await client.query('create extension citus')
    expect(await distribute(client).then(String, String)).toContain(
      'Archived periods stay archived there, and the other closed ones are open again. Nothing was changed.',
    )
    expect((await client.query(relationsSql)).rows).toEqual(before)
    await client.end()

    const empty = await testDatabase()
    expect((await restore(empty.connection, again)).verified).toEqual(verified)
    await empty.drop()
    await dropDatabase(pool, name)
  },
)

test('a fault that is accepted is named by every verification', async () => {
  const empty = await testDatabase()
  const { verified } = await restore(empty.connection, forged('archived_references_1', put(7, flip(40))), {
    acceptsFaults: true,
  })
  expect(verified.faults).toBe(1)
  await empty.drop()
})
