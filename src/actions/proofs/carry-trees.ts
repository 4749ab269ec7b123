/**
 * The trees of the wallets of a period, up to their last entry in it: later proofs grow from there, without the archived entries. Each is
 * compared with the sealed tree of the wallet, so that what is archived is what was sealed.
 */
import { addJoined, rootOf, type Peaks } from '../../proof/merkle.ts'
import { ArchiveRefused } from '../../store/closing/archive/archive-file.ts'
import { createCarriedEntries, insertCarriedEntries } from '../../store/closing/archive/carry-entries.ts'
import { listCarriedWallets, type CarriedWallet } from '../../store/closing/archive/carry-entries.ts'
import type { Checking } from '../../store/cluster/agreement.ts'
import type { Queryable } from '../../store/connection/open-client.ts'
import { hashInPages } from '../../store/proofs/entry-leaves.ts'
import { namedTree } from './seal-books.ts'

const walletsPerPage = 500

type Options = {
  readonly currency: string
  readonly entries: number
  /** Entries whose hashes are in memory at once. */
  readonly entriesPerPage?: number
  readonly onProgress?: (what: string, done: number, of: number) => void
  readonly signal?: AbortSignal
}

export async function carryTrees(
  client: Checking,
  period: number,
  { currency, entries, entriesPerPage, onProgress, signal }: Options,
): Promise<void> {
  await createCarriedEntries(client, period)
  let done = 0
  for (let after: string | null = null; ;) {
    signal?.throwIfAborted()
    const wallets: CarriedWallet[] = await listCarriedWallets(client, period, after, walletsPerPage)
    const grown = await growTrees(client, wallets, currency, entriesPerPage)
    await insertCarriedEntries(client, period, grown)
    done += wallets.reduce((sum, { until, archived }) => sum + until - archived.size, 0)
    onProgress?.('trees', done, entries)
    if (wallets.length < walletsPerPage) return
    after = wallets.at(-1)!.walletId
  }
}

/** Each tree up to the last entry of the period. It grows on to what was sealed, and is compared with that. */
async function growTrees(
  client: Queryable,
  wallets: readonly CarriedWallet[],
  currency: string,
  entriesPerPage: number | undefined,
) {
  const trees = wallets.map((wallet) => {
    const sealed = sealedTree(wallet)
    return { ...wallet, sealed: sealed.peaks, named: namedTree({ walletId: wallet.walletId, salt: sealed.salt }) }
  })
  const ranges = trees.flatMap(({ named, archived, until, sealed }) => [
    { ...named, after: archived.size, until },
    { ...named, after: until, until: sealed.size },
  ])
  const grown = wallets.map(({ archived }) => ({ carried: archived, whole: archived }))
  for await (const page of hashInPages(client, ranges, currency, entriesPerPage))
    for (const { ordinal, hashes } of page) {
      const tree = grown[Math.floor(ordinal / 2)]!
      tree.whole = addJoined(tree.whole, hashes)
      if (ordinal % 2 === 0) tree.carried = tree.whole
    }
  return trees.map(({ walletId, sealed }, i) => {
    const { carried, whole } = grown[i]!
    if (Buffer.compare(rootOf(whole), rootOf(sealed)) !== 0)
      throw new ArchiveRefused(
        `The entries of wallet ${walletId} are not those that were sealed: run npx billfold verify.`,
      )
    return { walletId, peaks: carried }
  })
}

function sealedTree({ walletId, until, sealed }: CarriedWallet): { salt: Uint8Array; peaks: Peaks } {
  if (!sealed || sealed.peaks.size < until)
    throw new ArchiveRefused(
      `The entries of wallet ${walletId} are not all sealed yet. The service seals them every ten minutes: try again then.`,
    )
  return sealed
}
