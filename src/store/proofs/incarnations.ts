/** The names under which the log went on: after a restore, a move or a failover it has another. */
import type { Queryable, Transaction } from '../connection/database.ts'
import { sqlState } from '../connection/database-unavailable.ts'
import { one } from '../connection/rows.ts'
import { readsNoTimeline, serverStateSql } from '../connection/servers.ts'

/**
 * Where the log is: server, timeline, database and table. A restored base backup and a promoted standby are on another timeline, and an
 * imported copy is in another table. Without the right to read the first two, they are left out.
 */
export async function readHome(tx: Transaction): Promise<string> {
  const { rows } = await tx.query<{ place: string }>(
    `select concat_ws(' ', (select oid from pg_database where datname = current_database()), 'log_state'::regclass::oid) as place`,
  )
  return `${await readServer(tx)} ${one(rows).place}`
}

async function readServer(tx: Transaction): Promise<string> {
  await tx.query('savepoint server')
  try {
    const { rows } = await tx.query<{ systemId: string; timeline: number }>(serverStateSql)
    await tx.query('release savepoint server')
    const { systemId, timeline } = one(rows)
    return `${systemId} ${timeline}`
  } catch (error) {
    if (!readsNoTimeline.includes(sqlState(error) ?? '')) throw error
    await tx.query('rollback to savepoint server')
    return '- -'
  }
}

export type Incarnation = {
  /** Its leaf. */
  readonly number: number
  readonly id: string
  readonly previous: string
  /** The log was found elsewhere, a target of CHECKPOINTS has a checkpoint that this log does not have, or the key is lost. */
  readonly reason: 'moved' | 'behind' | 'key-lost'
  /** The last known checkpoint of the name before. */
  readonly note: string | null
  readonly at: Date
}

/** The caller has locked the log and added the leaf. */
export async function insertIncarnation(
  tx: Transaction,
  { number, id, previous, reason, note }: Omit<Incarnation, 'at'>,
  { home, sealedKey }: { home: string; sealedKey: string },
): Promise<void> {
  await tx.query('insert into log_incarnations (number, id, previous, reason, note) values ($1, $2, $3, $4, $5)', [
    number,
    id,
    previous,
    reason,
    note,
  ])
  await tx.query('update log_state set id = $1, home = $2, key = $3', [id, home, sealedKey])
}

export async function updateHome(tx: Transaction, home: string): Promise<void> {
  await tx.query('update log_state set home = $1', [home])
}

/** The newest first. */
export async function listIncarnations(db: Queryable, limit: number): Promise<readonly Incarnation[]> {
  const { rows } = await db.query<Incarnation>(
    'select number::float8 as number, id, previous, reason, note, at from log_incarnations i order by i.number desc limit $1',
    [limit],
  )
  return rows
}

/** A leaf of kind `incarnation`, and its row; null where that is gone. */
export type IncarnationLeaf = {
  readonly number: number
  readonly hash: Uint8Array
  readonly start: Pick<Incarnation, 'id' | 'previous' | 'reason' | 'note'> | null
}

/** Oldest first, from leaf `from` up to, without, leaf `until`. */
export async function listIncarnationLeaves(
  db: Queryable,
  from: number,
  until: number,
  limit: number,
): Promise<readonly IncarnationLeaf[]> {
  const { rows } = await db.query<IncarnationLeaf>(
    `select l.number::float8 as number, l.hash,
       case when i.number is not null then json_build_object('id', i.id, 'previous', i.previous, 'reason', i.reason, 'note', i.note) end as start
     from log_leaves l left join log_incarnations i on i.number = l.number
     where l.kind = 'incarnation' and l.number >= $1 and l.number < $2 order by l.number limit $3`,
    [from, until, limit],
  )
  return rows
}
