/**
 * Parses Stripe's report "Balance change from activity, itemized": the same lines as in the API, from a file. Strict: with one
 * invalid line the whole file is refused.
 */
import { parseDecimal, type Currency } from '../../ledger/money.ts'
import type { AccountLine } from '../processor.ts'
import { lineKindOf } from './line-kinds.ts'

export const maxReportBytes = 10 * 1024 * 1024
const maxLines = 100_000
const maxProblems = 20

const required = [
  'balance_transaction_id',
  'created_utc',
  'reporting_category',
  'currency',
  'gross',
  'fee',
  'payment_intent_id',
]
/** For an account that settles in another currency: the payer's amount. */
const payerColumns = ['customer_facing_amount', 'customer_facing_currency']
/** Distinguishes our payments from those of other software in the same account. */
const topupColumn = 'payment_metadata[topup_id]'

export type Report = { readonly lines: readonly AccountLine[] } | { readonly problems: readonly string[] }

export function parseReport(text: string, currency: Currency): Report {
  if (text.length > maxReportBytes) return { problems: ['The file is larger than 10 MB: export fewer days.'] }
  const rows = readCsv(text.replace(/^\uFEFF/, ''))
  if (rows === undefined) return { problems: ['This is not a CSV file: a quote is never closed.'] }
  const [head, ...body] = rows
  const names = head?.cells.map((cell) => cell.trim()) ?? []
  const missing = required.filter((name) => !names.includes(name))
  if (missing.length > 0) return { problems: [`The first line must name the columns. Missing: ${missing.join(', ')}.`] }
  if (body.length === 0) return { problems: ['There are no lines after the column names.'] }
  if (body.length > maxLines) return { problems: [`There are more than ${maxLines} lines: export fewer days.`] }
  const lines: AccountLine[] = []
  const problems: string[] = []
  const seen = new Map<string, number>()
  for (const { cells, number } of body) {
    const line =
      cells.length === names.length
        ? readLine(new Map(names.map((name, i) => [name, cells[i]!.trim()])), currency)
        : `it has ${cells.length} cells, but the first line has ${names.length}`
    const problem = typeof line === 'string' ? line : repeatOf(line.id, number, seen)
    if (problem !== undefined) problems.push(`Line ${number}: ${problem}.`)
    else if (typeof line !== 'string') lines.push(line)
    if (problems.length === maxProblems) break
  }
  return problems.length > 0 ? { problems } : { lines }
}

function repeatOf(id: string, number: number, seen: Map<string, number>): string | undefined {
  const before = seen.get(id)
  seen.set(id, number)
  return before === undefined ? undefined : `${id} is on line ${before} already`
}

/** Returns a text that describes the problem if the line is invalid. */
function readLine(cells: ReadonlyMap<string, string>, currency: Currency): AccountLine | string {
  const cell = (name: string) => cells.get(name) ?? ''
  const id = cell('balance_transaction_id')
  if (!/^[\w-]{1,255}$/.test(id)) return `balance_transaction_id is "${id.slice(0, 40)}"`
  const createdAt = readTime(cell('created_utc'))
  if (!createdAt) return `created_utc is "${cell('created_utc').slice(0, 40)}", not a time such as 2026-03-01 12:00:00`
  const intent = cell('payment_intent_id')
  if (!/^(pi_\w{1,250})?$/.test(intent)) return `payment_intent_id is "${intent.slice(0, 40)}"`
  const kind = lineKindOf(cell('reporting_category'))
  const isPayment = kind === 'charge' || kind === 'refund' || kind === 'dispute'
  const isOwn = cell('currency').toUpperCase() === currency.code
  const isPayers = !isOwn && cell(payerColumns[1]!).toUpperCase() === currency.code
  if (isPayment && !isOwn && !isPayers) return `it is in ${cell('currency') || 'no currency'}, not in ${currency.code}`
  const gross = readAmount(cell(isPayers ? payerColumns[0]! : 'gross'), currency)
  const fee = readAmount(cell('fee'), currency)
  if ((isOwn || isPayers) && gross === undefined)
    return `gross is "${cell('gross').slice(0, 40)}", not an amount of ${currency.code}`
  if (isOwn && fee === undefined) return `fee is "${cell('fee').slice(0, 40)}", not an amount of ${currency.code}`
  return {
    id,
    kind,
    paymentIntentId: intent === '' ? null : intent,
    isOurs: isPayment && intent !== '' && (!cells.has(topupColumn) || cell(topupColumn) !== ''),
    amountMinor: isOwn || isPayers ? gross! : 0n,
    feeMinor: isOwn ? fee! : 0n,
    createdAt,
  }
}

/** In UTC, with a space or a T between day and time. */
function readTime(text: string): Date | undefined {
  const match = /^(\d{4}-\d\d-\d\d)[ T](\d\d:\d\d:\d\d)(?:\.\d+)?(?:Z| UTC)?$/.exec(text)
  const at = match ? new Date(`${match[1]}T${match[2]}Z`) : undefined
  return at && !Number.isNaN(at.getTime()) ? at : undefined
}

function readAmount(text: string, currency: Currency): bigint | undefined {
  const isBelow = text.startsWith('-')
  const minor = parseDecimal(isBelow ? text.slice(1) : text, currency)
  return minor === undefined || !isBelow ? minor : -minor
}

type CsvRow = { readonly cells: string[]; readonly number: number }

/** RFC 4180. `number` is the line on which a row begins. Undefined when a quote is never closed. */
function readCsv(text: string): CsvRow[] | undefined {
  const rows: CsvRow[] = []
  const cell = /("(?:[^"]|"")*"|[^",\r\n]*)(,|\r?\n|$)/y
  let cells: string[] = []
  let number = 1
  let line = 1
  while (cell.lastIndex < text.length || cells.length > 0) {
    const match = cell.exec(text)
    if (!match) return undefined
    const [, written = '', end = ''] = match
    cells.push(written.startsWith('"') ? written.slice(1, -1).replaceAll('""', '"') : written)
    line += written.split('\n').length - 1
    if (end === ',') continue
    // Skip empty lines, which many files have at the end.
    if (cells.length > 1 || cells[0] !== '') rows.push({ cells, number })
    cells = []
    if (end !== '') line++
    number = line
    if (end === '') break
  }
  return rows
}
