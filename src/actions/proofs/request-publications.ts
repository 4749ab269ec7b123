/** Asks for the publication of a new checkpoint. */
import type { StoredCheckpoint } from '../../store/proofs/proof-log.ts'
import { listPublications } from '../../store/proofs/publications.ts'
import { addWork, getAttempts } from '../../store/work/work.ts'
import type { Service } from '../service.ts'

/** Requests work for each target without the newest checkpoint, unless it is being tried already. */
export async function requestPublications(
  { db, config }: Pick<Service, 'db' | 'config'>,
  newest: Pick<StoredCheckpoint, 'origin' | 'size'>,
) {
  const ids = config.checkpointTargets.map(({ id }) => id)
  if (ids.length === 0) return
  const known = await listPublications(db.pool, ids)
  const hasNewest = (id: string) =>
    known.some(({ target, origin, size }) => target === id && origin === newest.origin && size === newest.size)
  for (const key of ids)
    if (!hasNewest(key) && (await getAttempts(db.pool, 'publish-checkpoint', key)) === 0)
      await addWork(db.pool, { kind: 'publish-checkpoint', key })
}
