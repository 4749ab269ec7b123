/**
 * Parses Stripe's report "Balance change from activity, itemized": the same lines as in the API, from a file. Strict: with one
 * invalid line the whole file is refused. The bytes are foreign, so the work between two turns of the event loop is bounded.
 */
import { setImmediate as nextTurn } from 'node:timers/promises'
import { parseDecimal, type Currency } from '../../ledger/money.ts'
import type { AccountLine } from '../processor.ts'
import { cellsOf } from './csv-cells.ts'
import { lineKindOf } from './line-kinds.ts'

export const maxReportBytes = 10 * 1024 * 1024
const maxLines = 100_000
const maxLineBytes = 256 * 1024
const maxDays = 400
const maxProblems = 20
/** Bytes scanned between two turns of the event loop; the rows that end in them are parsed in the same turn. */
const sliceBytes = 64 * 1024
const maxParseMs = 30_000

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
const payerColumns = ['customer_facing_amount', 'customer_facing_currency'] as const
/** Distinguishes our payments from those of other software in the same account. */
const topupColumn = 'payment_metadata[topup_id]'

/** Days in UTC, both included: bookings outside them cannot be of this service. */
export type ReportSpan = { readonly firstDay: string; readonly lastDay: string }

/** `days` are those of the lines, in order. */
export type Report = { readonly lines: readonly AccountLine[]; readonly days: readonly string[] }

export type ReportRefused = { readonly problems: readonly string[] }

const [quoteByte, newlineByte] = [0x22, 0x0a]

export async function parseReport(
  bytes: Uint8Array,
  currency: Currency,
  span: ReportSpan,
  turn: () => Promise<unknown> = nextTurn,
): Promise<Report | ReportRefused> {
  if (bytes.length > maxReportBytes) return { problems: ['The file is larger than 10 MB: export fewer days.'] }
  if ((bytes[0] === 0xff && bytes[1] === 0xfe) || (bytes[0] === 0xfe && bytes[1] === 0xff))
    return { problems: ['Line 1: the file is UTF-16. Save it as UTF-8.'] }
  const scan = openScan(bytes, openRows(currency, span))
  const endsAt = performance.now() + maxParseMs
  for (let until = 0; until < bytes.length;) {
    await turn()
    if (performance.now() > endsAt) return { problems: ['Reading the file took too long. Export fewer days.'] }
    until = Math.min(until + sliceBytes, bytes.length)
    const problem = scan.read(until)
    if (problem !== undefined) return { problems: [problem] }
    if (scan.isOver()) break
  }
  return scan.finish()
}

/** Finds the rows: a line break within quotes does not end one. Each slice goes on where the last one stopped. */
function openScan(bytes: Uint8Array, rows: ReturnType<typeof openRows>) {
  let at = bytes[0] === 0xef && bytes[1] === 0xbb && bytes[2] === 0xbf ? 3 : 0
  let [rowStart, rowLine, line, isQuoted, isOver] = [at, 1, 1, false, false]

  /** False when the rest of the file need not be read. */
  const endRow = (end: number): boolean => {
    const goesOn = rows.add(bytes.subarray(rowStart, end), rowLine)
    rowStart = end + 1
    rowLine = line
    return goesOn
  }

  return {
    /** Returns a problem that makes the rest unreadable. */
    read: (until: number): string | undefined => {
      for (; at < until; at++) {
        const byte = bytes[at]
        if (byte === 0) return `Line ${line}: it contains a NUL character. Save the file as UTF-8.`
        if (at - rowStart > maxLineBytes)
          return `Line ${rowLine}: it is longer than 256 KiB, or a quote is never closed.`
        if (byte === quoteByte) isQuoted = !isQuoted
        if (byte !== newlineByte) continue
        line++
        if (isQuoted || endRow(at)) continue
        isOver = true
        break
      }
      return undefined
    },
    isOver: () => isOver,
    finish: (): Report | ReportRefused => {
      if (isQuoted) return { problems: [`Line ${rowLine}: a quote is never closed.`] }
      if (!isOver && rowStart < bytes.length) endRow(bytes.length)
      return rows.finish()
    },
  }
}

type Columns = ReadonlyMap<string, number>

