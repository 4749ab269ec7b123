/** The tree over each wallet's entries. */
import { addJoined, hashPart, noPeaks, peaksWithin, rootOf } from '../../proof/merkle.ts'
import type { Peaks, ProofPart, Subtree } from '../../proof/merkle.ts'
import { EntriesArchived } from '../closing/archived-entries.ts'
import { bytesArray, plainArray } from '../connection/arrays.ts'
import type { Queryable, Transaction } from '../connection/database.ts'
import { maybe, one } from '../connection/rows.ts'
import { inRange } from '../verify/slice.ts'
import { hashEntries, type LeafRange } from './entry-leaves.ts'
import { foldComplete, joinHashes, keyOf, readPeaks, sourceOf } from './subtrees.ts'

export type WalletTree = {
  readonly walletId: string
  readonly salt: Uint8Array
  readonly peaks: Peaks
  /** Its newest leaf in the log; null before the first. */
  readonly leaf: number | null
}

/** A wallet whose checked entries reach beyond its tree. */
export type GrownWallet = {
  readonly walletId: string
  readonly checkedUpTo: number
  readonly tree: WalletTree | undefined
}

type TreeRow = { walletId: string; salt: Uint8Array | null; size: bigint; peaks: Uint8Array; leaf: bigint }

const treeColumns = 'h.wallet_id as "walletId", h.salt, h.size, h.peaks, h.leaf'

function toTree({ walletId, salt, size, peaks, leaf }: TreeRow): WalletTree | undefined {
  return salt === null ? undefined : { walletId, salt, peaks: readPeaks(size, peaks), leaf: Number(leaf) }
}

const joined = (column: string) => `string_agg(${column}, ',')`

/**
 * `$3` bounds the wallets, and `$4` the entries of all but the last. One row with all of it: reading a row for each wallet would cost
 * more than sealing it. The aggregates keep the order of the rows: an `order by` in each of them would sort six times. Not a prepared
 * statement: the plan depends on which of `$1` and `$2` are null.
 */
const grownSql = `
select ${joined('wallet_id::text')} as ids, ${joined('sequence::text')} as sequences, ${joined(`coalesce(encode(salt, 'hex'), '')`)} as salts,
  ${joined('coalesce(size, 0)::text')} as sizes, ${joined(`coalesce(encode(peaks, 'hex'), '')`)} as peaks, ${joined('coalesce(leaf, 0)::text')} as leaves
from (
  select v.wallet_id, v.sequence, h.salt, h.size, h.peaks, h.leaf,
    sum((v.sequence - coalesce(h.size, 0))::float8) over (order by v.wallet_id rows unbounded preceding) - (v.sequence - coalesce(h.size, 0)) as before
  from (select * from verified_wallets where ${inRange('wallet_id')}) v
  left join (select * from wallet_heads where ${inRange('wallet_id')}) h on h.wallet_id = v.wallet_id
  where v.sequence > coalesce(h.size, 0) order by v.wallet_id limit $3
) g where before < $4::float8`

type GrownRow = Record<'ids' | 'sequences' | 'salts' | 'sizes' | 'peaks' | 'leaves', string>

function toGrown(row: GrownRow): readonly GrownWallet[] {
  const [sequences, salts, sizes, peaks, leaves] = [row.sequences, row.salts, row.sizes, row.peaks, row.leaves].map(
    (texts) => texts.split(','),
  ) as [string[], string[], string[], string[], string[]]
  return row.ids.split(',').map((walletId, i) => ({
    walletId,
    checkedUpTo: Number(sequences[i]),
    tree: salts[i]
      ? {
          walletId,
          salt: Uint8Array.fromHex(salts[i]),
          peaks: readPeaks(Number(sizes[i]), Uint8Array.fromHex(peaks[i]!)),
          leaf: Number(leaves[i]),
        }
      : undefined,
  }))
}

export type PageLimits = {
  /** Wallets that are read; most of them may not have grown. */
  readonly wallets: number
  readonly grown: number
  /** The last wallet of a page may have more. */
  readonly entries: number
}

/** The grown wallets among the next ones. `until` is where the wallets after them begin, unless a limit was reached. */
export async function nextGrown(
  db: Queryable,
  from: string | null,
  limits: PageLimits,
): Promise<{ readonly until: string | null; readonly grown: readonly GrownWallet[] }> {
  const boundary = await db.query<{ id: string }>(
    `select wallet_id as id from verified_wallets where $1::uuid is null or wallet_id >= $1 order by wallet_id offset $2 limit 1`,
    [from, limits.wallets],
  )
  const until = maybe(boundary.rows)?.id ?? null
  const { rows } = await db.query<GrownRow | { ids: null }>(grownSql, [from, until, limits.grown, limits.entries])
  const row = one(rows)
  return { until, grown: row.ids === null ? [] : toGrown(row) }
}

