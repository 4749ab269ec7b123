/**
 * A process that only takes part in the embedded server, for tests that kill it: `bun test/embedded-service.ts <data folder>` writes
 * an event when it has joined, and leaves when its input ends.
 */
import { startEmbedded } from '../src/store/embedded/embedded.ts'

const [dataDir = ''] = process.argv.slice(2)
const writeEvent = (event: Record<string, unknown>) => process.stdout.write(`${JSON.stringify(event)}\n`)

try {
  const embedded = await startEmbedded({ dataDir, log: (message) => writeEvent({ event: 'log', message }) })
  writeEvent({ event: 'joined', connection: embedded.connection })
  process.stdin.resume()
  process.stdin.once('end', () => {
    void embedded.release().then(() => {
      writeEvent({ event: 'left' })
      process.exit(0)
    })
  })
} catch (error) {
  writeEvent({ event: 'refused', name: error instanceof Error ? error.name : '', message: String(error) })
  process.exitCode = 1
}
