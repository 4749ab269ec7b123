import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, setDefaultTimeout, test } from 'bun:test'
import { chmod, mkdir, readdir, readFile, stat } from 'node:fs/promises'
import { spawnSync } from 'node:child_process'
import { join } from 'node:path'
import {
  canBeUnprivileged,
  isStopped,
  makeFolder,
  unprivileged,
  postmasterPid,
} from '../../../test/embedded-process.ts'
import { complaintOf, query, removeFolder, startService } from '../../../test/embedded-process.ts'
import { copyNewDatabase } from '../../../test/new-database.ts'
import { isRoot } from '../../../test/root.ts'
import { wantsAll } from '../../../test/wants-all.ts'
import { startEmbedded, type Embedded } from './embedded.ts'

setDefaultTimeout(240_000)

let folder: string
let dataDir: string
const log = () => undefined

beforeEach(async () => {
  folder = await makeFolder()
  dataDir = join(folder, 'data')
})
afterEach(() => removeFolder(folder))

describe('the server', () => {
  let shared: string
  let embedded: Embedded
  beforeAll(async () => {
    shared = await makeFolder()
    embedded = await startEmbedded({ dataDir: join(shared, 'data'), log })
  })
  afterAll(async () => {
    await embedded.release()
    await removeFolder(shared)
  })

  test('a new server is durable, speaks UTF-8 and UTC, and listens on no network', async () => {
    const rows = await query<{ name: string; setting: string }>(
      embedded.connection,
      `select name, setting from pg_settings where name in ('fsync', 'synchronous_commit', 'full_page_writes',
       'listen_addresses', 'server_encoding', 'TimeZone', 'max_connections', 'jit', 'unix_socket_permissions')`,
    )
    expect(Object.fromEntries(rows.map(({ name, setting }) => [name, setting]))).toEqual({
      fsync: 'on',
      synchronous_commit: 'on',
      full_page_writes: 'on',
      listen_addresses: '',
      server_encoding: 'UTF8',
      TimeZone: 'UTC',
      max_connections: '200',
      jit: 'off',
      unix_socket_permissions: '0700',
    })
    const locale = `select datlocprovider, datlocale from pg_database where datname = 'billfold'`
    expect(await query<object>(embedded.connection, locale)).toEqual([{ datlocprovider: 'b', datlocale: 'C.UTF-8' }])
  })

  test('a new server does not make the service its superuser', async () => {
    const role = 'select rolname, rolsuper from pg_roles where rolname = current_user'
    expect(await query<object>(embedded.connection, role)).toEqual([{ rolname: 'billfold', rolsuper: false }])
  })

  test('a new server has its own session, which Ctrl-C does not reach', async () => {
    const pid = await postmasterPid(join(shared, 'data'))
    const { stdout } = spawnSync('ps', ['-o', 'pgid=', '-p', String(pid)], { encoding: 'utf8' })
    expect(Number(stdout)).toBe(pid!)
  })

  test('a new server keeps its socket in a folder closed to everyone else', async () => {
    expect((await stat(embedded.connection.host)).mode & 0o777).toBe(0o700)
  })

  test('writes nothing to its log that a statement carried', async () => {
    await query(embedded.connection, `select 'my secret'::int`).catch(() => undefined)
    await query(
      embedded.connection,
      `create temp table t (a text primary key); insert into t values ('my secret'), ('my secret')`,
    ).catch(() => undefined)
    const folder = join(shared, 'data', 'postgres', 'log')
    const logs = await Promise.all((await readdir(folder)).map((name) => readFile(join(folder, name), 'utf8')))
    expect(logs.join()).toContain('ready to accept connections')
    expect(logs.join()).not.toContain('my secret')
  })

  test.if(isRoot)('of root runs as another user, in a folder closed to everyone else', async () => {
    const pid = await postmasterPid(join(shared, 'data'))
    const uid = Number(spawnSync('ps', ['-o', 'uid=', '-p', String(pid)], { encoding: 'utf8' }).stdout)
    const found = await stat(join(shared, 'data', 'postgres'))
    expect({ uid: found.uid, mode: found.mode & 0o777 }).toEqual({ uid, mode: 0o700 })
    expect(uid).toBeGreaterThan(0)
  })
})

test('what one start wrote, the next one reads', async () => {
  await copyNewDatabase(dataDir)
  const first = await startEmbedded({ dataDir, log })
  await query(first.connection, 'create table kept as select 42 as answer')
  await first.release()
  expect(isStopped(dataDir)).toBe(true)
  const second = await startEmbedded({ dataDir, log })
  expect(await query<object>(second.connection, 'select answer from kept')).toEqual([{ answer: 42 }])
  await second.release()
})

test('two services share one server, and the last to leave stops it', async () => {
  await copyNewDatabase(dataDir)
  const [first, second] = [await startService(dataDir), await startService(dataDir)]
  const pid = await postmasterPid(dataDir)
  await first.leave()
  expect(await postmasterPid(dataDir)).toBe(pid)
  expect(await query<object>(second.connection, 'select 1 as one')).toEqual([{ one: 1 }])
  await second.leave()
  expect(isStopped(dataDir)).toBe(true)
})

