/**
 * A process that merges positions and stops right before its commit, for tests that kill it there:
 * `bun test/merge-process.ts <database url>` says how many rows it has merged, and then does nothing more.
 */
import { mergePositionsBatch } from '../src/store/books/merge-positions.ts'
import { openDatabase, transact } from '../src/store/connection/database.ts'
import { tryLock, locks } from '../src/store/locks.ts'

const db = openDatabase({ connectionString: process.argv[2]! }).longRunning

await transact(db, async (tx) => {
  await tryLock(tx, locks.mergePositions)
  process.stdout.write(`${await mergePositionsBatch(tx)}\n`)
  // Longer than the test; a statement goes by now and then, or the server would take it for one that has gone silent.
  for (;;) {
    await tx.query('select 1')
    await Bun.sleep(500)
  }
})
