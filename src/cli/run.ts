/** Runs one command line and returns its exit code. */
import { CommandRefused, UsageMistake, type Command, type Io, type Reply } from './command.ts'
import { describeAll, describeOne } from './help.ts'
import { findCommand, parseInvocation } from './parse.ts'
import { version } from '../platform/version.ts'

export async function runCommandLine(args: readonly string[], commands: readonly Command[], io: Io): Promise<number> {
  // Determined before parsing, so that a script gets its JSON object for an invalid command line too.
  const isJson = args.includes('--json')
  let about = ''
  try {
    const found = findCommand(args, commands)
    if ('command' in found) about = `${found.command.name} `
    if ('topic' in found) return await write(io.output, describeAll(commands, found.topic))
    if ('version' in found) return await print({ json: { version }, text: version }, isJson, io)
    const { positionals, values } = parseInvocation(found.command, found.rest)
    if (values['help'] === true) return await write(io.output, describeOne(found.command))
    const reply = await found.command.run({ database: found.command.database, positionals, values, isJson, io })
    return await print(reply, isJson, io)
  } catch (error) {
    return await reportProblem(error, about, isJson, io)
  }
}

async function print(reply: Reply, isJson: boolean, io: Io): Promise<number> {
  if (isJson) await write(io.output, `${JSON.stringify(reply.json, undefined, 2)}\n`)
  else if (reply.text !== undefined) await write(io.output, `${reply.text}\n`)
  return reply.exitCode ?? 0
}

async function reportProblem(error: unknown, about: string, isJson: boolean, io: Io): Promise<number> {
  const message = error instanceof Error ? error.message : String(error)
  const isUsage = error instanceof UsageMistake
  if (isJson) await write(io.output, `${JSON.stringify({ error: message })}\n`)
  else {
    const hint = isUsage ? `\nnpx billfold ${about}--help shows the usage.` : ''
    await write(io.errors, `${message}${hint}\n`)
  }
  if (isUsage) return 2
  return io.signal.aborted && !(error instanceof CommandRefused) ? 130 : 1
}

/** Waits until the text is written, because the process exits right after. */
async function write(stream: NodeJS.WriteStream, text: string): Promise<0> {
  await new Promise<void>((resolve) => stream.write(text, () => resolve()))
  return 0
}
