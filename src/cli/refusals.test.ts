import { afterAll, beforeAll, describe, expect, setDefaultTimeout, test } from 'bun:test'
import { callCommand } from '../../test/command.ts'
import { secretsKey } from '../../test/service.ts'
import { receiptCodeOf } from '../ledger/receipt-code.ts'
import { serviceNamespace } from '../ledger/reference.ts'
import { referenceKeyOf } from '../store/outcomes.ts'
import { testDatabase, type TestDatabase } from '../../test/postgres.ts'

setDefaultTimeout(240_000)

let database: TestDatabase
let environment: Record<string, string>

beforeAll(async () => {
  database = await testDatabase()
  environment = { DATABASE_URL: database.url, BILLFOLD_PASSWORD: 'a long enough password' }
})

afterAll(async () => await database.drop())

function newUser(email: string): string[] {
  return ['user', 'create', '--email', email, '--first', 'A', '--last', 'B']
}

/** The address of the test's database, with a mistake in it. */
function elsewhere(change: (url: URL) => void): string {
  const url = new URL(database.url)
  change(url)
  return url.href
}

describe('it refuses', () => {
  const mistakes: [args: string[], message: string][] = [
    [['ap', 'list'], 'There is no command "ap". Did you mean "app"?'],
    [['app', 'crate'], 'There is no command "app crate". Did you mean "app create"?'],
    [['verfiy'], 'There is no command "verfiy". Did you mean "verify"?'],
    [['xyzzy'], 'There is no command "xyzzy".'],
    [['help', 'xyzzy'], 'There is no command "xyzzy".'],
    [['app', 'create', '--nmae', 'x'], 'There is no flag "--nmae". Did you mean "--name"?'],
    [['app', 'create', '-n', 'x'], 'There is no flag "-n".'],
    [['app', 'create', '--__proto__', 'x'], 'There is no flag "--__proto__".'],
    [['app', 'create'], '"app create" needs --name NAME.'],
    [['app', 'create', '--name'], '--name needs a value: NAME.'],
    [['app', 'create', '--name', 'a', '--name', 'b'], '--name was given 2 times.'],
    [['app', 'create', '--name', 'a', '--json=yes'], '--json is a switch: it has no value.'],
    [['app', 'create', '--name', 'a', '--origin', 'https://*.example'], '--origin: "https://*.example": a wildcard'],
    [['app', 'create', '--name', 'a', '--scope', 'wallet:all'], '--scope: choose from wallet:read and wallet:write'],
    [['app', 'rotate'], '"app rotate" needs <clientId>.'],
    [['app', 'rotate', 'app_x', '--overlap', '2h'], '--overlap: write one of none, 1h, 24h, 7d.'],
    [['app', 'show', 'app_x', 'app_y'], '"app show" has no argument for "app_y".'],
    [['user', 'create', '--email', 'ann', '--first', 'A', '--last', 'B'], '--email: "ann" is not an email address.'],
    [
      ['wallet', 'credit', 'a@b.cd', '--amount', '0.001', '--reason', 'x'],
      '--amount: write an amount of USD above zero',
    ],
    [['wallet', 'credit', 'a@b.cd', '--amount', '-5', '--reason', 'x'], '--amount'],
    [['wallet', 'freeze', 'a@b.cd', '--reason', ' '], '--reason: write 1 to 500 characters.'],
    [['wallet', 'receipt', 'ORDER-1042'], '"ORDER-1042" is not a receipt code'],
    [['seed', '--users', '1e3', '--link', 'app_x'], '--users: write a whole number from 1 to 10000000.'],
    [['verify', '--jobs', '0'], '--jobs: write a whole number from 1 to 64.'],
    [['distribute', '--shards', '0'], '--shards: write a whole number from 1 to 1,024.'],
    [['export', '--json'], '--json and the copy cannot both be on stdout'],
  ]
  for (const [args, message] of mistakes) {
    test(`"${args.join(' ')}" with exit code 2 and a reason`, async () => {
      const { exitCode, stdout, stderr } = await callCommand(args, environment)
      const said = args.some((arg) => arg.startsWith('--json')) ? stdout || stderr : stderr
      expect(said.replaceAll('\\"', '"')).toContain(message)
      expect(exitCode).toBe(2)
    })
  }

  const refusals: [args: string[], message: string][] = [
    [['app', 'show', 'app_none'], 'There is no app app_none.'],
    [['app', 'activate', 'app_none'], 'There is no app app_none.'],
    [['app', 'revoke-secret', 'app_none', 'x'], 'The app app_none has no secret x'],
    [['wallet', 'receipt', receiptCodeOf('0'.repeat(32))], 'No transaction has the receipt code'],
    [['wallet', 'show', 'nobody@example.com'], 'There is no wallet "nobody@example.com".'],
    [
      ['user', 'create', '--email', 'a@b.cd', '--first', 'A', '--last', 'B', '--link', 'app_none'],
      'There is no app app_none.',
    ],
    [['seed', '--users', '1', '--link', 'app_none'], 'There is no app app_none.'],
    [['import', '/nowhere/at/all'], '/nowhere/at/all cannot be read: ENOENT.'],
    [['export', '/nowhere/at/all'], '/nowhere/at/all cannot be written: ENOENT.'],
  ]
  for (const [args, message] of refusals) {
    test(`"${args.join(' ')}" with exit code 1 and a reason, also as JSON`, async () => {
      const plain = await callCommand(args, environment)
      expect([plain.exitCode, plain.stdout]).toEqual([1, ''])
      expect(plain.stderr).toContain(message)
      const scripted = await callCommand([...args, '--json'], environment)
      expect([scripted.exitCode, scripted.stderr]).toEqual([1, ''])
      expect((JSON.parse(scripted.stdout) as { error: string }).error).toContain(message)
    })
  }

  test('an email that is taken', async () => {
    await callCommand(newUser('twice@example.com'), environment)
    const { exitCode, stderr } = await callCommand(newUser('TWICE@example.com'), environment)
    expect([exitCode, stderr]).toEqual([1, 'A user with the email twice@example.com already exists.\n'])
  })

  test('the command line refuses to seed in production', async () => {
    const production = {
      NODE_ENV: 'production',
      PUBLIC_URL: 'https://wallet.example',
      CARD_PROCESSOR: 'none',
      SMTP_URL: 'smtp://mail.example',
      SECRETS_KEY: secretsKey,
    }
    const { exitCode, stderr } = await callCommand(['seed', '--users', '1', '--link', 'app_any'], {
      ...environment,
      ...production,
    })
    expect([exitCode, stderr]).toEqual([
      1,
      'Not in production: seeded money could not be distinguished from real money.\n',
    ])
  })

  test('a configuration with mistakes, all of them told', async () => {
    const { exitCode, stderr } = await callCommand(['app', 'list'], { PORT: 'x', CURRENCY: 'dollars' })
    expect(exitCode).toBe(1)
    expect(stderr).toContain('PORT')
    expect(stderr).toContain('CURRENCY')
  })

  const unreachable: [what: string, url: () => string, said: RegExp][] = [
    [
      'where nobody listens',
      () => 'postgres://me:hunter2@127.0.0.1:1/none?password=hunter2',
      /^DATABASE_URL leads to postgres:\/\/me@127\.0\.0\.1:1\/none, and there: .*Check that PostgreSQL runs there/s,
    ],
    [
      'on one of two hosts',
      () => 'postgres://me:hunter2@127.0.0.1:1,127.0.0.1:2/none',
      /^DATABASE_URL leads to postgres:\/\/me@127\.0\.0\.1:1\/none or postgres:\/\/me@127\.0\.0\.1:2\/none, and there: None/,
    ],
    ['on no host', () => 'postgres://me:hunter2@nowhere.invalid/none', /Check that the name of the host is right/],
    ['that is not there', () => elsewhere((url) => (url.pathname = '/none')), /Check the name of the database/],
    ['for a role that is not there', () => elsewhere((url) => (url.username = 'nobody-here')), /Check that the role/],
  ]
  for (const [what, url, said] of unreachable) {
    test(`a database ${what}, with its address and what to check, and without a password`, async () => {
      const { exitCode, stdout, stderr } = await callCommand(['app', 'list'], { DATABASE_URL: url() })
      expect([exitCode, stdout]).toEqual([1, ''])
      expect(stderr).toMatch(said)
      expect(stderr).not.toContain('hunter2')
    })
  }

  test('faulty books, with exit code 1 and the wallet at fault', async () => {
    const faulty = await testDatabase()
    const here = { ...environment, DATABASE_URL: faulty.url }
    const { userId } = JSON.parse((await callCommand([...newUser('a@b.cd'), '--json'], here)).stdout) as {
      userId: string
    }
    const sql = Bun.spawnSync(
      [
        process.execPath,
        '-e',
        `
      import { Client } from 'pg'
      const client = new Client({ connectionString: process.env.DATABASE_URL })
      await client.connect()
      await client.query('update wallets set balance = 5')
      await client.end()`,
      ],
      { env: { ...process.env, ...here } },
    )
    expect(sql.exitCode).toBe(0)
    const plain = await callCommand(['verify'], here)
    expect(plain.exitCode).toBe(1)
    expect(plain.stdout).toContain(`wallet-balance: Wallet ${userId}: its balance is 5, but its entries add up to 0.`)
    const scripted = await callCommand(['verify', '--json'], here)
    expect(JSON.parse(scripted.stdout)).toMatchObject({ isExact: false, faults: 2, found: [{ walletId: userId }, {}] })
    await faulty.drop()
  })
})

test('wallet receipt finds the transaction by its code', async () => {
  await callCommand(newUser('receipt@example.com'), environment)
  const grant = ['wallet', 'credit', 'receipt@example.com', '--amount', '5', '--reason', 'Hello', '--reference', 'r-1']
  expect((await callCommand(grant, environment)).exitCode).toBe(0)
  const code = receiptCodeOf(referenceKeyOf({ namespace: serviceNamespace, type: 'BONUS', id: 'r-1' }))
  const { exitCode, stdout } = await callCommand(['wallet', 'receipt', code.toLowerCase(), '--json'], environment)
  expect(exitCode).toBe(0)
  expect(JSON.parse(stdout)).toMatchObject({
    receipts: [{ receiptCode: code, email: 'receipt@example.com', amount: 5, sequence: 1, referenceId: 'r-1' }],
  })
})
