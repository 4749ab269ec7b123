/**
 * A wallet's entries as CSV: the statement of a month, with opening and closing balance, or the entries that match the ledger's filter.
 */
import { recordAudit } from '../../actions/audit.ts'
import type { Service } from '../../actions/service.ts'
import { findStatement, listStatementEntries, parseMonth, type Statement } from '../../actions/money/write-statement.ts'
import { formatMinor } from '../../ledger/money.ts'
import { csvLine, csvPages, plain, download } from '../../web/csv.ts'
import { showNotFound, showProblem } from '../kit/respond.tsx'
import { get, type AdminRoute, type AdminRequest } from '../kit/route.ts'
import { transferHead, transferLine } from '../kit/transfer-csv.ts'
import { findLedger } from './wallet-ledger.tsx'
import { findPersonOf } from './wallet-view.tsx'

export const statementRoutes: AdminRoute[] = [
  get('/admin/wallets/:id/statement', exportStatement),
  get('/admin/wallets/:id/ledger.csv', exportWalletLedger),
]

async function exportStatement(request: AdminRequest): Promise<Response> {
  const { service, actor } = request
  const person = await findPersonOf(request)
  if (!person) return await showNotFound(request, 'wallet')
  const month = parseMonth(request.query('month'))
  if (!month) return await showProblem(request, 422, 'Enter the month as year and month, such as 2025-03.')
  const statement = await findStatement(service, person.id, month)
  if (!statement)
    return await showProblem(
      request,
      410,
      'The statement of this month needs the archive: npx billfold archive restore brings a period back.',
    )
  await recordAudit(service.db.pool, actor, 'wallet.statement-exported', `wallet:${person.id}`, { month: month.text })
  return download(`statement-${person.id}-${month.text}.csv`, statementLines(service, statement))
}

async function* statementLines(service: Service, statement: Statement): AsyncGenerator<string> {
  const { currency } = service.config
  const { month, openingMinor, closingMinor, firstSequence, lastSequence } = statement
  const money = (minor: bigint) => plain(formatMinor(minor, currency))
  const range = lastSequence < firstSequence ? 'no entries' : `entries ${firstSequence} to ${lastSequence}`
  const edge = (type: string, at: Date, minor: bigint) =>
    csvLine([null, at.toISOString(), type, null, money(minor), currency.code, null, null, null, range, null])
  yield csvLine(transferHead) + edge('OPENING', month.from, openingMinor)
  for await (const chunk of listStatementEntries(service, statement)) {
    yield chunk.map((transfer) => transferLine(transfer, currency)).join('')
  }
  yield edge('CLOSING', month.until, closingMinor)
}

const archivedLine = (count: number) =>
  csvLine([
    null,
    null,
    'ARCHIVED',
    null,
    null,
    null,
    null,
    null,
    null,
    `entries 1 to ${count} are in the archive`,
    null,
  ])

type LedgerLines = { readonly next: number | undefined; readonly lines: readonly string[] }

async function exportWalletLedger(request: AdminRequest): Promise<Response> {
  const { service, actor } = request
  const person = await findPersonOf(request)
  if (!person) return await showNotFound(request, 'wallet')
  await recordAudit(service.db.pool, actor, 'wallet.ledger-exported', `wallet:${person.id}`)
  const read = async (before: LedgerLines | undefined): Promise<LedgerLines | undefined> => {
    if (before && before.next === undefined) return undefined
    const page = await findLedger(request, person.id, before?.next, 1_000)
    const lines = page.transfers.map((transfer) => transferLine(transfer, service.config.currency))
    if (page.archived > 0) lines.push(archivedLine(page.archived))
    return { next: page.nextBefore, lines }
  }
  return download(`ledger-${person.id}.csv`, csvPages(transferHead, read))
}
