/** How long to wait before the next attempt. */

const firstWaitMs = 250
const longestWaitMs = 4_000

/** A longer wait is left to the caller, who finds it in the error: it would hold up the caller's own request. */
const longestRetryAfterMs = 30_000

/** Milliseconds to wait after attempt number `attempt`, counted from 0, or null if Retry-After is too long to wait for. */
export function waitBefore(attempt: number, retryAfterMs: number | undefined, random: number): number | null {
  if (retryAfterMs !== undefined) {
    // Never earlier than Retry-After, plus jitter, so that clients do not all return at once.
    return retryAfterMs <= longestRetryAfterMs ? retryAfterMs + random * firstWaitMs : null
  }
  const ceiling = Math.min(longestWaitMs, firstWaitMs * 2 ** attempt)
  return ceiling * (0.5 + random / 2)
}

/** Parses a `Retry-After` header, seconds or a date, into milliseconds from now. */
export function parseRetryAfter(header: string | null, now: number): number | undefined {
  if (header === null) return undefined
  if (/^\d{1,9}$/.test(header)) return Number(header) * 1000
  const time = Date.parse(header)
  return Number.isNaN(time) ? undefined : Math.max(0, time - now)
}
