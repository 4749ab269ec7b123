/** Reading wallets and their transfers, and freezing. Only the writer moves money. */
import { lockWalletOnCluster } from './cluster/batch.ts'
import { ofLinks, ofWallet } from './cluster/guarded-read.ts'
import { plainArray, textArray } from './connection/arrays.ts'
import type { Queryable, Transaction } from './connection/database.ts'
import { heldSql } from './writer/stored-holds.ts'
import { referenceKeyTextSql } from './outcomes.ts'
import { maybe } from './connection/rows.ts'
import { findArchived, type Archived } from './closing/archived-entries.ts'

/** Closed: the user deleted the account. */
export type FrozenFor = 'operator' | 'debt' | 'closed' | null

export type WalletRow = {
  readonly id: string
  readonly balanceMinor: bigint
  /** What open holds promise to apps; of a locked wallet also what expired and is not given back yet. */
  readonly heldMinor: bigint
  readonly sequence: number
  readonly frozenFor: FrozenFor
  readonly frozenReason: string | null
}

export type Transfer = {
  readonly walletId: string
  readonly sequence: number
  readonly amountMinor: bigint
  readonly balanceAfterMinor: bigint
  readonly referenceKey: string
  readonly createdAt: Date
  readonly counterAccount: string
  readonly referenceType: string
  readonly referenceId: string
  readonly description: string | null
}

const walletColumns = (held: string) => `w.id, w.balance as "balanceMinor", ${held} as "heldMinor",
  w.sequence::float8 as sequence, w.frozen_for as "frozenFor", w.frozen_reason as "frozenReason"`

const walletSql = (held: string) => `select ${walletColumns(held)} from wallets w where w.id = $1`

export async function findWallet(db: Queryable, id: string): Promise<WalletRow | undefined> {
  const { rows } = await db.query<WalletRow>({
    text: walletSql(heldSql('w')),
    onCluster: walletSql(heldSql('w', 'h.wallet_id = $1')),
    values: [id],
    findAway: ofWallet(id),
  })
  return maybe(rows)
}

/** The next transaction that locks the wallet sees everything this one wrote, on a cluster too. */
export async function lockWallet(tx: Transaction, id: string): Promise<WalletRow | undefined> {
  await lockWalletOnCluster(tx, id)
  const { rows } = await tx.query<WalletRow>(`${walletSql('w.held')} for update`, [id])
  return maybe(rows)
}

export async function updateFreeze(
  tx: Transaction,
  id: string,
  frozenFor: FrozenFor,
  reason: string | null,
): Promise<void> {
  await tx.query('update wallets set frozen_for = $2, frozen_reason = $3 where id = $1', [id, frozenFor, reason])
}

/** A wallet's state as an observer last saw it. */
export type SeenWallet = {
  readonly walletId: string
  readonly sequence: number
  readonly heldMinor: bigint
  readonly frozenFor: FrozenFor
}

const changedSql = (wallet: string, held: string) => `select s.id
  from unnest($1::uuid[], $2::bigint[], $3::text[], $4::bigint[]) as s (id, sequence, frozen_for, held), ${wallet}
    and (w.sequence <> s.sequence or w.frozen_for is distinct from s.frozen_for or ${held} <> s.held)`

/**
 * The limit makes the planner look up each wallet by its key instead of reading all wallets, however many are asked
 * for.
 */
const changedWallets = {
  name: 'find-changed-wallets',
  text: changedSql(
    `lateral (select w.sequence, w.frozen_for, ${heldSql('w')} as held from wallets w where w.id = s.id limit 1) as w where true`,
    'w.held',
  ),
  onCluster: changedSql(
    'wallets w where w.id = s.id and w.id = any($1::uuid[])',
    heldSql('w', 'h.wallet_id = any($1::uuid[])'),
  ),
}

/** The wallets that differ from what was seen: money moved, a hold was made or ended, or they were frozen or unfrozen. */
export async function findChangedWallets(db: Queryable, seen: readonly SeenWallet[]): Promise<string[]> {
  const { rows } = await db.query<[string]>({
    ...changedWallets,
    values: [
      plainArray(seen, ({ walletId }) => walletId),
      plainArray(seen, ({ sequence }) => sequence),
      plainArray(seen, ({ frozenFor }) => frozenFor),
      plainArray(seen, ({ heldMinor }) => heldMinor),
    ],
    rowMode: 'array',
  })
  return rows.map(([id]) => id)
}

export type LinkedWallet = {
  readonly clientId: string
  readonly walletId: string
  readonly balanceMinor: bigint
  readonly heldMinor: bigint
  readonly isActive: boolean
}

const isLinkedSql = 'l.id = any($1::text[]) and l.disconnected_at is null'
const linkedSql = {
  name: 'find-linked-wallets',
  text: `select l.id, l.client_id, w.id, w.balance, ${heldSql('w')}, w.frozen_for is null
    from links l join wallets w on w.id = l.user_id where ${isLinkedSql}`,
  // Joined, every server would be asked.
  onCluster: `select l.id, l.client_id, l.user_id from links l where ${isLinkedSql}`,
}

type LinkedRow = [string, string, string, ...(WalletState | [])]
type WalletState = [bigint, bigint, boolean]

