/**
 * Claims one piece of every kind of work and never finishes it, for tests that kill the process:
 * `bun test/claim-process.ts <database url>` prints the claimed pieces, and then waits.
 */
import { openDatabase } from '../src/store/connection/database.ts'
import { claimWork } from '../src/store/work/work.ts'
import { kindsOf } from '../src/work/kinds.ts'

const { pool } = openDatabase({ connectionString: process.argv[2]! })
const claimed: string[] = []
for (const { name: kind, leaseMs, isAtMostOnce } of kindsOf({ sandbox: undefined }))
  for (const { key } of await claimWork(pool, { kind, leaseMs, isAtMostOnce, limit: 1 })) claimed.push(`${kind} ${key}`)
process.stdout.write(`${JSON.stringify(claimed)}\n`)
await Bun.sleep(600_000)