test('processes that start at once on an empty folder share one server', async () => {
  const services = await Promise.all(Array.from({ length: wantsAll ? 5 : 3 }, () => startService(dataDir)))
  const servers = await Promise.all(
    services.map(({ connection }) =>
      query<{ at: string }>(connection, 'select pg_postmaster_start_time()::text as at'),
    ),
  )
  expect(new Set(servers.map(([row]) => row?.at)).size).toBe(1)
  await Promise.all(services.map((service) => service.leave()))
  expect(isStopped(dataDir)).toBe(true)
})

test('services that start and stop at any time always find a server that runs as long as they do', async () => {
  await copyNewDatabase(dataDir)
  let stops = 0
  async function visit(rounds: number): Promise<void> {
    // On a slow machine a visit takes longer, and so does the time away, or they would always meet.
    for (let round = 0, tookMs = 0; round < rounds || stops <= 3; round++) {
      await Bun.sleep(Math.random() * Math.max(100, tookMs))
      const startedAt = performance.now()
      const visitor = await startEmbedded({ dataDir, log })
      expect(await query<object>(visitor.connection, 'select 1 as one')).toEqual([{ one: 1 }])
      await Bun.sleep(Math.random() * 40)
      expect(await query<object>(visitor.connection, 'select 2 as two')).toEqual([{ two: 2 }])
      await visitor.release()
      tookMs = performance.now() - startedAt
      if (isStopped(dataDir)) stops++
    }
  }
  const rounds = wantsAll ? 15 : 2
  await Promise.all([visit(rounds), visit(rounds), visit(rounds)])
  expect(isStopped(dataDir)).toBe(true)
  // Otherwise they only ever met, and no one came while another left.
  expect(stops).toBeGreaterThan(3)
})

describe('the data folder may lie', () => {
  const awkward = `it's "my" wällët 財布`
  const places: [string, string][] = [
    ['behind spaces, quotes and letters of any script', awkward],
    ['deeper than a socket path may be long', 'deep/'.repeat(30)],
    ['deeper than PostgreSQL itself can name', 'a-rather-long-folder-name-for-a-wallet/'.repeat(30)],
  ]
  const worst: [string, string] = [
    'behind spaces, quotes and letters of any script, deeper than PostgreSQL itself can name',
    `${awkward}/${'a-rather-long-folder-name-for-a-wallet/'.repeat(30)}`,
  ]
  test.each(wantsAll ? [...places, worst] : [worst])('the data folder may lie %s', async (_, path) => {
    const { connection, release } = await startEmbedded({ dataDir: join(folder, path, 'data'), log })
    expect(Buffer.byteLength(connection.host)).toBeLessThan(90)
    expect(await query<object>(connection, 'select 1 as one')).toEqual([{ one: 1 }])
    await release()
  })
})

describe.if(isRoot)('as root', () => {
  test('the owner of the data folder runs the server', async () => {
    const owned = await makeFolder(unprivileged)
    const { release } = await startEmbedded({ dataDir: owned, log })
    expect((await stat(join(owned, 'postgres'))).uid).toBe(unprivileged.uid)
    await release()
    await removeFolder(owned)
  })

  test('the data may lie below a folder only root may enter, whose permissions stay as they are', async () => {
    const closed = join(folder, 'root')
    await mkdir(closed, { mode: 0o700 })
    dataDir = join(closed, 'billfold', 'data')
    const first = await startEmbedded({ dataDir, log })
    await query(first.connection, 'create table kept as select 42 as answer')
    await first.release()
    const second = await startService(dataDir)
    expect(await query<object>(second.connection, 'select answer from kept')).toEqual([{ answer: 42 }])
    const third = await startService(dataDir)
    await second.leave()
    await third.leave()
    expect(isStopped(dataDir)).toBe(true)
    expect((await stat(closed)).mode & 0o777).toBe(0o700)
  })
})

describe.if(canBeUnprivileged || !isRoot)('as an ordinary user', () => {
  const ordinary = isRoot ? { as: unprivileged } : {}

  test('the server starts, is joined by a second service, and stops', async () => {
    const owned = await makeFolder(isRoot ? unprivileged : undefined)
    const [first, second] = await Promise.all([
      startService(join(owned, 'data'), ordinary),
      startService(join(owned, 'data'), ordinary),
    ])
    expect(await query<object>(first.connection, 'select 1 as one')).toEqual([{ one: 1 }])
    await first.leave()
    await second.leave()
    expect(isStopped(join(owned, 'data'))).toBe(true)
    await removeFolder(owned)
  })

  test('a data folder that may not be written to is refused in one sentence', async () => {
    const closed = await makeFolder()
    await chmod(closed, 0o555)
    const refused = startService(join(closed, 'data'), ordinary)
    expect(await complaintOf(refused)).toMatch(/^EmbeddedRefused: The data folder .* cannot be created \(EACCES\)\.$/)
    await removeFolder(closed)
  })

  test.if(isRoot)("another user's database is refused in one sentence", async () => {
    const { release } = await startEmbedded({ dataDir, log })
    await release()
    const refused = startService(dataDir, { as: { uid: 12_345, gid: 12_345 } })
    expect(await complaintOf(refused)).toMatch(/belongs to another user/)
  })
})
