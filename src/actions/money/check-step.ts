/** The interface of the continuous check's three parts: check the books, then store the result. */
import type { Transaction } from '../../store/connection/database.ts'
import type { BooksState, Problem } from '../../store/verify/books-check.ts'
import type { Fault, FormatMoney } from '../../store/verify/fault.ts'

export type Step = {
  readonly name: 'sums' | 'changes' | 'round' | 'log'
  readonly dueAt: (state: BooksState) => Date
  /** Reads only. */
  readonly check: (tx: Transaction, state: BooksState, words: FormatMoney, attempt: Attempt) => Promise<StepResult>
  /** It can leave out the wallets of servers that are away. Other steps wait until all servers are back. */
  readonly mayLeaveOut?: boolean
}

export type Attempt = {
  /** A second check runs on a fresh snapshot when the first one found a fault. */
  readonly isSecond: boolean
  /** The groups of the cluster's servers that are away. */
  readonly away: readonly number[]
}

export type StepResult = {
  readonly faults: readonly Fault[]
  readonly entries: number
  /** Stores progress and returns the new state; `confirmed` are the faults that both checks found. */
  readonly keep: (tx: Transaction, confirmed: readonly Fault[], tookMs: number) => Promise<BooksState>
}

/** With this many problems the table as a whole is damaged; a longer list does not help. */
const maxProblems = 50

export function problemKey({
  check,
  walletId,
  sequence,
}: Pick<Fault, 'check' | 'walletId' | 'sequence'> | Problem): string {
  return [check, walletId, sequence].join(' ')
}

/** Replaces the problems that were checked again with the faults found now. */
export function replaceProblems(
  { problems, now }: BooksState,
  isChecked: (problem: Problem) => boolean,
  found: readonly Fault[],
): Problem[] {
  const since = new Map(problems.map((problem) => [problemKey(problem), problem.foundAt]))
  const faults = found.map((fault): Problem => ({
    check: fault.check,
    walletId: fault.walletId,
    sequence: fault.sequence,
    message: fault.message,
    foundAt: since.get(problemKey(fault)) ?? now.toISOString(),
  }))
  const again = new Set(faults.map(problemKey))
  const others = problems.filter((problem) => !isChecked(problem) && !again.has(problemKey(problem)))
  return [...others, ...faults].slice(0, maxProblems)
}

export function laterBy(at: Date, ms: number): Date {
  return new Date(at.getTime() + ms)
}
