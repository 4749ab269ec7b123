/**
 * The public address of a receipt. It names one entry and has a mark that only the owner of the entry, the app that made it and the
 * service can know: the entry's own salt makes it, and no other entry has the same. So an address cannot be guessed or changed into
 * that of another receipt, it lasts as long as the entry, and needs no row and no key.
 */
import { createHmac, timingSafeEqual } from 'node:crypto'
import { writeProof } from '../../../sdk/verify/proof-file.ts'
import { verifyProof } from '../../../sdk/verify.ts'
import { networkOf } from '../../platform/address.ts'
import { faultFields } from '../../platform/log.ts'
import { publishedKey } from '../../proof/sign-note.ts'
import { findArchiveEnd, isArchived, type Archived } from '../../store/closing/archived-entries.ts'
import type { Queryable } from '../../store/connection/database.ts'
import { listIncarnations } from '../../store/proofs/incarnations.ts'
import { findLog } from '../../store/proofs/proof-log.ts'
import { entrySalt } from '../../store/proofs/entry-leaves.ts'
import { findTree, type WalletTree } from '../../store/proofs/wallet-trees.ts'
import { findTransferByReference, type Transfer } from '../../store/wallets.ts'
import { receiptChecks, takeLimit, type Limited } from '../limits.ts'
import { describeTransfers, type ActivityEntry } from '../money/read-activity.ts'
import type { Service } from '../service.ts'
import { canSign, logOrigin, readLogSeed, type Sealing } from './checkpoint.ts'
import { proveEntry, readProof } from './prove-entry.ts'

export const verifyPath = '/verify'

const keyBytes = 16
const markBytes = 16
const addressFormat = /^[\w-]{43}$/

function markOf(tree: WalletTree, sequence: number): Buffer {
  return createHmac('sha256', entrySalt(tree, sequence)).update('receipt address').digest().subarray(0, markBytes)
}

/** Undefined before the wallet's first entry was sealed. */
export async function findReceiptUrl(
  { db, config }: Pick<Service, 'db' | 'config'>,
  { walletId, sequence, referenceKey }: Transfer,
): Promise<string | undefined> {
  const tree = await findTree(db.pool, walletId)
  if (!tree) return undefined
  const name = Buffer.concat([Buffer.from(referenceKey, 'hex'), markOf(tree, sequence)]).toString('base64url')
  return `${config.publicUrl}${verifyPath}/${name}`
}

/** Seals the entry if it is newer than the last seal. A fault is logged: the receipt is shown without the proof. */
export async function findProofState(
  sealing: Sealing,
  { walletId, sequence }: Transfer,
): Promise<'proof' | 'not-yet' | 'contradiction'> {
  try {
    const { kind } = await proveEntry(sealing, { walletId, sequence })
    return kind === 'proof' || kind === 'contradiction' ? kind : 'not-yet'
  } catch (error) {
    sealing.log.warn('an entry could not be proven', faultFields(error))
    return 'not-yet'
  }
}

export type CheckedReceipt =
  | Limited
  | { readonly kind: 'unknown' }
  /** No signed state of the log has the entry yet, or this process cannot read the log's key. */
  | { readonly kind: 'unsealed' }
  /** The entry is not what was signed. */
  | { readonly kind: 'differs' }
  | { readonly kind: 'archived' }
  | { readonly kind: 'genuine'; readonly entry: ActivityEntry }

export async function checkReceipt(service: Service, name: string, address: string): Promise<CheckedReceipt> {
  const limited = await takeLimit(service, receiptChecks, networkOf(address))
  if (limited) return limited
  const transfer = addressFormat.test(name) ? await findNamed(service, name) : undefined
  if (!transfer) return { kind: 'unknown' }
  if (isArchived(transfer)) return { kind: 'archived' }
  const proof = await readProof(service, { walletId: transfer.walletId, sequence: transfer.sequence })
  const keys = await readLogKeys(service)
  if (proof === 'archived') return { kind: proof }
  if (!proof || proof === 'not-since' || keys.length === 0) return { kind: 'unsealed' }
  const { ok } = await verifyProof(writeProof(proof), { keys })
  if (!ok) return { kind: 'differs' }
  const [entry] = await describeTransfers(service, transfer.walletId, [transfer])
  return { kind: 'genuine', entry: entry! }
}

async function findNamed({ db }: Service, name: string): Promise<Transfer | Archived | undefined> {
  const bytes = Buffer.from(name, 'base64url')
  // Decoding ignores bits that belong to no whole byte: each receipt must have one address.
  if (bytes.length !== keyBytes + markBytes || bytes.toString('base64url') !== name) return undefined
  const transfer = await findTransferByReference(db.pool, bytes.subarray(0, keyBytes).toString('hex'))
  const tree = transfer && (await findTree(db.pool, transfer.walletId))
  const mark = bytes.subarray(keyBytes)
  if (!tree) return undefined
  if (isArchived(transfer)) return (await isMarkOfArchived(db.pool, tree, mark)) ? transfer : undefined
  return timingSafeEqual(markOf(tree, transfer.sequence), mark) ? transfer : undefined
}

/** The marks of this many entries take a tenth of a second. In a longer archive the mark is not looked for. */
const maxMarks = 20_000

/** Only the files know which of the wallet's entries it is. */
async function isMarkOfArchived(db: Queryable, tree: WalletTree, mark: Uint8Array): Promise<boolean> {
  const end = await findArchiveEnd(db, tree.walletId)
  if (!end || end.sequence > maxMarks) return end !== undefined
  for (let sequence = 1; sequence <= end.sequence; sequence++)
    if (timingSafeEqual(markOf(tree, sequence), mark)) return true
  return false
}

/** More restores than any service has. */
const maxIncarnations = 100

/**
 * The keys of the log under each of its names, the present one first. None before the log was begun, nor in a process that cannot
 * read the key. What was signed with a lost key needs a key from elsewhere.
 */
export async function readLogKeys(sealing: Sealing): Promise<readonly string[]> {
  const log = await findLog(sealing.db.pool)
  if (!log || log.sealedKey === null || !(await canSign(sealing, log))) return []
  const seed = await readLogSeed(sealing, log)
  const names = [log.id]
  for (const { previous, reason } of await listIncarnations(sealing.db.pool, maxIncarnations)) {
    if (reason === 'key-lost') break
    names.push(previous)
  }
  return await Promise.all(names.map((id) => publishedKey(logOrigin(sealing, { id }), seed)))
}
