/** The card processor's account against the ledger. */
import { readFile, stat } from 'node:fs/promises'
import { reconcileFile, reconcileNow } from '../actions/topups/reconcile.ts'
import { maxReportBytes, parseReport } from '../cards/stripe/report-file.ts'
import { ProcessorUnavailable } from '../cards/processor.ts'
import { formatMinor } from '../ledger/money.ts'
import type { Service } from '../actions/service.ts'
import { isDayOver, listOpenDifferences, type OpenDifference } from '../store/reconciliation.ts'
import { CommandRefused, UsageMistake, actorOf, textOf, textsOf, type Command, type Invocation } from './command.ts'
import { withService } from './data.ts'

const maxShown = 1_000

export const reconcileCommands: readonly Command[] = [
  {
    name: 'reconcile',
    summary: 'hold the card processor’s account against the ledger; exit code 1 if a payment differs',
    flags: {
      day: {
        value: 'DAY',
        about: 'a day by UTC, such as 2026-03-01, to be read again; may be repeated',
        isRepeatable: true,
      },
      file: { value: 'FILE', about: 'a report of Stripe as CSV, instead of asking the processor' },
    },
    details: `The service does this by itself, two hours after the end of each day. Without a flag, all days that wait are read now. What
differs is listed to the payment: charges, refunds and disputes that one side has and the other has not, or of another amount.`,
    examples: ['reconcile', 'reconcile --day 2026-03-01', 'reconcile --file balance.csv --json'],
    run: async (invocation) => {
      const days = daysOf(invocation)
      const file = textOf(invocation, 'file')
      if (days && file !== undefined) throw new UsageMistake('--day and --file: a file has its own days.')
      return await withService(invocation, async (service) => {
        const read =
          file === undefined ? await readDays(service, invocation, days) : await readReport(service, invocation, file)
        const differences = await listOpenDifferences(service.db.pool, maxShown)
        return {
          json: { days: read, differences: differences.map((each) => shown(service, each)) },
          text: [...linesOf(service, differences), summaryOf(read, differences.length)].join('\n'),
          exitCode: differences.length === 0 ? 0 : 1,
        }
      })
    },
  },
]

function daysOf(invocation: Invocation): readonly string[] | undefined {
  const days = textsOf(invocation, 'day')
  const wrong = days?.find((day) => !/^20\d\d-\d\d-\d\d$/.test(day) || Number.isNaN(Date.parse(`${day}T00:00:00Z`)))
  if (wrong !== undefined) throw new UsageMistake(`--day: "${wrong}" is no day such as 2026-03-01.`)
  return days
}

async function readDays(service: Service, invocation: Invocation, days: readonly string[] | undefined) {
  if (!service.cards)
    throw new CommandRefused('There is no card processor to ask: set CARD_PROCESSOR, or give a --file.')
  for (const day of days ?? [])
    if (!(await isDayOver(service.db.pool, day)))
      throw new CommandRefused(`${day} is not over: a day can be read two hours after its end, by UTC.`)
  try {
    return await reconcileNow(service, actorOf(invocation), days, invocation.io.signal)
  } catch (error) {
    if (!(error instanceof ProcessorUnavailable)) throw error
    throw new CommandRefused(
      `The card processor could not be asked (${error.reason}). What was read is kept: run it again.`,
    )
  }
}

async function readReport(service: Service, invocation: Invocation, file: string): Promise<string[]> {
  const size = await stat(file).catch(() => undefined)
  if (!size?.isFile()) throw new CommandRefused(`There is no file ${file}.`)
  if (size.size > maxReportBytes) throw new CommandRefused('The file is larger than 10 MB: export fewer days.')
  const report = parseReport(await readFile(file, 'utf8'), service.config.currency)
  if ('problems' in report) throw new CommandRefused(`Nothing was taken from ${file}.\n${report.problems.join('\n')}`)
  return await reconcileFile(service, actorOf(invocation), report.lines)
}

function shown({ config: { currency } }: Service, difference: OpenDifference) {
  const { paymentIntentId, kind, day, topupId, processorMinor, ledgerMinor } = difference
  const amounts = { processor: formatMinor(processorMinor, currency), ledger: formatMinor(ledgerMinor, currency) }
  return { paymentIntentId, kind, day, topupId, ...amounts }
}

function linesOf(service: Service, differences: readonly OpenDifference[]): string[] {
  return differences.map((each) => {
    const { paymentIntentId, kind, day, topupId, processor, ledger } = shown(service, each)
    const where = topupId === null ? 'no top-up of ours' : `top-up ${topupId}`
    return `${day}  ${paymentIntentId}  ${kind}: ${processor} at the processor, ${ledger} in the ledger; ${where}`
  })
}

function summaryOf(days: readonly string[], differences: number): string {
  const read = days.length === 0 ? 'No day waited to be read' : `Read: ${days.join(', ')}`
  return `${read}. ${differences === 0 ? 'The processor and the ledger agree.' : `Differences: ${differences}.`}`
}
