/** The card processor's account against the ledger. */
import { readFile, stat } from 'node:fs/promises'
import { reconcileFile, reconcileNow, resolveDifference } from '../actions/topups/reconcile.ts'
import { maxReportBytes, parseReport } from '../cards/stripe/report-file.ts'
import { ProcessorUnavailable } from '../cards/processor.ts'
import { formatMinor, parseDecimal, type Currency } from '../ledger/money.ts'
import type { Service } from '../actions/service.ts'
import {
  differenceKinds,
  findOpenDifference,
  isDayOver,
  listOpenDifferences,
  type OpenDifference,
} from '../store/books/reconciliation.ts'
import { CommandRefused, UsageMistake, actorOf, textOf, textsOf, type Command, type Invocation } from './command.ts'
import { withService } from './data.ts'
import { reasonOf } from './wallet.ts'

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
  {
    name: 'reconcile settle',
    summary: 'close a difference by hand, after it was looked into and stays as it is',
    positionals: ['payment', 'kind'],
    flags: {
      processor: { value: 'AMOUNT', about: 'what the processor says, as you saw it, such as 25.00', isRequired: true },
      ledger: { value: 'AMOUNT', about: 'what the ledger says, as you saw it, such as 0.00', isRequired: true },
      reason: { value: 'TEXT', about: 'why; for the audit log, and for whoever asks later', isRequired: true },
    },
    details: `A difference is named by its payment and its kind (${differenceKinds.join(', ')}), as "reconcile" prints them. It moves no money: a wallet
is put right by "wallet correct". When either side comes to say something else of the payment, the difference is open again; and
when one does already, nothing is settled.`,
    examples: [
      'reconcile settle pi_3Nabc charge --processor 25.00 --ledger 0.00 --reason "Paid back by bank transfer 4711"',
      'reconcile settle pi_3Nabc refund --processor=-5.00 --ledger 0.00 --reason "Taken as a loss" --json',
    ],
    run: async (invocation) =>
      await withService(invocation, async (service) => {
        const difference = await getSeen(service, invocation)
        const reason = reasonOf(invocation)
        const actor = actorOf(invocation)
        if (!(await resolveDifference(service, actor, difference, reason)))
          throw new CommandRefused('Nothing was settled: this difference is closed, or not what it was any more.')
        const json = { ...shown(service, difference), settledBy: actor.name, reason }
        return { json, text: `Resolved by hand: ${linesOf(service, [difference])[0]}` }
      }),
  },
]

/** The one that is named, if it is still what whoever settles it has seen. */
async function getSeen(service: Service, invocation: Invocation): Promise<OpenDifference> {
  const { currency } = service.config
  const [payment, kind] = invocation.positionals as [string, string]
  if (!differenceKinds.some((each) => each === kind))
    throw new UsageMistake(`"${kind}" is no kind of difference: write ${differenceKinds.join(', ')}.`)
  const [processorMinor, ledgerMinor] = [
    signedOf(invocation, 'processor', currency),
    signedOf(invocation, 'ledger', currency),
  ]
  const difference = await findOpenDifference(service.db.pool, payment, kind)
  if (!difference) throw new CommandRefused(`There is no open difference: ${kind} of ${payment}.`)
  if (difference.processorMinor !== processorMinor || difference.ledgerMinor !== ledgerMinor)
    throw new CommandRefused(`Nothing was settled: it is another by now.\n${linesOf(service, [difference])[0]}`)
  return difference
}

/** What a refund or a dispute took is below zero. */
function signedOf(invocation: Invocation, flag: string, currency: Currency): bigint {
  const text = textOf(invocation, flag)!
  const minor = parseDecimal(text.replace(/^-/, ''), currency)
  if (minor === undefined)
    throw new UsageMistake(`--${flag}: write an amount of ${currency.code} as "reconcile" prints it.`)
  return text.startsWith('-') ? -minor : minor
}

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
