/** The periods of a copy that are in files: what the database keeps of them is made in the transaction of the import, and the views name it. */
import { carriedTables, viewsSql } from '../closing/archive/archived-periods.ts'
import { createCarriedEntries } from '../closing/archive/carry-entries.ts'
import { createCarriedSql, refuseChangesSql } from '../closing/archive/carried-tables.ts'
import { listClosings } from '../closing/closings.ts'
import { isSpread } from '../cluster/agreement.ts'
import { isDistributed } from '../cluster/distribution.ts'
import type { OpenClient } from '../connection/open-client.ts'
import { archivesFormat, CopyRefused, type CopyHead } from './copy-file.ts'

/** The periods that the head names. Their numbers become names of tables. */
export function readArchived({ format, archived }: CopyHead): readonly number[] {
  if (format !== archivesFormat) return []
  if (!Array.isArray(archived) || archived.length === 0 || archived.some((id, i) => id !== i + 1))
    throw new CopyRefused('The copy is damaged: its head names no archived periods.')
  return archived as readonly number[]
}

/** On a cluster, the last entry of each wallet is on the server of the wallet. */
export async function createArchived(client: OpenClient, archived: readonly number[]): Promise<void> {
  if (archived.length === 0) return
  if (isSpread(client) && !(await isDistributed(client)))
    throw new CopyRefused(
      'The copy has archived periods, and a ledger with closed periods cannot be distributed afterwards. Distribute this empty database first: npx billfold migrate, then npx billfold distribute. Then import the copy again.',
    )
  for (const id of archived) {
    await createCarriedEntries(client, id)
    for (const name of onOneServer) for (const sql of createCarriedSql(name, id)) await client.query(sql)
  }
}

const onOneServer = carriedTables.filter((name) => name !== 'entries')

/** A period that nothing names would be one whose references are new. */
export async function completeArchived(db: OpenClient, archived: readonly number[]): Promise<void> {
  const periods = await listClosings(db)
  const isWhole = ({ id, isIndexed, archivedAt }: (typeof periods)[number], i: number) =>
    id === archived[i] && isIndexed && archivedAt !== null
  if (periods.length !== archived.length || !periods.every(isWhole))
    throw new CopyRefused('The copy is damaged: its archived periods are not those that its head names.')
  if (archived.length === 0) return
  for (const sql of viewsSql([], archived, isSpread(db))) await db.query(sql)
  for (const sql of archived.flatMap(refuseChangesSql)) await db.query(sql)
}
