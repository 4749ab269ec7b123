/** The log as people see it: how old its seal is, where its checkpoints went, and what contradicts them. */
import type { CheckpointTarget } from '../../platform/checkpoint-targets.ts'
import { listIncarnations, type Incarnation } from '../../store/proofs/incarnations.ts'
import { findLog, findNewestCheckpoint, listOtherOrigins, type StoredCheckpoint } from '../../store/proofs/proof-log.ts'
import { listPublications, type LogLevels, type Publication } from '../../store/proofs/publications.ts'
import { maskUrl } from '../webhooks/describe-endpoint.ts'
import { canSign, logOrigin, readPublicKey, type Sealing } from './checkpoint.ts'
import { readLogLevels } from './log-metrics.ts'

export type DescribedTarget = {
  /** Without what may be a token. */
  readonly name: string
  readonly publication: Publication | undefined
}

export type DescribedLog = {
  readonly levels: LogLevels
  readonly origin: string
  /** Under which the same log was signed in the last hour. */
  readonly otherOrigins: readonly string[]
  /** Undefined where this process does not have the key that seals it. */
  readonly publicKey: string | undefined
  readonly newest: StoredCheckpoint | undefined
  readonly targets: readonly DescribedTarget[]
  /** The last one, if the log ever went on under another name. */
  readonly incarnation: Incarnation | undefined
}

/** The pass is due every ten minutes, and a target is tried again within an hour. */
export const sealLateSeconds = 3_600
export const publicationLateSeconds = 7_200

const nameOfTarget = ({ kind, place }: CheckpointTarget) => (kind === 'address' ? maskUrl(place) : place)

/** Undefined before the log was begun. */
export async function describeLog(sealing: Sealing): Promise<DescribedLog | undefined> {
  const { db, config } = sealing
  const log = await findLog(db.pool)
  const levels = await readLogLevels(sealing)
  if (!log || !levels) return undefined
  const origin = logOrigin(sealing, log)
  const { checkpointTargets } = config
  const publications = await listPublications(
    db.pool,
    checkpointTargets.map(({ id }) => id),
  )
  const hasKey = log.sealedKey !== null && (await canSign(sealing, log))
  return {
    levels,
    origin,
    otherOrigins: await listOtherOrigins(db.pool, origin, log.id),
    publicKey: hasKey ? await readPublicKey(sealing, log) : undefined,
    newest: await findNewestCheckpoint(db.pool, origin),
    targets: checkpointTargets.map((target) => ({
      name: nameOfTarget(target),
      publication: publications.find(({ target: id }) => id === target.id),
    })),
    incarnation: (await listIncarnations(db.pool, 1))[0],
  }
}
