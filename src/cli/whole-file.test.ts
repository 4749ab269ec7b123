import { afterAll, beforeAll, expect, setDefaultTimeout, test } from 'bun:test'
import { mkdtemp, readdir, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { Client } from 'pg'
import { testDatabase, type TestDatabase } from '../../test/postgres.ts'

setDefaultTimeout(120_000)

let database: TestDatabase
/** Holds a lock; `observer` reads the activity, which a transaction sees only once. */
let client: Client
let observer: Client
let folder: string

beforeAll(async () => {
  database = await testDatabase()
  client = new Client(database.connection)
  observer = new Client(database.connection)
  await Promise.all([client.connect(), observer.connect()])
  folder = await mkdtemp(join(tmpdir(), 'billfold-whole-'))
})

afterAll(async () => {
  await Promise.all([client.end(), observer.end()])
  await database.drop()
  await rm(folder, { recursive: true })
})

/** An export that has begun its file and waits for a table. */
async function halfAnExport(file: string) {
  await client.query('begin; lock table transfers in access exclusive mode')
  const child = Bun.spawn([process.execPath, 'src/cli.ts', 'export', file], {
    cwd: new URL('../..', import.meta.url).pathname,
    env: { PATH: process.env['PATH'] ?? '', DATABASE_URL: database.url },
    stdout: 'pipe',
    stderr: 'pipe',
  })
  for (;;) {
    const { rows } = await observer.query<{ pid: number }>(
      `select pid from pg_stat_activity where datname = current_database() and application_name = 'billfold export' and wait_event_type = 'Lock'`,
    )
    if (rows[0]) return { child, pid: rows[0].pid }
    if (child.exitCode !== null) throw new Error(await new Response(child.stderr).text())
    await Bun.sleep(20)
  }
}

const ends = ['SIGINT', 'SIGTERM', 'SIGHUP', 'a lost connection'] as const
for (const end of ends) {
  test(`${end} in the middle of an export leaves no file`, async () => {
    const { child, pid } = await halfAnExport(join(folder, 'copy.billfold'))
    expect(await readdir(folder)).toEqual([expect.stringMatching(/^copy\.billfold\.\w+\.partial$/) as string])
    if (end === 'a lost connection') await observer.query('select pg_terminate_backend($1)', [pid])
    else child.kill(end)
    expect(await child.exited).toBe(end === 'a lost connection' ? 1 : 130)
    expect(await readdir(folder)).toEqual([])
    await client.query('rollback')
  })
}

test('an export does not overwrite a file that appears while it runs', async () => {
  const file = join(folder, 'copy.billfold')
  const { child } = await halfAnExport(file)
  await writeFile(file, 'of another program')
  await client.query('rollback')
  expect(await child.exited).toBe(1)
  expect(await new Response(child.stderr).text()).toBe(`${file} already exists.\n`)
  expect(await Bun.file(file).text()).toBe('of another program')
  expect(await readdir(folder)).toEqual(['copy.billfold'])
  await rm(file)
})

test('a finished export is one file that only its owner reads', async () => {
  const file = join(folder, 'copy.billfold')
  const { child } = await halfAnExport(file)
  await client.query('rollback')
  expect(await child.exited).toBe(0)
  expect(await readdir(folder)).toEqual(['copy.billfold'])
  expect((await Bun.file(file).stat()).mode & 0o777).toBe(0o600)
  expect(Bun.gunzipSync(await Bun.file(file).bytes()).length).toBeGreaterThan(1_000)
})
