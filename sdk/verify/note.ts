/** Signed notes and checkpoints, as C2SP defines them: text, an empty line, and a line for each signature. */
import { getSubtle } from '../subtle.ts'
import { joined, sha256 } from './tree.ts'

export type SignatureLine = { readonly name: string; readonly keyId: string; readonly signature: Uint8Array }
export type SignedNote = { readonly text: string; readonly signatures: readonly SignatureLine[] }
export type SignerKey = { readonly name: string; readonly keyId: string; readonly publicKey: Uint8Array }
export type Checkpoint = {
  readonly origin: string
  readonly size: number
  readonly root: Uint8Array
  /** When it was signed, by the clock of the log. Null if it does not say so. */
  readonly signedAt: Date | null
}

/** Longer than any note that the service signs; a longer one is not read. */
const maxNoteLength = 100_000
const maxSignatures = 100
const ed25519 = 1

export function parseNote(note: string): SignedNote | null {
  const end = note.lastIndexOf('\n\n')
  // Control characters could show a reader another text than the signed one.
  if (end < 0 || note.length > maxNoteLength || /[^\n\P{Cc}]/u.test(note) || !isWellFormed(note)) return null
  const lines = note.slice(end + 2).split('\n')
  if (lines.pop() !== '' || lines.length === 0 || lines.length > maxSignatures) return null
  const signatures = lines.map(parseSignature)
  return signatures.every((each) => each !== null) ? { text: note.slice(0, end + 1), signatures } : null
}

function parseSignature(line: string): SignatureLine | null {
  const [, name, encoded] = /^— ([^\s+]+) ([A-Za-z0-9+/=]+)$/.exec(line) ?? []
  const bytes = encoded === undefined ? null : fromBase64(encoded)
  if (name === undefined || bytes === null || bytes.length < 5) return null
  return { name, keyId: toHex(bytes.subarray(0, 4)), signature: bytes.subarray(4) }
}

/** A key as it is published: name, id and public key, joined by `+`. Null if it is none, or its id is not its own. */
export async function parseSignerKey(text: string): Promise<SignerKey | null> {
  const [, name, keyId, encoded] = /^([^\s+]+)\+([0-9a-f]{8})\+([A-Za-z0-9+/=]+)$/.exec(text.trim()) ?? []
  const bytes = encoded === undefined ? null : fromBase64(encoded)
  if (name === undefined || bytes?.length !== 33 || bytes[0] !== ed25519) return null
  const publicKey = bytes.subarray(1)
  return (await signerKeyId(name, publicKey)) === keyId ? { name, keyId, publicKey } : null
}

export async function signerKeyId(name: string, publicKey: Uint8Array): Promise<string> {
  const hash = await sha256(new TextEncoder().encode(`${name}\n`), Uint8Array.of(ed25519), publicKey)
  return toHex(hash.subarray(0, 4))
}

/** The keys that signed the note. A signature of another key is passed over; a wrong one of a given key makes the note worthless. */
export async function findSigners(note: SignedNote, keys: readonly SignerKey[]): Promise<readonly SignerKey[]> {
  const signers: SignerKey[] = []
  for (const { name, keyId, signature } of note.signatures) {
    const key = keys.find((each) => each.name === name && each.keyId === keyId)
    if (!key || signers.includes(key)) continue
    if (!(await isSignedBy(key, note.text, signature))) return []
    signers.push(key)
  }
  return signers
}

async function isSignedBy({ publicKey }: SignerKey, text: string, signature: Uint8Array): Promise<boolean> {
  const algorithm = { name: 'Ed25519' }
  const subtle = await getSubtle()
  const key = await subtle.importKey('raw', joined([publicKey]), algorithm, false, ['verify'])
  return await subtle.verify(algorithm, key, joined([signature]), joined([new TextEncoder().encode(text)]))
}

export function parseCheckpoint(text: string): Checkpoint | null {
  const [origin, size, encoded, ...extensions] = text.split('\n')
  const root = encoded === undefined ? null : fromBase64(encoded)
  if (!origin || !size || !/^(0|[1-9][0-9]{0,14})$/.test(size) || root?.length !== 32) return null
  return { origin, size: Number(size), root, signedAt: parseSignedAt(extensions) }
}

const signedAtStart = 'signed '

/** The extension line of a checkpoint that has its time. */
export const signedAtLine = (at: Date) => `${signedAtStart}${at.toISOString()}`

/** Lines of other kinds are passed over, as C2SP asks for. */
function parseSignedAt(extensions: readonly string[]): Date | null {
  const [line, another] = extensions.filter((each) => each.startsWith(signedAtStart))
  const at = another === undefined ? new Date(line?.slice(signedAtStart.length) ?? '') : null
  return at && !Number.isNaN(at.getTime()) && signedAtLine(at) === line ? at : null
}

/** Strict: the one encoding of these bytes, or null. */
export function fromBase64(text: string): Uint8Array | null {
  try {
    const bytes = Uint8Array.from(atob(text), (char) => char.charCodeAt(0))
    return toBase64(bytes) === text ? bytes : null
  } catch {
    return null
  }
}

export function toBase64(bytes: Uint8Array): string {
  return btoa(String.fromCharCode(...bytes))
}

/** Without half of a surrogate pair. */
export const isWellFormed = (text: string) => !/\p{Surrogate}/u.test(text)

export function toHex(bytes: Uint8Array): string {
  return Array.from(bytes, (byte) => byte.toString(16).padStart(2, '0')).join('')
}
