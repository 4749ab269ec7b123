/** The help: all commands, or one command with its flags and examples. */
import type { Command, Flag } from './command.ts'
import { commonFlags } from './parse.ts'

/** All commands, or those of one noun. */
export function describeAll(commands: readonly Command[], topic: string | undefined): string {
  const shown = commands.filter(({ name }) => topic === undefined || name.split(' ')[0] === topic)
  const list = columns(shown.map((command) => [usageOf(command), command.summary]))
  if (topic !== undefined) return `${list}\n\nMore about one: npx billfold ${shown[0]!.name} --help\n`
  return `Billfold on the command line. It uses the same data as the service, whether or not the service runs: DATABASE_URL if set, else
the database in DATA_DIR. Settings come from the environment and from .env, as for the service.

${list}

Every command accepts --json (one JSON object on stdout, for scripts), --help (explanation and examples) and --as NAME (the name
in the audit log; default: user and host of this machine). --version prints the version.
Exit codes: 0 done, 1 refused or faults found, 2 invalid command line.

A first debit in three commands:
  npx billfold app create --name "My shop"
  BILLFOLD_PASSWORD="…" npx billfold user create --email ann@example.com --first Ann --last Lee --link <clientId>
  npx billfold wallet credit ann@example.com --amount 25.00 --reason Welcome
`
}

export function describeOne(command: Command): string {
  const flags = columns([...Object.entries(command.flags ?? {}), ...Object.entries(commonFlags)].map(describeFlag))
  const parts = [
    `npx billfold ${usageOf(command)}${command.flags ? ' [flags]' : ''}`,
    `${command.summary}${command.details ? `\n\n${command.details}` : ''}`,
    `Flags:\n${flags}`,
    `Examples:\n${command.examples.map((example) => `  ${asTyped(example)}`).join('\n')}`,
  ]
  return `${parts.join('\n\n')}\n`
}

/** An example that sets a variable first contains the program's name itself. */
function asTyped(example: string): string {
  return example.includes('npx billfold') ? example : `npx billfold ${example}`
}

function usageOf({ name, positionals = [] }: Command): string {
  return [name, ...positionals.map((word) => (word.startsWith('[') ? word : `<${word}>`))].join(' ')
}

function describeFlag([name, flag]: [string, Flag]): [string, string] {
  const notes = [flag.isRequired && 'required', flag.isRepeatable && 'may be repeated'].filter(Boolean).join(', ')
  return [`--${name}${flag.value ? ` ${flag.value}` : ''}`, `${flag.about}${notes && ` (${notes})`}`]
}

function columns(rows: readonly (readonly [string, string])[]): string {
  const width = Math.max(...rows.map(([left]) => left.length)) + 2
  return rows.map(([left, right]) => `  ${left.padEnd(width)}${right}`).join('\n')
}