/** Reads row after row. `add` is false when the rest of the file need not be read. */
function openRows(currency: Currency, span: ReportSpan) {
  const lines: AccountLine[] = []
  const problems: string[] = []
  const days = new Set<string>()
  const seen = new Map<string, number>()
  let columns: Columns | undefined
  let rows = 0

  const addLine = (cells: readonly string[], names: Columns, number: number): string | undefined => {
    if (cells.length !== names.size) return `it has ${cells.length} cells, but the first line has ${names.size}`
    const line = readLine(cells, names, currency)
    if (typeof line === 'string') return line
    const day = line.createdAt.toISOString().slice(0, 10)
    if (day < span.firstDay || day > span.lastDay)
      return `created_utc is on ${day}, not between ${span.firstDay} and ${span.lastDay}`
    const repeated = repeatOf(line.id, number, seen)
    if (repeated !== undefined) return repeated
    days.add(day)
    lines.push(line)
    return undefined
  }

  return {
    add: (row: Uint8Array, number: number): boolean => {
      if (++rows > maxLines + 1) {
        problems.push(`Line ${number}: there are more than ${maxLines} lines. Export fewer days.`)
        return false
      }
      const cells = cellsOf(row)
      // Empty lines are common at the end of a file.
      if (Array.isArray(cells) && cells.length === 1 && cells[0] === '') return true
      if (columns) {
        const problem = Array.isArray(cells) ? addLine(cells, columns, number) : cells
        if (problem !== undefined) problems.push(`Line ${number}: ${problem}.`)
        if (days.size > maxDays)
          problems.push(`Line ${number}: there are more than ${maxDays} days. Export fewer days.`)
        return problems.length < maxProblems && days.size <= maxDays
      }
      const head = Array.isArray(cells) ? readHead(cells) : `Line ${number}: ${cells}.`
      if (typeof head === 'string') problems.push(head)
      else columns = head
      return columns !== undefined
    },
    finish: (): Report | ReportRefused => {
      if (!columns && problems.length === 0) problems.push(missingColumns(required))
      if (lines.length === 0 && problems.length === 0) problems.push('There are no lines after the column names.')
      return problems.length > 0 ? { problems } : { lines, days: [...days].sort() }
    },
  }
}

function missingColumns(missing: readonly string[]): string {
  return `The first line must name the columns. Missing: ${missing.join(', ')}.`
}

function readHead(cells: readonly string[]): Columns | string {
  const names = cells.map((cell) => cell.trim())
  const missing = required.filter((name) => !names.includes(name))
  if (missing.length > 0) return missingColumns(missing)
  const columns = new Map(names.map((name, i) => [name, i]))
  return columns.size < names.length ? 'Line 1: two columns have the same name.' : columns
}

function repeatOf(id: string, number: number, seen: Map<string, number>): string | undefined {
  const before = seen.get(id)
  seen.set(id, number)
  return before === undefined ? undefined : `${id} is on line ${before} already`
}

/** Returns a text that describes the problem if the line is invalid. */
function readLine(cells: readonly string[], columns: Columns, currency: Currency): AccountLine | string {
  const cell = (name: string) => cells[columns.get(name) ?? -1]?.trim() ?? ''
  const id = cell('balance_transaction_id')
  if (!/^[\w-]{1,255}$/.test(id)) return `balance_transaction_id is "${id.slice(0, 40)}"`
  const createdAt = readTime(cell('created_utc'))
  if (!createdAt) return `created_utc is "${cell('created_utc').slice(0, 40)}", not a time such as 2026-03-01 12:00:00`
  const intent = cell('payment_intent_id')
  if (!/^(pi_\w{1,250})?$/.test(intent)) return `payment_intent_id is "${intent.slice(0, 40)}"`
  const kind = lineKindOf(cell('reporting_category'))
  const isPayment = kind === 'charge' || kind === 'refund' || kind === 'dispute'
  const isOwn = cell('currency').toUpperCase() === currency.code
  const isPayers = !isOwn && cell(payerColumns[1]).toUpperCase() === currency.code
  if (isPayment && !isOwn && !isPayers) return `it is in ${cell('currency') || 'no currency'}, not in ${currency.code}`
  const gross = readAmount(cell(isPayers ? payerColumns[0] : 'gross'), currency)
  const fee = readAmount(cell('fee'), currency)
  if ((isOwn || isPayers) && gross === undefined)
    return `gross is "${cell('gross').slice(0, 40)}", not an amount of ${currency.code}`
  if (isOwn && fee === undefined) return `fee is "${cell('fee').slice(0, 40)}", not an amount of ${currency.code}`
  return {
    id,
    kind,
    paymentIntentId: intent === '' ? null : intent,
    isOurs: isPayment && intent !== '' && (!columns.has(topupColumn) || cell(topupColumn) !== ''),
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
