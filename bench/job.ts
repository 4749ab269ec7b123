/** What the load process is asked to do in one round, and what it answers. Both travel between two processes. */

export type Target = {
  readonly port: number
  readonly clientId: string
  readonly clientSecret: string
  /** One serviceUserId a line, all of the same length. */
  readonly usersFile: string
}

export type Job = {
  readonly target: Target
  readonly call: 'debit' | 'check-balance' | 'bulk'
  /** How many of the users take part, from the first on: 1 is one hot wallet. */
  readonly users: number
  readonly connections: number
  readonly seconds: number
  /** Shares of the requests, from 0 to 1. */
  readonly refused: number
  readonly replayed: number
  /** So many requests a second, evenly, whether or not the last ones are answered; without it, as fast as they are answered. */
  readonly perSecond?: number
  /** Busy answers (503) are expected: the client sends the same request again after a second, until it is done. */
  readonly isPatient?: boolean
  /** Begins every referenceId of the round, so that no two rounds share one. */
  readonly mark: string
}

/** Percentiles over all answers of a round, in milliseconds. */
export type Latency = { readonly p50: number; readonly p99: number; readonly p999: number; readonly max: number }

/** Of a request for many at once. */
export const bulkSize = 100

export type Result = {
  /** Operations, of which a request of bulk has many. */
  readonly perSecond: number
  readonly seconds: number
  /** Answers, by what was asked for and came: each was checked. */
  readonly posted: number
  readonly refused: number
  readonly replayed: number
  readonly read: number
  /** Requests that were answered with 503 and sent again, counted each time. */
  readonly busy: number
  /** Answers that were not the expected one, by status. Anything here makes the run worthless. */
  readonly wrong: Readonly<Record<string, number>>
  readonly latencyMs: Latency
  /** What the load process itself used, per second of the round: 1 is a whole core. */
  readonly loadCores: number
}
