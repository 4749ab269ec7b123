import { describe, expect, setDefaultTimeout, test } from 'bun:test'
import { callCommand, runCommand } from '../../test/command.ts'
import { loadCommands } from './commands.ts'
import { findCommand, parseInvocation } from './parse.ts'
import manifest from '../../package.json' with { type: 'json' }

setDefaultTimeout(240_000)

const commands = await loadCommands()

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

  test('a command is among those that are loaded for its first word', async () => {
    for (const { name } of commands) {
      const loaded = await loadCommands(name.split(' ')[0])
      expect(loaded.map((command) => command.name)).toContain(name)
      expect(loaded.length).toBeLessThan(commands.length / 2)
    }
  })

  for (const command of commands) {
    test(`explains ${command.name}, with every flag and examples that are understood`, async () => {
      const words = command.name.split(' ')
      const { exitCode, stdout } = await callCommand([...words, '--help'], {})
      expect(exitCode).toBe(0)
      for (const flag of Object.keys(command.flags ?? {})) expect(stdout).toContain(`--${flag}`)
      expect((await callCommand(['help', ...words], {})).stdout).toBe(stdout)
      expect((await callCommand(['--help', ...words], {})).stdout).toBe(stdout)
      const examples = stdout.split('Examples:\n')[1]!.trimEnd().split('\n')
      expect(examples.length).toBe(command.examples.length)
      for (const example of examples) expect(commandIn(example)).toBe(command.name)
    })
  }
})

/** The name of the command in a shell line; checks its flags and positionals. */
function commandIn(line: string): string {
  const [, typed] = /^  (?:[A-Z_]+=\S+ )*npx billfold (.*?)(?: [|<>] .*)?$/.exec(line) ?? []
  const words = [...typed!.matchAll(/"([^"]*)"|'([^']*)'|(\S+)/g)].map(([, a, b, c]) => a ?? b ?? c!)
  const found = findCommand(words, commands)
  if (!('command' in found)) throw new Error(`${line} calls no command`)
  parseInvocation(found.command, found.rest)
  return found.command.name
}

test('--version says which Billfold this is', async () => {
  expect(await callCommand(['--version'], {})).toEqual({ exitCode: 0, stdout: `${manifest.version}\n`, stderr: '' })
  expect(JSON.parse((await callCommand(['--version', '--json'], {})).stdout)).toEqual({ version: manifest.version })
})

test('who calls a command wrongly is led to its own help', async () => {
  const { stderr } = await callCommand(['wallet', 'freeze'], {})
  expect(stderr).toEndWith('npx billfold wallet freeze --help shows the usage.\n')
})
