/** Posts a correction whose process died after the approval and before the posting. */
import { postCorrection as post } from '../actions/money/correct-wallet.ts'
import { findCorrection } from '../store/corrections.ts'
import { done, single, usual, type Kind } from './kind.ts'

const system = { name: 'system', address: null }

export const postCorrection: Kind = {
  ...usual,
  ...single(async (service, { key }) => {
    const correction = await findCorrection(service.db.pool, key)
    if (correction) await post(service, system, correction)
    return done
  }),
  name: 'post-correction',
  concurrency: 2,
  retryAfterMs: () => 15_000,
}
