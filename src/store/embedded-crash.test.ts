import { afterEach, beforeEach, expect, setDefaultTimeout, test } from 'bun:test'
import { spawn, spawnSync } from 'node:child_process'
import { chmod, lstat, mkdir, readFile, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import {
  isRoot,
  isStopped,
  makeFolder,
  nobody,
  postmasterPid,
  query,
  removeFolder,
} from '../../test/embedded-process.ts'
import { complaintOf, startService } from '../../test/embedded-process.ts'
import { startEmbedded } from './embedded.ts'
import { isAlive } from './embedded-process.ts'

setDefaultTimeout(60_000)

let folder: string
let dataDir: string
const log = () => undefined

beforeEach(async () => {
  folder = await makeFolder()
  dataDir = join(folder, 'data')
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

test('a lock file left behind, whose number now belongs to another program, does not stand in the way', async () => {
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

test('a folder copied while its server ran gets a server of its own', async () => {
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
      ['chown', `${nobody.uid}`],
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

test('a database of another major version is refused in a sentence that says what to do', async () => {
  await mkdir(join(dataDir, 'postgres'), { recursive: true })
  await chmod(join(dataDir, 'postgres'), 0o700)
  await writeFile(join(dataDir, 'postgres', 'PG_VERSION'), '17\n')
  expect(await complaintOf(startEmbedded({ dataDir, log }))).toMatch(/made by PostgreSQL 17, .* brings 18: .*export/)
  await writeFile(join(dataDir, 'postgres', 'PG_VERSION'), '19\n')
  expect(await complaintOf(startEmbedded({ dataDir, log }))).toMatch(/made by PostgreSQL 19, .* use the newer version/)
})

test('a folder that holds something else is left alone', async () => {
  await mkdir(join(dataDir, 'postgres'), { recursive: true })
  await writeFile(join(dataDir, 'postgres', 'letter.txt'), 'dear')
  expect(await complaintOf(startEmbedded({ dataDir, log }))).toMatch(
    /holds something that is not a PostgreSQL database/,
  )
  expect(await readFile(join(dataDir, 'postgres', 'letter.txt'), 'utf8')).toBe('dear')
})

/** A container may forbid it even to root. */
const canMount = isRoot && spawnSync('unshare', ['--mount', 'true']).status === 0

test.if(canMount)('a full disk is named in one sentence, before and after there is a database', async () => {
  await mkdir(dataDir)
  expect(spawnSync('mount', ['-t', 'tmpfs', '-o', 'size=20m', 'tmpfs', dataDir]).status).toBe(0)
  try {
    expect(await complaintOf(startEmbedded({ dataDir, log }))).toMatch(/^The disk that holds .* is full\.$/)
    spawnSync('mount', ['-o', 'remount,size=200m', dataDir])
    const first = await startEmbedded({ dataDir, log })
    await first.release()
    spawnSync('sh', ['-c', `cat /dev/zero > '${dataDir}/filler' 2>/dev/null`])
    expect(await complaintOf(startEmbedded({ dataDir, log }))).toMatch(/^The disk that holds .* is full\.$/)
  } finally {
    spawnSync('umount', [dataDir])
  }
})

test('a damaged database is refused with what PostgreSQL says about it, in one sentence', async () => {
  const first = await startEmbedded({ dataDir, log })
  await first.release()
  await rm(join(dataDir, 'postgres', 'global', 'pg_control'))
  const refused = startEmbedded({ dataDir, log })
  expect(await complaintOf(refused)).toMatch(/^PostgreSQL could not start in .*: .*pg_control.*$/)
})
