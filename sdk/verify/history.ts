/** Compares two proofs of one wallet: whether the later state of its tree begins with all entries of the earlier one. */
import { hashEntryOf, type EntryProof } from './proof-file.ts'
import { hashNode, isEqual, rootsFromPath } from './tree.ts'

export type ComparedHistory =
  /** All entries of the earlier state are in the later one, unchanged. */
  | 'kept'
  /** The two signed states contradict each other. */
  | 'rewritten'
  /** They do not contradict each other in what both show, which is not the whole history. */
  | 'no-link'

/** Both proofs are of one wallet and have been verified, so their hashes are those of signed trees. `later` is not the smaller one. */
export async function compareHistories(earlier: EntryProof, later: EntryProof): Promise<ComparedHistory> {
  const [before, after] = [await readHashes(earlier), await readHashes(later)]
  const whole = rangeOf(0, earlier.walletSize)
  if (later.since?.size === earlier.walletSize) {
    const { size, path } = later.since
    const roots = await rootsFromPath(size, later.walletSize, path)
    // Otherwise the path is damaged, and says nothing.
    if (roots && isEqual(roots.later, after.get(rangeOf(0, later.walletSize))!)) after.set(whole, roots.earlier)
  }
  const shared = [...before].filter(([range]) => after.has(range))
  if (shared.some(([range, hash]) => !isEqual(hash, after.get(range)!))) return 'rewritten'
  return after.has(whole) ? 'kept' : 'no-link'
}

/** Entries from `from` up to `to`: their hash is the same in every tree that begins with them. */
const rangeOf = (from: number, to: number) => `${from}-${to}`

/** The hashes that a proof shows of its wallet's tree, by the entries that they cover: the leaf, its siblings, and all above it. */
async function readHashes(proof: EntryProof): Promise<Map<string, Uint8Array>> {
  const { entry, walletSize, walletPath } = proof
  const index = entry.sequence - 1
  let hash = await hashEntryOf(proof)
  const hashes = new Map([[rangeOf(index, index + 1), hash]])
  for (const [i, { from, middle, to }] of splitsAbove(index, walletSize).entries()) {
    const sibling = walletPath[i]!
    const isLeft = index < middle
    hashes.set(isLeft ? rangeOf(middle, to) : rangeOf(from, middle), sibling)
    hash = isLeft ? await hashNode(hash, sibling) : await hashNode(sibling, hash)
    hashes.set(rangeOf(from, to), hash)
  }
  return hashes
}

/** How the tree is split on the way to the leaf, from the leaf to the root. */
function splitsAbove(index: number, size: number) {
  const splits: { readonly from: number; readonly middle: number; readonly to: number }[] = []
  for (let [from, to] = [0, size]; to - from > 1;) {
    let half = 1
    while (half * 2 < to - from) half *= 2
    const middle = from + half
    splits.unshift({ from, middle, to })
    if (index < middle) to = middle
    else from = middle
  }
  return splits
}
