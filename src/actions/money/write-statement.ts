/** A wallet's statement for a month: opening balance, entries, closing balance. */
import { findSequences, getBalanceAfter, listTransfersUpwards, sumTransfers } from '../../store/transfers.ts'
import { findWallet, type Transfer } from '../../store/wallets.ts'
import type { WithDb } from '../service.ts'

/** A month in UTC, `2025-03`. */
export type Month = { readonly text: string; readonly from: Date; readonly until: Date }

export function parseMonth(text: string): Month | undefined {
  const match = /^(20\d\d)-(0[1-9]|1[0-2])$/.exec(text)
  if (!match) return undefined
  const [year, month] = [Number(match[1]), Number(match[2])]
  return { text, from: new Date(Date.UTC(year, month - 1)), until: new Date(Date.UTC(year, month)) }
}

export function monthOf(at: Date): Month {
  return parseMonth(at.toISOString().slice(0, 7))!
}

export type Statement = {
  readonly walletId: string
  readonly month: Month
  readonly openingMinor: bigint
  readonly closingMinor: bigint
  /** Of the first and last entry; in a month without entries the last is one less than the first. */
  readonly firstSequence: number
  readonly lastSequence: number
  /** What is on hold now, which no entry contains. */
  readonly heldMinor: bigint
}

/** Entries never change, so the range stays valid while the entries are read. Undefined if the month needs archived ones. */
export async function findStatement(service: WithDb, walletId: string, month: Month): Promise<Statement | undefined> {
  const db = service.db.pool
  const { bottom: firstSequence, top, hasArchived } = await findSequences(db, walletId, month)
  if (hasArchived) return undefined
  const lastSequence = top - 1
  const openingMinor = await getBalanceAfter(db, walletId, firstSequence - 1)
  const closingMinor = await getBalanceAfter(db, walletId, lastSequence)
  const heldMinor = (await findWallet(db, walletId))?.heldMinor ?? 0n
  return { walletId, month, openingMinor, closingMinor, firstSequence, lastSequence, heldMinor }
}

const chunkSize = 1_000

/** Entries that one query adds up. */
const sliceSize = 10_000

export async function sumStatement(service: WithDb, statement: Statement) {
  const { walletId, lastSequence } = statement
  let [inMinor, outMinor] = [0n, 0n]
  for (let from = statement.firstSequence; from <= lastSequence; from += sliceSize) {
    const to = Math.min(lastSequence, from + sliceSize - 1)
    const slice = await sumTransfers(service.db.pool, walletId, { from, to })
    inMinor += slice.inMinor
    outMinor += slice.outMinor
  }
  return { inMinor, outMinor }
}

/** Yields chunks, oldest entry first. */
export async function* listStatementEntries(service: WithDb, statement: Statement): AsyncGenerator<Transfer[]> {
  const { walletId, lastSequence } = statement
  let from = statement.firstSequence
  while (from <= lastSequence) {
    const chunk = await listTransfersUpwards(service.db.pool, walletId, { from, to: lastSequence, limit: chunkSize })
    if (chunk.length === 0) return
    yield chunk
    from = chunk.at(-1)!.sequence + 1
  }
}
