/**
 * The references of a batch in archived periods, which are on the coordinator. A batch looks them up there in the transaction that lets no
 * period be archived or restored beside it, whichever node writes it.
 */
import type { ClosedReferences } from '../closing/closed-references.ts'
import { noMark } from '../closing/closings.ts'
import { hexUuidArray } from '../connection/arrays.ts'
import type { Queryable } from '../connection/database.ts'
import { one } from '../connection/rows.ts'
import { referenceKeyOfUuid } from '../outcomes.ts'

const findSql = {
  name: 'find-archived-references',
  text: `select coalesce((select c.mark::text from archives a join closings c on c.id = a.closing_id order by c.id desc limit 1), '${noMark}') as mark,
    array(select reference_key::text from archived_outcomes($1::uuid[])) as keys`,
}

type Found = { mark: string; keys: string[] }

async function find(coordinator: Queryable, referenceKeys: readonly string[]): Promise<Found> {
  return one((await coordinator.query<Found>({ ...findSql, values: [hexUuidArray(referenceKeys)] })).rows)
}

/** Those of the keys that an archived period has. Only the keys that a filter names are looked up, if the filters are those of all archived periods. */
export async function findArchivedReferences(
  coordinator: Queryable,
  closed: Pick<ClosedReferences, 'known' | 'found'>,
  referenceKeys: readonly string[],
): Promise<ReadonlySet<string>> {
  const known = closed.known()
  let found = await find(coordinator, known ? referenceKeys.filter(known.mayHave) : referenceKeys)
  closed.found(found.mark)
  if (known && known.lastMark !== found.mark) found = await find(coordinator, referenceKeys)
  return new Set(found.keys.map(referenceKeyOfUuid))
}
