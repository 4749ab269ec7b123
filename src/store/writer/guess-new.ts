/**
 * Guesses that the references of a batch are new, while those of the latest batches were. A batch with a wrong guess writes nothing and is
 * posted again, with every reference looked up. So is a batch with a reference that a closed period may have.
 */
import type { ClosedReferences } from '../closing/closed-references.ts'
import { sqlState, uniqueViolation } from '../connection/database.ts'
import type { WriterClient } from './connection.ts'
import { postFast, type FastAnswers } from './fast-statement.ts'
import type { PendingPosting } from './posting.ts'

export type Guess = { batchesSinceRepeat: number }

/** A wrong guess costs one batch, so an app that repeats references at the worst rate costs the database one batch in this number. */
const batchesBeforeGuess = 64
/** The look-up takes time by reference: it costs a small batch almost nothing, and a wrong guess appears in the server's log. */
const fewestPostings = 8

export function newGuess(): Guess {
  return { batchesSinceRepeat: batchesBeforeGuess }
}

export async function postGuessing(
  { client, number }: Pick<WriterClient, 'client' | 'number'>,
  guess: Guess,
  closed: Pick<ClosedReferences, 'known' | 'found'>,
  batch: readonly PendingPosting[],
): Promise<FastAnswers> {
  if (batch.length >= fewestPostings && guess.batchesSinceRepeat >= batchesBeforeGuess) {
    const known = closed.known()
    if (known && !batch.some(({ referenceKey }) => known.mayHave(referenceKey))) {
      const answers = await postFast(client, batch, number, { newSince: known.lastMark }).catch(undefinedIfUsed)
      if (answers?.lastMark !== undefined) closed.found(answers.lastMark)
      if (answers) return count(guess, answers)
      guess.batchesSinceRepeat = 0
    }
  }
  return count(guess, await postFast(client, batch, number))
}

function count(guess: Guess, answers: FastAnswers): FastAnswers {
  guess.batchesSinceRepeat = answers.hasRepeats ? 0 : guess.batchesSinceRepeat + 1
  return answers
}

function undefinedIfUsed(error: unknown): undefined {
  if (sqlState(error) !== uniqueViolation) throw error
}
