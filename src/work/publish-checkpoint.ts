/** Publishes the newest checkpoint of the log to one target of CHECKPOINTS. */
import { publishTo } from '../actions/proofs/publish.ts'
import type { Service } from '../actions/service.ts'
import type { Piece } from '../store/work/work.ts'
import { done, single, usual, type Ended, type Kind } from './kind.ts'

const hourMs = 3_600_000
const retryAfterMs = (attempts: number) => Math.min(hourMs, 5_000 * 2 ** Math.min(attempts, 10))

async function publish(service: Service, { key, attempts }: Piece): Promise<Ended> {
  const target = service.config.checkpointTargets.find(({ id }) => id === key)
  if (!target) return done
  const result = await publishTo(service, target)
  if (result.kind === 'wait') return { kind: 'again', afterMs: result.afterMs, isCounted: false }
  if (result.kind === 'failed' || result.kind === 'contradiction')
    return { kind: 'again', afterMs: retryAfterMs(attempts), error: result.error }
  return done
}

export const publishCheckpoint: Kind = {
  ...usual,
  ...single(publish),
  name: 'publish-checkpoint',
  // One for each target that CHECKPOINTS can name.
  concurrency: 8,
  retryAfterMs,
}
