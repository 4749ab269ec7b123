/** Reads a wallet as its user sees it: the entries of all apps, and the state of their card payments. */
import { parseReceiptCode } from '../../ledger/receipt-code.ts'
import { counterAccountOfApp } from '../../ledger/reference.ts'
import type { App } from '../../store/apps.ts'
import { listAppsOfUser } from '../../store/links.ts'
import { isServiceOwn } from '../../store/outcomes.ts'
import type { Session } from '../../store/people/widget-sessions.ts'
import { listTopupsByPayment, type Topup } from '../../store/topups.ts'
import { listFailedTopups, listOpenPayments, listWaitingTopups } from '../../store/user-topups.ts'
import {
  findLedgerPage,
  findSequences,
  listTransfersUpwards,
  sumMatches,
  type LedgerFilter,
  type Sequences,
} from '../../store/transfers.ts'
import { findWalletWithTransfers, pageSpan, type Transfer, type WalletRow } from '../../store/wallets.ts'
import { proofOf } from '../people/proofs.ts'
import type { Service, WithDb } from '../service.ts'
import type { ActivityFilter } from './activity-filter.ts'
import { readOpenHolds, type OpenHold } from './read-open-holds.ts'

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
  /** There is no entry, or no further one, because older ones are in the archive. */
  readonly hasArchived: boolean
  readonly waiting: readonly Topup[]
  /** Payments in this app that may still be paid. */
  readonly open: readonly Topup[]
  /** Top-ups of the last week that took no money. */
  readonly failed: readonly Topup[]
  /** The newest open holds. */
  readonly holds: readonly OpenHold[]
  readonly appName: string
}

const maxLatest = 10
const maxWaiting = 5
const maxHolds = 3

/** The last ten entries, and the top-ups that are still pending. */
export async function readWidgetWallet(service: Service, session: Session): Promise<WidgetWallet> {
  const { pool } = service.db
  const { wallet, transfers, hasArchived } = (await findWalletWithTransfers(pool, session.userId, {
    limit: maxLatest,
  }))!
  const entries = await describeTransfers(service, session.userId, transfers)
  const waiting = await listWaitingTopups(pool, session.userId, maxWaiting)
  const open = await listOpenPayments(pool, session, maxWaiting)
  // A session without the person learns nothing about payments in other apps.
  const clientId = proofOf(session) === 'session' ? session.clientId : null
  const failed = await listFailedTopups(pool, { userId: session.userId, clientId }, maxWaiting)
  const holds = await readOpenHolds(service, { userId: session.userId, heldMinor: wallet.heldMinor }, maxHolds)
  return {
    wallet,
    entries,
    hasArchived: hasArchived && transfers.length < maxLatest,
    waiting,
    open,
    failed,
    holds,
    appName: (await service.apps.find(session.clientId))!.name,
  }
}

export type ActivityPage = {
  readonly entries: readonly ActivityEntry[]
  /** Where the next page begins. A page ends at its search limit even if it is not full. */
  readonly nextBefore: number | null
  /** How many entries of the time range are left for the next pages. */
  readonly left: number
  /** Every app that ever used the wallet. */
  readonly apps: readonly App[]
  /** When the wallet's first entry was made, of those in the database; null when there is none. */
  readonly firstAt: Date | null
  /** On the last page: older entries of the time range are in the archive. */
  readonly hasArchived: boolean
}

const pageSize = 30

export async function readActivity(service: Service, userId: string, asked: ActivityFilter): Promise<ActivityPage> {
  const { pool } = service.db
  const apps = await listApps(service, userId)
  const { bottom, top, hasArchived } = await sequencesOf(service, userId, asked)
  const bounds = { bottom, top, limit: pageSize, span: pageSpan }
  const { transfers, nextBefore = null } = await findLedgerPage(pool, userId, bounds, ledgerFilterOf(asked, apps))
  const [first] = await listTransfersUpwards(pool, userId, { from: 1, to: Number.MAX_SAFE_INTEGER, limit: 1 })
  const entries = await describeTransfers(service, userId, transfers)
  const left = nextBefore === null ? 0 : nextBefore - bottom
  const firstAt = first?.createdAt ?? null
  return { entries, nextBefore, left, apps, firstAt, hasArchived: nextBefore === null && hasArchived }
}

/** What one app, the user's cards or the service took and gave. */
export type SourceSum = {
  readonly source: 'app' | 'card' | 'service'
  readonly app: App | undefined
  readonly count: number
  readonly inMinor: bigint
  readonly outMinor: bigint
}

export type ActivitySums = {
  readonly sources: readonly SourceSum[]
  /** How many entries this call read, and how many of the time range are left for the next ones. */
  readonly searched: number
  readonly left: number
  readonly nextBefore: number | null
  /** With the last part: older entries of the time range are in the archive. */
  readonly hasArchived: boolean
}

/**
 * How many entries one call adds up. Measured on two cores: 20 ms without a text, 50 ms with one; a wallet of 100,000 entries
 * takes ten calls.
 */
const sumSpan = 10_000

/** Adds up the matching entries, as far as one call looks; the next one continues at `nextBefore`. */
export async function readActivitySums(
  service: Service,
  { userId, sequence }: Pick<Session, 'userId' | 'sequence'>,
  asked: ActivityFilter,
): Promise<ActivitySums> {
  const apps = await listApps(service, userId)
  const { bottom, top, hasArchived } = await sequencesOf(service, userId, asked)
  const below = Math.max(bottom, Math.min(top, sequence + 1))
  const from = Math.max(bottom, below - sumSpan)
  const sums = await sumMatches(service.db.pool, userId, { from, below }, ledgerFilterOf(asked, apps))
  const byAccount = new Map((await service.apps.list()).map((app) => [counterAccountOfApp(app.clientId), app]))
  const sources = sums.map(({ counterAccount, isOwn, ...sum }): SourceSum => {
    if (!isOwn) return { ...sum, source: 'app', app: byAccount.get(counterAccount) }
    return { ...sum, source: counterAccount === 'cards' ? 'card' : 'service', app: undefined }
  })
  const nextBefore = from > bottom ? from : null
  const isEnd = nextBefore === null
  return { sources, searched: below - from, left: from - bottom, nextBefore, hasArchived: isEnd && hasArchived }
}

/** The sequences of the time range that are in the database, those from `before` on left out. */
export async function sequencesOf({ db }: WithDb, userId: string, asked: ActivityFilter): Promise<Sequences> {
  const found = await findSequences(db.pool, userId, asked)
  return { ...found, top: Math.min(asked.before ?? found.top, found.top) }
}

export function ledgerFilterOf(asked: ActivityFilter, apps: readonly App[]): LedgerFilter {
  const { direction, app, ownTypes, amountMinor, minMinor, maxMinor } = asked
  const text = asked.search?.trim() ?? ''
  const isMeant = ({ name }: App) => name.toLowerCase().includes(text.toLowerCase())
  return {
    direction: direction && (direction === 'in' ? 'credit' : 'debit'),
    minMinor,
    maxMinor,
    ...(app === 'service' ? { isOwn: true } : app !== undefined && { counterAccount: counterAccountOfApp(app) }),
    ...(text !== '' && {
      search: {
        text,
        counterAccounts: apps.filter(isMeant).map(({ clientId }) => counterAccountOfApp(clientId)),
        ownTypes,
        keys: parseReceiptCode(text),
        amountMinor,
      },
    }),
  }
}

export async function listApps(service: Service, userId: string): Promise<App[]> {
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
