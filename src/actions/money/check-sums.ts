/** Compares both sides of the books: all wallets plus all positions is zero, unless money was created or lost. */
import { getSides } from '../../store/books/books.ts'
import { countRewrites, type BooksState } from '../../store/verify/books-check.ts'
import { bookFault } from '../../store/verify/fault.ts'
import { laterBy, replaceProblems, type Step } from './check-step.ts'

/** At most a hundredth of a core, but at least once a minute. */
const restFactor = 100
const minRestMs = 5_000
const maxRestMs = 60_000

/**
 * Append-only rows were changed, possibly older ones than the pass checks: start the round again, now. A hurried round in
 * progress is not restarted; changes made during it are detected after its end.
 */
function hurryAfter(state: BooksState, rewrites: number): Partial<BooksState> {
  if (rewrites === state.rewrites || state.isHurried) return {}
  return state.rewrites === null ? { rewrites } : { rewrites, isHurried: true, cursor: null, nextSliceAt: state.now }
}

export const sumsStep: Step = {
  name: 'sums',
  dueAt: ({ nextSumsAt }) => nextSumsAt,
  check: async (tx, state, words) => {
    const { walletsMinor, positionsMinor } = await getSides(tx)
    const rewrites = await countRewrites(tx)
    const difference = walletsMinor + positionsMinor
    const message = `All wallets hold ${words(walletsMinor)} and all positions stand at ${words(positionsMinor)}: together ${words(difference)}, and not zero.`
    return {
      faults: difference === 0n ? [] : [bookFault('books-unbalanced', message)],
      entries: 0,
      keep: async (_, confirmed, tookMs) => ({
        ...state,
        ...hurryAfter(state, rewrites),
        problems: replaceProblems(state, ({ check }) => check === 'books-unbalanced', confirmed),
        walletsMinor,
        positionsMinor,
        sumsAt: state.now,
        nextSumsAt: laterBy(state.now, tookMs + Math.min(maxRestMs, Math.max(minRestMs, tookMs * restFactor))),
      }),
    }
  },
}
