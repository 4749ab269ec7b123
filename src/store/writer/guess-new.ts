/**
 * Guesses that the references of a batch are new, while those of the latest batches were. A batch with a wrong guess writes nothing and is
 * posted again, with every reference looked up. So is a batch with a reference that a closed period may have.
 *
 * Guesses too that every posting of a batch posts, while those of the latest batches did, and sends the smallest statement. The postings that it
 * left are posted again.
 */
import type { ClosedReferences } from '../closing/closed-references.ts'
import { sqlState, uniqueViolation } from '../connection/database.ts'
import type { WriterClient } from './connection.ts'
import { postFast, type FastAnswers } from './fast-statement.ts'
import { isLone, postLone } from './lone-statement.ts'
import type { PendingPosting } from './posting.ts'

export type Guess = { batchesSinceRepeat: number; batchesSinceLeft: number }

/** A wrong guess costs one batch, so an app that repeats references at the worst rate costs the database one batch in this number. */
const batchesBeforeGuess = 64
/** The look-up takes time by reference: it costs a small batch almost nothing, and a wrong guess appears in the server's log. */
const fewestPostings = 8

/** A posting that does not post costs a statement more, which the smallest one saves in three batches. */
const batchesBeforeLone = 16

export function newGuess(): Guess {
  return { batchesSinceRepeat: batchesBeforeGuess, batchesSinceLeft: batchesBeforeLone }
}

type Writing = Pick<WriterClient, 'client' | 'number'>

export async function postGuessing(
  writer: Writing,
  guess: Guess,
  closed: Pick<ClosedReferences, 'known' | 'found'>,
  batch: readonly PendingPosting[],
): Promise<FastAnswers> {
  if (batch.length >= fewestPostings && guess.batchesSinceRepeat >= batchesBeforeGuess) {
    const known = closed.known()
    if (known && !batch.some(({ referenceKey }) => known.mayHave(referenceKey))) {
      const answers = await postNew(writer, guess, batch, known.lastMark).catch(undefinedIfUsed)
      if (answers?.lastMark !== undefined) closed.found(answers.lastMark)
      if (answers) return count(guess, answers)
      guess.batchesSinceRepeat = 0
    }
  }
  return count(guess, await postFast(writer.client, batch, writer.number))
}

async function postNew(
  { client, number }: Writing,
  guess: Guess,
  batch: readonly PendingPosting[],
  lastMark: string,
): Promise<FastAnswers> {
  if (guess.batchesSinceLeft++ < batchesBeforeLone || !isLone(batch))
    return await postFast(client, batch, number, { newSince: lastMark })
  const posted = await postLone(client, batch, number, lastMark)
  if (posted.answers.length === batch.length) return posted
  guess.batchesSinceLeft = 0
  const answered = new Set(posted.answers.map(([posting]) => posting))
  const left = batch.filter((posting) => !answered.has(posting))
  try {
    const others = await postFast(client, left, number)
    // What the second statement read may be newer than the commit of the first, so `hasWritten` is asked of the second.
    const { hasWritten, hasRepeats } = others
    return { ...posted, answers: [...posted.answers, ...others.answers], hasWritten, hasRepeats }
  } catch (fault) {
    // Those that posted are answered all the same.
    return { ...posted, fault }
  }
}

function count(guess: Guess, answers: FastAnswers): FastAnswers {
  guess.batchesSinceRepeat = answers.hasRepeats ? 0 : guess.batchesSinceRepeat + 1
  return answers
}

function undefinedIfUsed(error: unknown): undefined {
  if (sqlState(error) !== uniqueViolation) throw error
}
