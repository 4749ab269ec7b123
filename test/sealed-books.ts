/** Books that were sealed, for tests of proofs. */
import { parseCheckpoint, parseNote, type Checkpoint } from '../sdk/verify/note.ts'
import { checkBooks } from '../src/actions/money/check-books.ts'
import { logOrigin } from '../src/actions/proofs/checkpoint.ts'
import { sealBooks } from '../src/actions/proofs/seal-books.ts'
import type { Service } from '../src/actions/service.ts'
import type { Queryable } from '../src/store/connection/database.ts'
import { findLog, findNewestCheckpoint } from '../src/store/proofs/proof-log.ts'

/** Checks and seals everything now. */
export async function sealAll(service: Service): Promise<void> {
  await service.db.pool.query('update books_check set next_pass_at = now(), next_sums_at = now()')
  await checkBooks(service)
  await service.db.pool.query('update log_state set next_pass_at = now()')
  await sealBooks(service)
}

/** One statement at a time, as a cluster requires. */
export async function queryEach(db: Queryable, statements: string): Promise<void> {
  for (const each of statements.split(';')) if (each.trim()) await db.query(each)
}

const setBack = (table: string) => `
  alter table ${table} disable trigger user; grant update on ${table} to current_user;
  update ${table} set created_at = (created_at at time zone 'UTC' - interval '3 days') at time zone 'UTC';
  alter table ${table} enable trigger user; revoke update on ${table} from current_user;`

/** What was moved until now becomes that of three days ago. Nothing of it may be sealed yet. */
export async function endDay({ db }: Service): Promise<void> {
  await queryEach(db.pool, `${setBack('transfers')} ${setBack('outcomes')} update positions set day = day - 3`)
}

/** The newest signed state of the log. */
export async function newestSigned(service: Service): Promise<Checkpoint> {
  const log = (await findLog(service.db.pool))!
  const { note } = (await findNewestCheckpoint(service.db.pool, logOrigin(service, log)))!
  return parseCheckpoint(parseNote(note)!.text)!
}

/** In a transaction that is rolled back, without the triggers that refuse changes. */
export async function withTampered<T>({ db }: Service, work: (db: Queryable) => Promise<T>): Promise<T> {
  const connection = await db.pool.connect()
  try {
    await connection.query('begin')
    for (const table of ['transfers', 'audit', 'log_leaves', 'log_checkpoints', 'log_days', 'log_incarnations'])
      await queryEach(connection, `alter table ${table} disable trigger user; grant all on ${table} to current_user`)
    return await work(connection)
  } finally {
    await connection.query('rollback')
    connection.release()
  }
}
