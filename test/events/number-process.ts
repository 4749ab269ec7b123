/** Gives events their numbers without a pause, for tests that kill the process: `bun test/events/number-process.ts <database url>`. */
import { openDatabase } from '../../src/store/connection/database.ts'
import { numberEvents } from '../../src/store/events/number-events.ts'

const db = openDatabase({ connectionString: process.argv[2]! })
process.stdout.write('ready\n')
for (;;) {
  await numberEvents(db)
  await Bun.sleep(5)
}
