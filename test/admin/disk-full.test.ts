/** Really fills the disk of the database, on a small file system, and follows docs/operations/runbooks.md. */
import { afterAll, beforeAll, expect, test } from 'bun:test'
import { spawnSync } from 'node:child_process'
import { appendFile, mkdtemp, rm, truncate } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { Check } from '../../src/actions/apps/examine-embedding.ts'
import { databaseChecks } from '../../src/actions/deployment/not-made.ts'
import { newClient, type Client } from '../client.ts'
import { play, stepsOf } from '../deploy/runbooks.ts'
import { copyNewDatabase } from '../new-database.ts'
import { canMount, mountDisk, unmountDisk } from '../small-disk.ts'
import { startRig, type Rig } from './rig.ts'

let disk: string
let rig: Rig

beforeAll(async () => {
  if (!canMount) return
  disk = await mkdtemp(join(tmpdir(), 'billfold-disk-'))
  mountDisk(disk, 200)
  await copyNewDatabase(disk)
  // A vacuum of the catalog, a minute after the start, removes a file that the next connection writes again: on a full disk it is refused.
  await appendFile(join(disk, 'postgres', 'postgresql.auto.conf'), 'autovacuum = off\n')
  rig = await startRig(async () => ({ DATABASE_URL: '', DATA_DIR: disk }))
  await rig.startSecond()
})
afterAll(async () => {
  if (!canMount) return
  await rig?.stop()
  unmountDisk(disk)
  await rm(disk, { recursive: true, force: true })
})

const readiness = async () => {
  const response = await fetch(`${rig.base}/readyz`)
  return `${response.status} ${((await response.json()) as { database: string }).database}`
}

/** Debits a cent at a time, each with a new reference, until an answer is not 200. */
async function spend(client: Client, serviceUserId: string): Promise<{ paid: number; reference: string }> {
  for (let paid = 0; ; paid++) {
    const { status, headers } = await client.debit(serviceUserId, 0.01, `cent-${paid}`)
    if (status === 200) continue
    expect([status, headers.has('retry-after')]).toEqual([503, true])
    return { paid, reference: `cent-${paid}` }
  }
}

test.if(canMount)('the disk is full', async () => {
  const page = await rig.openPage()
  await rig.signInByPages(page)
  const { clientId, clientSecret } = await rig.cli(['app', 'create', '--name', 'Fernweh Books'])
  const names = ['--first', 'Grace', '--last', 'Hopper', '--link', clientId!]
  const created = await rig.cli(['user', 'create', '--email', 'full@example.com', ...names], 'a password for grace')
  const serviceUserId = created['serviceUserId']!
  const client = newClient((request) => fetch(request), { clientId: clientId!, clientSecret: clientSecret! }, rig.base)
  await client.credit(serviceUserId, 100)
  const state = page.locator('section').filter({ has: page.getByText('Answers in') })

  // Again and again: a page that was in use while the disk was filled, such as one of the readiness check, is free afterwards.
  const fill = () => spawnSync('sh', ['-c', `cat /dev/zero >> '${disk}/filler' 2>/dev/null`])
  for (fill(); (await readiness()) !== '503 full'; fill()) await Bun.sleep(100)
  // Debits that fit into existing pages still succeed, durably; the first that does not is answered with "try again".
  const { paid, reference } = await spend(client, serviceUserId)
  await page.goto(`${rig.base}/admin`)
  await state.getByText('takes no writes: full').waitFor()
  const [doctor, ...others] = await play('disk-full', rig.environment)
  const checks = doctor!.json['checks'] as Check[]
  expect(checks.find(({ name }) => name === 'Writes')).toMatchObject({
    state: 'bad',
    fix: 'Free space on its disk: docs/operations/runbooks.md#the-disk-is-full.',
  })
  expect(others).toEqual([])

  // A connection that finds the copies of the catalog gone writes them again; on a full disk PostgreSQL refuses it.
  spawnSync('find', [join(disk, 'postgres'), '-name', 'pg_internal.init', '-delete'])
  fill()
  const [refused] = await play('disk-full', rig.environment)
  const made = refused!.json['checks'] as Check[]
  expect([refused!.exitCode, made.slice(0, 2)]).toEqual([
    1,
    [
      { name: 'Disk', state: 'bad', text: '0.0 GB are free.', fix: expect.stringContaining('#the-disk-is-full') },
      {
        name: 'Database',
        state: 'bad',
        text: `The disk that holds ${join(disk, 'postgres')} is full.`,
        fix: 'docs/operations/runbooks.md#the-disk-is-full.',
      },
    ],
  ])
  // What needs no database is checked; every other check is named, with the reason.
  expect(made.find(({ name }) => name === 'Mail server')).toMatchObject({ state: 'warn' })
  const unmade = made.filter(({ text }) => text.startsWith('Not checked: The disk that holds'))
  expect(unmade.map(({ name }) => name)).toEqual(databaseChecks.filter((name) => name !== 'Disk'))

  await truncate(join(disk, 'filler'), 0)
  while ((await readiness()) !== '200 ok') await Bun.sleep(100)
  while ((await client.debit(serviceUserId, 0.01, reference)).status !== 200) await Bun.sleep(100)
  const again = await client.debit(serviceUserId, 0.01, reference)
  expect(again.body).toMatchObject({ replayed: true })
  await page.goto(`${rig.base}/admin`)
  await state.getByText('Answers in').waitFor()
  expect(await state.getByText('takes no writes').count()).toBe(0)
  const [verified] = await play('disk-full-after', rig.environment)
  expect([verified!.exitCode, verified!.json]).toMatchObject([0, { isExact: true, transfers: paid + 2 }])
  expect((await client.wallet(serviceUserId)).body['balance']).toBe((10_000 - paid - 1) / 100)
  expect(stepsOf('The disk is full')).toEqual({ commands: 2, pages: 2 })
})