export async function findCheckedAfter(db: Queryable, walletId: string): Promise<string | null> {
  const { rows } = await db.query<{ id: string }>(
    'select wallet_id as id from verified_wallets where wallet_id > $1 order by wallet_id limit 1',
    [walletId],
  )
  return maybe(rows)?.id ?? null
}

export async function findTree(db: Queryable, walletId: string): Promise<WalletTree | undefined> {
  const { rows } = await db.query<TreeRow>(`select ${treeColumns} from wallet_heads h where h.wallet_id = $1`, [
    walletId,
  ])
  const row = maybe(rows)
  return row && toTree(row)
}

/** Of several wallets, by their ids; one without sealed entries is missing. */
export async function findTrees(db: Queryable, walletIds: readonly string[]): Promise<ReadonlyMap<string, WalletTree>> {
  const { rows } = await db.query<TreeRow>(
    `select ${treeColumns} from wallet_heads h where h.wallet_id = any($1::uuid[])`,
    [plainArray(walletIds, (id) => id)],
  )
  return new Map(rows.flatMap((row) => toTree(row) ?? []).map((tree) => [tree.walletId, tree]))
}

/** The tree over the archived entries of a wallet; undefined where none is archived. */
export async function findArchivedTree(db: Queryable, walletId: string): Promise<Peaks | undefined> {
  return (await findArchivedTrees(db, [walletId])).get(walletId)
}

/** The same of several wallets, by their ids. */
export async function findArchivedTrees(
  db: Queryable,
  walletIds: readonly string[],
): Promise<ReadonlyMap<string, Peaks>> {
  const { rows } = await db.query<{ id: string; size: bigint; peaks: Uint8Array }>(
    'select wallet_id as id, sequence as size, peaks from archived_wallets where wallet_id = any($1::uuid[])',
    [plainArray(walletIds, (id) => id)],
  )
  return new Map(rows.map(({ id, size, peaks }) => [id, readPeaks(size, peaks)]))
}

/** A wallet with leaves in the log; the salt is null where its tree is gone. */
export type SealedWallet = { readonly walletId: string; readonly salt: Uint8Array | null }

/** Finds each next wallet by the index: a busy wallet has thousands of leaves. */
const sealedIdsSql = `with recursive sealed(id) as (
  (select subject from log_leaves where kind = 'wallet' and subject > coalesce($1::uuid, '00000000-0000-0000-0000-000000000000')
    order by subject limit 1)
  union all
  select (select subject from log_leaves l where l.kind = 'wallet' and l.subject > s.id order by l.subject limit 1)
  from sealed s where s.id is not null
)
select id from sealed where id is not null limit $2`

/** The next wallets with leaves in the log, ordered by id. The log lists them, because the row of a tree could be removed. */
export async function nextSealed(db: Queryable, after: string | null, limit: number): Promise<readonly SealedWallet[]> {
  const sealed = await db.query<{ id: string }>(sealedIdsSql, [after, limit])
  const ids = sealed.rows.map(({ id }) => id)
  const { rows } = await db.query<{ id: string; salt: Uint8Array }>(
    'select wallet_id as id, salt from wallet_heads where wallet_id = any($1::uuid[])',
    [plainArray(ids, (id) => id)],
  )
  const salts = new Map(rows.map(({ id, salt }) => [id, salt]))
  return ids.map((walletId) => ({ walletId, salt: salts.get(walletId) ?? null }))
}

/** What the leaf of an entry has, besides the wallet's name and the currency. */
export type LeafFields = {
  readonly amountMinor: bigint
  readonly atMicros: bigint
  readonly texts: {
    readonly counterAccount: string
    readonly referenceType: string
    readonly referenceId: string
    readonly description: string | null
  }
}

export async function findLeafFields(
  db: Queryable,
  walletId: string,
  sequence: number,
): Promise<LeafFields | undefined> {
  const { rows } = await db.query<LeafFields>(
    `select amount as "amountMinor", (extract(epoch from created_at) * 1000000)::bigint as "atMicros",
       json_build_object('counterAccount', counter_account, 'referenceType', reference_type, 'referenceId', reference_id,
         'description', description) as texts
     from all_transfers where wallet_id = $1 and sequence = $2`,
    [walletId, sequence],
  )
  return maybe(rows)
}

