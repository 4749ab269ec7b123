/** All faults of a range of wallets. */
import type { Queryable } from './database.ts'
import { verifyEntries, verifyStrangers } from './verify-entries.ts'
import type { Fault } from './verify-fault.ts'
import type { WalletRange } from './verify-range.ts'
import { verifyLinks, verifyWallets } from './verify-wallets.ts'

/**
 * The statements must see one moment, so call it in a transaction of repeatable read; a short
 * one for each slice will do, for nothing in here looks beyond the range.
 */
export async function verifySlice(db: Queryable, range: WalletRange): Promise<Fault[]> {
  return [
    ...(await verifyEntries(db, range)),
    ...(await verifyWallets(db, range)),
    ...(await verifyStrangers(db, range)),
    ...(await verifyLinks(db, range)),
  ]
}
