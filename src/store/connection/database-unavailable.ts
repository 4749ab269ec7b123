/** The database did not answer in time, or the connection broke. What was asked last may or may not have been done. */
export class DatabaseUnavailable extends Error {
  override name = 'DatabaseUnavailable'
}

/** PostgreSQL's five-letter code of an error, if it is one of PostgreSQL's. */
export function sqlState(error: unknown): string | undefined {
  const code = error instanceof Error && 'code' in error ? error.code : undefined
  // Every one of them has a digit, which tells them from the system's own EPIPE.
  return typeof code === 'string' && /^(?=.*\d)[0-9A-Z]{5}$/.test(code) ? code : undefined
}
