import { describe, expect, setDefaultTimeout, test } from 'bun:test'
import { callCommand, runCommand } from '../../test/command.ts'
import { commands } from './commands.ts'

setDefaultTimeout(60_000)

describe('help', () => {
  test('the help lists every command', async () => {
    const { exitCode, stdout } = await runCommand(['--help'], {})
    expect(exitCode).toBe(0)
    for (const { name, summary } of commands) {
      expect(stdout).toContain(name)
      expect(stdout).toContain(summary)
    }
    expect((await runCommand([], {})).stdout).toBe(stdout)
  })

  test('the help lists the commands of one noun', async () => {
    const { stdout } = await callCommand(['wallet'], {})
    expect(stdout).toContain('wallet freeze <wallet>')
    expect(stdout).not.toContain('app create')
  })

  for (const command of commands) {
    test(`explains ${command.name}, with every flag and an example that is understood`, async () => {
      const { exitCode, stdout } = await callCommand([...command.name.split(' '), '--help'], {})
      expect(exitCode).toBe(0)
      for (const flag of Object.keys(command.flags ?? {})) expect(stdout).toContain(`--${flag}`)
      expect(stdout).toContain(`npx billfold ${command.examples[0]}`)
    })
  }
})
