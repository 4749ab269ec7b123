/** Removes what has had its day. Several processes may try: one does it, the others go on. */
import { locks, tryLock } from './locks.ts'
import { deletePendingTotp } from './operators.ts'
import { transact, type Database, type Transaction } from './database.ts'

/** Small steps hold few locks, and leave a database that was away for a month usable while it catches up. */
const batchSize = 1_000

const sessionKeepMs = 24 * 60 * 60_000
/** Processors give up sending an event again after a few days. */
const eventKeepMs = 90 * 24 * 60 * 60_000

/** Long after the last try; until then its row keeps the fact from being told again. */
const mailKeepMs = 30 * 24 * 60 * 60_000

const tables = [
  ['widget_sessions', 'token_hash', 'expires_at', sessionKeepMs],
  ['link_codes', 'code_hash', 'expires_at', 0],
  ['mailed_codes', '(email, purpose)', 'expires_at', 0],
  ['email_changes', 'user_id', 'expires_at', 0],
  ['sign_ups', 'email', 'expires_at', 0],
  ['paper_links', 'token_hash', 'expires_at', 0],
  ['limits', 'key', 'ends_at', 0],
  ['mails', 'fact', 'created_at', mailKeepMs],
  ['processor_events', 'id', 'received_at', eventKeepMs],
] as const

/** How many rows went; 0 also when another process is at it. */
export async function deleteExpired(db: Database): Promise<number> {
  let total = 0
  for (;;) {
    const deleted = await transact(db, deleteSome)
    total += deleted
    if (deleted === 0) return total
  }
}

async function deleteSome(tx: Transaction): Promise<number> {
  if (!(await tryLock(tx, locks.cleanup))) return 0
  let deleted = 0
  for (const [table, key, end, keepMs] of tables) {
    const isOver = `${end} <= now() - $1 * interval '1 ms'`
    const columns = key.replace(/[()]/g, '')
    const { rowCount } = await tx.query(
      `delete from ${table} where ${key} in (select ${columns} from ${table} where ${isOver} order by ${end} limit ${batchSize})
         and ${isOver}`,
      [keepMs],
    )
    deleted += rowCount ?? 0
  }
  await deletePendingTotp(tx)
  return deleted
}
