/** The type of a command: its name, flags, help and action. */
import { hostname, userInfo } from 'node:os'
import type { Actor } from '../actions/audit.ts'
import { isName } from '../actions/people/create-user.ts'
import type { Environment } from '../config.ts'

export type Command = {
  /** One word, or a noun and a verb: `verify`, `app create`. */
  readonly name: string
  /** One line for the list of all commands. */
  readonly summary: string
  readonly database: DatabaseUse
  /** The arguments after the name, in order. A name in brackets is optional: `[file]`. */
  readonly positionals?: readonly string[]
  readonly flags?: Readonly<Record<string, Flag>>
  /** Further paragraphs of the help. */
  readonly details?: string
  /** Without `npx billfold`. */
  readonly examples: readonly string[]
  readonly run: (invocation: Invocation) => Promise<Reply>
}

/**
 * How a command uses the database. `reads`: it must be a database of this schema, and nothing is created or migrated. `writes`: it
 * is created and migrated first, as the service does. `restores`: it is taken as it is, and the command creates its tables.
 */
export type DatabaseUse = 'none' | 'reads' | 'writes' | 'restores'

export type Flag = {
  /** The placeholder of the value in the help; a flag without one is a switch. */
  readonly value?: string
  readonly about: string
  readonly isRequired?: boolean
  readonly isRepeatable?: boolean
}

/** A command as it was called, with checked flags and positionals. */
export type Invocation = {
  readonly database: DatabaseUse
  readonly positionals: readonly string[]
  readonly values: Readonly<Record<string, string | boolean | readonly string[] | undefined>>
  readonly isJson: boolean
  readonly io: Io
}

/** The parts of the process that a command may use. */
export type Io = {
  readonly environment: Environment
  readonly input: NodeJS.ReadStream
  readonly output: NodeJS.WriteStream
  readonly errors: NodeJS.WriteStream
  /** Aborted by Ctrl-C. */
  readonly signal: AbortSignal
  /** A second Ctrl-C ends the process at once; it prints this text first. */
  readonly onSecondSignal?: (describe: () => string) => void
}

export type Reply = {
  /** The object on stdout with `--json`. */
  readonly json: Readonly<Record<string, unknown>>
  /** The text for people without `--json`. Undefined when the command has written to stdout itself. */
  readonly text: string | undefined
  readonly exitCode?: 0 | 1 | 3 | 130
}

/** The command is valid and was refused: exit code 1. */
export class CommandRefused extends Error {}

/** The command line is invalid: exit code 2. */
export class UsageMistake extends Error {}

export function textOf(invocation: Invocation, flag: string): string | undefined {
  const value = invocation.values[flag]
  return typeof value === 'string' ? value : undefined
}

export function textsOf(invocation: Invocation, flag: string): readonly string[] | undefined {
  const value = invocation.values[flag]
  return Array.isArray(value) ? (value as readonly string[]) : undefined
}

export function isSet(invocation: Invocation, flag: string): boolean {
  return invocation.values[flag] === true
}

export function wholeNumber(text: string): number | undefined {
  return /^\d{1,9}$/.test(text) ? Number(text) : undefined
}

/**
 * The audit log's name for the caller: `cli:<user>@<host>`, or `cli:` and the value of --as. The prefix prevents a caller at a
 * terminal from passing for an operator.
 */
export function actorOf(invocation: Invocation): Actor {
  const given = textOf(invocation, 'as')?.trim()
  if (given !== undefined && !isName(given)) throw new UsageMistake('--as: write a name of 1 to 100 characters.')
  return { name: `cli:${given ?? `${systemUser()}@${hostname()}`}`, address: null }
}

/** A container may run as a user id without a name. */
function systemUser(): string {
  try {
    return userInfo().username
  } catch {
    return String(process.getuid?.() ?? 'unknown')
  }
}
