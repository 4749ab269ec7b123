#!/usr/bin/env bun
/** npx billfold … */
import { loadCommands } from './cli/commands.ts'
import { runCommandLine } from './cli/run.ts'

const interrupted = new AbortController()
for (const signal of ['SIGINT', 'SIGTERM'] as const) {
  process.on(signal, () => {
    // Whoever asks twice does not want to wait; nothing half done was committed.
    if (interrupted.signal.aborted) process.exit(130)
    interrupted.abort(new Error('Interrupted.'))
  })
}
// A reader that has seen enough, such as `head`: there is nobody left to work for.
process.stdout.on('error', () => interrupted.abort(new Error('Nobody reads the output any more.')))

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
