#!/usr/bin/env bun
/** npx billfold … */
import { writeSync } from 'node:fs'
import { loadCommands } from './cli/commands.ts'
import { runCommandLine } from './cli/run.ts'

const interrupted = new AbortController()
let describeRest = () => ''
for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) {
  process.on(signal, () => {
    if (!interrupted.signal.aborted) return interrupted.abort(new Error('Interrupted.'))
    // A second signal exits at once; nothing half done was committed here. Only `conform` changes data elsewhere.
    try {
      writeSync(2, describeRest())
    } finally {
      process.exit(130)
    }
  })
}
// The terminal was closed.
process.stderr.on('error', () => undefined)
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
  onSecondSignal: (describe) => (describeRest = describe),
})
process.exit(exitCode)
