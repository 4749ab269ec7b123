/** What a command of the command line is: its words, its flags, how it is explained, and what it does. */
import { hostname, userInfo } from 'node:os'
import type { Actor } from '../actions/audit.ts'
import { isName } from '../actions/people/create-user.ts'
import type { Environment } from '../config.ts'

export type Command = {
  /** One word, or a noun and a verb: `verify`, `app create`. */
  readonly name: string
  /** One line for the list of all commands. */
  readonly summary: string
  /** What stands after the name, in order. A name in brackets may be left out: `[file]`. */
  readonly positionals?: readonly string[]
  readonly flags?: Readonly<Record<string, Flag>>
  /** What one line cannot say. */
  readonly details?: string
  /** Without `npx billfold`. */
  readonly examples: readonly string[]
  readonly run: (invocation: Invocation) => Promise<Reply>
}

export type Flag = {
  /** The word that stands for the value in the help; a flag without one is a switch. */
  readonly value?: string
  readonly about: string
  readonly isRequired?: boolean
  readonly isRepeatable?: boolean
}

/** A command as it was called, with flags and positionals checked against what the command takes. */
export type Invocation = {
  readonly positionals: readonly string[]
  readonly values: Readonly<Record<string, string | boolean | readonly string[] | undefined>>
  readonly isJson: boolean
  readonly io: Io
}

/** The process, as far as a command may see it. */
export type Io = {
  readonly environment: Environment
  readonly input: NodeJS.ReadStream
  readonly output: NodeJS.WriteStream
  readonly errors: NodeJS.WriteStream
  /** Aborted by Ctrl-C. */
  readonly signal: AbortSignal
}

export type Reply = {
  /** With `--json` the one object on stdout. */
  readonly json: Readonly<Record<string, unknown>>
  /** Without it, what people read. Undefined when stdout holds something else already. */
  readonly text: string | undefined
  readonly exitCode?: 0 | 1
}

/** It was understood and cannot be done: exit code 1. */
export class CommandRefused extends Error {}

/** It was not understood: exit code 2. */
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
 * The audit log's name for whoever runs the command: `cli:<user>@<host>`, or what --as says. Always behind `cli:`, so
 * that nobody at a terminal can pass for an operator.
 */
export function actorOf(invocation: Invocation): Actor {
  const given = textOf(invocation, 'as')?.trim()
  if (given !== undefined && !isName(given)) throw new UsageMistake('--as: write a name of 1 to 100 characters.')
  return { name: `cli:${given ?? `${systemUser()}@${hostname()}`}`, address: null }
}

/** A container may run as a number that has no name. */
function systemUser(): string {
  try {
    return userInfo().username
  } catch {
    return String(process.getuid?.() ?? 'unknown')
  }
}
