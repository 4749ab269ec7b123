/** A month of a wallet, as a page and as a CSV file: opening balance, entries, closing balance. */
import { listStatementEntries, type Statement } from '../actions/money/write-statement.ts'
import type { Service } from '../actions/service.ts'
import type { Language } from '../languages/languages.ts'
import { fill } from '../languages/words.ts'
import { formatMinor, type Currency } from '../ledger/money.ts'
import { csvLine, plain } from '../web/csv.ts'
import { monthName } from './client/format.ts'
import type { ServiceData } from './page-data.ts'
import { csvEntries, csvHead, EntryTable, isoTime, maxRows, moneyIn, type EntriesShown } from './paper-entries.tsx'
import { Rows, Sheet } from './paper-pages.tsx'
import { ProofSection, type PaperProof } from './paper-proof.tsx'

export type StatementShown = {
  readonly language: Language
  readonly timeZone: string
  readonly name: string
  readonly statement: Statement
}

type StatementProps = {
  shown: StatementShown
  about: ServiceData
  sums: { inMinor: bigint; outMinor: bigint }
  currency: Currency
  /** The link works once. */
  fileUrl: string
  /** Of its last entry; undefined in a month without entries. */
  proof: PaperProof | undefined
}

export function StatementPage({ shown, about, sums, currency, fileUrl, proof }: StatementProps) {
  const { language, timeZone, name, statement } = shown
  const { code, paper: words } = language
  const money = moneyIn(language, currency)
  const number = new Intl.NumberFormat(code)
  const count = statement.lastSequence - statement.firstSequence + 1
  const month = monthName(statement.month.from, code, timeZone)
  return (
    <Sheet
      language={language}
      about={about}
      title={`${words.statement}: ${month}`}
      fileUrl={fileUrl}
      {...(proof && { proof })}
    >
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
      {statement.heldMinor > 0n && (
        <p class="note">{fill(words.heldNow, { amount: money(statement.heldMinor) }, code)}</p>
      )}
      {count === 0 && <p>{words.noEntries}</p>}
      {count > maxRows && (
        <p class="note">{fill(words.tooLong, { shown: number.format(maxRows), count: number.format(count) }, code)}</p>
      )}
      {count > 0 && <EntryTable language={language} hasBalance />}
      {proof && <ProofSection language={language} proof={proof} hasQr={false} />}
    </Sheet>
  )
}

export function statementEntries(service: Service, { language, timeZone, statement }: StatementShown): EntriesShown {
  const list = () => listStatementEntries(service, statement)
  return { language, timeZone, walletId: statement.walletId, hasBalance: true, list }
}

export async function* statementLines(service: Service, shown: StatementShown): AsyncGenerator<string> {
  const { language, timeZone, statement } = shown
  const { currency } = service.config
  const { paper: words } = language
  const entries = statementEntries(service, shown)
  const time = isoTime(timeZone)
  const edge = (name: string, at: Date, minor: bigint) =>
    csvLine([time(at), name, null, null, null, null, plain(formatMinor(minor, currency)), currency.code])
  yield csvHead(entries) + edge(words.opening, statement.month.from, statement.openingMinor)
  yield* csvEntries(service, entries)
  yield edge(words.closing, statement.month.until, statement.closingMinor)
}
