/** Its name is all that the log and the admin area show of it. */
class TimedOut extends Error {
  override name = 'TimedOut'
}

export function isTimedOut(error: unknown): boolean {
  return error instanceof TimedOut
}

/** Rejects once the time is up. The work itself goes on: it must be safe beside its next run. */
export async function inTime<T>(work: Promise<T>, limitMs: number): Promise<T> {
  const late = Promise.withResolvers<never>()
  const timer = setTimeout(() => late.reject(new TimedOut(`not done within ${limitMs} ms`)), limitMs)
  try {
    return await Promise.race([work, late.promise])
  } finally {
    clearTimeout(timer)
  }
}
