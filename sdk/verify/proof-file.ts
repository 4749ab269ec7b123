/**
 * The proof of one entry, or of one position: a text file in the format tlog-proof of C2SP. Its outer half proves a leaf of the log,
 * which generic tools can check. Its line `extra` has what is proven and the way from it to that leaf.
 */
import { isCount, isCurrency, isObject, isText, isWhole, parseFields, parseHash, parseHashes } from './fields.ts'
import { entryLeaf, hashTexts, headLeaf, type EntryTexts, type ProvenEntry, type WalletHead } from './leaves.ts'
import { toBase64 } from './note.ts'
import { hashBooksOf, parsePosition, positionFields, type PositionPart } from './position.ts'
import { hashLeaf, rootFromLeaf } from './tree.ts'

/** The salt opens the texts. After an erasure there is only their hash. */
type ProvenTexts =
  | { readonly texts: EntryTexts; readonly salt: Uint8Array }
  | { readonly texts: null; readonly textsHash: Uint8Array }

/** The path is that of a consistency proof, and begins with a hash in every case; see `rootsFromPath`. It is empty where the sizes are equal. */
export type WalletSince = { readonly size: number; readonly path: readonly Uint8Array[] }

/** The outer half, which is the same for every leaf of the log. */
type LogPart = {
  /** The place of the leaf in the log, and the path from it to the root of the checkpoint. */
  readonly index: number
  readonly path: readonly Uint8Array[]
  /** The signed note, as it was published. */
  readonly checkpoint: string
}

export type PositionProof = PositionPart & LogPart

export type EntryProof = LogPart & {
  readonly entry: ProvenEntry
  readonly words: ProvenTexts
  /** The wallet's tree when it was sealed, and the path from the entry to its root. */
  readonly walletSize: number
  readonly walletPath: readonly Uint8Array[]
  /** An earlier size of the wallet's tree, and the path that proves that this tree begins with it. */
  readonly since: WalletSince | null
}

export type Proof = EntryProof | PositionProof

export const isPosition = (proof: Proof): proof is PositionProof => 'position' in proof

const firstLine = 'c2sp.org/tlog-proof@v1'
const maxLength = 64_000

export function writeProof(proof: Proof): string {
  const { index, path, checkpoint } = proof
  const extra = { version: 1, ...(isPosition(proof) ? positionFields(proof) : entryFields(proof)) }
  const encoded = toBase64(new TextEncoder().encode(JSON.stringify(extra)))
  return [firstLine, `extra ${encoded}`, `index ${index}`, ...path.map(toBase64), '', checkpoint].join('\n')
}

function entryFields({ entry, words, walletSize, walletPath, since }: EntryProof) {
  return {
    wallet: entry.wallet,
    sequence: entry.sequence,
    amountMinor: String(entry.amountMinor),
    currency: entry.currency,
    atMicros: String(entry.atMicros),
    ...(words.texts ? { texts: words.texts, salt: toBase64(words.salt) } : { textsHash: toBase64(words.textsHash) }),
    walletSize,
    walletPath: walletPath.map(toBase64),
    ...(since && { since: { size: since.size, path: since.path.map(toBase64) } }),
  }
}

export function parseProof(file: string): Proof | null {
  if (file.length > maxLength) return null
  const end = file.indexOf('\n\n')
  const [first, extraLine, indexLine, ...hashes] = file.slice(0, Math.max(end, 0)).split('\n')
  const index = numberAfter('index ', indexLine)
  const path = parseHashes(hashes)
  const extra = extraLine?.startsWith('extra ') ? parseExtra(extraLine.slice('extra '.length)) : null
  if (first !== firstLine || index === null || path === null || extra === null) return null
  return { ...extra, index, path, checkpoint: file.slice(end + 2) }
}

type EntryPart = Omit<EntryProof, keyof LogPart>

function parseExtra(encoded: string): EntryPart | PositionPart | null {
  const fields = parseFields(encoded)
  if (fields['version'] !== 1) return null
  return 'account' in fields ? parsePosition(fields) : parseEntry(fields)
}

function parseEntry(fields: Record<string, unknown>): EntryPart | null {
  const walletPath = parseHashes(fields['walletPath'])
  const words = parseWords(fields)
  const { wallet, sequence, amountMinor, currency, atMicros, walletSize } = fields
  const since = parseSince(fields['since'])
  if (walletPath === null || words === null || since === undefined) return null
  if (typeof wallet !== 'string' || !/^[0-9a-f]{64}$/.test(wallet)) return null
  if (!isCount(sequence) || !isCount(walletSize) || !isWhole(amountMinor) || !isWhole(atMicros)) return null
  if (!isCurrency(currency)) return null
  const entry = { wallet, sequence, amountMinor: BigInt(amountMinor), currency, atMicros: BigInt(atMicros) }
  return { entry, words, walletSize, walletPath, since }
}

/** Null where the proof has none, undefined where it is damaged. */
function parseSince(value: unknown): WalletSince | null | undefined {
  if (value === undefined) return null
  if (!isObject(value) || !isCount(value['size'])) return undefined
  const path = parseHashes(value['path'])
  return path === null ? undefined : { size: value['size'], path }
}

function parseWords({ texts, salt, textsHash }: Record<string, unknown>): ProvenTexts | null {
  if (texts === undefined) {
    const hash = parseHash(textsHash)
    return hash && { texts: null, textsHash: hash }
  }
  const opened = parseHash(salt)
  if (opened === null || !isObject(texts)) return null
  const { counterAccount, referenceType, referenceId, description } = texts
  if (!isText(counterAccount) || !isText(referenceType) || !isText(referenceId)) return null
  if (description !== null && !isText(description)) return null
  return { texts: { counterAccount, referenceType, referenceId, description }, salt: opened }
}

export type ComputedRoot = {
  /** The state of the wallet's tree that has the entry. Undefined for a position. */
  readonly head: WalletHead | undefined
  /** What the log's root must be if all of it is true. */
  readonly root: Uint8Array
}

/** The leaf of the entry in the wallet's tree. */
export async function hashEntryOf({ entry, words }: Pick<EntryProof, 'entry' | 'words'>): Promise<Uint8Array> {
  const textsHash = words.texts ? await hashTexts(words.texts, words.salt) : words.textsHash
  return await hashLeaf(entryLeaf(entry, textsHash))
}

/** Follows the paths to the log's root. Null if one of them fits no tree. */
export async function computeRoot(proof: Proof, logSize: number): Promise<ComputedRoot | null> {
  const { index, path } = proof
  const head = isPosition(proof) ? undefined : await computeHead(proof)
  const leaf = isPosition(proof) ? await hashBooksOf(proof) : head && (await hashLeaf(headLeaf(head)))
  const root = leaf && (await rootFromLeaf(leaf, { index, size: logSize, path }))
  return root ? { head: head ?? undefined, root } : null
}

async function computeHead(proof: EntryProof): Promise<WalletHead | null> {
  const { entry, walletSize, walletPath } = proof
  const leaf = await hashEntryOf(proof)
  const root = await rootFromLeaf(leaf, { index: entry.sequence - 1, size: walletSize, path: walletPath })
  return root && { wallet: entry.wallet, size: walletSize, root }
}

function numberAfter(start: string, line: string | undefined): number | null {
  if (!line?.startsWith(start)) return null
  const digits = line.slice(start.length)
  return /^(0|[1-9][0-9]{0,14})$/.test(digits) ? Number(digits) : null
}
