import { hostname, userInfo } from 'node:os'
import { afterAll, beforeAll, expect, setDefaultTimeout, test } from 'bun:test'
import { callCommand } from '../../test/command.ts'
import { openDatabase } from '../store/connection/database.ts'
import { testDatabase, type TestDatabase } from '../../test/postgres.ts'

setDefaultTimeout(240_000)

let database: TestDatabase
const run = (args: string[], input = '') => callCommand([...args, '--json'], { DATABASE_URL: database.url }, input)
const password = 'correct horse battery staple'

beforeAll(async () => {
  database = await testDatabase()
})
afterAll(() => database.drop())

test('an operator is created with a password from stdin, once for each email', async () => {
  const first = await run(['admin', 'create', '--email', 'Ada@Example.com', '--name', 'Ada'], password)
  expect(first.exitCode).toBe(0)
  expect(JSON.parse(first.stdout)).toMatchObject({ email: 'ada@example.com', name: 'Ada', role: 'admin' })
  expect(first.stdout + first.stderr).not.toContain(password)
  expect((await run(['admin', 'create', '--email', 'ada@example.com'], password)).exitCode).toBe(1)
})

test.each([
  [['admin', 'create', '--email', 'nobody'], password],
  [['admin', 'create', '--email', 'b@example.com', '--role', 'god'], password],
  [['admin', 'create', '--email', 'b@example.com'], 'too short'],
  [['admin', 'create'], password],
])('billfold %j is a mistake that is told, and creates nobody', async (args, input) => {
  const { exitCode, stdout } = await run(args, input)
  expect(exitCode).toBe(2)
  expect(JSON.parse(stdout)).toHaveProperty('error')
})

test('a one-time link brings back an operator who lost the way in, and nobody else', async () => {
  const { stdout } = await run(['admin', 'reset', 'ada@example.com'])
  expect(JSON.parse(stdout)).toMatchObject({ link: expect.stringMatching(/\/admin\/welcome\?token=[\w-]{43}$/) })
  expect((await run(['admin', 'reset', 'nobody@example.com'])).exitCode).toBe(1)
})

test('operators are listed, and one who is removed has no access and leaves no link behind', async () => {
  expect(await run(['admin', 'create', '--email', 'eve@example.com', '--name', 'Eve'], password)).toMatchObject({
    exitCode: 0,
    stderr: '',
  })
  const { operators } = JSON.parse((await run(['admin', 'list'])).stdout) as { operators: Record<string, unknown>[] }
  expect(operators).toMatchObject([
    { email: 'ada@example.com', role: 'admin', hasAccess: true },
    { email: 'eve@example.com', role: 'admin', hasAccess: true },
  ])
  expect(JSON.stringify(operators)).not.toContain('argon2')
  await run(['admin', 'reset', 'eve@example.com'])
  expect(await openLinks()).toContainEqual(expect.objectContaining({ kind: 'reset', for: 'eve@example.com' }))
  expect((await run(['admin', 'remove', 'eve@example.com'])).exitCode).toBe(0)
  expect(await openLinks()).not.toContainEqual(expect.objectContaining({ for: 'eve@example.com' }))
  expect((await run(['admin', 'list'])).stdout).toContain('"hasAccess": false')
  expect((await run(['admin', 'remove', 'ada@example.com'])).exitCode).toBe(1)
  expect((await run(['admin', 'remove', 'nobody@example.com'])).exitCode).toBe(1)
})

test('a printed invitation is for its email, and the role and access of an operator are changed without a second admin', async () => {
  const invited = await run(['admin', 'invite', '--email', 'New@example.com', '--role', 'finance'])
  expect(JSON.parse(invited.stdout)).toMatchObject({
    email: 'new@example.com',
    link: expect.stringContaining('token='),
  })
  expect((await run(['admin', 'invite', '--email', 'ada@example.com'])).exitCode).toBe(1)
  expect((await run(['admin', 'invite', '--email', 'nobody'])).exitCode).toBe(2)
  expect((await run(['admin', 'role', 'eve@example.com', 'viewer'])).exitCode).toBe(1)
  expect((await run(['admin', 'restore', 'eve@example.com'])).exitCode).toBe(0)
  expect((await run(['admin', 'role', 'eve@example.com', 'viewer'])).exitCode).toBe(0)
  expect((await run(['admin', 'role', 'eve@example.com', 'god'])).exitCode).toBe(2)
  const db = openDatabase(database.connection)
  const { rows } = await db.pool.query(`select detail->>'via' as via from audit where action = 'operator.invited'`)
  expect(rows).toEqual([{ via: 'command line' }])
  await db.pool.end()
  const open = (await openLinks()).find((link) => link['for'] === 'new@example.com')!
  await run(['admin', 'revoke', String(open['inviteId'])])
})

test('an open link is revoked by its id, once', async () => {
  await run(['admin', 'reset', 'ada@example.com'])
  const [{ inviteId }] = (await openLinks()) as [{ inviteId: string }]
  expect((await run(['admin', 'revoke', inviteId])).exitCode).toBe(0)
  expect(await openLinks()).toEqual([])
  expect((await run(['admin', 'revoke', inviteId])).exitCode).toBe(1)
})

test('the audit log names the user and host of a command, or whom --as names, and never an operator', async () => {
  await run(['admin', 'reset', 'ada@example.com'])
  await run(['admin', 'reset', 'ada@example.com', '--as', 'Grace'])
  await run(['admin', 'reset', 'ada@example.com', '--as', 'operator:1'])
  expect((await run(['admin', 'reset', 'ada@example.com', '--as', ' '])).exitCode).toBe(2)
  const db = openDatabase(database.connection)
  const { rows } = await db.pool.query(
    `select actor from audit where action = 'operator.reset' order by at desc, id desc limit 3`,
  )
  await db.pool.end()
  const here = `cli:${userInfo().username}@${hostname()}`
  expect(rows).toEqual([{ actor: 'cli:operator:1' }, { actor: 'cli:Grace' }, { actor: here }])
})

async function openLinks(): Promise<Record<string, unknown>[]> {
  return (JSON.parse((await run(['admin', 'invites'])).stdout) as { invites: Record<string, unknown>[] }).invites
}

test('the doctor names the failing checks and the line to change, and ends with 1', async () => {
  const created = await run([
    'app',
    'create',
    '--name',
    'Shop',
    '--parent',
    'https://shop.example',
    '--scope',
    'wallet:read',
  ])
  const { clientId } = JSON.parse(created.stdout) as { clientId: string }
  const { exitCode, stdout } = await run(['doctor', 'https://shop.example:8443/wallet', '--app', clientId])
  expect(exitCode).toBe(1)
  const { checks } = JSON.parse(stdout) as { checks: { name: string; state: string; fix?: string }[] }
  expect(checks.find((check) => check.name === 'Listed as a parent')).toMatchObject({
    state: 'bad',
    fix: expect.stringContaining('https://shop.example:8443'),
  })
  expect((await run(['doctor', 'no address'])).exitCode).toBe(2)
})
