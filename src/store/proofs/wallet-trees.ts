/** The tree over each wallet's entries. A leaf is hashed in the database, from the row of the entry; see `sdk/verify/leaves.ts`. */
import { createHash } from 'node:crypto'
import { hashPart, type Peaks, type ProofPart, type Subtree } from '../../proof/merkle.ts'
import { plainArray } from '../connection/arrays.ts'
import type { Queryable, Transaction } from '../connection/database.ts'
import { maybe } from '../connection/rows.ts'
import { inRange, type WalletRange } from '../verify/slice.ts'
import { hashLeafSql, lengthPrefixedSql, linesSql } from './leaf-sql.ts'
import { foldComplete, hex, joinHashes, keyOf, readPeaks, sourceOf, splitHashes, tileWidth } from './subtrees.ts'

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

const grownSql = `
select v.wallet_id as "walletId", v.sequence as "checkedUpTo", h.salt, h.size, h.peaks, h.leaf
from (select * from verified_wallets where ${inRange('wallet_id')}) v
left join (select * from wallet_heads where ${inRange('wallet_id')}) h on h.wallet_id = v.wallet_id
where v.sequence > coalesce(h.size, 0) order by v.wallet_id`

/** Those among the next `walletsAtMost` wallets. */
export async function nextGrown(
  db: Queryable,
  from: string | null,
  walletsAtMost: number,
): Promise<WalletRange & { readonly grown: readonly GrownWallet[] }> {
  const boundary = await db.query<{ id: string }>(
    `select wallet_id as id from verified_wallets where $1::uuid is null or wallet_id >= $1 order by wallet_id offset $2 limit 1`,
    [from, walletsAtMost],
  )
  const until = maybe(boundary.rows)?.id ?? null
  const { rows } = await db.query<TreeRow & { checkedUpTo: bigint }>(grownSql, [from, until])
  const grown = rows.map((row) => ({
    walletId: row.walletId,
    checkedUpTo: Number(row.checkedUpTo),
    tree: toTree(row),
  }))
  return { from, until, grown }
}

export async function findTree(db: Queryable, walletId: string): Promise<WalletTree | undefined> {
  const { rows } = await db.query<TreeRow>(`select ${treeColumns} from wallet_heads h where h.wallet_id = $1`, [
    walletId,
  ])
  const row = maybe(rows)
  return row && toTree(row)
}

/** A wallet with leaves in the log; the salt is null where its tree is gone. */
export type SealedWallet = { readonly walletId: string; readonly salt: Uint8Array | null }

