/** The commands about holds, as processes beside a running service. */
import { afterAll, beforeAll, beforeEach, describe, expect, setDefaultTimeout, test } from 'bun:test'
import { newClient } from '../../test/client.ts'
import { callCommand, runCommand } from '../../test/command.ts'
import { holdClient, holdOf, letHoldsAge } from '../../test/holds.ts'
import {
  newApp,
  newUser,
  openTestService,
  type Credentials,
  type TestService,
  type TestUser,
} from '../../test/service.ts'

setDefaultTimeout(180_000)

let opened: TestService
let credentials: Credentials
let holds: ReturnType<typeof holdClient>
let user: TestUser
let id: string

beforeAll(async () => {
  opened = await openTestService()
  credentials = await newApp(opened.service)
  holds = holdClient(newClient(opened.app.fetch, credentials), credentials)
})
beforeEach(async () => {
  user = await newUser(opened.service, credentials)
  await newClient(opened.app.fetch, credentials).credit(user.serviceUserId, 100)
  id = holdOf(await holds.place(user.serviceUserId, 60, { referenceId: user.userId })).id
})
afterAll(() => opened.close())

const call = (...args: string[]) => callCommand(['hold', ...args], { DATABASE_URL: opened.databaseUrl })
const jsonOf = async (...args: string[]) => {
  const { exitCode, stdout, stderr } = await call(...args, '--json')
  expect([exitCode, stderr]).toEqual([0, ''])
  return JSON.parse(stdout) as Record<string, unknown> & { holds: Record<string, unknown>[] }
}

describe('hold void', () => {
  test('run as a process, voids the hold while the service runs, once', async () => {
    const args = ['hold', 'void', id, '--reason', 'the shop has closed', '--as', 'ann', '--json']
    const { exitCode, stdout, stderr } = await runCommand(args, { DATABASE_URL: opened.databaseUrl })
    expect([exitCode, stderr]).toEqual([0, ''])
    expect(JSON.parse(stdout)).toMatchObject({ id, status: 'VOIDED', amount: 60, captured: 0, remaining: 0 })
    expect((await call('void', id, '--reason', 'again')).stdout).toContain('Voided.')
    expect((await holds.capture(id)).body['code']).toBe('HOLD_CLOSED')
    const { steps } = await jsonOf('show', id)
    expect(steps).toMatchObject([
      { number: 1, kind: 'void', amount: 60, actor: 'cli:ann', reason: 'the shop has closed' },
    ])
    const { rows } = await opened.service.db.pool.query(
      `select actor, detail->>'reason' as reason from audit where action = 'hold.void-ordered' and subject = $1 order by at`,
      [`wallet:${user.userId}`],
    )
    expect(rows[0]).toEqual({ actor: 'cli:ann', reason: 'the shop has closed' })
  })

  test('refuses a hold that has ended', async () => {
    await holds.capture(id)
    const { exitCode, stderr } = await call('void', id, '--reason', 'x')
    expect([exitCode, stderr]).toEqual([1, expect.stringContaining('already ended')])
  })

  test.each([
    ['no reason', [], 2],
    ['an empty reason', ['--reason', ' '], 2],
    ['a reason of 501 characters', ['--reason', 'x'.repeat(501)], 2],
    ['a name of 101 characters', ['--reason', 'x', '--as', 'x'.repeat(101)], 2],
  ])('refuses %s', async (_, args, expected) => {
    expect((await call('void', id, ...args)).exitCode).toBe(expected)
    expect(holdOf(await holds.read(id)).status).toBe('OPEN')
  })

  test.each([
    ['x', 2],
    [`hold_${'0'.repeat(32)}`, 1],
  ])('refuses the id %s', async (unknown, expected) => {
    for (const verb of [
      ['show', unknown],
      ['void', unknown, '--reason', 'x'],
    ])
      expect((await call(...verb)).exitCode).toBe(expected)
  })
})

test('hold show prints the figures and every step', async () => {
  await holds.capture(id, { amount: 10, final: false, referenceType: 'PART', referenceId: id })
  const { stdout } = await call('show', id)
  expect(stdout).toMatch(/captured +10\.00 USD/)
  expect(stdout).toMatch(/remaining +50\.00 USD/)
  expect(stdout).toMatch(/#1 .* capture {2}10\.00 USD {2}entry 2 {2}by app:/)
})

const idsOf = async (...args: string[]) => (await jsonOf('list', ...args)).holds.map((hold) => hold['id'])

test('hold list names open holds, those of an app or a wallet, and late ones', async () => {
  const ended = holdOf(await holds.place(user.serviceUserId, 1)).id
  await holds.void(ended)
  expect(await idsOf('--app', credentials.clientId, '--limit', '1000')).toContain(id)
  expect(await idsOf('--limit', '1000')).not.toContain(ended)
  expect(await idsOf('--wallet', user.serviceUserId)).toEqual([id, ended])
  expect(await idsOf('--late')).toEqual([])
  await letHoldsAge(opened, 8 * 24 * 60 * 60)
  expect(await idsOf('--late', '--limit', '1000')).toContain(id)
  await letHoldsAge(opened, -8 * 24 * 60 * 60)
  expect((await call('list', '--wallet', user.userId)).stdout).toContain(`60.00 left  until `)
  const other = await newApp(opened.service)
  expect((await call('list', '--app', other.clientId)).stdout).toBe('There are none.\n')
})

test.each([
  [['--limit', '0'], 2],
  [['--limit', '1001'], 2],
  [['--limit', 'x'], 2],
  [['--app', 'app_none'], 1],
  [['--wallet', 'nobody@example.com'], 1],
  [['--wallet', 'x', '--late'], 2],
])('hold list refuses %p', async (args, expected) => {
  expect((await call('list', ...args)).exitCode).toBe(expected)
})

test('a wallet with less than is held is not unfrozen, and says what is missing', async () => {
  const ofWallet = (...args: string[]) => callCommand(['wallet', ...args], { DATABASE_URL: opened.databaseUrl })
  const { pool } = opened.service.db
  await pool.query(`update wallets set frozen_for = 'debt', balance = 50_00 where id = $1`, [user.userId])
  const { exitCode, stderr } = await ofWallet('unfreeze', user.userId, '--reason', 'x')
  expect([exitCode, stderr]).toEqual([1, expect.stringContaining('has less than zero available')])
  expect((await ofWallet('show', user.userId)).stdout).toContain('frozen until its available balance is back to zero')
})

test('wallet show prints what is held and available', async () => {
  const { stdout } = await callCommand(['wallet', 'show', user.userId], { DATABASE_URL: opened.databaseUrl })
  expect(stdout).toMatch(/balance +100\.00 USD\nheld +60\.00 USD\navailable +40\.00 USD/)
})
