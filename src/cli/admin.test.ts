import { afterAll, beforeAll, expect, test } from 'bun:test'
import { runCommand } from '../../test/command.ts'
import { testDatabase, type TestDatabase } from '../../test/postgres.ts'

let database: TestDatabase
const run = (args: string[], input = '') => runCommand([...args, '--json'], { DATABASE_URL: database.url }, input)
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
