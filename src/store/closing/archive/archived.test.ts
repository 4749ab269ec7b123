/** A closed period whose rows are in files: what it answered it still answers, nothing reads as if it had never been, and it comes back as it was. */
import { afterAll, beforeAll, describe, expect, setDefaultTimeout, test } from 'bun:test'
import { cp, readFile, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { zstdCompressSync, zstdDecompressSync } from 'node:zlib'
import { verifyProof } from '../../../../sdk/verify.ts'
import { expectDone, openArchiveBench, rowsOf, type ArchiveBench } from '../../../../test/archived-period.ts'
import type { Reply } from '../../../../test/client.ts'
import { callCommand } from '../../../../test/command.ts'
import { holdClient, holdOf } from '../../../../test/holds.ts'
import { queryEach, sealAll } from '../../../../test/sealed-books.ts'
import { newUser, type TestUser } from '../../../../test/service.ts'
import { checkBooks } from '../../../actions/money/check-books.ts'
import { describeSchema } from '../../migrations/schema.ts'
import type { Manifest } from './archive-file.ts'

setDefaultTimeout(180_000)

let bench: ArchiveBench
let ann: TestUser
let bob: TestUser
let cid: TestUser
let calls: Record<string, () => Promise<Reply>>
let before: Map<string, unknown>
let rows: string[]
let schema: string

const answered = ({ status, body }: Reply) => ({ status, ...body, replayed: undefined, requestId: undefined })
const answers = async () => {
  const found = new Map<string, unknown>()
  for (const [name, call] of Object.entries(calls)) found.set(name, answered(await call()))
  return found
}

beforeAll(async () => {
  bench = await openArchiveBench()
  const { service, client, credentials } = bench
  const holder = holdClient(client, credentials)
  ann = await newUser(service, credentials)
  bob = await newUser(service, credentials)
  cid = await newUser(service, credentials)
  const su = ann.serviceUserId
  await client.credit(su, 500, 'first')
  const held = holdOf(await holder.place(su, 10, { referenceId: 'kept-hold' }))
  const list = (ids: readonly string[]) =>
    ids.map((referenceId) => ({
      serviceUserId: su,
      amount: 3,
      referenceType: 'ORDER',
      referenceId,
      direction: 'debit',
    }))
  calls = {
    debit: () => client.debit(su, 5, 'kept-debit'),
    credit: () => client.credit(su, 7.25, 'kept-credit'),
    refusal: () => client.debit(su, 500_000, 'kept-refusal'),
    'a refusal of a wallet without entries': () => client.debit(cid.serviceUserId, 1, 'kept-refusal-of-cid'),
    capture: () => holder.capture(held.id, { amount: 4, referenceType: 'ORDER', referenceId: 'kept-capture' }),
    hold: () => holder.place(su, 10, { referenceId: 'kept-hold' }),
    'a hold by its id': () => holder.read(held.id),
    'of another user': () => client.debit(bob.serviceUserId, 5, 'kept-debit'),
    'of another amount': () => client.debit(su, 6, 'kept-debit'),
    'of another direction': () => client.credit(su, 5, 'kept-debit'),
    list: () =>
      client.post('/api/server/wallet/bulk', { ...credentials, operations: list(['list-1', 'list-2', 'list-3']) }),
  }
  await answers()
  // More than a block, and more than a page of a tree.
  for (let i = 0; i < 300; i += 20) {
    const ids = Array.from({ length: 20 }, () => crypto.randomUUID())
    const operations = list(ids).map((operation, j) => ({ ...operation, amount: 0.01 * (1 + ((i + j) % 90)) }))
    await client.post('/api/server/wallet/bulk', { ...credentials, operations })
  }
  await client.credit(bob.serviceUserId, 20, 'bobs')
  await bench.close()
  before = await answers()
  rows = await rowsOf(bench.query, 1)
  schema = await describeSchema(service.db.pool)
  expectDone(await bench.write(1))
})
afterAll(async () => await bench.stop())

const read = async (path: string, fields: Record<string, string>) => await bench.client.get(path, fields)

const manifestIn = async (copy: string) => JSON.parse(await readFile(join(copy, 'period-1.json'), 'utf8')) as Manifest

const write = (copy: string, manifest: object) => writeFile(join(copy, 'period-1.json'), JSON.stringify(manifest))

const proofOf = (fields: Record<string, string>) => read('/api/server/proof', { referenceType: 'ORDER', ...fields })

describe('a period that is dropped', () => {
  test('needs the events of its entries to be gone, its holds ended, its new links searched, and its books without a problem', async () => {
    const { query, drop } = bench
    const refused = async (make: string, undo: string) => {
      await query(make)
      const { exitCode, said } = await drop(1)
      await query(undo)
      expect(exitCode).toBe(1)
      return said
    }
    const journal = `insert into journal (writer, client_id, fact, at, link_ids, sequences)
      values (0, '${bench.credentials.clientId}', 'wallet.frozen', now() - interval '1 day', array['${ann.serviceUserId.slice(3)}']::uuid[], '{}')`
    expect(await refused(journal, 'delete from journal')).toContain('can still read events')
    const open = `create table kept as select * from holds;
      update holds set closed_at = null, is_closed = false, ended_by = null, released = 0`
    const shut = `update holds h set closed_at = k.closed_at, is_closed = k.is_closed, ended_by = k.ended_by, released = k.released
      from kept k where k.id = h.id; drop table kept`
    expect(await refused(open, shut)).toContain('a hold that is still open')
    const link = `insert into new_links (link_id, user_id, client_id, looked_to, look_at)
      values ('${ann.serviceUserId}', '${ann.userId}', '${bench.credentials.clientId}', 3, 'infinity')`
    expect(await refused(link, 'delete from new_links')).toContain('first payments of new links')
    const problem = `update books_check set problems = '[{"check":"entry-time"}]'`
    expect(await refused(problem, `update books_check set problems = '[]'`)).toContain('has found problems')
    // The database may be a copy of one that was migrated hours ago.
    const upgraded = `update billfold_migrations set applied_at = case when name like '%archives' then now() else now() - interval '1 year' end`
    expect(await refused(upgraded, 'update billfold_migrations set applied_at = now()')).toContain(
      'within the last hour',
    )
    const filter = 'create table kept as select * from closed_references; delete from closed_references'
    const unfilter = 'insert into closed_references select * from kept; drop table kept'
    expect(await refused(filter, unfilter)).toContain('no filter of its references')
    const unseal = 'update wallet_heads set size = 1, peaks = substring(peaks from 1 for 32)'
    await query('create table heads as select * from wallet_heads')
    const reseal = 'delete from wallet_heads; insert into wallet_heads select * from heads; drop table heads'
    expect(await refused(unseal, reseal)).toContain('are not all sealed yet')
    expect(await rowsOf(query, 1)).toEqual(rows)
  })

  test('needs its own files, whole', async () => {
    const { folder, drop } = bench
    const changed = async (change: (copy: string) => Promise<unknown>) => {
      const copy = `${folder}-copy`
      await cp(folder, copy, { recursive: true })
      await change(copy)
      const { exitCode, said } = await drop(1, copy)
      await rm(copy, { recursive: true })
      expect(exitCode).toBe(1)
      return said
    }
    const entries = 'period-1.entries.jsonl.zst'
    expect(await changed((copy) => rm(join(copy, 'period-1.json')))).toContain('cannot be read')
    expect(await changed((copy) => rm(join(copy, entries)))).toContain('cannot be read')
    const flip = async (copy: string) => {
      const bytes = await readFile(join(copy, entries))
      bytes[100]! ^= 1
      await writeFile(join(copy, entries), bytes)
    }
    expect(await changed(flip)).toMatch(/cannot be read|is not/)
    // As one would who hides a change of an amount.
    const forge = async (copy: string) => {
      const text = zstdDecompressSync(await readFile(join(copy, entries))).toString()
      const bytes = zstdCompressSync(text.replace('[725,', '[726,'))
      await writeFile(join(copy, entries), bytes)
      const manifest = await manifestIn(copy)
      const sha256 = new Bun.CryptoHasher('sha256').update(bytes).digest('hex')
      await write(copy, { ...manifest, entries: { ...manifest.entries, bytes: bytes.length, sha256 } })
    }
    expect(await changed(forge)).toContain('is not what the rows of the period make')
    const ofAnother = await changed(
      async (copy) => await write(copy, { ...(await manifestIn(copy)), closedAt: new Date(0).toISOString() }),
    )
    expect(ofAnother).toContain('those of another period')
    const recounted = await changed(async (copy) => await write(copy, { ...(await manifestIn(copy)), wallets: 9 }))
    expect(recounted).toContain('other counts or sums')
    expect((await drop(2)).said).toContain('cannot be read')
    expect(await rowsOf(bench.query, 1)).toEqual(rows)
  })

  test('answers every reference as before, and moves no money', async () => {
    const exact = await bench.verify()
    expect(exact.faults).toEqual([])
    expectDone(await bench.drop(1))
    expect(await bench.query(`select 1 from pg_class where relname like 'closed_transfers%'`)).toEqual([])
    expect(await answers()).toEqual(before)
    expect(await bench.verify()).toEqual(exact)
    const said = await bench.drop(1)
    expect([said.exitCode, said.said]).toEqual([1, expect.stringContaining('are in files')])
    const audited = await bench.query(
      `select subject, detail->>'sha256' as sha256 from audit where action = 'period.archive'`,
    )
    expect(audited).toEqual(await bench.query(`select 'period:' || closing_id as subject, sha256 from archives`))
  })

  test('is verified with what follows it, by the command and by the continuous check', async () => {
    const { client, service, query, verify } = bench
    const { transfers } = await verify()
    await client.debit(ann.serviceUserId, 2, 'after-1')
    await client.credit(bob.serviceUserId, 2, 'after-2')
    await client.credit(cid.serviceUserId, 9, 'after-3')
    await sealAll(service)
    expect(await verify()).toMatchObject({ faults: [], transfers: transfers + 3 })
    await query(`update books_check set next_slice_at = now(), cursor = null, rewrites = null`)
    const [round] = await query<{ at: Date | null }>('select last_round_at as at from books_check')
    await checkBooks(service)
    const [after] = await query<{ at: Date; problems: unknown[] }>(
      'select last_round_at as at, problems from books_check',
    )
    expect(after!.problems).toEqual([])
    expect(after!.at).not.toEqual(round!.at)
    // A wallet without a checkpoint is checked from its last archived entry.
    await query('delete from verified_wallets')
    await sealAll(service)
    expect((await query<{ problems: unknown[] }>('select problems from books_check'))[0]!.problems).toEqual([])
  })

  test('a change of what stays in the database is named', async () => {
    const { query, verify } = bench
    const each = (statements: string) => queryEach(bench.service.db.pool, statements)
    const changes: [table: string, change: string, undo: string, named: RegExp][] = [
      ['entries', `balance_after = balance_after + 1`, `balance_after = balance_after - 1`, /its last entries/],
      ['entries', `peaks = overlay(peaks placing '\\x00' from 1)`, '', /its last entries|sealed|wallet/],
      ['sums', 'debited = debited + 1', 'debited = debited - 1', /its sums/],
      ['references', 'keys = keys - 1', 'keys = keys + 1', /its references/],
      ['wallet_ids', 'part = part + 1', 'part = part - 1', /its wallets/],
    ]
    for (const [name, change, undo, named] of changes) {
      const table = `archived_${name}_1`
      expect(await query(`update ${table} set ${change}`).catch((error: Error) => error.message)).toContain(
        'append-only',
      )
      await each(
        `create table kept as select * from ${table}; alter table ${table} disable trigger user; update ${table} set ${change}`,
      )
      const { faults } = await verify()
      if (undo) await query(`update ${table} set ${undo}`)
      else await each(`delete from ${table}; insert into ${table} select * from kept`)
      await each(`drop table kept; alter table ${table} enable trigger user`)
      expect([change, faults.join('\n')]).toEqual([change, expect.stringMatching(named)])
    }
    expect((await verify()).faults).toEqual([])
  })

  test('a new entry has its proof, with one that continues from before; of an archived one the answer says where it is', async () => {
    const found = await proofOf({ referenceId: 'after-1' })
    const { proof, key } = found.body as { proof: string; key: string }
    expect(await verifyProof(proof, { keys: [key] })).toMatchObject({ ok: true })
    const [{ sequence } = { sequence: 0 }] = await bench.query<{ sequence: number }>(
      `select sequence::float8 as sequence from archived_wallets where wallet_id = $1`,
      [ann.userId],
    )
    expect((await proofOf({ referenceId: 'after-1', since: String(sequence + 1) })).status).toBe(200)
    const archived = {
      status: 404,
      body: { code: 'NOT_FOUND', error: expect.stringContaining('in the archive') as string },
    }
    expect(await proofOf({ referenceId: 'kept-debit' })).toMatchObject(archived)
    expect(await proofOf({ referenceId: 'after-1', since: '3' })).toMatchObject(archived)
    expect((await proofOf({ referenceId: 'never-used' })).body['error']).not.toContain('archive')
    expect((await proofOf({ referenceId: 'kept-refusal' })).body['error']).not.toContain('archive')
  })
})

describe('a period that is restored', () => {
  test('needs the files that were archived', async () => {
    const other = `${bench.folder}-other`
    await cp(bench.folder, other, { recursive: true })
    const manifest = JSON.parse(await readFile(join(other, 'period-1.json'), 'utf8')) as Manifest
    await writeFile(join(other, 'period-1.json'), JSON.stringify({ ...manifest, wallets: 9 }))
    expect((await bench.restore(1, other)).said).toContain('These are not the files of the archived period')
    await cp(join(bench.folder, 'period-1.json'), join(other, 'period-1.json'))
    await rm(join(other, 'period-1.outcomes.jsonl.zst'))
    expect((await bench.restore(1, other)).said).toContain('cannot be read')
    await rm(other, { recursive: true })
    expect((await bench.verify()).faults).toEqual([])
  })

  test('has exactly the rows it had, and everything is as before', async () => {
    const { transfers } = await bench.verify()
    expectDone(await bench.restore(1))
    expect(await rowsOf(bench.query, 1)).toEqual(rows)
    expect(await describeSchema(bench.service.db.pool)).toBe(schema)
    expect(await bench.verify()).toMatchObject({ faults: [], transfers })
    expect(await answers()).toEqual(before)
    const left = `select relname from pg_class where relname ~ '^(archived|restored)_.*_1'`
    expect(await bench.query(left)).toEqual([])
    expect((await bench.restore(1)).said).toContain('is not archived')
    // The same files again. The filter is built again too.
    const filter = await bench.query('select * from closed_references')
    await bench.query('update closed_references set bytes = set_byte(bytes, 0, get_byte(bytes, 0) # 255)')
    expectDone(await bench.drop(1))
    expect(await bench.query('select * from closed_references')).toEqual(filter)
    expect(await answers()).toEqual(before)
  })

  test('is named by doctor, with the way to a filter that is missing', async () => {
    const doctor = async () => (await callCommand(['doctor'], bench.environment)).stdout
    expect(await doctor()).toContain('One period is closed, and in files: keep those files, and their copies.')
    await bench.query('create table kept as select * from closed_references; delete from closed_references')
    expect(await doctor()).toContain('npx billfold archive restore, and then npx billfold period index.')
    const { exitCode, stderr } = await callCommand(['period', 'index'], bench.environment)
    expect([exitCode, stderr]).toEqual([1, expect.stringContaining('archive restore 1 --from FOLDER')])
    // It costs time, and changes no answer.
    expect(await answers()).toEqual(before)
    await bench.query('insert into closed_references select * from kept; drop table kept')
  })

  test('is the newest of several, and the next one goes on where it ends', async () => {
    await bench.close()
    expectDone(await bench.write(2))
    await bench.client.debit(bob.serviceUserId, 1, 'open-again')
    await bench.close()
    expectDone(await bench.write(3))
    expect((await bench.drop(3)).said).toContain('Archive period 2 first')
    expectDone(await bench.drop(2))
    expectDone(await bench.drop(3))
    const exact = await bench.verify()
    expect(exact.faults).toEqual([])
    expect(await answers()).toEqual(before)
    await bench.client.debit(ann.serviceUserId, 1, 'after-three')
    await sealAll(bench.service)
    expect((await bench.verify()).faults).toEqual([])
    expect((await bench.restore(1)).said).toContain('Restore period 3 first')
    for (const period of [3, 2, 1]) expectDone(await bench.restore(period))
    expect(await rowsOf(bench.query, 1)).toEqual(rows)
    expect(await bench.verify()).toMatchObject({ faults: [], transfers: exact.transfers + 1 })
  })
})
