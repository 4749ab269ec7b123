/** The entries on an app's account as CSV, over all wallets, oldest first. */
import { recordAudit } from '../../actions/audit.ts'
import { counterAccountOfApp } from '../../ledger/reference.ts'
import { findArchivedUntil } from '../../store/closing/archived-entries.ts'
import { findApp } from '../../store/apps.ts'
import { listDayFlows } from '../../store/books/books.ts'
import { listTransfersOfAccount } from '../../store/transfers.ts'
import type { Transfer } from '../../store/wallets.ts'
import { csvPages, download } from '../../web/csv.ts'
import { spanOf } from '../kit/filters.tsx'
import { dayText } from '../kit/parts.tsx'
import { showNotFound, showProblem } from '../kit/respond.tsx'
import { get, type AdminRequest, type AdminRoute } from '../kit/route.ts'
import { transferHead, transferLine } from '../kit/transfer-csv.ts'

export const clientAppLedgerRoutes: AdminRoute[] = [get('/admin/client-apps/:clientId/ledger.csv', exportAppLedger)]

/**
 * An index by account would cost every debit, so entries are found by time: a day per query, or an hour when the day's position counts
 * many entries. Days without entries are skipped.
 */
const manyInADay = 20_000
const hourMs = 3_600_000
const dayMs = 24 * hourMs
const pageSize = 1_000
const maxDays = 92

type Page = { readonly from: Date; readonly after: Transfer | undefined; readonly lines: readonly string[] }

async function exportAppLedger(request: AdminRequest): Promise<Response> {
  const { service, actor } = request
  const app = await findApp(service.db.pool, request.param('clientId'))
  if (!app) return await showNotFound(request, 'app')
  const { from, until } = spanOf(request)
  if (!from || !until || until <= from || until.getTime() - from.getTime() > maxDays * dayMs)
    return await showProblem(request, 422, `Choose a first and a last day, at most ${maxDays} days.`)
  const archivedUntil = await findArchivedUntil(service.db.pool)
  if (archivedUntil && from < archivedUntil)
    return await showProblem(
      request,
      410,
      `Entries up to ${dayText(archivedUntil)} are in the archive. Choose a first day after that, or bring a period back: npx billfold archive restore.`,
    )
  const [first, last] = [request.query('from'), request.query('until')]
  await recordAudit(service.db.pool, actor, 'app.ledger-exported', `app:${app.clientId}`, { from: first, until: last })
  const account = counterAccountOfApp(app.clientId)
  const days = await listDayFlows(service.db.pool, { account, from: dayText(from), until: dayText(until) })
  const countOf = (at: Date) => days.find(({ day }) => day === dayText(at))?.transfers ?? 0
  const read = async (before: Page | undefined): Promise<Page | undefined> => {
    const start = before?.from ?? from
    if (start >= until) return undefined
    const count = countOf(start)
    const end = new Date(start.getTime() + (count > manyInADay ? hourMs : dayMs))
    if (count === 0) return { from: end, after: undefined, lines: [] }
    const span = { account, from: start, until: end, after: before?.after, limit: pageSize }
    const found = await listTransfersOfAccount(service.db, span)
    const lines = found.map((transfer) => transferLine(transfer, service.config.currency, transfer.walletId))
    return found.length === pageSize
      ? { from: start, after: found.at(-1), lines }
      : { from: end, after: undefined, lines }
  }
  return download(`ledger-${app.clientId}-${first}-${last}.csv`, csvPages([...transferHead, 'walletId'], read))
}
