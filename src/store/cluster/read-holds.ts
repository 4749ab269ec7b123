/**
 * The holds of a careful batch on a cluster. A wallet, its entries, its holds and their steps are on one node, which shows them together
 * and in the state that the wallet's lock protects. The outcome of a reference may be on another node, which commits a little earlier or
 * later; after a crash in between, seconds later. So no hold is decided by a missing outcome alone.
 */
import { setTimeout as sleep } from 'node:timers/promises'
import type { Hold } from '../../ledger/hold.ts'
import { plainArray } from '../connection/arrays.ts'
import type { Queryable } from '../connection/open-client.ts'
import { referenceKeyOfUuid, type Outcome } from '../outcomes.ts'
import { newBook, type HoldBook, type HoldKey } from '../writer/hold-book.ts'
import type { PendingPosting } from '../writer/posting.ts'
import type { ResolvedLink } from '../writer/resolve-links.ts'
import { holdColumns, inEitherState, isUnclosed, toSeenHold, type HoldRow } from '../writer/stored-holds.ts'
import { roundTrip, walletClockOf } from './batch.ts'

/** In whole milliseconds, as in `holdClockSql`. The times of a wallet's holds all come from the clock of its node. */
const clockSql = (walletId: string) => `date_trunc('milliseconds', ${walletClockOf(walletId)})`

const openSql = `select ${clockSql('w.id')} as at, ${holdColumns}, w.id as "walletId"
  from wallets w left join holds h on h.wallet_id = w.id and ${isUnclosed} where w.id = any($1::uuid[])`
const namedSql = `select ${clockSql('h.wallet_id')} as at, ${holdColumns} from holds h
  where h.wallet_id = any($1::uuid[]) and h.${inEitherState} and h.id = any($2::uuid[])`
const capturedSql = `select t.reference_key as key from hold_steps s join all_transfers t on t.wallet_id = s.wallet_id and t.sequence = s.sequence
  where s.wallet_id = any($1::uuid[]) and s.hold_id = any($2::uuid[]) and t.reference_key = any($3::uuid[])`

/** A wallet without open holds has a row of nulls, with its own id: of two columns of one name the driver returns the last. */
type OpenRow = HoldRow | (Record<keyof Hold, null> & { readonly at: Date; readonly walletId: string })

/** All open holds of the locked wallets, and the named ones in any state; also those whose references new holds of the batch have. */
export async function readHoldsOnNodes(
  client: Queryable,
  batch: readonly PendingPosting[],
  links: readonly (ResolvedLink | undefined)[],
  { lockedIds, named }: { readonly lockedIds: readonly string[]; readonly named: readonly HoldKey[] },
): Promise<HoldBook> {
  const made = batch.flatMap(({ hold, referenceKey: id }, i): HoldKey[] =>
    hold?.kind === 'reserve' && links[i] ? [{ walletId: links[i].walletId, id }] : [],
  )
  const captures = batch.filter(({ hold }) => hold?.kind === 'capture')
  const keys = [...named, ...made]
  const walletIds = plainArray(keys, ({ walletId }) => walletId)
  const ids = plainArray(keys, ({ id }) => id)
  const references = plainArray(captures, ({ referenceKey }) => referenceKey)
  const [open, any, captured] = await roundTrip([
    client.query<OpenRow>({ name: 'read-open-holds', text: openSql, values: [plainArray(lockedIds, String)] }),
    keys.length > 0
      ? client.query<HoldRow>({ name: 'read-named-holds', text: namedSql, values: [walletIds, ids] })
      : { rows: [] },
    captures.length > 0
      ? client.query<{ key: string }>({
          name: 'read-captures',
          text: capturedSql,
          values: [walletIds, ids, references],
        })
      : { rows: [] },
  ])
  const clocks = new Map<string, Date>()
  for (const { walletId, at } of [...any.rows, ...open.rows]) clocks.set(walletId, at)
  const holds = [...open.rows, ...any.rows].flatMap((row) => (row.id === null ? [] : [toSeenHold(row).hold]))
  const used = new Set(captured.rows.map(({ key }) => referenceKeyOfUuid(key)))
  return newBook(holds, (walletId) => clocks.get(walletId)!, used)
}

/**
 * Whether the nodes do not agree yet about the reference of a hold or a capture: one shows what it did, the other does not show its
 * outcome, or the other way round. It is then neither a repeat nor new, and is tried again. `isLocked`: the wallet is.
 */
export function isUnsettled(
  book: HoldBook | undefined,
  { hold, referenceKey }: PendingPosting,
  outcome: Outcome | undefined,
  isLocked: boolean,
): boolean {
  if (!book?.used || !hold) return false
  if (outcome) return !isLocked || (outcome.isHold && !book.holds.has(referenceKey))
  return hold.kind === 'reserve' ? book.holds.has(referenceKey) : hold.kind === 'capture' && book.used.has(referenceKey)
}

const settleMs = 20

/** Before the next attempt: nothing else would make it wait. */
export async function waitToSettle(): Promise<void> {
  await sleep(settleMs)
}
