/**
 * The proof of one entry: a text file in the format tlog-proof of C2SP. Its outer half proves a leaf of the log, which generic tools
 * can check. Its line `extra` has the entry and the way from it to that leaf.
 */
import { entryLeaf, hashTexts, headLeaf, type EntryTexts, type ProvenEntry, type WalletHead } from './leaves.ts'
import { fromBase64, isWellFormed, parseNote, toBase64, type SignedNote } from './note.ts'
import { hashLeaf, rootFromLeaf } from './tree.ts'

/** The salt opens the texts. After an erasure there is only their hash. */
type ProvenTexts =
  | { readonly texts: EntryTexts; readonly salt: Uint8Array }
  | { readonly texts: null; readonly textsHash: Uint8Array }

/** The path is that of a consistency proof, and begins with a hash in every case; see `rootsFromPath`. It is empty where the sizes are equal. */
export type WalletSince = { readonly size: number; readonly path: readonly Uint8Array[] }

export type EntryProof = {
  readonly entry: ProvenEntry
  readonly words: ProvenTexts
  /** The wallet's tree when it was sealed, and the path from the entry to its root. */
  readonly walletSize: number
  readonly walletPath: readonly Uint8Array[]
  /** An earlier size of the wallet's tree, and the path that proves that this tree begins with it. */
  readonly since: WalletSince | null
  /** The place of that state in the log, and the path from it to the root of the checkpoint. */
  readonly index: number
  readonly path: readonly Uint8Array[]
  /** The signed note, as it was published. */
  readonly checkpoint: string
}

const firstLine = 'c2sp.org/tlog-proof@v1'
const maxLength = 64_000
const maxHashes = 64

export function writeProof(proof: EntryProof): string {
  const { entry, words, walletSize, walletPath, since, index, path, checkpoint } = proof
  const extra = {
    version: 1,
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
  const encoded = toBase64(new TextEncoder().encode(JSON.stringify(extra)))
  return [firstLine, `extra ${encoded}`, `index ${index}`, ...path.map(toBase64), '', checkpoint].join('\n')
}

export function parseProof(file: string): EntryProof | null {
  if (file.length > maxLength) return null
  const end = file.indexOf('\n\n')
  const [first, extraLine, indexLine, ...hashes] = file.slice(0, Math.max(end, 0)).split('\n')
  const index = numberAfter('index ', indexLine)
  const path = parseHashes(hashes)
  const extra = extraLine?.startsWith('extra ') ? parseExtra(extraLine.slice('extra '.length)) : null
  if (first !== firstLine || index === null || path === null || extra === null) return null
  return { ...extra, index, path, checkpoint: file.slice(end + 2) }
}

type Extra = Pick<EntryProof, 'entry' | 'words' | 'walletSize' | 'walletPath' | 'since'>

function parseExtra(encoded: string): Extra | null {
  const fields = parseJson(encoded)
  const walletPath = parseHashes(fields['walletPath'])
  const words = parseWords(fields)
  const { wallet, sequence, amountMinor, currency, atMicros, walletSize } = fields
  const since = parseSince(fields['since'])
  if (fields['version'] !== 1 || walletPath === null || words === null || since === undefined) return null
  if (typeof wallet !== 'string' || !/^[0-9a-f]{64}$/.test(wallet)) return null
  if (!isCount(sequence) || !isCount(walletSize) || !isWhole(amountMinor) || !isWhole(atMicros)) return null
  if (typeof currency !== 'string' || !/^[A-Z]{3}$/.test(currency)) return null
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
    const hash = hashOf(textsHash)
    return hash && { texts: null, textsHash: hash }
  }
  const opened = hashOf(salt)
  if (opened === null || !isObject(texts)) return null
  const { counterAccount, referenceType, referenceId, description } = texts
  if (!isText(counterAccount) || !isText(referenceType) || !isText(referenceId)) return null
  if (description !== null && !isText(description)) return null
  return { texts: { counterAccount, referenceType, referenceId, description }, salt: opened }
}

export type ComputedProof = {
  readonly note: SignedNote
  readonly head: WalletHead
  /** What the log's root must be if all of it is true. */
  readonly root: Uint8Array
}

/** The leaf of the entry in the wallet's tree. */
export async function hashEntryOf({ entry, words }: Pick<EntryProof, 'entry' | 'words'>): Promise<Uint8Array> {
  const textsHash = words.texts ? await hashTexts(words.texts, words.salt) : words.textsHash
  return await hashLeaf(entryLeaf(entry, textsHash))
}

/** Follows the paths from the entry to the log's root. Null if one of them fits no tree. */
export async function computeRoot(proof: EntryProof, logSize: number): Promise<ComputedProof | null> {
  const { entry, walletSize, walletPath, index, path } = proof
  const note = parseNote(proof.checkpoint)
  const leaf = await hashEntryOf(proof)
  const walletRoot = await rootFromLeaf(leaf, { index: entry.sequence - 1, size: walletSize, path: walletPath })
  if (note === null || walletRoot === null) return null
  const head = { wallet: entry.wallet, size: walletSize, root: walletRoot }
  const root = await rootFromLeaf(await hashLeaf(headLeaf(head)), { index, size: logSize, path })
  return root && { note, head, root }
}

function numberAfter(start: string, line: string | undefined): number | null {
  if (!line?.startsWith(start)) return null
  const digits = line.slice(start.length)
  return /^(0|[1-9][0-9]{0,14})$/.test(digits) ? Number(digits) : null
}

function parseHashes(lines: unknown): readonly Uint8Array[] | null {
  if (!Array.isArray(lines) || lines.length > maxHashes) return null
  const hashes = lines.map(hashOf)
  return hashes.every((hash) => hash !== null) ? hashes : null
}

function hashOf(text: unknown): Uint8Array | null {
  const bytes = typeof text === 'string' ? fromBase64(text) : null
  return bytes?.length === 32 ? bytes : null
}

function parseJson(encoded: string): Record<string, unknown> {
  const bytes = fromBase64(encoded)
  if (bytes === null) return {}
  try {
    const fields: unknown = JSON.parse(new TextDecoder('utf-8', { fatal: true }).decode(bytes))
    return isObject(fields) ? fields : {}
  } catch {
    return {}
  }
}

const isObject = (value: unknown): value is Record<string, unknown> => typeof value === 'object' && value !== null
const isText = (value: unknown): value is string => typeof value === 'string' && isWellFormed(value)
const isCount = (value: unknown): value is number => Number.isSafeInteger(value) && Number(value) >= 1
const isWhole = (value: unknown): value is string => typeof value === 'string' && /^-?(0|[1-9][0-9]{0,17})$/.test(value)
