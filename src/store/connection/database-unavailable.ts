/** The database did not answer in time, or the connection broke. The last statement may or may not have been executed. */
export class DatabaseUnavailable extends Error {
  override name = 'DatabaseUnavailable'
}

/** A write was refused before it was sent, because no synchronous standby would confirm it. Nothing was executed. */
export class StandbyLost extends DatabaseUnavailable {
  override name = 'StandbyLost'
}

/** PostgreSQL's five-character error code; undefined for other errors. */
export function sqlState(error: unknown): string | undefined {
  const code = error instanceof Error && 'code' in error ? error.code : undefined
  // Every SQLSTATE contains a digit, unlike the system's EPIPE.
  return typeof code === 'string' && /^(?=.*\d)[0-9A-Z]{5}$/.test(code) ? code : undefined
}
