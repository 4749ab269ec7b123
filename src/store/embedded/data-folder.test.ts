import { afterEach, beforeEach, expect, setDefaultTimeout, test } from 'bun:test'
import { chmod, mkdir, readdir, readFile, utimes, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { complaintOf, makeFolder, removeFolder } from '../../../test/embedded-process.ts'
import { startEmbedded } from './embedded.ts'
import { pruneLogs } from './data-folder.ts'

setDefaultTimeout(240_000)

let folder: string
let dataDir: string
const log = () => undefined

beforeEach(async () => {
  folder = await makeFolder()
  dataDir = join(folder, 'data')
})
afterEach(() => removeFolder(folder))

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

test('a creation of the database that was killed leaves nothing for good', async () => {
  const draft = join(dataDir, 'postgres-new-1')
  await mkdir(draft, { recursive: true })
  await utimes(draft, 0, 0)
  await mkdir(join(dataDir, 'postgres-new-2'))
  const { release } = await startEmbedded({ dataDir, log })
  await release()
  expect((await readdir(dataDir)).sort()).toEqual(['postgres', 'postgres-new-2'])
})

test('only the newest logs are kept', async () => {
  const logs = join(folder, 'log')
  await mkdir(logs)
  const names = ['20260101T000000', '20260102T000000', '20260103T000000'].map((at) => `postgres-${at}.log`)
  for (const name of [...names, 'something else.log']) await writeFile(join(logs, name), '')
  await pruneLogs(folder, 2)
  expect((await readdir(logs)).sort()).toEqual([...names.slice(1), 'something else.log'])
})
