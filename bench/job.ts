/** The job of the load process for one round, and its result. Both travel between two processes. */

export type Target = {
  readonly port: number
  readonly clientId: string
  readonly clientSecret: string
  /** One serviceUserId a line, all of the same length. */
  readonly usersFile: string
}

export type Job = {
  readonly target: Target
  /** `hold` is one of the usual time. `capture` takes all of a hold: its lines of `usersFile` are ids of holds. */
  readonly call: 'debit' | 'hold' | 'capture' | 'check-balance' | 'bulk'
  /** The number of users that take part, from the first on: 1 is one hot wallet. */
  readonly users: number
  readonly connections: number
  readonly seconds: number
  /** Shares of the requests, from 0 to 1. */
  readonly refused: number
  readonly replayed: number
  /** Requests per second at an even rate, whether or not the last ones are answered; by default as fast as they are answered. */
  readonly perSecond?: number
  /** Busy answers (429, 503) are expected: the load repeats such a request after a second, until it succeeds. */
  readonly isPatient?: boolean
  /** Each line of the users' file once, from the first on; the round ends early when none is left. */
  readonly isInOrder?: boolean
  /** The prefix of every referenceId of the round, so that no two rounds share one. */
  readonly mark: string
}

/** Percentiles over all answers of a round, in milliseconds. */
export type Latency = { readonly p50: number; readonly p99: number; readonly p999: number; readonly max: number }

/** The operations in one bulk request. */
export const bulkSize = 100

export type Result = {
  /** Operations: a bulk request has many. */
  readonly perSecond: number
  readonly seconds: number
  /** Checked answers, by the kind of request. */
  readonly posted: number
  readonly refused: number
  readonly replayed: number
  readonly read: number
  /** Answers that asked to repeat the request, each counted. */
  readonly busy: number
  /** Unexpected answers, by status. Any of them makes the run worthless. */
  readonly wrong: Readonly<Record<string, number>>
  readonly latencyMs: Latency
  /** Processors that the load process itself used: 1 is a whole core. */
  readonly loadCores: number
}
