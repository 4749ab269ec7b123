/** The checksum of the filter of an archived period. A reference that the filter lacks would be new again, and nothing can build the filter anew. */
import type { Queryable } from '../../connection/open-client.ts'
import { one } from '../../connection/rows.ts'

export async function hashFilter(db: Queryable, id: number): Promise<string> {
  const { rows } = await db.query<{ sha256: string }>(
    `select encode(sha256(coalesce(string_agg(sha256(bytes), ''::bytea order by part), ''::bytea)), 'hex') as sha256
     from closed_references where closing_id = $1`,
    [id],
  )
  return one(rows).sha256
}
