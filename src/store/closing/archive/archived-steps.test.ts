/** A drop and a restore beside debits, beside readers, and killed at each of their steps. */
import { afterAll, beforeAll, describe, expect, setDefaultTimeout, test } from 'bun:test'
import { expectDone, openArchiveBench, rowsOf, type ArchiveBench } from '../../../../test/archived-period.ts'
import { eventually } from '../../../../test/eventually.ts'
import { newUsers, operator, type TestUser } from '../../../../test/service.ts'
import { archivePeriod } from '../../../actions/money/archive-period.ts'
import { verifyBooks } from '../../verify/verify.ts'
import { openClient } from '../../connection/servers.ts'
import { createReadStream } from 'node:fs'
import { readFile } from 'node:fs/promises'
import { join } from 'node:path'

setDefaultTimeout(240_000)

const root = new URL('../../../../', import.meta.url).pathname

let bench: ArchiveBench
let users: TestUser[]
let rows: string[]

beforeAll(async () => {
  bench = await openArchiveBench()
  users = await newUsers(bench.service, bench.credentials, 8)
  for (const [i, { serviceUserId }] of users.entries()) {
    await bench.client.credit(serviceUserId, 100, `credit-${i}`)
    for (let j = 0; j < 5; j++) await bench.client.debit(serviceUserId, 1, `closed-${i}-${j}`)
  }
  await bench.close()
  rows = await rowsOf(bench.query, 1)
  expectDone(await bench.write(1))
})
afterAll(async () => await bench.stop())

/** The command as a process. */
function start(what: 'drop' | 'restore') {
  const { PATH = '', HOME = '' } = process.env
  return Bun.spawn([process.execPath, 'src/cli.ts', 'archive', what, '1', '--from', bench.folder], {
    cwd: root,
    env: { PATH, HOME, ...bench.environment },
    stdout: 'ignore',
    stderr: 'pipe',
  })
}

const isArchived = async () => (await bench.query('select 1 from archives')).length > 0
const backends = `from pg_stat_activity where application_name = 'billfold archive' and datname = current_database()`

/** All of the period is there, in either place: its references are answered, and the books are exact. */
async function expectWhole(): Promise<void> {
  const balances = await Promise.all(users.map(({ serviceUserId }) => bench.client.balance(serviceUserId)))
  for (const [i, { serviceUserId }] of users.entries())
    expect((await bench.client.debit(serviceUserId, 1, `closed-${i}-3`)).body['replayed']).toBe(true)
  expect(await Promise.all(users.map(({ serviceUserId }) => bench.client.balance(serviceUserId)))).toEqual(balances)
  expect((await bench.verify()).faults).toEqual([])
}

/** Kills the command while it waits for this lock, and then lets the lock go. */
async function killAt(what: 'drop' | 'restore', lock: string): Promise<void> {
  const holder = await openClient(bench.service.db.connection, {
    name: 'test',
    settings: { idle_in_transaction_session_timeout: '0' },
  })
  await holder.query('begin')
  await holder.query(lock)
  const child = start(what)
  await eventually(
    async () => (await bench.query(`select 1 ${backends} and wait_event_type = 'Lock'`)).length > 0,
    true,
  )
  child.kill('SIGKILL')
  await child.exited
  await holder.query('rollback')
  await holder.end()
  await eventually(async () => (await bench.query(`select 1 ${backends}`)).length === 0, true)
}

const leftOf = (table: string) =>
  `create table if not exists ${table} (x integer); lock table ${table} in access exclusive mode`

/** Debits, repeats of closed references and verifications, until the work is done. */
async function beside<T>(work: Promise<T>): Promise<T> {
  const state = { isDone: false }
  const settled = work.finally(() => (state.isDone = true))
  settled.catch(() => {})
  const client = async (user: TestUser, i: number) => {
    for (let n = 0; !state.isDone || n === 0; n++) {
      const id = crypto.randomUUID()
      expect((await bench.client.credit(user.serviceUserId, 1, id)).status).toBe(200)
      expect((await bench.client.debit(user.serviceUserId, 1, `${id}-back`)).status).toBe(200)
      expect((await bench.client.debit(user.serviceUserId, 1, `closed-${i}-${n % 5}`)).body['replayed']).toBe(true)
    }
  }
  const verify = async () => {
    const found: string[] = []
    while (!state.isDone)
      await verifyBooks(bench.service.db.connection, { onFault: ({ message }) => void found.push(message) })
    expect(found).toEqual([])
  }
  await Promise.all([...users.map(client), verify()])
  return await settled
}

describe('an archived period', () => {
  const dropSteps: Record<string, string> = {
    'while it compares the files': 'lock table closed_transfers_1 in access exclusive mode',
    'while it packs the references': leftOf('archived_references_1'),
    'while it carries the trees': leftOf('archived_entries_1'),
    'while it adds up the sums': leftOf('archived_sums_1'),
    'at the exchange': 'lock table closings in access share mode',
  }
  for (const [step, lock] of Object.entries(dropSteps))
    test(`a drop killed ${step} leaves the period whole`, async () => {
      await killAt('drop', lock)
      await expectWhole()
      if (!(await isArchived())) expect(await rowsOf(bench.query, 1)).toEqual(rows)
      else expectDone(await bench.restore(1))
    })

  test('a drop waits for a reader, and gives up with a sentence', async () => {
    const { connection } = bench.service.db
    const reader = await openClient(connection, {
      name: 'a reader',
      settings: { idle_in_transaction_session_timeout: '0' },
    })
    await reader.query('begin transaction isolation level repeatable read; lock table closings in access share mode')
    const before = await reader.query('select count(*) from all_transfers')
    const refused = archivePeriod(connection, operator, 1, {
      currency: 'USD',
      manifest: await readFile(join(bench.folder, 'period-1.json'), 'utf8'),
      openFile: (name) => createReadStream(join(bench.folder, name)),
      attempts: 2,
    })
    expect(await refused.catch((error: Error) => error.message)).toContain('"a reader"')
    expect((await reader.query('select count(*) from all_transfers')).rows).toEqual(before.rows)
    await reader.query('rollback')
    await reader.end()
    expect(await rowsOf(bench.query, 1)).toEqual(rows)
  })

  const restoreSteps: Record<string, string> = {
    'while it loads the entries': leftOf('restored_transfers_1'),
    'at the exchange': 'lock table closings in access share mode',
  }
  for (const [step, lock] of Object.entries(restoreSteps))
    test(`a restore killed ${step} leaves the period whole`, async () => {
      if (!(await isArchived())) expectDone(await bench.drop(1))
      await killAt('restore', lock)
      await expectWhole()
    })

  test('debits, repeats and verifications go on beside a drop and a restore of another process', async () => {
    if (await isArchived()) expectDone(await bench.restore(1))
    const balances = await Promise.all(users.map(({ serviceUserId }) => bench.client.balance(serviceUserId)))
    for (const what of ['drop', 'restore'] as const) {
      const child = start(what)
      const said = new Response(child.stderr).text()
      const exitCode = await beside(child.exited)
      expect([what, exitCode, exitCode === 0 ? '' : await said]).toEqual([what, 0, ''])
      await expectWhole()
    }
    expect(await rowsOf(bench.query, 1)).toEqual(rows)
    expect(await Promise.all(users.map(({ serviceUserId }) => bench.client.balance(serviceUserId)))).toEqual(balances)
  })
})