/** The wallets of many serviceUserIds, in one read; on a cluster in two, of which the second asks only the servers that have them. */
export async function findLinkedWallets(
  db: Queryable,
  serviceUserIds: readonly string[],
): Promise<Map<string, LinkedWallet>> {
  const values = [textArray(serviceUserIds, (id) => id)]
  const { rows } = await db.query<LinkedRow>({ ...linkedSql, values, rowMode: 'array' })
  const walletIds = rows.flatMap(([, , id, ...state]) => (state.length === 0 ? [id] : []))
  const states = new Map<string, WalletState>()
  if (walletIds.length > 0) {
    const found = await db.query<[string, ...WalletState]>({
      name: 'find-wallets',
      text: `select w.id, w.balance, ${heldSql('w', 'h.wallet_id = any($1::uuid[])')}, w.frozen_for is null
        from wallets w where w.id = any($1::uuid[])`,
      values: [plainArray(walletIds, String)],
      findAway: ofLinks(serviceUserIds),
      rowMode: 'array',
    })
    for (const [id, ...state] of found.rows) states.set(id, state)
  }
  return new Map(
    rows.flatMap(([link, clientId, walletId, ...read]) => {
      const state = read.length > 0 ? read : states.get(walletId)
      if (!state) return []
      const [balanceMinor, heldMinor, isActive] = state as WalletState
      return [[link, { clientId, walletId, balanceMinor, heldMinor, isActive }] as const]
    }),
  )
}

export type TransferFilter = {
  readonly limit: number
  /** Only transfers with a lower sequence. */
  readonly before?: number | undefined
  /** An app sees its own transfers and the service's, never another app's. Undefined: all transfers. */
  readonly visibleTo?: string | undefined
}

export const transferColumns = `t.wallet_id as "walletId", t.sequence::float8 as sequence, t.amount as "amountMinor",
  t.balance_after as "balanceAfterMinor", ${referenceKeyTextSql('t')} as "referenceKey", t.created_at as "createdAt",
  t.counter_account as "counterAccount", t.reference_type as "referenceType", t.reference_id as "referenceId", t.description`

/**
 * How many entries one page scans. An app's entries may be below any number of another app's, and an index by app would
 * cost every debit. Scanning 300,000 took a second; this many take a few milliseconds.
 */
export const pageSpan = 5_000

/** A wallet beside one of its transfers, whose columns are null when the page has none. */
type WithTransfer = Omit<WalletRow, 'sequence'> & {
  readonly lastSequence: number
  /** One above the newest entry the page scans; null when there is none. */
  readonly below: number | null
  /** The last entry that is in files; null where none is. */
  readonly archivedUpTo: number | null
} & (Transfer | { readonly sequence: null })

/** On a cluster, each condition names the wallet, or every server would be asked. */
const pageSql = (isAskedFor: (walletId: string) => string = () => 'true') => `select w.id, w.balance as "balanceMinor",
    ${heldSql('w', isAskedFor('h.wallet_id'))} as "heldMinor", w.sequence::float8 as "lastSequence", w.frozen_for as "frozenFor",
    w.frozen_reason as "frozenReason", page.below::float8 as below,
    (select a.sequence::float8 from all_transfers a where a.wallet_id = w.id and ${isAskedFor('a.wallet_id')} and a.is_archived) as "archivedUpTo",
    ${transferColumns}
  from wallets w left join lateral (
    select n.sequence + 1 as below from all_transfers n
    where n.wallet_id = w.id and ${isAskedFor('n.wallet_id')} and not n.is_archived and n.sequence < coalesce($2::bigint, 9223372036854775807)
    order by n.sequence desc limit 1) page on true left join lateral (
    select * from all_transfers t where t.wallet_id = w.id and ${isAskedFor('t.wallet_id')} and not t.is_archived
      and t.sequence < page.below and t.sequence >= page.below - ${pageSpan}
      and ($3::text is null or t.counter_account = $3 or t.counter_account not like 'app:%')
    order by t.sequence desc limit $4) t on true
  where w.id = $1 order by t.sequence desc`

type WalletWithTransfers = {
  readonly wallet: WalletRow
  readonly transfers: readonly Transfer[]
  readonly scannedFrom: number | undefined
  readonly hasArchived: boolean
}

/**
 * A wallet and its newest transfers, newest first, in one snapshot. The page scans a bounded number of entries:
 * `scannedFrom` is where the next page continues, undefined when all were scanned. `hasArchived`: older entries are in files.
 */
export async function findWalletWithTransfers(
  db: Queryable,
  walletId: string,
  filter: TransferFilter,
): Promise<WalletWithTransfers | undefined> {
  const { rows } = await db.query<WithTransfer>({
    name: 'find-wallet-with-transfers',
    text: pageSql(),
    onCluster: pageSql((walletId) => `${walletId} = $1`),
    values: [walletId, filter.before ?? null, filter.visibleTo ?? null, filter.limit],
    findAway: ofWallet(walletId),
  })
  const first = maybe(rows)
  if (!first) return undefined
  const { id, balanceMinor, heldMinor, lastSequence, frozenFor, frozenReason, below, archivedUpTo } = first
  const transfers = rows.filter((row) => row.sequence !== null)
  const scannedFrom = (below ?? 0) - pageSpan
  const wallet = { id, balanceMinor, heldMinor, sequence: lastSequence, frozenFor, frozenReason }
  const isMore = scannedFrom > (archivedUpTo ?? 0) + 1
  return { wallet, transfers, scannedFrom: isMore ? scannedFrom : undefined, hasArchived: archivedUpTo !== null }
}

/** The transfer of a reference; undefined when the reference was never used, or was refused. An archived one is in files. */
export async function findTransferByReference(
  db: Queryable,
  referenceKey: string,
): Promise<Transfer | Archived | undefined> {
  const { rows } = await db.query<Transfer>(
    `with o as materialized (select wallet_id, sequence from all_outcomes where reference_key = $1)
     select ${transferColumns} from o join all_transfers t on t.wallet_id = o.wallet_id and t.sequence = o.sequence`,
    [referenceKey],
  )
  return maybe(rows) ?? (await findArchived(db, { from: referenceKey, to: referenceKey }))
}
