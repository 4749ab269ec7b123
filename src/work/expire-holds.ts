/**
 * Closes the expired holds of a wallet where the sweep (`actions/money/sweep-holds`) could not, so that such a wallet delays no other and
 * operators see it. A piece is a wallet.
 */
import { expireHolds as closeExpired } from '../actions/money/manage-holds.ts'
import type { Service } from '../actions/service.ts'
import { faultText } from '../platform/log.ts'
import type { Piece } from '../store/work/work.ts'
import { done, usual, type Ended, type Kind } from './kind.ts'

const minuteMs = 60_000
const retryAfterMs = (attempts: number) => Math.min(minuteMs, 1_000 * 2 ** Math.min(attempts, 6))

/** A wallet that another transaction has locked does not keep the others waiting for another run. */
async function run(service: Service, pieces: readonly Piece[]): Promise<Ended[]> {
  const results = await Promise.allSettled(pieces.map(({ key }) => closeExpired(service, key)))
  return results.map((result, i): Ended => {
    if (result.status === 'fulfilled') return done
    return { kind: 'again', afterMs: retryAfterMs(pieces[i]!.attempts), error: faultText(result.reason) }
  })
}

export const expireHolds: Kind = { ...usual, name: 'expire-holds', batch: 100, concurrency: 1, run, retryAfterMs }
