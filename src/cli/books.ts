/** Verifies the books as a whole. */
import { availableParallelism } from 'node:os'
import type { Fault } from '../store/verify/fault.ts'
import { verifyBooks } from '../store/verify/verify.ts'
import { UsageMistake, textOf, wholeNumber, type Command, type Invocation } from './command.ts'
import { withData } from './data.ts'
import { openProgress } from './progress.ts'

/** In the JSON object; a terminal shows all faults as they are found. */
const maxFaultsShown = 1_000
const maxJobs = 64

export const booksCommands: readonly Command[] = [
  {
    name: 'verify',
    summary: 'verify the books: check every invariant of every wallet; exit code 1 if one is broken',
    flags: {
      jobs: {
        value: 'N',
        about: 'parallel connections (default: the cores of this machine, at most 4)',
      },
    },
    details: `Checks on one snapshot, while the service runs, that
- all wallets and all counter accounts add up to zero, for each account and day;
- every balance is the sum of its entries, without gaps, exact at every entry, and below zero only after a reversal;
- every entry has its outcome, every refusal has no entry, and every reference has its key.
All connections use the same snapshot. Faults are printed as they are found.`,
    examples: ['verify', 'verify --jobs 8', 'verify --json'],
    run: async (invocation) => {
      const jobs = jobsOf(invocation)
      return await withData(invocation, async ({ connection }) => {
        const progress = openProgress(invocation.io)
        const faults: Fault[] = []
        const startedAt = performance.now()
        const rate = (done: number) => Math.round(done / Math.max(0.001, (performance.now() - startedAt) / 1_000))
        const result = await verifyBooks(connection, {
          jobs,
          signal: invocation.io.signal,
          onProgress: ({ part, done, total }) =>
            progress.show(
              part === 'totals' ? 'adding up both sides of the books' : `${done} of ${total}, ${rate(done)} a second`,
              total && done / total,
            ),
          onFault: (fault) => {
            progress.clear()
            if (faults.length < maxFaultsShown) faults.push(fault)
            if (!invocation.isJson) invocation.io.output.write(`${fault.check}: ${fault.message}\n`)
          },
        })
        progress.clear()
        const seconds = Math.round(performance.now() - startedAt) / 1_000
        const transfersPerSecond = rate(result.transfers)
        const size = `${result.wallets} wallets, ${result.transfers} transfers, ${result.refusals} refusals`
        const pace = `${seconds} s, ${transfersPerSecond} transfers a second with ${jobs === 1 ? 'one connection' : `${jobs} connections`}`
        return {
          json: { isExact: result.faults === 0, ...result, seconds, transfersPerSecond, jobs, found: faults },
          text: `${result.faults === 0 ? 'The books are exact' : `The books have ${result.faults} faults`}: ${size}; ${pace}.`,
          exitCode: result.faults === 0 ? 0 : 1,
        }
      })
    },
  },
]

function jobsOf(invocation: Invocation): number {
  const text = textOf(invocation, 'jobs')
  if (text === undefined) return Math.min(4, availableParallelism())
  const jobs = wholeNumber(text)
  if (jobs === undefined || jobs < 1 || jobs > maxJobs)
    throw new UsageMistake(`--jobs: write a whole number from 1 to ${maxJobs}.`)
  return jobs
}
