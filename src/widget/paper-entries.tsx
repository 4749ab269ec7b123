/** The entries of a statement or a selection: rows of its page, and lines of its CSV file. */
import { setImmediate } from 'node:timers/promises'
import { renderToString } from 'preact-render-to-string'
import { describeTransfers } from '../actions/money/read-activity.ts'
import type { Service } from '../actions/service.ts'
import { toWidgetTransaction } from '../api/widget-activity.ts'
import type { Language } from '../languages/languages.ts'
import { formatMinor, type Currency } from '../ledger/money.ts'
import type { Transfer } from '../store/wallets.ts'
import { csvLine, plain } from '../web/csv.ts'
import { titleOf } from './client/activity/latest.tsx'
import { formatMoney } from './client/format.ts'
import { sayIn } from './paper-pages.tsx'

export type EntriesShown = {
  readonly language: Language
  readonly timeZone: string
  readonly walletId: string
  /** Of a statement, where the balances of the entries follow from each other. */
  readonly hasBalance: boolean
  readonly list: () => AsyncIterable<readonly Transfer[]>
}

/** Marks where the rows go: the page around them is rendered first, and the rows are streamed into it. */
export const rowsMarker = '<!--rows-->'
/** The page has no more than this; the file has all entries. */
export const maxRows = 5_000

/** Exact, also where a number would lose digits: a sum may be larger than any balance. */
export function moneyIn(language: Language, currency: Currency): (minor: bigint) => string {
  return (minor) => formatMoney(formatMinor(minor, currency) as `${number}`, currency.code, language.code)
}

export function EntryTable({
  language: { activity, paper },
  hasBalance,
}: Pick<EntriesShown, 'language' | 'hasBalance'>) {
  return (
    <table>
      <thead>
        <tr>
          <th scope="col">{activity.when}</th>
          <th scope="col">{activity.description}</th>
          <th scope="col">{paper.amount}</th>
          {hasBalance && <th scope="col">{paper.balance}</th>}
        </tr>
      </thead>
      <tbody dangerouslySetInnerHTML={{ __html: rowsMarker }} />
    </table>
  )
}

/** Entries rendered before yielding to the event loop: a few milliseconds. */
const chunkSize = 100

async function* transactionChunks(service: Service, { walletId, list }: EntriesShown) {
  for await (const chunk of list()) {
    const entries = await describeTransfers(service, walletId, chunk)
    for (let at = 0; at < entries.length; at += chunkSize) {
      yield entries
        .slice(at, at + chunkSize)
        .map((entry) => ({ ...toWidgetTransaction(entry, service.config.currency), transfer: entry.transfer }))
      await setImmediate()
    }
  }
}

export async function* rowChunks(service: Service, shown: EntriesShown): AsyncGenerator<string> {
  const { language, timeZone, hasBalance } = shown
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
              {hasBalance && <td>{formatMoney(balanceAfter, currency, language.code)}</td>}
            </tr>
          )
        })}
      </>,
    )
    if (left === 0) return
  }
}

/** The byte order mark makes spreadsheets read the file as Unicode. */
export function csvHead({ language: { activity, paper }, timeZone, hasBalance }: EntriesShown): string {
  const head = [
    `${activity.when} (${timeZone})`,
    activity.description,
    activity.filterApp,
    paper.reference,
    paper.receiptCode,
    paper.amount,
    ...(hasBalance ? [paper.balance] : []),
    paper.currency,
  ]
  return `\uFEFF${csvLine(head)}`
}

/** Every entry. */
export async function* csvEntries(service: Service, shown: EntriesShown): AsyncGenerator<string> {
  const { currency } = service.config
  const say = sayIn(shown.language)
  const money = (minor: bigint) => plain(formatMinor(minor, currency))
  const time = isoTime(shown.timeZone)
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
          ...(shown.hasBalance ? [money(transaction.transfer.balanceAfterMinor)] : []),
          currency.code,
        ]),
      )
      .join('')
}

/** `2026-11-15 16:44:40`, which every spreadsheet parses as a time. */
export function isoTime(timeZone: string): (at: Date) => string {
  const format = new Intl.DateTimeFormat('sv-SE', { dateStyle: 'short', timeStyle: 'medium', timeZone })
  return (at) => format.format(at)
}