export type WalletSubtree = Subtree & { readonly walletId: string; readonly hash: Uint8Array }

type KeptTree = WalletTree & { readonly leaf: number; readonly isNew: boolean }

/** The caller has locked the log, so that no other process keeps one of them. Updates known rows by an update: an upsert takes longer. */
export async function keepTrees(
  tx: Transaction,
  trees: readonly KeptTree[],
  subtrees: readonly WalletSubtree[],
): Promise<void> {
  const added = trees.filter(({ isNew }) => isNew)
  const known = trees.filter(({ isNew }) => !isNew)
  if (added.length > 0)
    await tx.query(
      `insert into wallet_heads (wallet_id, size, peaks, leaf, salt)
       select * from unnest($1::uuid[], $2::bigint[], $3::bytea[], $4::bigint[], $5::bytea[])`,
      [...treeValues(added), bytesArray(added, ({ salt }) => salt)],
    )
  if (known.length > 0)
    await tx.query(
      `update wallet_heads h set size = n.size, peaks = n.peaks, leaf = n.leaf
       from unnest($1::uuid[], $2::bigint[], $3::bytea[], $4::bigint[]) as n(wallet_id, size, peaks, leaf) where h.wallet_id = n.wallet_id`,
      treeValues(known),
    )
  if (subtrees.length === 0) return
  await tx.query(
    `insert into wallet_subtrees (wallet_id, level, number, hash)
     select * from unnest($1::uuid[], $2::smallint[], $3::bigint[], $4::bytea[])`,
    [
      plainArray(subtrees, ({ walletId }) => walletId),
      plainArray(subtrees, ({ level }) => level),
      plainArray(subtrees, ({ index }) => index),
      bytesArray(subtrees, ({ hash }) => hash),
    ],
  )
}

const treeValues = (trees: readonly KeptTree[]) => [
  plainArray(trees, ({ walletId }) => walletId),
  plainArray(trees, ({ peaks }) => peaks.size),
  bytesArray(trees, ({ peaks }) => joinHashes(peaks.hashes)),
  plainArray(trees, ({ leaf }) => leaf),
]

/** The hashes of a proof in this wallet's tree. Reads at most 256 entries or stored subtrees for each subtree. */
export async function readWalletParts(
  db: Queryable,
  range: Pick<LeafRange, 'walletId' | 'name' | 'salt'>,
  parts: readonly ProofPart[],
  currency: string,
): Promise<readonly Uint8Array[]> {
  const subtrees = parts.flat()
  const hashes = new Map<string, Uint8Array>()
  const archived = (await findArchivedTree(db, range.walletId)) ?? noPeaks
  for (const subtree of subtrees) {
    const source = sourceOf(subtree)
    const hash =
      source.level === 0
        ? await hashLeaves(db, range, archived, source, currency)
        : foldComplete(await readStored(db, range.walletId, source))
    hashes.set(keyOf(subtree), hash)
  }
  return parts.map((part) => hashPart(part, (subtree) => hashes.get(keyOf(subtree))!))
}

/** Of a small subtree: from its entries, and from the tree over the archived ones. */
async function hashLeaves(
  db: Queryable,
  range: Pick<LeafRange, 'walletId' | 'name' | 'salt'>,
  archived: Peaks,
  { first, count }: ReturnType<typeof sourceOf>,
  currency: string,
): Promise<Uint8Array> {
  const until = first + count
  const known = first < archived.size ? peaksWithin(archived, first, until) : noPeaks
  if (!known) throw new EntriesArchived()
  const after = first + known.size
  const [leaves] = after < until ? await hashEntries(db, [{ ...range, after, until }], currency) : [new Uint8Array()]
  return rootOf(addJoined(known, leaves!))
}

async function readStored(db: Queryable, walletId: string, { level, first, count }: ReturnType<typeof sourceOf>) {
  const { rows } = await db.query<{ hash: Uint8Array }>(
    `select hash from wallet_subtrees where wallet_id = $1 and level = $2 and number >= $3 and number < $3::bigint + $4 order by number`,
    [walletId, level, first, count],
  )
  if (rows.length !== count)
    throw new Error(
      `subtrees ${first} to ${first + count - 1} of level ${level} of wallet ${walletId} are not all there`,
    )
  return rows.map(({ hash }) => hash)
}
