import { afterAll, beforeAll, describe, expect, setDefaultTimeout, test } from 'bun:test'
import { runCommand } from '../../test/command.ts'
import { testDatabase, type TestDatabase } from '../../test/postgres.ts'
import { loadCommands } from './commands.ts'

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

async function exitCodeWith(password: string, email: string): Promise<number> {
  return (await runCommand(newUser(email), { ...environment, BILLFOLD_PASSWORD: password })).exitCode
}

describe('passwords', () => {
  test('a password comes from stdin, without its line end', async () => {
    const here = { DATABASE_URL: database.url }
    expect((await runCommand(newUser('stdin@example.com'), here, 'eight888\r\nsomething else')).exitCode).toBe(0)
    const refused = await runCommand(newUser('short@example.com'), here, 'seven77\n')
    expect([refused.exitCode, refused.stderr]).toEqual([1, 'A password has 8 to 256 characters.\n'])
    const missing = await runCommand(newUser('missing@example.com'), here, '')
    expect(missing.stderr).toContain('No password: set BILLFOLD_PASSWORD')
  })

  test('a password has 8 to 256 characters', async () => {
    expect(await exitCodeWith('🔑'.repeat(256), 'longest@example.com')).toBe(0)
    expect(await exitCodeWith('x'.repeat(257), 'longer@example.com')).toBe(1)
  })

  test('a password is asked for on a terminal, twice, and never shown', async () => {
    const typed = 'typed unseen 1x\u007f'
    let screen = ''
    let answers = 0
    const child = Bun.spawn([process.execPath, 'src/cli.ts', ...newUser('typed@example.com')], {
      env: { PATH: process.env['PATH'] ?? '', DATABASE_URL: database.url },
      terminal: {
        cols: 100,
        rows: 30,
        data: (terminal, bytes) => {
          screen += new TextDecoder().decode(bytes)
          if (screen.split(': ').length - 1 > answers && answers < 2) {
            answers++
            terminal.write(`${typed}\r`)
          }
        },
      },
    })
    expect(await child.exited).toBe(0)
    expect(screen).toContain('Password (not shown):')
    expect(screen).toContain('userId')
    expect(screen).not.toContain('unseen')
  })

  test('a password is no argument: there is no flag for it', async () => {
    const flags = (await loadCommands()).flatMap((command) => Object.keys(command.flags ?? {}))
    expect(flags.filter((flag) => /password|secret|token/i.test(flag))).toEqual([])
  })
})
