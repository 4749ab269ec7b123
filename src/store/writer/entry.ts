/** A request on its way through the writer. It gets one result, or is told in time that there is none yet. */
import type { PostRequest } from './careful-statement.ts'
import type { PostResult, Waiting } from './settle.ts'

/** The ledger could not be asked in time. The fate of the request is open, and sending it again is safe. */
export class Unavailable extends Error {}

export type Entry = Waiting & {
  readonly deadline: number
  readonly fail: (error: unknown) => void
  isSettled: boolean
}

/** Clients wait ten seconds, so they are told before that. */
const answerWithinMs = 8_000

export function newEntry(
  request: PostRequest,
  resolve: (result: PostResult) => void,
  reject: (error: unknown) => void,
): Entry {
  // Written out, because copying with `...` is several times slower, and this is done for every debit.
  const entry: Entry = {
    by: request.by,
    amountMinor: request.amountMinor,
    isReversal: request.isReversal,
    referenceKey: request.referenceKey,
    counterAccount: request.counterAccount,
    referenceType: request.referenceType,
    referenceId: request.referenceId,
    description: request.description,
    deadline: Date.now() + answerWithinMs,
    isSettled: false,
    settle: (result) => {
      entry.isSettled = true
      resolve(result)
    },
    fail: (error) => {
      entry.isSettled = true
      reject(error)
    },
  }
  return entry
}

/** Where entries wait, and the batches that were made of them. */
export type Line = {
  queue: Entry[]
  readonly underWay: Set<readonly Entry[]>
  /** Lets go of a connection that hangs. */
  readonly giveUp: () => void
}

export function depthOf(line: Line): number {
  let depth = line.queue.length
  for (const batch of line.underWay) depth += batch.length
  return depth
}

/** Fails what is past its time, also while a query hangs; a connection that hangs so long is given up. */
export function expire(line: Line): void {
  const now = Date.now()
  const isLate = (entry: Entry) => !entry.isSettled && entry.deadline <= now
  const late = [...line.underWay].flatMap((batch) => batch.filter(isLate))
  for (const entry of late) entry.fail(new Unavailable('the ledger did not answer in time'))
  if (late.length > 0) line.giveUp()
  if (!line.queue.some(isLate)) return
  for (const entry of line.queue) if (isLate(entry)) entry.fail(new Unavailable('the ledger is busy'))
  line.queue = line.queue.filter((entry) => !entry.isSettled)
}
