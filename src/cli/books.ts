/** Verifies the books as a whole. */
import { availableParallelism } from 'node:os'
import { formatMinor, type Currency } from '../ledger/money.ts'
import type { Fault } from '../store/verify/fault.ts'
import { verifyBooks, type CoveredEntry, type VerifyResult } from '../store/verify/verify.ts'
import { UsageMistake, textOf, textsOf, wholeNumber, type Command, type Invocation } from './command.ts'
import { withData } from './data.ts'
import { openProgress } from './progress.ts'
import { checkpointFlags, compareWithSigned, readSigned } from './proofs/signed-books.ts'
import { formatTime } from './table.ts'

/** In the JSON object; a terminal shows all faults as they are found. */
const maxFaultsShown = 1_000
const maxJobs = 64

export const booksCommands: readonly Command[] = [
  {
    name: 'verify',
    database: 'reads',
    summary: 'verify the books: check every invariant of every wallet; exit code 1 if one is broken',
    flags: {
      jobs: {
        value: 'N',
        about: 'parallel connections (default: the cores of this machine, at most 4)',
      },
      'expect-at-least': {
        value: 'N',
        about: 'exit code 1 if the books have fewer transfers, as after a restore of the wrong copy',
      },
      ...checkpointFlags,
    },
    details: `Checks on one snapshot, while the service runs, that
- all wallets and all counter accounts add up to zero, for each account and day;
- every balance is the sum of its entries, without gaps, exact at every entry, and below zero only after a reversal;
- every entry has its outcome, every refusal has no entry, and every reference has its key.
All connections use the same snapshot. Faults are printed as they are found. The last lines say what was covered: wallets, entries, the
sum of all balances, the first and the last entry. The command changes nothing: an empty database, one of another program and
one with another schema are refused with exit code 1.
With --checkpoint and --key it then compares the books with that signed state, as log verify does.`,
    examples: [
      'verify',
      'verify --jobs 8',
      'verify --expect-at-least 250000 --json',
      'verify --checkpoint /mnt/other/checkpoint --key wallet.example.com/books/2b5c7b0e8f0a1d3c+4f2a91c0+AQ…',
    ],
    run: async (invocation) => {
      const jobs = jobsOf(invocation)
      const expected = expectedOf(invocation)
      const signed = await signedOf(invocation)
      return await withData(invocation, async ({ connection, config: { currency } }) => {
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
        const { balanceMinor, ...counts } = result
        const pace = `${seconds} s, ${transfersPerSecond} transfers a second with ${jobs === 1 ? 'one connection' : `${jobs} connections`}`
        const isEnough = result.transfers >= expected
        const compared = signed && (await compareWithSigned(invocation, connection, signed, currency))
        return {
          json: {
            isExact: result.faults === 0,
            ...counts,
            balance: formatMinor(balanceMinor, currency),
            currency: currency.code,
            ...(expected > 0 && { expectedAtLeast: expected, isEnough }),
            seconds,
            transfersPerSecond,
            jobs,
            found: faults,
            ...(compared && { checkpoint: compared.json }),
          },
          text: [
            `${verdictOf(result)} ${pace}.`,
            ...coverageOf(result, currency),
            ...(isEnough
              ? []
              : [`At least ${expected} transfers were expected, and the books have ${result.transfers}.`]),
            ...(compared ? [compared.text] : []),
          ].join('\n'),
          exitCode: result.faults === 0 && isEnough && compared?.isExact !== false ? 0 : 1,
        }
      })
    },
  },
]

function verdictOf({ faults, wallets, transfers, refusals }: VerifyResult): string {
  const size = `${wallets} wallets, ${transfers} transfers, ${refusals} refusals;`
  if (faults > 0) return `The books have ${faults} faults: ${size}`
  return transfers === 0
    ? `The books have no entries, so there is little to verify: ${size}`
    : `The books are exact: ${size}`
}

function coverageOf({ transfers, archived, balanceMinor, first, last }: VerifyResult, currency: Currency): string[] {
  if (transfers === 0) return []
  return [
    `The sum of all balances is ${formatMinor(balanceMinor, currency)} ${currency.code}.`,
    ...(archived > 0
      ? [`Of the transfers, ${archived} are in the archive: they were checked by what the database keeps of them.`]
      : []),
    ...(first ? [`First entry${archived > 0 ? ' in the database' : ''}: ${entryOf(first)}.`] : []),
    ...(last ? [`Last entry: ${entryOf(last)}.`] : []),
  ]
}

function entryOf({ createdAt, transactionId }: CoveredEntry): string {
  return `${formatTime(createdAt)} (${transactionId})`
}

async function signedOf(invocation: Invocation) {
  const path = textOf(invocation, 'checkpoint')
  const hasKey = (textsOf(invocation, 'key') ?? []).length > 0
  if ((path === undefined) === hasKey) throw new UsageMistake('--checkpoint and --key are given together.')
  return path === undefined ? undefined : await readSigned(invocation, path)
}

function expectedOf(invocation: Invocation): number {
  const text = textOf(invocation, 'expect-at-least')
  if (text === undefined) return 0
  // More digits than `wholeNumber` takes: books may have more than a billion entries.
  if (!/^\d{1,15}$/.test(text)) throw new UsageMistake('--expect-at-least: write a whole number of transfers.')
  return Number(text)
}

function jobsOf(invocation: Invocation): number {
  const text = textOf(invocation, 'jobs')
  if (text === undefined) return Math.min(4, availableParallelism())
  const jobs = wholeNumber(text)
  if (jobs === undefined || jobs < 1 || jobs > maxJobs)
    throw new UsageMistake(`--jobs: write a whole number from 1 to ${maxJobs}.`)
  return jobs
}
