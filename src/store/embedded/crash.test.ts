import { afterEach, beforeEach, expect, setDefaultTimeout, test } from 'bun:test'
import { spawn, spawnSync } from 'node:child_process'
import { existsSync } from 'node:fs'
import { chmod, lstat, mkdir, readFile, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { Client } from 'pg'
import {
  isStopped,
  makeFolder,
  unprivileged,
  postmasterPid,
  query,
  removeFolder,
} from '../../../test/embedded-process.ts'
import { complaintOf, startService } from '../../../test/embedded-process.ts'
import { copyNewDatabase } from '../../../test/new-database.ts'
import { isRoot } from '../../../test/root.ts'
import { canMount, enlargeDisk, mountDisk, unmountDisk } from '../../../test/small-disk.ts'
import { startEmbedded } from './embedded.ts'
import { findNative } from './native.ts'
import { isAlive } from './server-process.ts'

setDefaultTimeout(240_000)

let folder: string
let dataDir: string
const log = () => undefined

beforeEach(async () => {
  folder = await makeFolder()
  dataDir = join(folder, 'data')
  await copyNewDatabase(dataDir)
})
afterEach(() => removeFolder(folder))

async function killServer(): Promise<number> {
  const pid = await postmasterPid(dataDir)
  process.kill(pid!, 'SIGKILL')
  return pid!
}

async function waitFor(isSo: () => Promise<boolean>): Promise<void> {
  while (!(await isSo().catch(() => false))) await Bun.sleep(50)
}

test('a server whose service was killed is adopted as it runs, and the last to leave still stops it', async () => {
  const killed = await startService(dataDir)
  await query(killed.connection, 'create table kept as select 42 as answer')
  const pid = await postmasterPid(dataDir)
  await killed.kill()
  expect(isAlive(pid!)).toBe(true)
  const adopter = await startEmbedded({ dataDir, log })
  expect(await postmasterPid(dataDir)).toBe(pid)
  expect(await query<object>(adopter.connection, 'select answer from kept')).toEqual([{ answer: 42 }])
  await adopter.release()
  expect(isStopped(dataDir)).toBe(true)
})

test('a server that is killed is started again by the service that lives, at the same address', async () => {
  const service = await startService(dataDir)
  await query(service.connection, 'create table kept as select 42 as answer')
  const killed = await killServer()
  await waitFor(async () => (await query<{ answer: number }>(service.connection, 'table kept'))[0]?.answer === 42)
  expect(await postmasterPid(dataDir)).not.toBe(killed)
  await service.leave()
  expect(isStopped(dataDir)).toBe(true)
})

test('after the server and every service were killed, the next start finds what was committed', async () => {
  const services = await Promise.all([startService(dataDir), startService(dataDir)])
  await query(services[0].connection, 'create table kept as select 42 as answer')
  await Promise.all(services.map((service) => service.kill()))
  await killServer()
  const next = await startEmbedded({ dataDir, log })
  expect(await query<object>(next.connection, 'select answer from kept')).toEqual([{ answer: 42 }])
  await next.release()
})

test('a killed service counts no longer: the other one stops the server', async () => {
  const [killed, other] = [await startService(dataDir), await startService(dataDir)]
  await killed.kill()
  await other.leave()
  expect(isStopped(dataDir)).toBe(true)
})

test('a lock file left behind, whose number now belongs to another program, does not prevent a start', async () => {
  const first = await startService(dataDir)
  await first.kill()
  const killed = await killServer()
  const { uid, gid } = await lstat(join(dataDir, 'postgres'))
  const stranger = spawn('sleep', ['60'], { stdio: 'ignore', ...(isRoot ? { uid, gid } : {}) })
  try {
    const path = join(dataDir, 'postgres', 'postmaster.pid')
    const lines = await readFile(path, 'utf8')
    await writeFile(path, lines.replace(String(killed), String(stranger.pid)))
    const next = await startEmbedded({ dataDir, log })
    expect(await query<object>(next.connection, 'select 1 as one')).toEqual([{ one: 1 }])
    await next.release()
    expect(stranger.exitCode ?? stranger.signalCode).toBeNull()
  } finally {
    stranger.kill()
  }
})

test('a folder copied while its server ran gets its own server', async () => {
  const original = await startEmbedded({ dataDir, log })
  const copied = join(folder, 'copy')
  spawnSync('cp', ['-a', dataDir, copied])
  const copy = await startEmbedded({ dataDir: copied, log })
  await query(copy.connection, 'create table only_in_the_copy ()')
  expect(await query<object>(original.connection, `select to_regclass('only_in_the_copy') as found`)).toEqual([
    { found: null },
  ])
  await copy.release()
  await original.release()
})

test.if(isRoot)(
  'a socket folder that a stranger made first is not used, nor is one that others may enter',
  async () => {
    const first = await startEmbedded({ dataDir, log })
    await first.release()
    const expected = first.connection.host
    for (const trap of [
      ['chown', `${unprivileged.uid}`],
      ['chmod', '0777'],
    ]) {
      await mkdir(expected, { mode: 0o700 })
      spawnSync(trap[0]!, [trap[1]!, expected])
      const next = await startEmbedded({ dataDir, log })
      expect(next.connection.host).not.toBe(expected)
      expect(next.connection.host).toStartWith(`${expected}-`)
      await next.release()
      await rm(expected, { recursive: true })
    }
  },
)

test('a server that someone started by hand is neither joined through an open folder nor started twice', async () => {
  const first = await startEmbedded({ dataDir, log })
  await first.release()
  const databaseDir = join(dataDir, 'postgres')
  const { uid, gid } = await lstat(databaseDir)
  const account = isRoot ? { uid, gid, spawn: { uid, gid } } : { uid, gid, spawn: {} }
  const program = join((await findNative(account, dataDir)).root, 'bin', 'postgres')
  const openFolder = join(folder, 'open')
  await mkdir(openFolder)
  await chmod(openFolder, 0o777)
  const flags = ['-D', databaseDir, '-c', 'listen_addresses=', '-c', `unix_socket_directories=${openFolder}`]
  const byHand = spawn(program, flags, { stdio: 'ignore', cwd: databaseDir, ...account.spawn })
  await waitFor(async () => existsSync(join(openFolder, '.s.PGSQL.5432')))
  expect(await complaintOf(startEmbedded({ dataDir, log }))).toBe(
    `Another PostgreSQL server is still using ${databaseDir}: stop it first.`,
  )
  expect(await postmasterPid(dataDir)).toBe(byHand.pid!)
  expect(byHand.exitCode).toBeNull()
  const ended = new Promise((resolve) => byHand.once('exit', resolve))
  byHand.kill('SIGINT')
  await ended
})

test.if(canMount)('a full disk is named in one sentence, before and after there is a database', async () => {
  dataDir = join(folder, 'disk')
  await mkdir(dataDir)
  mountDisk(dataDir, 20)
  try {
    expect(await complaintOf(startEmbedded({ dataDir, log }))).toMatch(/^The disk that holds .* is full\.$/)
    enlargeDisk(dataDir, 200)
    const first = await startEmbedded({ dataDir, log })
    await first.release()
    spawnSync('sh', ['-c', `cat /dev/zero > '${dataDir}/filler' 2>/dev/null`])
    expect(await complaintOf(startEmbedded({ dataDir, log }))).toMatch(/^The disk that holds .* is full\.$/)
  } finally {
    unmountDisk(dataDir)
  }
})

test('a server that refuses connections is named after half a minute, and joined once it has room', async () => {
  const first = await startEmbedded({ dataDir, log })
  const supervisor = { ...first.connection, user: 'postgres', database: 'postgres' }
  const taken: Client[] = []
  try {
    for (;;) {
      const client = new Client(supervisor)
      client.on('error', () => undefined)
      await client.connect()
      taken.push(client)
    }
  } catch (error) {
    expect(String(error)).toContain('too many clients')
  }
  expect(await complaintOf(startEmbedded({ dataDir, log }))).toMatch(/^PostgreSQL in .* refuses connections: .*clients/)
  await Promise.all(taken.map((client) => client.end()))
  const second = await startEmbedded({ dataDir, log })
  await second.release()
  await first.release()
})

test('a damaged database is refused with what PostgreSQL says about it, in one sentence', async () => {
  const first = await startEmbedded({ dataDir, log })
  await first.release()
  await rm(join(dataDir, 'postgres', 'global', 'pg_control'))
  const refused = startEmbedded({ dataDir, log })
  expect(await complaintOf(refused)).toMatch(/^PostgreSQL could not start in .*: .*pg_control.*$/)
})
