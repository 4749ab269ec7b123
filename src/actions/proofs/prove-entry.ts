/** The proof of one entry: sealed at once where it is newer than the last seal. */
import { setTimeout as sleep } from 'node:timers/promises'
import { computeRoot, writeProof, type EntryProof, type WalletSince } from '../../../sdk/verify/proof-file.ts'
import { isEqual } from '../../../sdk/verify/tree.ts'
import { beginningParts, inclusionParts } from '../../proof/merkle.ts'
import { aboveArchive, EntriesArchived } from '../../store/closing/archived-entries.ts'
import { keepPeriodsSql } from '../../store/cluster/snapshot.ts'
import { isContention, transact, type Transaction } from '../../store/connection/database.ts'
import { findLog, findNewestCheckpoint, lockLog, readLogParts, type LogState } from '../../store/proofs/proof-log.ts'
import { entrySalt } from '../../store/proofs/entry-leaves.ts'
import { findLeafFields, findTree, readWalletParts } from '../../store/proofs/wallet-trees.ts'
import { beginCheckStep } from '../../store/verify/books-check.ts'
import { endOfLedger } from '../../store/verify/stretch.ts'
import { findChanged, getCheckedUpTo, upsertCheckpoints } from '../../store/verify/verified-wallets.ts'
import { verifyStretches } from '../../store/verify/verify.ts'
import { canSign, logOrigin, parseSigned, signCheckpoint, type Sealing } from './checkpoint.ts'
import { enterIncarnation } from './incarnation.ts'
import { beginLog, namedTree, retryAfterMs, sealTrees } from './seal-books.ts'

export type WantedEntry = {
  readonly walletId: string
  readonly sequence: number
  /** The number of entries that an earlier proof of this wallet names: the new one shows that it continues that history. */
  readonly since?: number | undefined
}

export type EntryProofResult =
  | { readonly kind: 'proof'; readonly file: string }
  | { readonly kind: 'not-found' }
  /** It needs entries that are in the archive. */
  | { readonly kind: 'archived' }
  /** The wallet has fewer sealed entries than `since`. */
  | { readonly kind: 'not-since' }
  /** Other processes seal for too long, the check of this wallet found a fault, or this process does not have the log's key. */
  | { readonly kind: 'not-yet' }
  /** The entry, or what is stored of its tree, is not what was sealed. */
  | { readonly kind: 'contradiction' }

/** A page of the pass holds the log for about 100 ms. */
const attempts = 50

export async function proveEntry(sealing: Sealing, wanted: WantedEntry): Promise<EntryProofResult> {
  const { pool } = sealing.db
  if ((await aboveArchive(pool, wanted.walletId, wanted.sequence)).hasArchived) return { kind: 'archived' }
  if (!(await findLeafFields(pool, wanted.walletId, wanted.sequence))) return { kind: 'not-found' }
  for (let attempt = 1; ; attempt++) {
    const proof = await readProof(sealing, wanted)
    if (proof === 'not-since' || proof === 'archived') return { kind: proof }
    if (proof) return await checked(sealing, proof)
    if (attempt === attempts) return { kind: 'not-yet' }
    // On a cluster only the second check sees one snapshot of all entries.
    const sealed = await sealNow(sealing, wanted.walletId, attempt > 1)
    if (sealed === 'keyless' || (sealed === 'faulty' && attempt > 1)) return { kind: 'not-yet' }
    if (sealed === 'busy') await sleep(retryAfterMs)
  }
}

/** A proof from rows that were changed since is not handed out. */
async function checked({ log }: Sealing, proof: EntryProof): Promise<EntryProofResult> {
  const signed = parseSigned(proof.checkpoint)
  const computed = await computeRoot(proof, signed.size)
  if (computed && isEqual(computed.root, signed.root)) return { kind: 'proof', file: writeProof(proof) }
  log.error('an entry is not what was sealed', { wallet: proof.entry.wallet, sequence: proof.entry.sequence })
  return { kind: 'contradiction' }
}

