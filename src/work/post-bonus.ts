/** Posts a bonus whose process died after the decision and before the posting, or could not post it because the wallet was locked. */
import { postOrderedBonus } from '../actions/money/grant-bonus.ts'
import { done, single, usual, type Kind } from './kind.ts'

const system = { name: 'system', address: null }

export const postBonus: Kind = {
  ...usual,
  ...single(async (service, { key }) => {
    await postOrderedBonus(service, system, key)
    return done
  }),
  name: 'post-bonus',
  concurrency: 2,
  retryAfterMs: () => 15_000,
}
