/** Parses the command line into a command and its invocation. Unknown words are refused, with a suggestion. */
import { parseArgs } from 'node:util'
import { UsageMistake, type Invocation, type Command, type Flag } from './command.ts'
import { suggest } from '../platform/suggest.ts'

/** Flags of every command. */
export const commonFlags: Readonly<Record<string, Flag>> = {
  as: { value: 'NAME', about: 'the name in the audit log (default: user and host of this machine)' },
  json: { about: 'print one JSON object on stdout, for scripts' },
  help: { about: 'explain this command' },
}

export type Parsed =
  | { readonly command: Command; readonly rest: readonly string[] }
  | { readonly version: true }
  /** The list of all commands, or of those that begin with this word. */
  | { readonly topic: string | undefined }

export function findCommand(args: readonly string[], commands: readonly Command[]): Parsed {
  // Common flags may come before the command: `billfold --json app list`.
  const words = args.filter((arg) => !arg.startsWith('-'))
  const [first, second] = words
  if (first === undefined && args.includes('--version')) return { version: true }
  if (first === 'help' && second !== undefined) return findCommand([...words.slice(1), '--help'], commands)
  if (first === undefined || first === 'help') return { topic: undefined }
  const command =
    commands.find(({ name }) => name === `${first} ${second}`) ?? commands.find(({ name }) => name === first)
  if (command) return { command, rest: without(args, command.name.split(' ')) }
  const isGroup = commands.some(({ name }) => name.startsWith(`${first} `))
  if (isGroup && second === undefined) return { topic: first }
  const names = commands.map(({ name }) => name)
  const meant = isGroup
    ? suggest(
        `${first} ${second}`,
        names.filter((name) => name.startsWith(`${first} `)),
      )
    : (suggest(first, [...new Set(names.flatMap((name) => [name, name.split(' ')[0]!]))]) ??
      suggest(`${first} ${second ?? ''}`.trim(), names))
  const said = isGroup ? `${first} ${second}` : first
  throw new UsageMistake(`There is no command "${said}".${meant ? ` Did you mean "${meant}"?` : ''}`)
}

function without(args: readonly string[], words: readonly string[]): string[] {
  const left = [...args]
  for (const word of words) left.splice(left.indexOf(word), 1)
  return left
}

export function parseInvocation(command: Command, args: readonly string[]): Pick<Invocation, 'positionals' | 'values'> {
  const flags = { ...command.flags, ...commonFlags }
  const { values, positionals, tokens } = parseArgs({
    args: [...args],
    options: Object.fromEntries(
      Object.entries(flags).map(([name, flag]) => [
        name,
        // Collect all values, so that a flag given twice by mistake is noticed.
        { type: flag.value === undefined ? ('boolean' as const) : ('string' as const), multiple: true },
      ]),
    ),
    allowPositionals: true,
    strict: false,
    tokens: true,
  })
  for (const token of tokens) if (token.kind === 'option') checkFlag(token, flags)
  const given: Record<string, string | boolean | readonly string[]> = {}
  for (const [name, value] of Object.entries(values)) {
    const list = value as (string | boolean)[]
    const { isRepeatable } = flags[name]!
    if (!isRepeatable && list.length > 1) throw new UsageMistake(`--${name} was given ${list.length} times.`)
    given[name] = isRepeatable ? (list as string[]) : list[0]!
  }
  // With --help, required arguments may be missing.
  if (given['help'] !== true) checkComplete(command, given, positionals)
  return { positionals, values: given }
}

type OptionToken = { readonly name: string; readonly rawName: string; readonly value?: string | undefined }

function checkFlag({ name, rawName, value }: OptionToken, flags: Readonly<Record<string, Flag>>): void {
  const flag = Object.hasOwn(flags, name) ? flags[name] : undefined
  if (!flag || !rawName.startsWith('--')) {
    const meant = suggest(name, Object.keys(flags))
    throw new UsageMistake(`There is no flag "${rawName}".${meant ? ` Did you mean "--${meant}"?` : ''}`)
  }
  if (flag.value === undefined && value !== undefined) throw new UsageMistake(`--${name} is a switch: it has no value.`)
  if (flag.value !== undefined && value === undefined) throw new UsageMistake(`--${name} needs a value: ${flag.value}.`)
}

function checkComplete(
  command: Command,
  given: Readonly<Record<string, unknown>>,
  positionals: readonly string[],
): void {
  const expected = command.positionals ?? []
  const missing = expected.slice(positionals.length).filter((name) => !name.startsWith('['))
  const wanted = Object.entries(command.flags ?? {})
    .filter(([name, flag]) => flag.isRequired && given[name] === undefined)
    .map(([name, flag]) => `--${name} ${flag.value}`)
  const all = [...missing.map((name) => `<${name}>`), ...wanted]
  if (all.length > 0) throw new UsageMistake(`"${command.name}" needs ${all.join(' and ')}.`)
  const extra = positionals[expected.length]
  if (extra !== undefined) throw new UsageMistake(`"${command.name}" has no argument for "${extra}".`)
}
