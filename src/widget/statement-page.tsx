/** A month of a wallet, as a page and as a CSV file: opening balance, entries, closing balance. */
import { setImmediate } from 'node:timers/promises'
import { renderToString } from 'preact-render-to-string'
import { describeTransfers } from '../actions/money/read-activity.ts'
import { listStatementEntries, type Statement } from '../actions/money/write-statement.ts'
import type { Service } from '../actions/service.ts'
import { toWidgetTransaction } from '../api/widget-activity.ts'
import type { Language } from '../languages/languages.ts'
import { fill } from '../languages/words.ts'
import { formatMinor, majorNumber, type Currency } from '../ledger/money.ts'
import { csvLine, plain } from '../web/csv.ts'
import { titleOf } from './client/activity/latest.tsx'
import { formatMoney, monthName } from './client/format.ts'
import type { ServiceData } from './page-data.ts'
import { Rows, sayIn, Sheet } from './paper-pages.tsx'

export type StatementShown = {
  readonly language: Language
  readonly timeZone: string
  readonly name: string
  readonly statement: Statement
}

/** Marks where the rows go: the page around them is rendered first, and the rows are streamed into it. */
export const rowsMarker = '<!--rows-->'
/** The page has no more than this; the file has all entries. */
const maxRows = 5_000

type StatementProps = {
  shown: StatementShown
  about: ServiceData
  sums: { inMinor: bigint; outMinor: bigint }
  currency: Currency
  /** The link works once. */
  fileUrl: string
}

export function StatementPage({ shown, about, sums, currency, fileUrl }: StatementProps) {
  const { language, timeZone, name, statement } = shown
  const { code, activity, paper: words } = language
  const money = (minor: bigint) => formatMoney(majorNumber(minor, currency), currency.code, code)
  const number = new Intl.NumberFormat(code)
  const count = statement.lastSequence - statement.firstSequence + 1
  return (
    <Sheet language={language} about={about} title={`${words.statement}: ${monthOf(shown)}`} fileUrl={fileUrl}>
      <Rows
        rows={[
          [words.holder, <bdi>{name}</bdi>],
          [words.opening, money(statement.openingMinor)],
          [words.moneyIn, money(sums.inMinor)],
          [words.moneyOut, money(sums.outMinor)],
          [words.closing, <b>{money(statement.closingMinor)}</b>],
          [words.timeZone, timeZone],
        ]}
      />
      {count === 0 && <p>{words.noEntries}</p>}
      {count > maxRows && (
        <p class="note">{fill(words.tooLong, { shown: number.format(maxRows), count: number.format(count) }, code)}</p>
      )}
      {count > 0 && (
        <table>
          <thead>
            <tr>
              <th scope="col">{activity.when}</th>
              <th scope="col">{activity.description}</th>
              <th scope="col">{words.amount}</th>
              <th scope="col">{words.balance}</th>
            </tr>
          </thead>
          <tbody dangerouslySetInnerHTML={{ __html: rowsMarker }} />
        </table>
      )}
    </Sheet>
  )
}

function monthOf({ language, statement, timeZone }: StatementShown): string {
  return monthName(statement.month.from, language.code, timeZone)
}

/** Entries rendered before yielding to the event loop: a few milliseconds. */
const chunkSize = 100

async function* transactionChunks(service: Service, { statement }: StatementShown) {
  for await (const chunk of listStatementEntries(service, statement)) {
    const entries = await describeTransfers(service, statement.walletId, chunk)
    for (let at = 0; at < entries.length; at += chunkSize) {
      yield entries
        .slice(at, at + chunkSize)
        .map((entry) => ({ ...toWidgetTransaction(entry, service.config.currency), transfer: entry.transfer }))
      await setImmediate()
    }
  }
}

export async function* rowChunks(service: Service, shown: StatementShown): AsyncGenerator<string> {
  const { language, timeZone } = shown
  const say = sayIn(language)
  const format = new Intl.DateTimeFormat(language.code, { dateStyle: 'medium', timeStyle: 'short', timeZone })
  let left = maxRows
  for await (const chunk of transactionChunks(service, shown)) {
    const rows = chunk.slice(0, left)
    left -= rows.length
    yield renderToString(
      <>
        {rows.map((transaction) => {
          const { app, type, amount, currency, balanceAfter, createdAt, receiptCode } = transaction
          return (
            <tr>
              <td>{format.format(new Date(createdAt))}</td>
              <td>
                <bdi>{titleOf(transaction, say)}</bdi>
                <small>
                  {app && <bdi>{app.name}</bdi>} <span dir="ltr">{receiptCode}</span>
                </small>
              </td>
              <td>{formatMoney(type === 'CREDIT' ? amount : -amount, currency, language.code, true)}</td>
              <td>{formatMoney(balanceAfter, currency, language.code)}</td>
            </tr>
          )
        })}
      </>,
    )
    if (left === 0) return
  }
}

/** Every entry of the month. The byte order mark makes spreadsheets read it as Unicode. */
export async function* csvLines(service: Service, shown: StatementShown): AsyncGenerator<string> {
  const { language, timeZone, statement } = shown
  const { currency } = service.config
  const { activity, paper: words } = language
  const say = sayIn(language)
  const money = (minor: bigint) => plain(formatMinor(minor, currency))
  const time = isoTime(timeZone)
  const edge = (name: string, at: Date, minor: bigint) =>
    csvLine([time(at), name, null, null, null, null, money(minor), currency.code])
  const head = [
    `${activity.when} (${timeZone})`,
    activity.description,
    activity.filterApp,
    words.reference,
    words.receiptCode,
    words.amount,
    words.balance,
    words.currency,
  ]
  yield `\uFEFF${csvLine(head)}${edge(words.opening, statement.month.from, statement.openingMinor)}`
  for await (const chunk of transactionChunks(service, shown))
    yield chunk
      .map((transaction) =>
        csvLine([
          time(transaction.transfer.createdAt),
          titleOf(transaction, say),
          transaction.app?.name,
          transaction.referenceId,
          transaction.receiptCode,
          money(transaction.transfer.amountMinor),
          money(transaction.transfer.balanceAfterMinor),
          currency.code,
        ]),
      )
      .join('')
  yield edge(words.closing, statement.month.until, statement.closingMinor)
}

/** `2026-11-15 16:44:40`, which every spreadsheet parses as a time. */
function isoTime(timeZone: string): (at: Date) => string {
  const format = new Intl.DateTimeFormat('sv-SE', { dateStyle: 'short', timeStyle: 'medium', timeZone })
  return (at) => format.format(at)
}
