/** Checks what needs an operator or waits too long: books, secrets, card payments, mails, disk space. Pure. */
import type { Check } from '../apps/examine-embedding.ts'
import { lateAfterSeconds } from '../../store/books/hold-lists.ts'
import type { Closing } from '../../store/closing/closings.ts'
import type { DatabaseGauges } from '../../store/database-gauges.ts'

export type WorkFacts = {
  /** Found by the continuous check. */
  readonly booksProblems: number
  readonly gauges: DatabaseGauges | undefined
  /** On the disk of the embedded database; undefined with DATABASE_URL. */
  readonly freeBytes: number | undefined
  readonly databaseBytes: number
  /** From `findUnsafeForProduction`. */
  readonly unsafe: readonly string[]
  /** Why secrets cannot be decrypted. */
  readonly secretsProblem: string | undefined
  /** From `findNoWayIn`. */
  readonly noWayIn: string | undefined
  readonly isProduction: boolean
  readonly closings: readonly Closing[]
}

export function examineWork(facts: WorkFacts): Check[] {
  const { gauges } = facts
  return [
    checkBooks(facts),
    checkPeriods(facts),
    checkSecrets(facts),
    ...facts.unsafe.map((text): Check => ({
      name: 'Demo and plain HTTP',
      state: facts.isProduction ? 'bad' : 'warn',
      text,
    })),
    ...(facts.noWayIn === undefined ? [] : [{ name: 'Admin area', state: 'bad', text: facts.noWayIn } as const]),
    checkDisk(facts),
    ...(gauges ? [checkTopups(gauges), checkMails(gauges), checkHolds(gauges), checkQueue(gauges)] : []),
  ]
}

function checkBooks({ booksProblems }: WorkFacts): Check {
  const name = 'Books'
  if (booksProblems === 0) return { name, state: 'good', text: 'The continuous check found no problem.' }
  const text = `The continuous check found ${booksProblems} problem${booksProblems === 1 ? '' : 's'}.`
  return { name, state: 'bad', text, fix: 'docs/operations/runbooks.md#the-books-are-wrong, and npx billfold verify.' }
}

function checkPeriods({ closings }: WorkFacts): Check {
  const name = 'Periods'
  const missing = closings.filter(({ isIndexed }) => !isIndexed)
  if (missing.length > 0)
    return {
      name,
      state: 'warn',
      text: `Closed period ${missing.map(({ id }) => id).join(', ')} has no filter: every debit looks its reference up in all periods.`,
      fix: `${missing.some(({ archivedAt }) => archivedAt) ? 'npx billfold archive restore, and then ' : ''}npx billfold period index.`,
    }
  const count = ['No period is', 'One period is'][closings.length] ?? `${closings.length} periods are`
  const archived = closings.filter(({ archivedAt }) => archivedAt).length
  const place = archived === 1 && closings.length === 1 ? ', and in files' : `, ${archived} of them in files`
  const kept = archived === 0 ? '' : `${place}: keep those files, and their copies`
  return { name, state: 'good', text: `${count} closed${kept}.` }
}

function checkSecrets({ secretsProblem }: WorkFacts): Check {
  const name = 'SECRETS_KEY'
  if (secretsProblem === undefined) return { name, state: 'good', text: 'It decrypts every secret in the database.' }
  return { name, state: 'bad', text: secretsProblem }
}

const gigabyte = 1e9

/** `databaseBytes` is undefined where the database does not answer. */
export function checkDisk({
  freeBytes,
  databaseBytes,
}: {
  freeBytes: number | undefined
  databaseBytes: number | undefined
}): Check {
  const name = 'Disk'
  const size = databaseBytes === undefined ? '' : `The database has ${(databaseBytes / gigabyte).toFixed(2)} GB`
  if (freeBytes === undefined)
    return { name, state: 'unknown', text: `${size}; only its server knows how much space is left.` }
  const text = `${size && `${size}, and `}${(freeBytes / gigabyte).toFixed(1)} GB are free.`
  // A base back-up, a rewrite of the largest table and a day of the log each need about that much.
  if (freeBytes > Math.max(2 * gigabyte, (databaseBytes ?? 0) / 2)) return { name, state: 'good', text }
  const fix = 'Free space, or move DATA_DIR: docs/operations/runbooks.md#the-disk-is-full.'
  return { name, state: freeBytes < gigabyte / 2 ? 'bad' : 'warn', text, fix }
}

const hour = 3_600

function checkTopups({ topupProblems, lateAttemptSeconds, topups }: DatabaseGauges): Check {
  const name = 'Top-ups'
  if (topupProblems > 0)
    return {
      name,
      state: 'bad',
      text: `${topupProblems} card payment(s) took money that was not credited.`,
      fix: 'Check each of them: /admin/topups?problem=1.',
    }
  if (lateAttemptSeconds > hour / 4 || topups.processing.oldestSeconds > 72 * hour)
    return {
      name,
      state: 'warn',
      text: `${topups.processing.count} card payment(s) are still open, the oldest for ${Math.round(topups.processing.oldestSeconds / hour)} h.`,
      fix: 'docs/operations/runbooks.md#the-card-processor-is-away.',
    }
  return { name, state: 'good', text: `${topups.created.count + topups.processing.count} open, none late.` }
}

function checkMails({ mails }: DatabaseGauges): Check {
  const name = 'Mails'
  if (mails.oldestSeconds < hour / 4) return { name, state: 'good', text: `${mails.count} waiting, none for long.` }
  const text = `${mails.count} waiting, the oldest for ${Math.round(mails.oldestSeconds / 60)} minutes.`
  return { name, state: 'warn', text, fix: 'docs/operations/runbooks.md#mail-is-down.' }
}

function checkHolds({ holds }: DatabaseGauges): Check {
  const name = 'Holds'
  if (holds.lateSeconds < lateAfterSeconds) return { name, state: 'good', text: `${holds.open} open, none late.` }
  const text = `A hold expired ${Math.round(holds.lateSeconds / 60)} minutes ago and is not closed.`
  return {
    name,
    state: 'warn',
    text,
    fix: 'See which: /admin/holds?state=late. docs/operations/runbooks.md#holds-are-closed-late.',
  }
}

function checkQueue({ work }: DatabaseGauges): Check {
  const name = 'Background work'
  const failing = Object.entries(work).filter(([, level]) => level.failing > 0)
  if (failing.length === 0) return { name, state: 'good', text: 'None failed three times in a row or was given up.' }
  const text = `${failing.map(([kind, level]) => `${level.failing} of ${kind}`).join(', ')} failed three times in a row or were given up.`
  return { name, state: 'warn', text, fix: 'See why: /admin/work. docs/operations/runbooks.md#background-work-fails.' }
}
