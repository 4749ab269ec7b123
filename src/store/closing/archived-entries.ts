/** Entries of archived periods, which are in files. Nothing answers as if they did not exist. */
import { ofWallet } from '../cluster/guarded-read.ts'
import type { KeyRange } from '../../ledger/receipt-code.ts'
import type { Queryable } from '../connection/database.ts'
import { maybe, one } from '../connection/rows.ts'

/**
 * The outcomes of these references in archived periods, for a statement that also reads outcomes in the database. The table beside the function
 * keeps a cluster from running the statement on a server that has one of these outcomes, and no archived reference.
 */
export const archivedOutcomesSql = (keys: string) =>
  `(select found.* from archived_outcomes(${keys}) found cross join (select 1 from archives limit 1) archive)`

/** A proof needs entries that are in files. */
export class EntriesArchived extends Error {
  override name = 'EntriesArchived'
  constructor() {
    super('These entries are in the archive.')
  }
}

/** The last entry of a wallet that is archived. It is the only one of them in the database. */
export type ArchiveEnd = { readonly sequence: number; readonly createdAt: Date }

/** Undefined where all entries of the wallet are in the database. */
export async function findArchiveEnd(db: Queryable, walletId: string): Promise<ArchiveEnd | undefined> {
  const { rows } = await db.query<ArchiveEnd>({
    text: `select sequence::float8 as sequence, created_at as "createdAt" from all_transfers where wallet_id = $1 and is_archived`,
    values: [walletId],
    findAway: ofWallet(walletId),
  })
  return maybe(rows)
}

/** Every archived entry was made before this time; null without an archived period. */
export async function findArchivedUntil(db: Queryable): Promise<Date | null> {
  const { rows } = await db.query<{ until: Date | null }>(
    'select max(c.closed_at) as until from archives a join closings c on c.id = a.closing_id',
  )
  return one(rows).until
}

/** An entry that is in files: what the database knows of it. */
export type Archived = {
  readonly archived: true
  readonly walletId: string
  readonly amountMinor: bigint
  readonly balanceMinor: bigint
}

export const isArchived = (entry: object | undefined): entry is Archived => entry !== undefined && 'archived' in entry

/** The archived entry with a key in this range. */
export async function findArchived(db: Queryable, { from, to }: KeyRange): Promise<Archived | undefined> {
  const { rows } = await db.query<Archived>(
    `select true as archived, wallet_id as "walletId", amount as "amountMinor", balance as "balanceMinor"
     from archived_between($1::uuid, $2::uuid) where refusal is null and is_hold is null limit 1`,
    [from, to],
  )
  return maybe(rows)
}

/** Of entries from `bottom` on, the first one that is in the database, and whether there are archived ones. */
export async function aboveArchive(
  db: Queryable,
  walletId: string,
  bottom: number,
): Promise<{ readonly bottom: number; readonly hasArchived: boolean }> {
  const archivedUpTo = (await findArchiveEnd(db, walletId))?.sequence ?? 0
  return { bottom: Math.max(bottom, archivedUpTo + 1), hasArchived: bottom <= archivedUpTo }
}
