/** The number of an app's last event, found with the calls that every feed has. */
import { setTimeout as sleep } from 'node:timers/promises'
import { BillfoldError, type Billfold } from '../../../sdk/server.ts'

/** Between attempts while the service does not answer. */
const pauseMs = 1_000

/** By bisection: the feed refuses a number above its last event, so a feed of a million events takes some forty calls. */
export async function findFeedEnd(billfold: Billfold, signal: AbortSignal): Promise<number> {
  let below = 0
  let above: number | undefined
  for (let asked = 0; above === undefined || above - below > 1;) {
    const place = await compare(billfold, asked, signal)
    if (place === 'end') return asked
    if (place === 'below') below = asked
    else above = asked
    asked = above === undefined ? Math.max(1, below * 2) : Math.floor((below + above) / 2)
  }
  // Events were added meanwhile: this was the end when the search had begun.
  return below
}

/** Where the number is, compared with the last event. */
async function compare(billfold: Billfold, after: number, signal: AbortSignal): Promise<'below' | 'end' | 'above'> {
  for (;;)
    try {
      const { done } = await billfold.events({ after, limit: 1, wait: 0 }, { signal }).next()
      return done ? 'end' : 'below'
    } catch (error) {
      if (!(error instanceof BillfoldError)) throw error
      if (error.code === 'EVENTS_GONE') return 'below'
      if (error.code === 'INVALID_REQUEST' && error.fields?.['after'] !== undefined) return 'above'
      if (!error.isRetryable || error.code === 'ABORTED') throw error
      await sleep(Math.max(pauseMs, error.retryAfterMs ?? 0), undefined, { signal })
    }
}
