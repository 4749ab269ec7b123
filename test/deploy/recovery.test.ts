/**
 * Point-in-time recovery as docs/operations/backup.md describes it, command by command: an archive, a base back-up, further debits, an
 * accident, a server at the time before it, exact books, and a service that continues there.
 */
import { describe, expect, setDefaultTimeout, test } from 'bun:test'
import { mkdir, readFile, rm } from 'node:fs/promises'
import { join } from 'node:path'
import { Client as Postgres } from 'pg'
import { newClient } from '../client.ts'
import { eventually } from '../eventually.ts'
import { freePort } from '../free-port.ts'
import { asServer, giveToServer, majors, run, startOtherServer } from '../other-server.ts'
import { startProcess } from '../process.ts'
import { secretsKey } from '../service.ts'
import { command, makeDrillFolder, openShop } from './drill.ts'
import { box } from './runbooks.ts'

setDefaultTimeout(180_000)

async function ask(url: string, statements: readonly string[]): Promise<Record<string, unknown>> {
  const client = new Postgres({ connectionString: url })
  await client.connect()
  let row: Record<string, unknown> = {}
  for (const statement of statements) row = (await client.query<Record<string, unknown>>(statement)).rows[0] ?? {}
  await client.end()
  return row
}

/** A block of the page with its folders, times and addresses replaced: each must occur in it. */
function blockWith(name: string, changes: Record<string, string>, language = 'sh'): string[] {
  let text = box(name, language).join('\n')
  for (const [from, to] of Object.entries(changes)) {
    expect(text).toContain(from)
    text = text.replaceAll(from, to)
  }
  return text.split('\n')
}

/** A server that it starts must not hold the test's output open. */
async function runBlock(lines: readonly string[], environment: Record<string, string>, log: string): Promise<void> {
  const script = ['set -eu', ...lines].join('\n')
  const { code } = await run(asServer(['sh', '-c', `(${script}\n) </dev/null >${log} 2>&1`]), environment)
  expect([code, code === 0 ? '' : await readFile(log, 'utf8')]).toEqual([0, ''])
}

const title = majors.length === 0 ? 'recovery (not run: there is no PostgreSQL with pg_basebackup here)' : 'recovery'

describe.skipIf(majors.length === 0)(title, () => {
  test('brings back the time before an accident, with every transfer acknowledged until then', async () => {
    const server = await startOtherServer(majors[0]!)
    const backup = join(server.folder, 'backup')
    for (const path of [backup, join(backup, 'archive')]) {
      await mkdir(path)
      await giveToServer(path)
    }
    const there = { PATH: `${server.bin('')}:${process.env['PATH']}`, PGPORT: String(server.port) }
    const folders = { '/backup/': `${backup}/` }
    const onServer = (name: string) => ask(server.url, box(name, 'sql'))
    await ask(server.url, [
      // The folder of Debian's package is not this user's.
      `alter system set unix_socket_directories = '${server.folder}'`,
      ...blockWith('archive-on', folders, 'sql'),
    ])
    await server.stop('fast')
    await server.start()

    const { credentials, serviceUserId } = await openShop(server.url)
    const before = await startProcess({ DATABASE_URL: server.url, SECRETS_KEY: secretsKey })
    const shop = newClient(before.send, credentials, before.url)
    await shop.credit(serviceUserId, 100)
    await shop.debit(serviceUserId, 30, 'before-the-back-up')
    await runBlock(blockWith('base-backup', folders), there, join(backup, 'base-backup.log'))
    const kept = await shop.debit(serviceUserId, 20, 'after-the-back-up')
    const { time } = await ask(server.url, ['select clock_timestamp()::text as time'])

    await ask(server.url, ['update wallets set balance = balance + 1000000'])
    await shop.debit(serviceUserId, 7, 'after-the-accident')
    expect(await command(server.url, 'verify')).toMatchObject({ isExact: false })
    await before.stop()
    expect(Number((await onServer('archive-check'))['failed_count'])).toBe(0)
    await server.stop('fast')

    const restored = join(server.folder, 'restored')
    const port = await freePort()
    const log = join(backup, 'recovery.log')
    const changes = {
      '/backup/': `${backup}/`,
      '/var/lib/postgresql/restored': restored,
      '2026-11-15 10:54:56.846875+00': String(time),
    }
    const url = server.url.replace(`:${server.port}/`, `:${port}/`)
    await runBlock(blockWith('recovery-start', changes), { ...there, PGPORT: String(port) }, log)
    try {
      await eventually(async () => (await ask(url, box('recovery-done', 'sql')))['pg_is_in_recovery'], false)
      const said = await readFile(log, 'utf8')
      for (const words of ['recovery stopping before commit of transaction', 'selected new timeline'])
        expect(said).toContain(words)

      const folder = await makeDrillFolder()
      const verify = blockWith('recovery-verify', { 'postgres://billfold:secret@127.0.0.1:5432/billfold': url })
      const { code, output } = await run(['sh', '-c', verify.join('\n')], { PATH: `${folder}:${process.env['PATH']}` })
      await rm(folder, { recursive: true })
      expect([code, output]).toEqual([0, expect.stringContaining('The books are exact: 1 wallets, 3 transfers')])

      const after = await startProcess({ DATABASE_URL: url, SECRETS_KEY: secretsKey })
      const here = newClient(after.send, credentials, after.url)
      expect((await here.debit(serviceUserId, 20, 'after-the-back-up')).body).toEqual({ ...kept.body, replayed: true })
      expect((await here.debit(serviceUserId, 7, 'after-the-accident')).body).toMatchObject({ balance: 43 })
      expect(await after.stop()).toBe(0)
      expect(await command(url, 'verify')).toMatchObject({ isExact: true, transfers: 4 })
    } finally {
      await run(asServer([server.bin('pg_ctl'), '-D', restored, '-m', 'immediate', 'stop']))
      await server.remove()
    }
  })
})
