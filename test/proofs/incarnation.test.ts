/** A database that goes back or moves goes on under another name, and its log says so. Real servers. */
import { afterEach, expect, setDefaultTimeout, test } from 'bun:test'
import { createReadStream, createWriteStream } from 'node:fs'
import { mkdtemp, readdir, readFile, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { incarnationLeaf } from '../../src/proof/incarnation-leaf.ts'
import { parseCheckpoint, parseNote } from '../../sdk/verify/note.ts'
import { isConsistent, rootFromLeaf } from '../../sdk/verify/tree.ts'
import { verifyProof } from '../../sdk/verify.ts'
import { checkBooks } from '../../src/actions/money/check-books.ts'
import { readPublicKey } from '../../src/actions/proofs/checkpoint.ts'
import { describeLog } from '../../src/actions/proofs/describe-log.ts'
import { proveEntry } from '../../src/actions/proofs/prove-entry.ts'
import { publishEverywhere } from '../../src/actions/proofs/publish.ts'
import { verifyIncarnations, verifyLog } from '../../src/actions/proofs/verify-log.ts'
import { closeService, openService, type Service } from '../../src/actions/service.ts'
import { buildApp } from '../../src/app.ts'
import { parseConfig } from '../../src/config.ts'
import { openLog } from '../../src/platform/log.ts'
import { openMetrics } from '../../src/platform/metrics.ts'
import { consistencyParts, hashLeaf, inclusionParts } from '../../src/proof/merkle.ts'
import { openDatabase, type Connection } from '../../src/store/connection/database.ts'
import { exportBooks } from '../../src/store/copy/export.ts'
import { importBooks } from '../../src/store/copy/import.ts'
import { startEmbedded } from '../../src/store/embedded/embedded.ts'
import { listIncarnations } from '../../src/store/proofs/incarnations.ts'
import { readLogParts, type StoredCheckpoint } from '../../src/store/proofs/proof-log.ts'
import { migrate } from '../../src/store/migrations/migrate.ts'
import { newClient } from '../client.ts'
import { testDatabase } from '../postgres.ts'
import { newestSigned, queryEach, withTampered } from '../sealed-books.ts'
import { newApp, newUser, secretsKey, type TestUser } from '../service.ts'
import { onServer, startPair } from '../standby.ts'
import { logOf, newestOf, sealNow } from './seal-now.ts'

setDefaultTimeout(300_000)

const ends: (() => Promise<unknown>)[] = []
afterEach(async () => {
  for (const end of ends.splice(0).reverse()) await end()
})

async function makeFolder(): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), 'billfold-incarnation-'))
  ends.push(() => rm(folder, { recursive: true, force: true }))
  return folder
}

async function open(connection: Connection, more: Record<string, string> = {}) {
  const config = parseConfig({ DEMO: '0', LOG_LEVEL: 'silent', SECRETS_KEY: secretsKey, ...more })
  const log = openLog(config.logLevel, () => {})
  const db = openDatabase(connection)
  const service = openService({ config, db, log, metrics: openMetrics(), now: () => new Date() })
  const close = async () => {
    await closeService(service)
    await db.pool.end()
  }
  return { service, close }
}

async function pay(service: Service): Promise<TestUser> {
  const app = await newApp(service)
  const user = await newUser(service, app)
  const client = newClient(buildApp(service).fetch, app)
  expect((await client.credit(user.serviceUserId, 5)).status).toBe(200)
  return user
}

const rootsOf = ({ note }: StoredCheckpoint) => parseCheckpoint(parseNote(note)!.text)!

/** The later state begins with all leaves of the earlier one. */
async function isContinued(service: Service, earlier: StoredCheckpoint, later: StoredCheckpoint): Promise<boolean> {
  const path = await readLogParts(service.db.pool, consistencyParts(earlier.size, later.size))
  return await isConsistent({ earlier: rootsOf(earlier), later: rootsOf(later), path })
}