async function sealNow(
  sealing: Sealing,
  walletId: string,
  isSecond: boolean,
): Promise<'sealed' | 'busy' | 'faulty' | 'keyless'> {
  if (!(await canSign(sealing, await beginLog(sealing)))) return 'keyless'
  const log = await transact(sealing.db, async (tx) => {
    await beginCheckStep(tx, sealing.db.connection, isSecond)
    return await sealWallet(tx, sealing, walletId)
  }).catch((error: unknown) => {
    // Another process sealed or checked this wallet meanwhile.
    if (isContention(error)) return 'busy' as const
    throw error
  })
  if (log === 'busy' || log === 'faulty') return log
  await signCheckpoint(sealing, log)
  return 'sealed'
}

/** Checks the wallet and seals it. */
async function sealWallet(tx: Transaction, sealing: Sealing, walletId: string): Promise<LogState | 'busy' | 'faulty'> {
  const locked = await lockLog(tx)
  if (!locked) return 'busy'
  const log = await enterIncarnation(tx, sealing, locked)
  const tree = await findTree(tx, walletId)
  const changed = await findChanged(tx, walletId)
  if (changed) {
    const { fromSequence: sequence, fromBalanceMinor: balanceMinor } = changed
    const faults = await verifyStretches(tx, [{ walletId, sequence, balanceMinor, until: endOfLedger }], String)
    if (faults.length > 0) return 'faulty'
    await upsertCheckpoints(tx, [changed])
  }
  const checkedUpTo = await getCheckedUpTo(tx, walletId)
  if (checkedUpTo <= (tree?.peaks.size ?? 0)) return log
  const growth = { walletId, tree, checkedUpTo, until: checkedUpTo }
  const { peaks, sealed } = await sealTrees(tx, log, [growth], sealing.config.currency.code)
  return sealed.has(walletId) ? { ...log, peaks } : 'faulty'
}

const snapshotSql = 'set transaction isolation level repeatable read'

/** In one snapshot: a seal meanwhile changes the tree. Undefined if no signed state of the log has the entry. */
export async function readProof(
  sealing: Sealing,
  { walletId, sequence, since }: WantedEntry,
): Promise<EntryProof | 'not-since' | 'archived' | undefined> {
  return await transact(sealing.db, async (tx) => {
    await tx.query(`${snapshotSql}; ${keepPeriodsSql}`)
    const log = await findLog(tx)
    const tree = await findTree(tx, walletId)
    const fields = await findLeafFields(tx, walletId, sequence)
    const checkpoint = log && (await findNewestCheckpoint(tx, logOrigin(sealing, log)))
    if (!tree || tree.leaf === null || !fields || !checkpoint) return undefined
    const { size } = tree.peaks
    if (size < sequence || checkpoint.size <= tree.leaf) return undefined
    if (since !== undefined && since > size) return 'not-since'
    const currency = sealing.config.currency.code
    const named = namedTree(tree)
    const { texts, ...entry } = fields
    return {
      entry: { wallet: named.name, sequence, currency, ...entry },
      words: { texts, salt: entrySalt(tree, sequence) },
      walletSize: size,
      walletPath: await readWalletParts(tx, named, inclusionParts(sequence - 1, size), currency),
      since: since === undefined ? null : await sinceOf(tx, named, { since, size, currency }),
      index: tree.leaf,
      path: await readLogParts(tx, inclusionParts(tree.leaf, checkpoint.size)),
      checkpoint: checkpoint.note,
    }
  }).catch((error: unknown) => {
    if (error instanceof EntriesArchived) return 'archived' as const
    throw error
  })
}

async function sinceOf(
  tx: Transaction,
  named: ReturnType<typeof namedTree>,
  { since, size, currency }: { readonly since: number; readonly size: number; readonly currency: string },
): Promise<WalletSince> {
  return { size: since, path: await readWalletParts(tx, named, beginningParts(since, size), currency) }
}
