/** One invocation of the command line, from its words to its exit code. */
import { CommandRefused, UsageMistake, type Command, type Io, type Reply } from './command.ts'
import { describeAll, describeOne } from './help.ts'
import { findCommand, parseInvocation } from './parse.ts'

export async function run(args: readonly string[], commands: readonly Command[], io: Io): Promise<number> {
  // Known before anything is understood, so that a script gets its one object for a mistake too.
  const isJson = args.includes('--json')
  try {
    const found = findCommand(args, commands)
    if ('topic' in found) return await showAll(commands, found.topic, io)
    const { positionals, values } = parseInvocation(found.command, found.rest)
    if (values['help'] === true) return await write(io.output, describeOne(found.command))
    const reply = await found.command.run({ positionals, values, isJson, io })
    await print(reply, isJson, io)
    return reply.exitCode ?? 0
  } catch (error) {
    return await tellProblem(error, isJson, io)
  }
}

async function showAll(commands: readonly Command[], topic: string | undefined, io: Io): Promise<number> {
  const isKnown = topic === undefined || commands.some(({ name }) => name.split(' ')[0] === topic)
  if (!isKnown) throw new UsageMistake(`There is no command "${topic}".`)
  return await write(io.output, describeAll(commands, topic))
}

async function print(reply: Reply, isJson: boolean, io: Io): Promise<void> {
  if (isJson) await write(io.output, `${JSON.stringify(reply.json, undefined, 2)}\n`)
  else if (reply.text !== undefined) await write(io.output, `${reply.text}\n`)
}

async function tellProblem(error: unknown, isJson: boolean, io: Io): Promise<number> {
  const message = error instanceof Error ? error.message : String(error)
  const isUsage = error instanceof UsageMistake
  if (isJson) await write(io.output, `${JSON.stringify({ error: message })}\n`)
  else {
    const hint = isUsage ? '\nnpx billfold --help shows what there is.' : ''
    await write(io.errors, `${message}${hint}\n`)
  }
  if (isUsage) return 2
  return io.signal.aborted && !(error instanceof CommandRefused) ? 130 : 1
}

/** The process ends right after, and must not cut off what is still on its way. */
async function write(stream: NodeJS.WriteStream, text: string): Promise<0> {
  await new Promise<void>((resolve) => stream.write(text, () => resolve()))
  return 0
}
