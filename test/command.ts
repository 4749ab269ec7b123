/** The command line: as a real process, or called in this one. */
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

/** Runs in this process: starting another one costs half a second of processor time. */
export async function callCommand(
  args: readonly string[],
  environment: Record<string, string>,
  input = '',
  { isTTY = false } = {},
): Promise<Ended> {
  const [output, errors] = [new PassThrough(), new PassThrough()]
  const texts = [collect(output), collect(errors)] as const
  const stdin = Object.assign(new PassThrough(), { isTTY })
  stdin.end(input)
  const io = { environment, input: stdin, output, errors, signal: new AbortController().signal }
  const exitCode = await runCommandLine(args, await loadCommands(), io as unknown as Io)
  output.end()
  errors.end()
  const [stdout, stderr] = await Promise.all(texts)
  return { exitCode, stdout, stderr }
}

async function collect(stream: PassThrough): Promise<string> {
  return Buffer.concat(await Array.fromAsync(stream as AsyncIterable<Buffer>)).toString()
}
