/**
 * The ledger's own tests on every other PostgreSQL this machine has: DATABASE_URL may name 15 to 18, and the embedded one
 * is 18. Debian keeps its servers under /usr/lib/postgresql; where there is none, there is nothing to try.
 */
import { describe, expect, test } from 'bun:test'
import { existsSync, readdirSync } from 'node:fs'
import { chown, mkdtemp, rm } from 'node:fs/promises'
import { tmpdir, userInfo } from 'node:os'
import { join } from 'node:path'
import { freePort } from './free-port.ts'

const root = new URL('..', import.meta.url).pathname
const home = '/usr/lib/postgresql'
const majors = existsSync(home) ? readdirSync(home).filter((major) => Number(major) >= 15 && Number(major) <= 18) : []
const suites = [
  'src/store/writer/writer.test.ts',
  'src/store/migrations/migrate.test.ts',
  'src/store/migrations/schema.test.ts',
  'src/api/server.test.ts',
  'test/property.test.ts',
  'test/plans.test.ts',
]

async function run(command: string[], environment: Record<string, string> = {}) {
  const child = Bun.spawn(command, {
    cwd: root,
    env: { ...process.env, ...environment },
    stdout: 'pipe',
    stderr: 'pipe',
  })
  const [out, err] = await Promise.all([new Response(child.stdout).text(), new Response(child.stderr).text()])
  return { code: await child.exited, output: out + err }
}

/** PostgreSQL refuses root; Debian's package brings a user for it. */
const asServer = (command: string[]) =>
  userInfo().uid === 0 ? ['setpriv', '--reuid=postgres', '--regid=postgres', '--init-groups', ...command] : command

async function withServer(major: string, work: (url: string) => Promise<void>): Promise<void> {
  const folder = await mkdtemp(join(tmpdir(), `billfold-postgres-${major}-`))
  if (userInfo().uid === 0) {
    const { output } = await run(['id', '-u', 'postgres'])
    await chown(folder, Number(output), Number(output))
  }
  const bin = (name: string) => join(home, major, 'bin', name)
  const data = join(folder, 'data')
  const port = await freePort()
  const options = `-p ${port} -k ${folder} -c listen_addresses=127.0.0.1 -c fsync=on`
  expect(
    (
      await run(
        asServer([bin('initdb'), '-D', data, '-A', 'trust', '-U', 'billfold', '--locale=C.UTF-8', '-E', 'UTF8']),
      )
    ).code,
  ).toBe(0)
  expect(
    (await run(asServer([bin('pg_ctl'), '-D', data, '-o', options, '-l', join(folder, 'log'), '-w', 'start']))).code,
  ).toBe(0)
  try {
    await work(`postgres://billfold@127.0.0.1:${port}/postgres`)
  } finally {
    await run(asServer([bin('pg_ctl'), '-D', data, '-m', 'immediate', 'stop']))
    await rm(folder, { recursive: true, force: true })
  }
}

describe.skipIf(majors.length === 0)('on a PostgreSQL that is not the embedded one', () => {
  test.each(majors)('PostgreSQL %s keeps every promise', async (major) => {
    await withServer(major, async (url) => {
      const { code, output } = await run([process.execPath, 'test', '--timeout', '60000', ...suites], {
        TEST_DATABASE_URL: url,
      })
      expect(code === 0 ? '' : output).toBe('')
    })
  })
})