/** The leaf that names the incarnation is in the signed log. */
async function isAnnounced(service: Service, signed: StoredCheckpoint): Promise<boolean> {
  const [{ number, id, previous, reason, note } = never()] = await listIncarnations(service.db.pool, 1)
  const last = note === null ? null : parseCheckpoint(parseNote(note)!.text)
  const path = await readLogParts(service.db.pool, inclusionParts(number, signed.size))
  const leaf = hashLeaf(incarnationLeaf({ id, previous, reason, last }))
  const root = await rootFromLeaf(leaf, { index: number, size: signed.size, path })
  return root !== null && Buffer.compare(root, rootsOf(signed).root) === 0
}

function never(): never {
  throw new Error('there is no incarnation')
}

async function expectProven(service: Service, { userId }: TestUser): Promise<void> {
  const proof = await proveEntry(service, { walletId: userId, sequence: 1 })
  if (proof.kind !== 'proof') throw new Error(proof.kind)
  const keys = [await readPublicKey(service, await logOf(service))]
  expect(await verifyProof(proof.file, { keys })).toMatchObject({ ok: true })
}

/** Neither the comparison with the newest checkpoint nor the continuous check finds one. */
async function expectNoFault(service: Service): Promise<void> {
  expect(await Array.fromAsync(verifyLog(service.db.pool, await newestSigned(service), 'USD'))).toEqual([])
  expect(await problemsOf(service)).toEqual([])
}

/** What the continuous check finds in a whole comparison from now on. */
async function problemsOf(service: Service) {
  const { pool } = service.db
  await pool.query('update books_check set log_cursor = null, log_checked_at = null')
  const hasCompared = async () => {
    await pool.query('update books_check set next_log_at = now()')
    await checkBooks(service)
    return (await pool.query('select 1 from books_check where log_checked_at is not null')).rows.length === 1
  }
  while (!(await hasCompared())) await Bun.sleep(20)
  return (await pool.query<{ problems: object[] }>('select problems from books_check')).rows[0]!.problems
}

test('a restart is no other incarnation', async () => {
  const database = await testDatabase()
  ends.push(database.drop)
  const first = await open(database.connection)
  await pay(first.service)
  const before = await sealNow(first.service)
  await first.close()
  const { service, close } = await open(database.connection)
  ends.push(close)
  await pay(service)
  const after = await sealNow(service)
  expect(after.origin).toBe(before.origin)
  expect(await listIncarnations(service.db.pool, 9)).toEqual([])
  expect(await isContinued(service, before, after)).toBeTrue()
})

test('a failover that loses nothing goes on under another name, and continues what was signed', async () => {
  const pair = await startPair()
  ends.push(pair.close)
  const { service, close } = await open({ ...pair.primary, others: [pair.standby] })
  ends.push(close)
  const user = await pay(service)
  const before = await sealNow(service)
  const { id } = await logOf(service)
  await expectProven(service, user)
  await pair.failOver()
  const after = await retried(() => sealNow(service))
  expect(after.origin).not.toBe(before.origin)
  expect(await listIncarnations(service.db.pool, 9)).toMatchObject([
    { previous: id, reason: 'moved', note: before.note, number: before.size },
  ])
  expect(await isContinued(service, before, after)).toBeTrue()
  expect(await isAnnounced(service, after)).toBeTrue()
  await expectProven(service, user)
  await expectNoFault(service)
  const audited = await service.db.pool.query(`select detail from audit where action = 'log.incarnation-began'`)
  expect(audited.rows).toMatchObject([{ detail: { previous: id, lastSignedSize: before.size } }])
  // Once.
  await sealNow(service)
  expect(await listIncarnations(service.db.pool, 9)).toHaveLength(1)
})