/** Those with leaves below `logSize`, in the order of their ids. By the log: the row of a tree could be removed. */
export async function nextSealed(
  db: Queryable,
  after: string | null,
  logSize: number,
  limit: number,
): Promise<readonly SealedWallet[]> {
  const { rows } = await db.query<SealedWallet>(
    `select l.subject as "walletId", h.salt from (
       select distinct subject from log_leaves
       where kind = 'wallet' and subject is not null and number < $2 and ($1::uuid is null or subject > $1) order by subject limit $3
     ) l left join wallet_heads h on h.wallet_id = l.subject order by l.subject`,
    [after, logSize, limit],
  )
  return rows
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
     from transfers where wallet_id = $1 and sequence = $2`,
    [walletId, sequence],
  )
  return maybe(rows)
}

/** Entries after `after` up to `until` of one wallet. */
export type LeafRange = {
  readonly walletId: string
  readonly name: string
  readonly salt: Uint8Array
  readonly after: number
  readonly until: number
}

/** The salt of one entry: it says nothing about that of another. */
const entrySaltSql = (sequence: string, salt: string) => `sha256(convert_to(${sequence}::text, 'UTF8') || ${salt})`

/** The same in the service. */
export function entrySalt({ salt }: Pick<WalletTree, 'salt'>, sequence: number): Uint8Array {
  return createHash('sha256').update(String(sequence)).update(salt).digest()
}

const textsSql = linesSql(
  ['t.counter_account', 't.reference_type', 't.reference_id', 't.description'].map(lengthPrefixedSql),
)
const leafHashSql = hashLeafSql([
  `'billfold-entry/v1'`,
  's.name',
  't.sequence',
  't.amount',
  '$6::text',
  '(extract(epoch from t.created_at) * 1000000)::bigint',
  `encode(sha256(${entrySaltSql('t.sequence', 's.salt')} || ${textsSql}), 'hex')`,
])

const leavesSql = `
select s.wallet_id as "walletId", s.after, count(*)::float8 as count, string_agg(${leafHashSql}, ''::bytea order by t.sequence) as hashes
from (select wallet_id, name, decode(salt, 'hex') as salt, after, until
  from unnest($1::uuid[], $2::text[], $3::text[], $4::bigint[], $5::bigint[]) as r(wallet_id, name, salt, after, until)) s
join transfers t on t.wallet_id = s.wallet_id and t.sequence > s.after and t.sequence <= s.until
group by s.wallet_id, s.after`

/** The hashes of the leaves of each range, in the order of the ranges. */
async function hashEntries(
  db: Queryable,
  ranges: readonly LeafRange[],
  currency: string,
): Promise<readonly (readonly Uint8Array[])[]> {
  const found = await hashFoundEntries(db, ranges, currency)
  return ranges.map(({ walletId, after, until }, i) => {
    const hashes = found[i]!
    // A gap would shift every later leaf. The check of the books names it.
    if (hashes.length !== until - after)
      throw new Error(`entries ${after + 1} to ${until} of wallet ${walletId} are not all there`)
    return hashes
  })
}

/** The same without a complaint about missing entries. */
export async function hashFoundEntries(
  db: Queryable,
  ranges: readonly LeafRange[],
  currency: string,
): Promise<readonly (readonly Uint8Array[])[]> {
  if (ranges.length === 0) return []
  const { rows } = await db.query<{ walletId: string; after: bigint; count: number; hashes: Uint8Array }>({
    name: 'hash-entries',
    text: leavesSql,
    values: [
      plainArray(ranges, ({ walletId }) => walletId),
      plainArray(ranges, ({ name }) => name),
      plainArray(ranges, ({ salt }) => hex(salt)),
      plainArray(ranges, ({ after }) => after),
      plainArray(ranges, ({ until }) => until),
      currency,
    ],
  })
  const found = new Map(rows.map(({ walletId, after, hashes }) => [`${walletId} ${after}`, splitHashes(hashes)]))
  return ranges.map(({ walletId, after }) => found.get(`${walletId} ${after}`) ?? [])
}

/** The first bytes of leaves, which are added to those of the wallet. */
export type NewLeaves = { readonly walletId: string; readonly first: number; readonly hashes: readonly Uint8Array[] }

const markBytes = 6

/** Rows of at most 256 marks. The first may go on in a row that is there. */
function markRows({ walletId, first, hashes }: NewLeaves) {
  const rows: { walletId: string; number: number; marks: string }[] = []
  for (let done = 0; done < hashes.length;) {
    const number = Math.floor((first + done) / tileWidth)
    const count = Math.min(hashes.length - done, (number + 1) * tileWidth - (first + done))
    const marks = hashes.slice(done, done + count).map((hash) => hash.subarray(0, markBytes))
    rows.push({ walletId, number, marks: Buffer.concat(marks).toString('hex') })
    done += count
  }
  return rows
}

export async function addMarks(tx: Transaction, added: readonly NewLeaves[]): Promise<void> {
  const rows = added.flatMap(markRows)
  await tx.query(
    `insert into wallet_marks as m (wallet_id, number, marks)
     select wallet_id, number, decode(marks, 'hex') from unnest($1::uuid[], $2::bigint[], $3::text[]) as r(wallet_id, number, marks)
     on conflict (wallet_id, number) do update set marks = m.marks || excluded.marks`,
    [
      plainArray(rows, ({ walletId }) => walletId),
      plainArray(rows, ({ number }) => number),
      plainArray(rows, ({ marks }) => marks),
    ],
  )
}

/** The first of these leaves, counted from `first`, whose mark is another. Undefined if all are the same. */
export async function findChangedMark(
  db: Queryable,
  { walletId, first, hashes }: NewLeaves,
): Promise<number | undefined> {
  const { rows } = await db.query<{ number: bigint; marks: Uint8Array }>(
    'select number, marks from wallet_marks where wallet_id = $1 and number between $2 and $3 order by number',
    [walletId, Math.floor(first / tileWidth), Math.floor((first + hashes.length) / tileWidth)],
  )
  const marks = new Map(rows.map(({ number, marks }) => [Number(number), Buffer.from(marks)]))
  const at = hashes.findIndex((hash, i) => {
    const [tile, place] = [Math.floor((first + i) / tileWidth), ((first + i) % tileWidth) * markBytes]
    return !marks
      .get(tile)
      ?.subarray(place, place + markBytes)
      .equals(hash.subarray(0, markBytes))
  })
  return at === -1 ? undefined : first + at
}

export type WalletSubtree = Subtree & { readonly walletId: string; readonly hash: Uint8Array }

export async function upsertTrees(
  tx: Transaction,
  trees: readonly (WalletTree & { readonly leaf: number })[],
  subtrees: readonly WalletSubtree[],
): Promise<void> {
  await tx.query(
    `insert into wallet_heads (wallet_id, salt, size, peaks, leaf)
     select wallet_id, decode(salt, 'hex'), size, decode(peaks, 'hex'), leaf
     from unnest($1::uuid[], $2::text[], $3::bigint[], $4::text[], $5::bigint[]) as h(wallet_id, salt, size, peaks, leaf)
     on conflict (wallet_id) do update set size = excluded.size, peaks = excluded.peaks, leaf = excluded.leaf`,
    [
      plainArray(trees, ({ walletId }) => walletId),
      plainArray(trees, ({ salt }) => hex(salt)),
      plainArray(trees, ({ peaks }) => peaks.size),
      plainArray(trees, ({ peaks }) => hex(joinHashes(peaks.hashes))),
      plainArray(trees, ({ leaf }) => leaf),
    ],
  )
  if (subtrees.length === 0) return
  await tx.query(
    `insert into wallet_subtrees (wallet_id, level, number, hash)
     select wallet_id, level, number, decode(hash, 'hex')
     from unnest($1::uuid[], $2::smallint[], $3::bigint[], $4::text[]) as n(wallet_id, level, number, hash)`,
    [
      plainArray(subtrees, ({ walletId }) => walletId),
      plainArray(subtrees, ({ level }) => level),
      plainArray(subtrees, ({ index }) => index),
      plainArray(subtrees, ({ hash }) => hex(hash)),
    ],
  )
}

/** The hashes of a proof in this wallet's tree. Reads at most 256 entries or stored subtrees for each subtree. */
export async function readWalletParts(
  db: Queryable,
  range: Pick<LeafRange, 'walletId' | 'name' | 'salt'>,
  parts: readonly ProofPart[],
  currency: string,
): Promise<readonly Uint8Array[]> {
  const subtrees = parts.flat()
  const hashes = new Map<string, Uint8Array>()
  for (const subtree of subtrees) {
    const { level, first, count } = sourceOf(subtree)
    const [leaves = []] =
      level === 0
        ? await hashEntries(db, [{ ...range, after: first, until: first + count }], currency)
        : [await readStored(db, range.walletId, { level, first, count })]
    hashes.set(keyOf(subtree), foldComplete(leaves))
  }
  return parts.map((part) => hashPart(part, (subtree) => hashes.get(keyOf(subtree))!))
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
