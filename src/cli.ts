#!/usr/bin/env bun
/** npx billfold … */
import { loadCommands } from './cli/commands.ts'
import { runCommandLine } from './cli/run.ts'

const interrupted = new AbortController()
for (const signal of ['SIGINT', 'SIGTERM'] as const) {
  process.on(signal, () => {
    // A second signal exits at once; nothing half done was committed.
    if (interrupted.signal.aborted) process.exit(130)
    interrupted.abort(new Error('Interrupted.'))
  })
}
// The reader of the output, such as `head`, has closed it.
process.stdout.on('error', () => interrupted.abort(new Error('The output was closed.')))

const args = process.argv.slice(2)
const commands = await loadCommands(args.find((arg) => !arg.startsWith('-')))
const exitCode = await runCommandLine(args, commands, {
  environment: process.env,
  input: process.stdin,
  output: process.stdout,
  errors: process.stderr,
  signal: interrupted.signal,
})
process.exit(exitCode)
