/** Checks the log of the books: is it sealed, and do its checkpoints leave the house? Pure. */
import type { Check } from '../apps/examine-embedding.ts'
import { publicationLateSeconds, sealLateSeconds, type DescribedLog } from '../proofs/describe-log.ts'

export type LogFacts = {
  /** Undefined before the first process has begun it. */
  readonly log: Pick<DescribedLog, 'levels' | 'targets' | 'origin' | 'otherOrigins'> | undefined
  readonly targetCount: number
}

const lateFix = 'docs/operations/runbooks.md#checkpoints-are-late.'

export function examineLog(facts: LogFacts): Check[] {
  return [checkPublished(facts), ...checkSealed(facts), ...checkNames(facts)]
}

function checkPublished({ log, targetCount }: LogFacts): Check {
  const name = 'Checkpoints'
  if (targetCount === 0)
    return {
      name,
      state: 'warn',
      text: 'CHECKPOINTS is not set: signed states of the books stay in the database, and its owner can change both together.',
      fix: 'CHECKPOINTS=a folder on another disk, or an https address that others keep: docs/proofs.md.',
    }
  const broken = log?.targets.flatMap(({ name: target, publication }) =>
    publication?.contradiction ? [`${target}: ${publication.contradiction}`] : [],
  )
  if (broken && broken.length > 0) {
    const fix = 'docs/operations/runbooks.md#the-books-contradict-a-checkpoint.'
    return { name, state: 'bad', text: `A published checkpoint contradicts the books. ${broken.join(' ')}`, fix }
  }
  const late = log?.levels.publicationLateSeconds ?? 0
  const reasons = log?.targets.flatMap(({ name: target, publication }) =>
    publication?.error ? [`${target}: ${publication.error}`] : [],
  )
  const why = reasons && reasons.length > 0 ? ` ${reasons.join(' ')}` : ''
  if (late > publicationLateSeconds)
    return {
      name,
      state: 'bad',
      text: `A target has lacked the newest checkpoint for ${inMinutes(late)}.${why}`,
      fix: lateFix,
    }
  if (why !== '') return { name, state: 'warn', text: why.trim(), fix: lateFix }
  return { name, state: 'good', text: `They are published to ${targetCount} place${targetCount === 1 ? '' : 's'}.` }
}

function checkSealed({ log }: LogFacts): Check[] {
  const age = log?.levels.sealAgeSeconds ?? null
  if (age === null) return []
  const name = 'Seal of the books'
  if (age <= sealLateSeconds) return [{ name, state: 'good', text: `The books were sealed ${inMinutes(age)} ago.` }]
  return [{ name, state: 'warn', text: `The books have not been sealed for ${inMinutes(age)}.`, fix: lateFix }]
}

/** Readers of two names cannot compare their checkpoints. */
function checkNames({ log }: LogFacts): Check[] {
  if (!log || log.otherOrigins.length === 0) return []
  return [
    {
      name: 'Name of the log',
      state: 'warn',
      text: `In the last hour the log was signed as ${log.otherOrigins.join(', ')} too, and not only as ${log.origin}.`,
      fix: 'All processes of a database need the same PUBLIC_URL. If you have just changed it everywhere, this ends within an hour.',
    },
  ]
}

const inMinutes = (seconds: number) => `${Math.round(seconds / 60).toLocaleString('en')} min`
