/** The fast statement, called directly: on a cluster, a lane resolves the links of a batch before. */
import { noMark } from '../src/store/closing/closings.ts'
import type { Queryable } from '../src/store/connection/database.ts'
import { postFast, type FastAnswers } from '../src/store/writer/fast-statement.ts'
import type { PendingPosting } from '../src/store/writer/posting.ts'
import { resolveLinks } from '../src/store/writer/resolve-links.ts'
import { findCluster } from './postgres.ts'

export async function postFastHere(
  db: Queryable,
  batch: readonly PendingPosting[],
  number: number,
  { isExpectedNew = false }: { readonly isExpectedNew?: boolean } = {},
): Promise<FastAnswers> {
  const links = (await findCluster()) ? { links: await resolveLinks(db, batch) } : {}
  return await postFast(db, batch, number, { ...links, ...(isExpectedNew && { newSince: noMark }) })
}
