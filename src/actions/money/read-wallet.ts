/** Reads a wallet as one app may see it. */
import { counterAccountOfApp } from '../../ledger/reference.ts'
import type { App } from '../../store/apps.ts'
import { findLink } from '../../store/links.ts'
import { findWalletWithTransfers, type Transfer, type WalletRow } from '../../store/wallets.ts'
import type { WithDb } from '../service.ts'

export type WalletPage = {
  readonly wallet: WalletRow
  readonly transfers: readonly Transfer[]
  /** Where the next page begins. A page ends at its search limit even if it is not full. */
  readonly nextBefore: number | null
  /** On the last page: older transfers are in the archive. */
  readonly hasArchived: boolean
}

export async function readWallet(
  service: WithDb,
  app: App,
  serviceUserId: string,
  { limit, before }: { limit: number; before: number | undefined },
): Promise<WalletPage | undefined> {
  const link = await findLink(service.db.pool, app.clientId, serviceUserId)
  if (!link) return undefined
  const visibleTo = counterAccountOfApp(app.clientId)
  // One row more than the limit shows whether there is another page.
  const found = await findWalletWithTransfers(service.db.pool, link.userId, { limit: limit + 1, before, visibleTo })
  if (!found) return undefined
  const transfers = found.transfers.slice(0, limit)
  const isFull = found.transfers.length > limit
  const nextBefore = isFull ? transfers[transfers.length - 1]!.sequence : (found.scannedFrom ?? null)
  return { wallet: found.wallet, transfers, nextBefore, hasArchived: nextBefore === null && found.hasArchived }
}
