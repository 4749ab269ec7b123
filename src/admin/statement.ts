/** A wallet's statement as a file: one line for what it opened with, one for each entry, one for what it closed with. */
import { record } from '../actions/audit.ts'
import type { Service } from '../actions/service.ts'
import { findStatement, listStatementEntries, parseMonth, type Statement } from '../actions/money/write-statement.ts'
import { formatMinor } from '../ledger/money.ts'
import { transactionIdOf } from '../store/outcomes.ts'
import { csvLine, plain, download } from '../web/csv.ts'
import { showNotFound, showProblem } from './kit/respond.tsx'
import { get, type AdminRoute, type AdminRequest } from './kit/route.ts'
import { findPersonOf } from './kit/wallet-view.tsx'

export const statementRoutes: AdminRoute[] = [get('/admin/wallets/:id/statement', show)]

async function show(request: AdminRequest): Promise<Response> {
  const { service, actor } = request
  const person = await findPersonOf(request)
  if (!person) return await showNotFound(request, 'wallet')
  const month = parseMonth(request.query('month'))
  if (!month) return await showProblem(request, 422, 'Write the month as year and month, such as 2025-03.')
  const statement = await findStatement(service, person.id, month)
  await record(service.db.pool, actor, 'wallet.statement-exported', `wallet:${person.id}`, { month: month.text })
  return download(`statement-${person.id}-${month.text}.csv`, linesOf(service, statement))
}

const head = [
  'sequence',
  'createdAt',
  'type',
  'amount',
  'balanceAfter',
  'currency',
  'counterAccount',
  'referenceType',
  'referenceId',
  'description',
  'transactionId',
]

async function* linesOf(service: Service, statement: Statement): AsyncGenerator<string> {
  const { currency } = service.config
  const { month, openingMinor, closingMinor, firstSequence, lastSequence } = statement
  const money = (minor: bigint) => plain(formatMinor(minor, currency))
  const range = lastSequence < firstSequence ? 'no entries' : `entries ${firstSequence} to ${lastSequence}`
  const edge = (type: string, at: Date, minor: bigint) =>
    csvLine([null, at.toISOString(), type, null, money(minor), currency.code, null, null, null, range, null])
  yield csvLine(head) + edge('OPENING', month.from, openingMinor)
  for await (const chunk of listStatementEntries(service, statement)) {
    yield chunk
      .map((transfer) =>
        csvLine([
          transfer.sequence,
          transfer.createdAt.toISOString(),
          transfer.amountMinor < 0n ? 'DEBIT' : 'CREDIT',
          money(transfer.amountMinor < 0n ? -transfer.amountMinor : transfer.amountMinor),
          money(transfer.balanceAfterMinor),
          currency.code,
          transfer.counterAccount,
          transfer.referenceType,
          transfer.referenceId,
          transfer.description,
          transactionIdOf(transfer.referenceKey),
        ]),
      )
      .join('')
  }
  yield edge('CLOSING', month.until, closingMinor)
}
