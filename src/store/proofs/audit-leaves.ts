/** Audit records as leaves of the log. Their random ids make their hashes unguessable. */
import type { Queryable, Transaction } from '../connection/database.ts'
import { hashLeafSql, lengthPrefixedSql } from './leaf-sql.ts'

/** No transaction is open for longer, so an older record is committed. */
const lateMs = 60 * 60_000

const recordHashSql = hashLeafSql([
  `'billfold-audit/v1'`,
  'a.id',
  '(extract(epoch from a.at) * 1000000)::bigint',
  ...['a.actor', 'a.action', 'a.subject', 'a.address', 'a.detail::text'].map(lengthPrefixedSql),
])

export type AuditLeaf = { readonly id: string; readonly at: Date; readonly hash: Uint8Array }

/** Records without a leaf, oldest first. */
export async function findUnsealedRecords(
  tx: Transaction,
  upTo: Date | null,
  limit: number,
): Promise<readonly AuditLeaf[]> {
  const { rows } = await tx.query<AuditLeaf>(
    `select a.id, a.at, ${recordHashSql} as hash from audit a
     where ($1::timestamptz is null or a.at > $1::timestamptz - $2 * interval '1 millisecond')
       and not exists (select from log_leaves l where l.kind = 'audit' and l.subject = a.id)
     order by a.at, a.id limit $3`,
    [upTo, lateMs, limit],
  )
  return rows
}

/** Records without a leaf that are older than the last sealed one, by more than a record can be late. */
export async function findAddedRecords(db: Queryable, logSize: number, limit: number): Promise<readonly string[]> {
  const { rows } = await db.query<{ id: string }>(
    `select a.id from audit a
     where a.at < (select max(s.at) from audit s join log_leaves l on l.kind = 'audit' and l.subject = s.id where l.number < $1)
         - $2 * interval '1 millisecond'
       and not exists (select from log_leaves l where l.kind = 'audit' and l.subject = a.id)
     order by a.at, a.id limit $3`,
    [logSize, lateMs, limit],
  )
  return rows.map(({ id }) => id)
}

export type RecordFault = { readonly number: number; readonly id: string; readonly isMissing: boolean }

/** The sealed records among these leaves that are not what was sealed. */
export async function findChangedRecords(db: Queryable, from: number, until: number): Promise<readonly RecordFault[]> {
  const { rows } = await db.query<RecordFault>(
    `select l.number::float8 as number, l.subject as id, a.id is null as "isMissing" from log_leaves l
     left join audit a on a.id = l.subject
     where l.kind = 'audit' and l.number >= $1 and l.number < $2 and (a.id is null or ${recordHashSql} <> l.hash) order by l.number`,
    [from, until],
  )
  return rows
}
