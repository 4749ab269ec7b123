/** The restore drill of docs/operations/backup.md, line by line: a real back-up, a clean server, verified books, and further debits. */
import { afterAll, beforeAll, describe, expect, setDefaultTimeout, test } from 'bun:test'
import { rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { Client as Postgres } from 'pg'
import { newClient } from '../client.ts'
import { majors, run, startOtherServer } from '../other-server.ts'
import { testDatabase } from '../postgres.ts'
import { startProcess } from '../process.ts'
import { secretsKey } from '../service.ts'
import { command, makeDrillFolder, openShop } from './drill.ts'
import { box } from './runbooks.ts'

setDefaultTimeout(180_000)

let folder: string

beforeAll(async () => (folder = await makeDrillFolder()))
afterAll(async () => await rm(folder, { recursive: true }))

/** Runs the commands of the named code block, from a service with money to an empty database, and then debits there. */
async function drill(name: string, from: string, clean: string, programs = ''): Promise<void> {
  const { credentials, serviceUserId } = await openShop(from)
  const before = await startProcess({ DATABASE_URL: from, SECRETS_KEY: secretsKey })
  const there = newClient(before.send, credentials, before.url)
  await there.credit(serviceUserId, 100)
  const debited = await there.debit(serviceUserId, 30, 'before-the-back-up')

  const lines = box(name)
  expect(lines).toHaveLength(3)
  const environment = {
    DATABASE_URL: from,
    CLEAN: clean,
    SECRETS_KEY: secretsKey,
    PATH: `${folder}:${programs}:${process.env['PATH']}`,
  }
  const script = ['set -eux', `cd ${folder}`, ...lines].join('\n')
  const { code, output } = await run(['sh', '-c', script], environment)
  expect([code, output]).toEqual([0, expect.stringContaining('The books are exact: 1 wallets, 2 transfers')])
  // A debit after the back-up is not in it.
  await there.debit(serviceUserId, 1)
  await before.stop()

  const after = await startProcess({ DATABASE_URL: clean, SECRETS_KEY: secretsKey })
  const here = newClient(after.send, credentials, after.url)
  const repeated = await here.debit(serviceUserId, 30, 'before-the-back-up')
  expect(repeated.body).toEqual({ ...debited.body, replayed: true })
  expect((await here.debit(serviceUserId, 5)).body['balance']).toBe(65)
  expect(await after.stop()).toBe(0)
  expect(await command(clean, 'verify')).toMatchObject({ isExact: true, transfers: 3 })
}

test('an export is restored into a clean database, and debits continue there', async () => {
  const [from, clean] = [await testDatabase(), await testDatabase()]
  await drill('restore-export', from.url, clean.url)
  await Promise.all([from.drop(), clean.drop()])
})

describe.skipIf(majors.length === 0)('with a PostgreSQL that brings pg_dump', () => {
  test('a dump is restored into a clean server, and debits continue there', async () => {
    const [major] = majors
    const [server, other] = await Promise.all([startOtherServer(major!), startOtherServer(major!)])
    const admin = new Postgres({ connectionString: other.url })
    await admin.connect()
    await admin.query('create database restored')
    await admin.end()
    const clean = other.url.replace(/postgres$/, 'restored')
    // A refused import leaves no table behind, which pg_restore would trip over.
    await writeFile(join(folder, 'damaged.billfold'), 'not a copy')
    expect(await command(clean, 'import', join(folder, 'damaged.billfold'))).toEqual({
      error: expect.any(String) as string,
    })
    await drill('restore-pg_dump', server.url, clean, server.bin(''))
    await Promise.all([server.remove(), other.remove()])
  })
})
