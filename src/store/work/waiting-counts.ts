/** How much waits for an operator, for the menu of every admin page. */
import { setTimeout as sleep } from 'node:timers/promises'
import { isOpenDifferenceSql } from '../books/reconciliation.ts'
import { isOpenContradictionSql } from '../books/processor-lines.ts'
import { transact, type Database } from '../connection/database.ts'
import { one } from '../connection/rows.ts'
import { isWaitingDeletionSql } from '../people/deletions.ts'
import { isFailingSql } from './work-report.ts'

export type Waiting = {
  /** For a second operator's approval. */
  readonly corrections: number
  /** Payments that differ from their order, and open disputes. */
  readonly topups: number
  readonly differences: number
  /** Work and jobs that failed three times in a row or were given up. */
  readonly work: number
  /** Changes of operators, invitations included, for a second admin's approval. */
  readonly changes: number
  /** Requested deletions of users, for a second operator's approval. */
  readonly deletions: number
}

/** No count goes further: the menu then shows “99+”. */
export const maxWaiting = 100

const count = (rows: string) => `(select count(*)::int from (select 1 from ${rows} limit ${maxWaiting}) r)`

const waitingSql = `select
  ${count(`corrections where state = 'waiting'`)} as corrections,
  ${count(`topups where problem is not null`)} + ${count(`topups where dispute = 'open'`)} as topups,
  ${count(`reconciliation_differences d where ${isOpenDifferenceSql}`)}
    + ${count(`report_contradictions where ${isOpenContradictionSql}`)} as differences,
  ${count(`work where ${isFailingSql}`)} as work,
  ${count(`operator_changes where state = 'waiting' and expires_at > now()`)} as changes,
  ${count(`user_deletions where ${isWaitingDeletionSql}`)} as deletions`

/** The database ends the query after this time, so that a locked table does not hold a connection. */
const statementMs = 1_000

async function countWaiting(db: Database): Promise<Waiting> {
  return await transact(db, async (tx) => {
    await tx.query(`select set_config('statement_timeout', '${statementMs}', true)`)
    return one((await tx.query<Waiting>(waitingSql)).rows)
  })
}

export type WaitingCounts = {
  /** At most five seconds old. Undefined when the database does not answer at once: the menu is then shown without counts. */
  readonly read: () => Promise<Waiting | undefined>
  /** The next read counts again. */
  readonly expire: () => void
}

const freshMs = 5_000
/** The longest a page waits for its menu. */
const patienceMs = 150

/** One query at a time, for any number of pages. A failure is kept as long as a result. */
export function openWaitingCounts(db: Database, onFault: (error: unknown) => void): WaitingCounts {
  let counts: Promise<Waiting | undefined> = Promise.resolve(undefined)
  let isCounting = false
  let freshUntil = -Infinity

  async function start(): Promise<Waiting | undefined> {
    isCounting = true
    freshUntil = performance.now() + freshMs
    try {
      return await countWaiting(db)
    } catch (error) {
      onFault(error)
      return undefined
    } finally {
      isCounting = false
    }
  }

  return {
    async read() {
      if (!isCounting && performance.now() >= freshUntil) counts = start()
      return await Promise.race([counts, sleep(patienceMs, undefined, { ref: false })])
    },
    expire: () => {
      freshUntil = -Infinity
    },
  }
}
