/** The books as a whole: are they exact, and a copy of them. */
import type { Fault } from '../store/verify/fault.ts'
import { verifyBooks } from '../store/verify/verify.ts'
import type { Command } from './command.ts'
import { withData } from './data.ts'
import { openProgress } from './progress.ts'

/** In the JSON object; a terminal gets all of them as they are found. */
const maxFaultsShown = 1_000

export const booksCommands: readonly Command[] = [
  {
    name: 'verify',
    summary: 'prove the books: every invariant over every wallet; exit code 1 if one does not hold',
    details: `Checks, at one moment and while the service goes on: that all wallets and all counter accounts together are zero, for
each account and day; that every balance is the sum of its entries, without gaps, exact on every one and never below
zero but for a reversal; that every entry has its outcome and every refusal has none; and every reference's key.`,
    examples: ['verify', 'verify --json'],
    run: async (invocation) =>
      await withData(invocation, async ({ connection }) => {
        const progress = openProgress(invocation.io)
        const faults: Fault[] = []
        const startedAt = performance.now()
        const result = await verifyBooks(connection, {
          signal: invocation.io.signal,
          onProgress: ({ part, done, total }) =>
            progress.show(part === 'totals' ? 'adding up both sides' : `${done} of ${total}`, total && done / total),
          onFault: (fault) => {
            progress.clear()
            if (faults.length < maxFaultsShown) faults.push(fault)
            if (!invocation.isJson) invocation.io.output.write(`${fault.check}: ${fault.message}\n`)
          },
        })
        progress.clear()
        const seconds = Math.round(performance.now() - startedAt) / 1_000
        const size = `${result.wallets} wallets, ${result.transfers} transfers, ${result.refusals} refusals`
        return {
          json: { isExact: result.faults === 0, ...result, seconds, found: faults },
          text: `${result.faults === 0 ? 'The books are exact' : `The books have ${result.faults} faults`}: ${size}, ${seconds} s.`,
          exitCode: result.faults === 0 ? 0 : 1,
        }
      }),
  },
]
