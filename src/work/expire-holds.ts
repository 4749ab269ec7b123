/** Closes the holds of a wallet that have expired. A piece is a wallet with open holds, due when its first one expires. */
import { expireHolds as closeExpired } from '../actions/money/manage-holds.ts'
import type { Service } from '../actions/service.ts'
import { faultText } from '../platform/log.ts'
import type { Piece } from '../store/work/work.ts'
import { done, usual, type Ended, type Kind } from './kind.ts'

const retryAfterMs = 1_000

/** A wallet that another transaction has locked does not keep the others waiting for another run. */
async function run(service: Service, pieces: readonly Piece[]): Promise<Ended[]> {
  const results = await Promise.allSettled(pieces.map(({ key }) => closeExpired(service, key)))
  return results.map((result): Ended => {
    if (result.status === 'rejected') return { kind: 'again', afterMs: retryAfterMs, error: faultText(result.reason) }
    return result.value === null ? done : { kind: 'again', afterMs: Math.max(0, result.value), isCounted: false }
  })
}

export const expireHolds: Kind = {
  ...usual,
  name: 'expire-holds',
  // The writer closes those of many wallets in one transaction.
  batch: 500,
  concurrency: 1,
  pollMs: 1_000,
  run,
  retryAfterMs: () => retryAfterMs,
}
