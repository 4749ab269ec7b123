/** The command line as a real process, and without one where a call is one line of a long table. */
import { PassThrough } from 'node:stream'
import type { Io } from '../src/cli/command.ts'
import { loadCommands } from '../src/cli/commands.ts'
import { runCommandLine } from '../src/cli/run.ts'

export type Ended = { readonly exitCode: number; readonly stdout: string; readonly stderr: string }

const root = new URL('..', import.meta.url).pathname

export async function runCommand(
  args: readonly string[],
  environment: Record<string, string>,
  input: Blob | string = '',
): Promise<Ended> {
  const { PATH = '', HOME = '' } = process.env
  const child = Bun.spawn([process.execPath, 'src/cli.ts', ...args], {
    cwd: root,
    env: { PATH, HOME, ...environment },
    stdin: new Blob([input]),
    stdout: 'pipe',
    stderr: 'pipe',
  })
  const [stdout, stderr, exitCode] = await Promise.all([
    new Response(child.stdout).text(),
    new Response(child.stderr).text(),
    child.exited,
  ])
  return { exitCode, stdout, stderr }
}

export async function callCommand(args: readonly string[], environment: Record<string, string>): Promise<Ended> {
  const [output, errors] = [new PassThrough(), new PassThrough()]
  const io = { environment, input: new PassThrough(), output, errors, signal: new AbortController().signal }
  const exitCode = await runCommandLine(args, await loadCommands(), io as unknown as Io)
  return { exitCode, stdout: textIn(output), stderr: textIn(errors) }
}

function textIn(stream: PassThrough): string {
  return String((stream.read() as Buffer | null) ?? '')
}
