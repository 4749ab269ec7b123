/** Compares the card processor's account with the ledger. */
import { readFile, stat } from 'node:fs/promises'
import { readableDays, reconcileFile, reconcileNow, resolveDifference } from '../actions/topups/reconcile.ts'
import { maxReportBytes, parseReport } from '../cards/stripe/report-file.ts'
import { ProcessorUnavailable } from '../cards/processor.ts'
import { formatMinor, parseDecimal, type Currency } from '../ledger/money.ts'
import type { Service } from '../actions/service.ts'
import {
  differenceKinds,
  findOpenDifference,
  listOpenDifferences,
  type OpenDifference,
} from '../store/books/reconciliation.ts'
import { listOpenContradictions, type Contradiction } from '../store/books/processor-lines.ts'
import { CommandRefused, UsageMistake, actorOf, textOf, textsOf, type Command, type Invocation } from './command.ts'
import { withService } from './data.ts'
import { reasonOf } from './wallet.ts'

const maxShown = 1_000

export const reconcileCommands: readonly Command[] = [
  {
    name: 'reconcile',
    database: 'writes',
    summary: 'compare the card processor’s account with the ledger; exit code 1 if a payment differs',
    flags: {
      day: {
        value: 'DAY',
        about: 'read this day again, in UTC, such as 2026-03-01',
        isRepeatable: true,
      },
      file: { value: 'FILE', about: 'read a report of Stripe as CSV instead of calling the processor' },
    },
    details: `The service does this two hours after the end of each day. Without a flag, the command reads all waiting days now. It lists each
payment that differs: charges, refunds and disputes that only one side has, or that have different amounts.`,
    examples: ['reconcile', 'reconcile --day 2026-03-01', 'reconcile --file balance.csv --json'],
    run: async (invocation) => {
      const days = daysOf(invocation)
      const file = textOf(invocation, 'file')
      if (days && file !== undefined) throw new UsageMistake('Use either --day or --file: a file has its own days.')
      return await withService(invocation, async (service) => {
        const read =
          file === undefined ? await readDays(service, invocation, days) : await readReport(service, invocation, file)
        const differences = await listOpenDifferences(service.db.pool, maxShown)
        const contradictions = await listOpenContradictions(service.db.pool, maxShown)
        const count = differences.length + contradictions.length
        const lines = [...differenceLines(service, differences), ...contradictions.map(contradictionLine)]
        return {
          json: {
            days: read,
            differences: differences.map((each) => differenceToJson(service, each)),
            contradictions: contradictions.map(contradictionToJson),
          },
          text: [...lines, summaryOf(read, count)].join('\n'),
          exitCode: count === 0 ? 0 : 1,
        }
      })
    },
  },
  {
    name: 'reconcile settle',
    database: 'writes',
    summary: 'resolve a difference by hand, after you have checked it and accept it',
    positionals: ['payment', 'kind'],
    flags: {
      processor: { value: 'AMOUNT', about: 'the processor’s amount that you saw, such as 25.00', isRequired: true },
      ledger: { value: 'AMOUNT', about: 'the ledger’s amount that you saw, such as 0.00', isRequired: true },
      reason: { value: 'TEXT', about: 'the reason, for the audit log', isRequired: true },
    },
    details: `Name a difference by its payment and its kind (${differenceKinds.join(', ')}), as "reconcile" prints them. This moves no money: use
"wallet correct" to correct a wallet. If the amount on either side changes later, the difference opens again. If it has changed
already, nothing is resolved.`,
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
          throw new CommandRefused('Nothing was resolved: this difference is closed, or it has changed.')
        const json = { ...differenceToJson(service, difference), settledBy: actor.name, reason }
        return { json, text: `Resolved by hand: ${differenceLines(service, [difference])[0]}` }
      }),
  },
]

