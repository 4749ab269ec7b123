import { afterAll, beforeAll, describe, expect, setDefaultTimeout, test } from 'bun:test'
import { mkdtemp, readFile, rm, stat, truncate, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { Client } from 'pg'
import { callCommand, runCommand } from '../test/command.ts'
import { eventually } from '../test/eventually.ts'
import { testDatabase, type TestDatabase } from '../test/postgres.ts'
import { startProcess } from '../test/process.ts'

setDefaultTimeout(240_000)

let database: TestDatabase
let folder: string
let environment: Record<string, string>

beforeAll(async () => {
  database = await testDatabase()
  folder = await mkdtemp(join(tmpdir(), 'billfold-cli-'))
  environment = { DATABASE_URL: database.url, BILLFOLD_PASSWORD: 'a long enough password' }
})

afterAll(async () => {
  await database.drop()
  await rm(folder, { recursive: true })
})

async function cli(...args: string[]) {
  return await callCommand(args, environment)
}

/** The JSON object that a command prints; fails on any other output. */
async function json(...args: string[]): Promise<Record<string, unknown>> {
  const { exitCode, stdout, stderr } = await cli(...args, '--json')
  expect({ exitCode, stderr }).toEqual({ exitCode: 0, stderr: '' })
  return JSON.parse(stdout) as Record<string, unknown>
}

async function newApp(): Promise<string> {
  return String((await json('app', 'create', '--name', 'Shop'))['clientId'])
}

async function newUser(email: string, ...more: string[]): Promise<Record<string, unknown>> {
  return await json('user', 'create', '--email', email, '--first', 'Ann', '--last', 'Lee', ...more)
}

async function madeFile(path: string): Promise<string> {
  await writeFile(path, '')
  return path
}

function grant(amount: string): string[] {
  return ['wallet', 'credit', 'bonus@example.com', '--amount', amount, '--reason', 'Hi', '--reference', 'r-1']
}

describe('it works', () => {
  test('an app made on the command line debits over HTTP at once, while the service runs', async () => {
    const service = await startProcess({ DATABASE_URL: database.url })
    const app = await json(
      'app',
      'create',
      '--name',
      'My shop',
      '--origin',
      'https://A.example',
      '--origin',
      'https://b.example',
    )
    expect(app).toMatchObject({
      allowedOrigins: ['https://a.example', 'https://b.example'],
      scopes: ['wallet:read', 'wallet:write'],
    })
    const { clientId, clientSecret } = app
    const { serviceUserId } = await newUser('Http@Example.com', '--link', String(clientId))
    expect(
      await json('wallet', 'credit', String(serviceUserId), '--amount', '25.00', '--reason', 'Welcome'),
    ).toMatchObject({ balance: 25 })
    const body = { clientId, clientSecret, serviceUserId, amount: 10, referenceType: 'ORDER', referenceId: '1' }
    const debit = () =>
      fetch(`${service.url}/api/server/wallet/debit`, {
        method: 'POST',
        body: JSON.stringify(body),
        headers: { 'content-type': 'application/json' },
      })
    const reply = await debit()
    expect([reply.status, await reply.json()]).toMatchObject([200, { balance: 15 }])
    await json('app', 'deactivate', String(clientId))
    // The service uses a copy of the apps, which on a busy machine is read again late.
    await eventually(async () => (await debit()).status, 401)
    expect(await service.stop()).toBe(0)
  })

  test('a secret is rotated with an overlap, shown without its text, and revoked', async () => {
    const clientId = await newApp()
    const { clientSecret, previousEndsAt } = await json('app', 'rotate', clientId, '--overlap', '1h')
    expect(String(clientSecret)).toStartWith('bfs_')
    expect(Date.parse(String(previousEndsAt)) - Date.now()).toBeWithin(3_500_000, 3_600_001)
    const shown = await cli('app', 'show', clientId, '--json')
    expect(shown.stdout).not.toContain(String(clientSecret))
    expect(shown.stdout).not.toMatch(/"\w*hash\w*":/i)
    const { secrets } = JSON.parse(shown.stdout) as { secrets: { id: string; expiresAt: string | null }[] }
    expect(secrets.map(({ expiresAt }) => expiresAt)).toEqual([null, String(previousEndsAt)])
    expect(await json('app', 'revoke-secret', clientId, secrets[0]!.id)).toMatchObject({ isRevoked: true })
    expect((await cli('app', 'revoke-secret', clientId, crypto.randomUUID())).exitCode).toBe(1)
  })

  test('an edit changes what it names and nothing else', async () => {
    const clientId = await newApp()
    await json('app', 'edit', clientId, '--parent', 'https://a.example', '--strict-references')
    const edited = await json('app', 'edit', clientId, '--name', 'New', '--no-scopes', '--no-strict-references')
    expect(edited).toMatchObject({
      name: 'New',
      scopes: [],
      allowedIframeParents: ['https://a.example'],
      strictReferences: false,
    })
    expect(((await json('app', 'list'))['apps'] as { name: string }[]).map(({ name }) => name)).toContain('New')
  })

  test('a wallet is found by id, email and serviceUserId; frozen, shown and thawed', async () => {
    const clientId = await newApp()
    const { userId, serviceUserId } = await newUser('wallet@example.com', '--link', clientId)
    await json('wallet', 'freeze', 'wallet@example.com', '--reason', 'stolen card')
    for (const name of [String(userId), String(serviceUserId), 'Wallet@Example.com'])
      expect(await json('wallet', 'show', name)).toMatchObject({
        walletId: userId,
        isActive: false,
        frozenReason: 'stolen card',
      })
    expect(await json('wallet', 'freeze', String(userId), '--reason', 'again')).toMatchObject({ isChanged: false })
    expect(await json('wallet', 'unfreeze', String(userId), '--reason', 'found')).toMatchObject({
      isActive: true,
      isChanged: true,
    })
  })

  test('a bonus with a reference is granted once, and another amount under it is refused', async () => {
    await newUser('bonus@example.com')
    expect(await json(...grant('5'))).toMatchObject({ amount: 5, balance: 5, replayed: false })
    expect(await json(...grant('5.00'))).toMatchObject({ balance: 5, replayed: true })
    const other = await cli(...grant('6'))
    expect([other.exitCode, other.stderr]).toEqual([1, 'The reference r-1 was used before, with another amount.\n'])
    expect(await json('wallet', 'show', 'bonus@example.com')).toMatchObject({
      balance: 5,
      transactions: [{ referenceId: 'r-1' }],
    })
  })

  test('seed makes funded users that the ledger agrees with', async () => {
    const clientId = await newApp()
    const { serviceUserIds } = await json('seed', '--users', '1000', '--link', clientId, '--credit', '12.34')
    expect(new Set(serviceUserIds as string[]).size).toBe(1_000)
    expect(await json('wallet', 'show', (serviceUserIds as string[])[999]!)).toMatchObject({ balance: 12.34 })
    expect(await json('verify')).toMatchObject({ isExact: true, faults: 0, found: [] })
  })

  test('a copy made by export is restored by import into a database of its own', async () => {
    const file = join(folder, 'copy.billfold')
    const { rows } = await json('export', file)
    expect((await stat(file)).mode & 0o777).toBe(0o600)
    const piped = Bun.spawn([process.execPath, 'src/cli.ts', 'export'], {
      env: { ...process.env, ...environment },
      stdout: 'pipe',
    })
    const copy = await new Response(piped.stdout).blob()
    expect([await piped.exited, copy.size > 1_000]).toEqual([0, true])
    const again = await cli('export', file)
    expect([again.exitCode, again.stderr]).toEqual([1, `${file} already exists.\n`])
    for (const source of [file, '-']) {
      const empty = await testDatabase()
      const imported = await runCommand(['import', source, '--json'], { ...environment, DATABASE_URL: empty.url }, copy)
      expect(imported).toMatchObject({ exitCode: 0, stderr: '' })
      expect(JSON.parse(imported.stdout)).toMatchObject({ rows, isExact: true })
      await empty.drop()
    }
  })

  test('a copy of a large database is made, and pg_dump is named for the next', async () => {
    const large = await testDatabase()
    const client = new Client(large.connection)
    await client.connect()
    const { rows } = await client.query<{ folder: string }>(
      `select current_setting('data_directory') || '/base/' || oid as folder from pg_database where datname = current_database()`,
    )
    await client.end()
    // The size of a database is that of all files in its folder; this sparse file uses no disk space.
    await truncate(await madeFile(join(rows[0]!.folder, 'large')), 2e9)
    const exported = await runCommand(['export', join(folder, 'large.billfold')], {
      ...environment,
      DATABASE_URL: large.url,
    })
    expect(exported.exitCode).toBe(0)
    expect(exported.stderr).toStartWith('The database has 2.0 GB. For a copy of that size use pg_dump --format')
    await large.drop()
  })

  test('migrate says where the database is', async () => {
    const { applied, current } = await json('migrate')
    expect(applied).toEqual([])
    expect(current).toBeGreaterThan(0)
  })
})

test('the embedded database is started for a command and stopped after it', async () => {
  const dataDir = join(folder, 'data')
  const here = { DATA_DIR: dataDir, BILLFOLD_PASSWORD: 'a long enough password' }
  const first = await runCommand(['app', 'create', '--name', 'Embedded', '--json'], here)
  expect(first).toMatchObject({ exitCode: 0, stderr: '' })
  expect(await readFile(join(dataDir, 'postgres', 'postmaster.pid'), 'utf8').catch(() => 'stopped')).toBe('stopped')
  const second = await runCommand(['app', 'list'], here)
  expect(second.stdout).toContain('Embedded')
})

test('npx runs it in the project folder', async () => {
  const child = Bun.spawn(['npx', 'billfold', '--help'], { stdout: 'pipe', stderr: 'ignore' })
  expect(await new Response(child.stdout).text()).toContain('Billfold on the command line')
})
