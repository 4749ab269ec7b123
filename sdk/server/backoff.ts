/** How long to wait before the next attempt. */

const firstWaitMs = 250
const longestWaitMs = 4_000

/** Longer than this nobody waits inside a request of their own; the caller learns it from the error instead. */
const longestRetryAfterMs = 30_000

/** Milliseconds until attempt number `attempt` + 1, or null when the service asked for more than is worth waiting. */
export function waitBefore(attempt: number, retryAfterMs: number | undefined, random: number): number | null {
  if (retryAfterMs !== undefined) {
    // Never earlier than asked, and not everyone at the same moment.
    return retryAfterMs <= longestRetryAfterMs ? retryAfterMs + random * firstWaitMs : null
  }
  const ceiling = Math.min(longestWaitMs, firstWaitMs * 2 ** attempt)
  return ceiling * (0.5 + random / 2)
}

/** The header `Retry-After`, seconds or a date, in milliseconds from now. */
export function parseRetryAfter(header: string | null, now: number): number | undefined {
  if (header === null) return undefined
  if (/^\d{1,9}$/.test(header)) return Number(header) * 1000
  const time = Date.parse(header)
  return Number.isNaN(time) ? undefined : Math.max(0, time - now)
}