test('a failover to a standby that lacks a signed state names that state, if a target has it', async () => {
  const pair = await startPair()
  ends.push(pair.close)
  const folder = `${await makeFolder()}/`
  const { service, close } = await open(
    { ...pair.primary, others: [pair.standby] },
    {
      CHECKPOINTS: folder,
    },
  )
  ends.push(close)
  const user = await pay(service)
  const kept = await sealNow(service)
  await onServer(pair.asAdmin, async (client) => {
    await client.query(`alter system set synchronous_standby_names = ''`)
    await client.query('select pg_reload_conf()')
    while ((await client.query('show synchronous_standby_names')).rows[0].synchronous_standby_names !== '')
      await Bun.sleep(20)
  })
  pair.separate()
  await pay(service)
  const lost = await retried(() => sealNow(service))
  expect(await publishEverywhere(service)).toMatchObject([[{}, { kind: 'published', size: lost.size }]])
  await pair.failOver()
  // Another process, which has not read the folder yet.
  const second = await open(pair.standby, { CHECKPOINTS: folder })
  ends.push(second.close)
  const after = await retried(() => sealNow(second.service))
  expect(await listIncarnations(second.service.db.pool, 9)).toMatchObject([{ reason: 'moved', note: lost.note }])
  expect(await isAnnounced(second.service, after)).toBeTrue()
  expect(await isContinued(second.service, kept, after)).toBeTrue()
  await expectProven(second.service, user)
  expect(await publishEverywhere(second.service)).toMatchObject([[{}, { kind: 'published', size: after.size }]])
  expect(await readdir(folder)).toHaveLength(2)
})

test('a data folder that was put back is on the same timeline, and a published checkpoint shows it', async () => {
  const dataDir = await makeFolder()
  const kept = await makeFolder()
  const targets = `${await makeFolder()}/,${await makeFolder()}/newest.txt`
  /** The server runs while this does, and stops after it. */
  const run = async <T>(work: (service: Service) => Promise<T>): Promise<T> => {
    const embedded = await startEmbedded({ dataDir, log: () => {} })
    try {
      await onServer(embedded.connection, async (client) => await migrate(client))
      const { service, close } = await open(embedded.connection, { CHECKPOINTS: targets })
      try {
        return await work(service)
      } finally {
        await close()
      }
    } finally {
      await embedded.release()
    }
  }
  const first = await run(async (service) => ({ user: await pay(service), signed: await sealNow(service) }))
  await copyFolder(dataDir, kept)
  const lost = await run(async (service) => {
    await pay(service)
    const signed = await sealNow(service)
    await publishEverywhere(service)
    return signed
  })
  expect(lost.origin).toBe(first.signed.origin)
  await rm(dataDir, { recursive: true })
  await copyFolder(kept, dataDir)
  await run(async (service) => {
    await pay(service)
    const after = await sealNow(service)
    expect(await listIncarnations(service.db.pool, 9)).toMatchObject([{ reason: 'behind', note: lost.note }])
    expect(await isContinued(service, first.signed, after)).toBeTrue()
    expect(await isAnnounced(service, after)).toBeTrue()
    await expectProven(service, first.user)
    const newest = await newestOf(service)
    expect(await publishEverywhere(service)).toMatchObject(
      Array.from({ length: 2 }, () => [{}, { kind: 'published', size: newest.size }]),
    )
    const [folder, file] = targets.split(',')
    expect(await readFile(file!, 'utf8')).toBe(newest.note)
    // What was lost stays where it was published.
    expect(await readdir(folder!)).toHaveLength(2)
  })
})

test('a log that two services sign under two addresses has another name for each of them', async () => {
  const database = await testDatabase()
  ends.push(database.drop)
  const first = await open(database.connection, { PUBLIC_URL: 'http://one.test' })
  const second = await open(database.connection, { PUBLIC_URL: 'http://two.test' })
  ends.push(first.close, second.close)
  await pay(first.service)
  const { origin } = await sealNow(first.service)
  expect(await describeLog(first.service)).toMatchObject({ origin, otherOrigins: [] })
  await pay(first.service)
  const { origin: other } = await sealNow(second.service)
  expect(await describeLog(first.service)).toMatchObject({ origin, otherOrigins: [other] })
  expect(await describeLog(second.service)).toMatchObject({ origin: other, otherOrigins: [origin] })
  // The names that it had in other incarnations are no other names of this one.
  await first.service.db.pool.query('update log_state set key = null')
  await sealNow(first.service)
  expect(await describeLog(first.service)).toMatchObject({ otherOrigins: [] })
})

test('a lost key is replaced under another name', async () => {
  const database = await testDatabase()
  ends.push(database.drop)
  const { service, close } = await open(database.connection)
  ends.push(close)
  const user = await pay(service)
  const before = await sealNow(service)
  await service.db.pool.query('update log_state set key = null')
  const after = await sealNow(service)
  await expectProven(service, user)
  expect(after.origin).not.toBe(before.origin)
  expect(await listIncarnations(service.db.pool, 9)).toMatchObject([{ reason: 'key-lost', note: before.note }])
  expect(await isAnnounced(service, after)).toBeTrue()
})

