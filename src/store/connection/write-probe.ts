/** Tests with a small write whether the database accepts writes now. */
import { StandbyLost } from './database-unavailable.ts'
import { abandonedSql } from './open-client.ts'
import { standbyOf } from './standby.ts'
import { diskFull, sqlState, transact, type Database } from './database.ts'
import { one } from './rows.ts'

export type Writability = 'ok' | 'read-only' | 'full' | 'no standby'

const stateSql = `select pg_is_in_recovery() or current_setting('transaction_read_only') = 'on' as "isReadOnly",
  has_database_privilege(current_database(), 'temporary') as "hasTemporary",
  ${abandonedSql} as abandoned`
/**
 * A temporary table gets its first page, which needs space on the data's disk and is freed by the commit. Updating an existing
 * row would not detect a full disk, because its page has room.
 */
const pageSql = `create temporary table if not exists billfold_probe (page int) on commit delete rows;
  insert into billfold_probe values (1)`
/** A few bytes that go through the WAL to the disk, and to a synchronous standby if there is one. */
const logSql = `select pg_logical_emit_message(true, 'billfold', '')`

export async function probeWriting(db: Database): Promise<Writability> {
  if (standbyOf(db.connection).isLost) return 'no standby'
  try {
    return await transact(db, async (tx) => {
      const { rows } = await tx.query<{ isReadOnly: boolean; hasTemporary: boolean; abandoned: number }>(stateSql)
      const state = one(rows)
      if (state.isReadOnly) return 'read-only'
      // The probe's commit would be the next to wait without limit.
      if (state.abandoned > 0) return 'no standby'
      if (state.hasTemporary) await tx.query(pageSql)
      await tx.query(logSql)
      return 'ok'
    })
  } catch (error) {
    if (sqlState(error) === diskFull) return 'full'
    if (error instanceof StandbyLost) return 'no standby'
    throw error
  }
}
