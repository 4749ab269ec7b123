/** Both sides of the books against each other: all wallets and all positions make zero, or money was made or lost. */
import { getSides } from '../../store/books.ts'
import { bookFault } from '../../store/verify/fault.ts'
import { laterBy, replaceProblems, type Step } from './check-step.ts'

/** At most a hundredth of a core, but once a minute in any case. */
const restFactor = 100
const minRestMs = 5_000
const maxRestMs = 60_000

export const sumsStep: Step = {
  name: 'sums',
  dueAt: ({ nextSumsAt }) => nextSumsAt,
  look: async (tx, state, words) => {
    const { walletsMinor, positionsMinor } = await getSides(tx)
    const difference = walletsMinor + positionsMinor
    const message = `All wallets hold ${words(walletsMinor)} and all positions stand at ${words(positionsMinor)}: together ${words(difference)}, and not zero.`
    return {
      faults: difference === 0n ? [] : [bookFault('books-unbalanced', message)],
      entries: 0,
      keep: async (_, confirmed, tookMs) => ({
        ...state,
        problems: replaceProblems(state, ({ check }) => check === 'books-unbalanced', confirmed),
        walletsMinor,
        positionsMinor,
        sumsAt: state.now,
        nextSumsAt: laterBy(state.now, tookMs + Math.min(maxRestMs, Math.max(minRestMs, tookMs * restFactor))),
      }),
    }
  },
}