test('a state that was made to look like an incarnation is a fault, and so is a changed incarnation', async () => {
  const database = await testDatabase()
  ends.push(database.drop)
  const { service, close } = await open(database.connection)
  ends.push(close)
  const user = await pay(service)
  await sealNow(service)
  await service.db.pool.query('update log_state set key = null')
  await sealNow(service)
  await expectNoFault(service)
  const faultsAfter = async (edit: string) =>
    await withTampered(service, async (db) => {
      await db.query(edit)
      return await Array.fromAsync(verifyLog(db, await newestSigned(service), 'USD'))
    })
  const hidden = `update log_leaves set kind = 'incarnation', subject = null where subject = '${user.userId}'`
  expect(await faultsAfter(hidden)).toEqual([{ kind: 'log' }])
  expect(await faultsAfter(`update log_incarnations set reason = 'moved'`)).toEqual([{ kind: 'log' }])
  const removed = 'delete from log_incarnations'
  expect(await faultsAfter(removed)).toEqual([{ kind: 'log' }])
  const freely = 'alter table log_incarnations disable trigger user; grant delete on log_incarnations to current_user'
  await queryEach(service.db.pool, `${freely}; ${removed}`)
  expect(await problemsOf(service)).toMatchObject([{ check: 'sealed-log' }])
})

test('a wrong incarnation after more than a page of right ones is a fault', async () => {
  const database = await testDatabase()
  ends.push(database.drop)
  const { service, close } = await open(database.connection)
  ends.push(close)
  const faultsOf = async (wrong: number) =>
    await withTampered(service, async (db) => {
      for (let number = 0; number < 150; number++) {
        const start = { id: `i${number}`, previous: `i${number - 1}`, reason: 'moved', last: null }
        const hash = hashLeaf(incarnationLeaf(number === wrong ? { ...start, reason: 'behind' } : start))
        await db.query(`insert into log_leaves (number, kind, hash) values ($1, 'incarnation', $2)`, [number, hash])
        await db.query(`insert into log_incarnations (number, id, previous, reason) values ($1, $2, $3, $4)`, [
          number,
          start.id,
          start.previous,
          start.reason,
        ])
      }
      return await Array.fromAsync(verifyIncarnations(db, 150))
    })
  expect(await faultsOf(-1)).toEqual([])
  for (const wrong of [0, 99, 100, 149]) expect(await faultsOf(wrong)).toEqual([{ kind: 'log' }])
})

test('an imported copy goes on under another name, and proves what the first proved', async () => {
  const [from, to] = [await testDatabase(), await testDatabase()]
  ends.push(from.drop, to.drop)
  const first = await open(from.connection)
  ends.push(first.close)
  const user = await pay(first.service)
  const before = await sealNow(first.service)
  const file = join(await makeFolder(), 'copy.gz')
  await exportBooks(from.connection, createWriteStream(file), { currency: 'USD', now: new Date() })
  await importBooks(to.connection, createReadStream(file), { currency: 'USD' })
  const { service, close } = await open(to.connection)
  ends.push(close)
  const after = await sealNow(service)
  expect(await listIncarnations(service.db.pool, 9)).toMatchObject([{ reason: 'moved', note: before.note }])
  expect(await isContinued(service, before, after)).toBeTrue()
  expect(await isAnnounced(service, after)).toBeTrue()
  await expectProven(service, user)
})

/** With its owners. */
async function copyFolder(from: string, to: string): Promise<void> {
  await rm(to, { recursive: true, force: true })
  expect(await Bun.spawn(['cp', '-a', from, to]).exited).toBe(0)
}

/** As the jobs do: a failover ends connections. */
async function retried<T>(work: () => Promise<T>): Promise<T> {
  for (let left = 100; ; left--) {
    try {
      return await work()
    } catch (error) {
      if (left === 0) throw error
      await Bun.sleep(100)
    }
  }
}
