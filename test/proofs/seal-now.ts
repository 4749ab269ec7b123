/** Seals and signs what the books have now, as the jobs do in their time. */
import { checkBooks } from '../../src/actions/money/check-books.ts'
import { logOrigin, type Sealing } from '../../src/actions/proofs/checkpoint.ts'
import { sealBooks } from '../../src/actions/proofs/seal-books.ts'
import type { Service } from '../../src/actions/service.ts'
import {
  findLog,
  findNewestCheckpoint,
  type LogState,
  type StoredCheckpoint,
} from '../../src/store/proofs/proof-log.ts'

export async function sealNow(service: Service): Promise<StoredCheckpoint> {
  const { pool } = service.db
  await pool.query('update books_check set next_pass_at = now(), next_sums_at = now()')
  await checkBooks(service)
  await pool.query('update log_state set next_pass_at = now()')
  await sealBooks(service)
  return await newestOf(service)
}

export async function logOf({ db }: Pick<Sealing, 'db'>): Promise<LogState> {
  return (await findLog(db.pool))!
}

export async function newestOf(service: Sealing): Promise<StoredCheckpoint> {
  return (await findNewestCheckpoint(service.db.pool, logOrigin(service, await logOf(service))))!
}
