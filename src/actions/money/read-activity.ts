/** Reads a wallet as its user sees it: the entries of all apps, and the state of their card payments. */
import { parseReceiptCode } from '../../ledger/receipt-code.ts'
import { counterAccountOfApp } from '../../ledger/reference.ts'
import type { App } from '../../store/apps.ts'
import { listAppsOfUser } from '../../store/links.ts'
import { isServiceOwn } from '../../store/outcomes.ts'
import type { Session } from '../../store/people/widget-sessions.ts'
import { listTopupsByPayment, listWaitingTopups, type Topup } from '../../store/topups.ts'
import { findLedgerPage, listTransfersUpwards, type LedgerFilter } from '../../store/transfers.ts'
import { findWalletWithTransfers, pageSpan, type Transfer, type WalletRow } from '../../store/wallets.ts'
import type { Service } from '../service.ts'

/** An entry, with the app that made it; without an app if the service made it. */
export type ActivityEntry = {
  readonly transfer: Transfer
  readonly app: App | undefined
  /** Only for entries of card payments. */
  readonly topup: Topup | undefined
}

export type WidgetWallet = {
  readonly wallet: WalletRow
  readonly entries: readonly ActivityEntry[]
  readonly waiting: readonly Topup[]
  readonly appName: string
}

const maxWaiting = 5

/** The last ten entries, and the top-ups that are still pending. */
export async function readWidgetWallet(service: Service, session: Session): Promise<WidgetWallet> {
  const { pool } = service.db
  const { wallet, transfers } = (await findWalletWithTransfers(pool, session.userId, { limit: 10 }))!
  const entries = await describeTransfers(service, session.userId, transfers)
  const waiting = await listWaitingTopups(pool, session.userId, maxWaiting)
  return { wallet, entries, waiting, appName: (await service.apps.find(session.clientId))!.name }
}

export type ActivityFilter = {
  readonly before: number | undefined
  readonly direction: 'in' | 'out' | undefined
  /** A clientId, or `service` for the service's own entries. */
  readonly app: string | undefined
  readonly search: string | undefined
  /** Types of the service's own entries whose name in the reader's language matches the search text. */
  readonly ownTypes: readonly string[]
}

export type ActivityPage = {
  readonly entries: readonly ActivityEntry[]
  /** Where the next page begins. A page ends at its search limit even if it is not full. */
  readonly nextBefore: number | null
  /** Every app that ever used the wallet. */
  readonly apps: readonly App[]
  /** When the wallet's first entry was made; null when there is none. */
  readonly firstAt: Date | null
}

const pageSize = 30

export async function readActivity(service: Service, userId: string, asked: ActivityFilter): Promise<ActivityPage> {
  const { pool } = service.db
  const apps = await listApps(service, userId)
  const bounds = { top: asked.before ?? Number.MAX_SAFE_INTEGER, limit: pageSize, span: pageSpan }
  const { transfers, nextBefore } = await findLedgerPage(pool, userId, bounds, ledgerFilterOf(asked, apps))
  const [first] = await listTransfersUpwards(pool, userId, { from: 1, to: 1, limit: 1 })
  const entries = await describeTransfers(service, userId, transfers)
  return { entries, nextBefore: nextBefore ?? null, apps, firstAt: first?.createdAt ?? null }
}

function ledgerFilterOf({ direction, app, search, ownTypes }: ActivityFilter, apps: readonly App[]): LedgerFilter {
  const text = search?.trim() ?? ''
  const isMeant = ({ name }: App) => name.toLowerCase().includes(text.toLowerCase())
  return {
    direction: direction && (direction === 'in' ? 'credit' : 'debit'),
    ...(app === 'service' ? { isOwn: true } : app !== undefined && { counterAccount: counterAccountOfApp(app) }),
    ...(text !== '' && {
      search: {
        text,
        counterAccounts: apps.filter(isMeant).map(({ clientId }) => counterAccountOfApp(clientId)),
        ownTypes,
        keys: parseReceiptCode(text),
      },
    }),
  }
}

async function listApps(service: Service, userId: string): Promise<App[]> {
  const used = new Set(await listAppsOfUser(service.db.pool, userId))
  return (await service.apps.list()).filter(({ clientId }) => used.has(clientId))
}

export async function describeTransfers(
  service: Service,
  userId: string,
  transfers: readonly Transfer[],
): Promise<ActivityEntry[]> {
  const payments = [...new Set(transfers.flatMap((transfer) => paymentOf(transfer) ?? []))]
  const topups = payments.length === 0 ? [] : await listTopupsByPayment(service.db.pool, userId, payments)
  const apps = new Map((await service.apps.list()).map((app) => [counterAccountOfApp(app.clientId), app]))
  return transfers.map((transfer) => ({
    transfer,
    app: isServiceOwn(transfer) ? undefined : apps.get(transfer.counterAccount),
    topup: topups.find(({ paymentIntentId }) => paymentIntentId === paymentOf(transfer)),
  }))
}

/** The PaymentIntent of an entry; the number of its movement follows after a colon. */
function paymentOf({ counterAccount, referenceId }: Transfer): string | undefined {
  return counterAccount === 'cards' ? referenceId.split(':')[0] : undefined
}