/** The named difference, if its amounts are still those that the operator has seen. */
async function getSeen(service: Service, invocation: Invocation): Promise<OpenDifference> {
  const { currency } = service.config
  const [payment, kind] = invocation.positionals as [string, string]
  if (!differenceKinds.some((each) => each === kind))
    throw new UsageMistake(`"${kind}" is not a kind of difference: write ${differenceKinds.join(', ')}.`)
  const [processorMinor, ledgerMinor] = [
    signedOf(invocation, 'processor', currency),
    signedOf(invocation, 'ledger', currency),
  ]
  const difference = await findOpenDifference(service.db.pool, payment, kind)
  if (!difference) throw new CommandRefused(`There is no open difference: ${kind} of ${payment}.`)
  if (difference.processorMinor !== processorMinor || difference.ledgerMinor !== ledgerMinor)
    throw new CommandRefused(
      `Nothing was resolved: the difference has changed.\n${differenceLines(service, [difference])[0]}`,
    )
  return difference
}

/** Refunds and disputes are negative. */
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
  if (wrong !== undefined) throw new UsageMistake(`--day: "${wrong}" is not a day such as 2026-03-01.`)
  return days
}

async function readDays(service: Service, invocation: Invocation, days: readonly string[] | undefined) {
  if (!service.cards) throw new CommandRefused('There is no card processor: set CARD_PROCESSOR, or use --file.')
  const { first, lastOver } = await readableDays(service)
  for (const day of days ?? []) {
    if (day > lastOver)
      throw new CommandRefused(`${day} is not over: a day can be read two hours after its end, in UTC.`)
    if (day < first) throw new CommandRefused(`${day} is too early: the first day that can be read is ${first}.`)
  }
  try {
    return await reconcileNow(service, actorOf(invocation), days, invocation.io.signal)
  } catch (error) {
    if (!(error instanceof ProcessorUnavailable)) throw error
    throw new CommandRefused(
      `The card processor did not answer (${error.reason}). What was read is kept: run the command again.`,
    )
  }
}

async function readReport(service: Service, invocation: Invocation, file: string): Promise<string[]> {
  const size = await stat(file).catch(() => undefined)
  if (!size?.isFile()) throw new CommandRefused(`There is no file ${file}.`)
  if (size.size > maxReportBytes) throw new CommandRefused('The file is larger than 10 MB: export fewer days.')
  const { first, today } = await readableDays(service)
  const report = await parseReport(await readFile(file), service.config.currency, { firstDay: first, lastDay: today })
  if ('problems' in report) throw new CommandRefused(`Nothing was read from ${file}.\n${report.problems.join('\n')}`)
  const reading = await reconcileFile(service, actorOf(invocation), report)
  if (reading === 'another-account')
    throw new CommandRefused(`Nothing was read from ${file}: too many lines contradict the card processor.`)
  return [...reading.days]
}

function contradictionToJson({ lineId, day, processorSaid, fileSaid, readBy }: Contradiction) {
  return { lineId, day, processorSaid, fileSaid, readBy }
}

function contradictionLine({ lineId, day, processorSaid, readBy }: Contradiction): string {
  const what = processorSaid ? 'the processor’s booking is different' : 'the processor has no such booking'
  return `${day}  ${lineId}  a file of ${readBy} contradicts the processor: ${what}`
}

function differenceToJson({ config: { currency } }: Service, difference: OpenDifference) {
  const { paymentIntentId, kind, day, topupId, processorMinor, ledgerMinor } = difference
  const amounts = { processor: formatMinor(processorMinor, currency), ledger: formatMinor(ledgerMinor, currency) }
  return { paymentIntentId, kind, day, topupId, ...amounts }
}

function differenceLines(service: Service, differences: readonly OpenDifference[]): string[] {
  return differences.map((each) => {
    const { paymentIntentId, kind, day, topupId, processor, ledger } = differenceToJson(service, each)
    const where = topupId === null ? 'no top-up of this service' : `top-up ${topupId}`
    return `${day}  ${paymentIntentId}  ${kind}: ${processor} at the processor, ${ledger} in the ledger; ${where}`
  })
}

function summaryOf(days: readonly string[], differences: number): string {
  const read = days.length === 0 ? 'No day was waiting' : `Read: ${days.join(', ')}`
  return `${read}. ${differences === 0 ? 'The processor and the ledger agree.' : `Differences: ${differences}.`}`
}
