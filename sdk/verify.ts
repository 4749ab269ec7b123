/** Checks proofs of entries and positions without the service, with WebCrypto alone: in Node, in a browser, offline. */
import { compareHistories } from './verify/history.ts'
import type { EntryTexts, WalletHead } from './verify/leaves.ts'
import { findSigners, parseCheckpoint, parseNote, parseSignerKey } from './verify/note.ts'
import type { Checkpoint, SignerKey } from './verify/note.ts'
import type { ProvenPosition } from './verify/position.ts'
import { computeRoot, isPosition, parseProof, type EntryProof } from './verify/proof-file.ts'
import { isEqual } from './verify/tree.ts'

/** Who signed the books that contain it. */
type Signed = {
  /** The log that signed it, and its size then. */
  readonly origin: string
  readonly logSize: number
  /** When, by the clock of the log. Null in a proof of a log that does not say so. */
  readonly signedAt: Date | null
  readonly signedBy: readonly string[]
}

export type VerifiedEntry = Signed & {
  /** The wallet's name in the log. Two proofs of one wallet have the same. */
  readonly wallet: string
  readonly sequence: number
  /** How many entries the wallet had when this was sealed. */
  readonly walletSize: number
  /** In minor units, negative for a debit. */
  readonly amountMinor: bigint
  readonly currency: string
  readonly at: Date
  /** Null where the words were erased. */
  readonly texts: EntryTexts | null
}

/** An account at the end of a day, in UTC. */
export type VerifiedPosition = Signed &
  ProvenPosition & {
    /** What the account had received less what it had paid, in minor units. */
    readonly balanceMinor: bigint
  }

/** What is wrong with a proof: each has one cause. */
export type ProofFault =
  /** The file is no proof, or it is damaged. */
  | 'NOT_A_PROOF'
  /** No key that was given is one, or none signed this. */
  | 'UNKNOWN_SIGNER'
  /** The signature is right and the entry is not what was signed. */
  | 'NOT_IN_THE_BOOKS'
  /** The checkpoint beside the proof is of the same log and size, and differs: there are two versions of the books. */
  | 'OTHER_BOOKS'

type RefusedProof = { readonly ok: false; readonly fault: ProofFault; readonly message: string }

/** Whether the given checkpoint is the one of the proof. One of another log or size, or of an unknown signer, is not, and proves nothing. */
type Compared = { readonly isCheckpoint?: boolean }

export type ProofVerdict =
  | (Compared & { readonly ok: true; readonly kind: 'entry'; readonly entry: VerifiedEntry })
  | (Compared & { readonly ok: true; readonly kind: 'position'; readonly position: VerifiedPosition })
  | RefusedProof

export type VerifyOptions = {
  /** Keys that you trust, as the service publishes them; at least one. Get them from somewhere else than the proof. */
  readonly keys: readonly string[]
  /** A checkpoint that you got another way. If it has the proof's size, it must be the same. */
  readonly checkpoint?: string
}

const messages: Record<ProofFault, string> = {
  NOT_A_PROOF: 'This file is not a proof, or it is damaged.',
  UNKNOWN_SIGNER: 'None of the trusted keys signed this proof.',
  NOT_IN_THE_BOOKS: 'The signed books do not contain what this file says.',
  OTHER_BOOKS:
    'The given checkpoint is of the same log and the same size, and it differs: there are two versions of the books.',
}

const refused = (fault: ProofFault): RefusedProof => ({ ok: false, fault, message: messages[fault] })

export async function verifyProof(file: string, options: VerifyOptions): Promise<ProofVerdict> {
  const opened = await openProof(file, options)
  if (!opened.ok) return opened
  const { isCheckpoint } = opened
  const compared = { ...(isCheckpoint !== undefined && { isCheckpoint }) }
  return opened.kind === 'entry'
    ? { ok: true, kind: 'entry', entry: opened.entry, ...compared }
    : { ok: true, kind: 'position', position: opened.position, ...compared }
}

type OpenedEntry = {
  readonly ok: true
  readonly kind: 'entry'
  readonly entry: VerifiedEntry
  readonly proof: EntryProof
  readonly head: WalletHead
  readonly signed: Checkpoint
  readonly isCheckpoint: boolean | undefined
}

type OpenedProof =
  | OpenedEntry
  | {
      readonly ok: true
      readonly kind: 'position'
      readonly position: VerifiedPosition
      readonly isCheckpoint: boolean | undefined
    }
  | RefusedProof

async function openProof(file: string, { keys, checkpoint }: VerifyOptions): Promise<OpenedProof> {
  const proof = parseProof(file.replaceAll('\r\n', '\n'))
  const note = proof && parseNote(proof.checkpoint)
  const signed = note && parseCheckpoint(note.text)
  if (!proof || !note || !signed) return refused('NOT_A_PROOF')
  const known = await readKeys(keys)
  const signers = (await findSigners(note, known)).filter(({ name }) => name === signed.origin)
  if (signers.length === 0) return refused('UNKNOWN_SIGNER')
  const computed = await computeRoot(proof, signed.size)
  if (computed === null || !isEqual(computed.root, signed.root)) return refused('NOT_IN_THE_BOOKS')
  const other = checkpoint === undefined ? undefined : await readCheckpoint(checkpoint, known)
  if (other && isSplit(other, signed)) return refused('OTHER_BOOKS')
  const isCheckpoint =
    checkpoint === undefined ? undefined : other?.origin === signed.origin && other.size === signed.size
  const { origin, size: logSize, signedAt } = signed
  const by = { origin, logSize, signedAt, signedBy: signers.map(({ name }) => name) }
  if (isPosition(proof)) {
    const { position } = proof
    const balanceMinor = position.debitedMinor - position.creditedMinor
    return { ok: true, kind: 'position', position: { ...position, balanceMinor, ...by }, isCheckpoint }
  }
  const entry = { ...describeEntry(proof), ...by }
  return { ok: true, kind: 'entry', entry, proof, head: computed.head!, signed, isCheckpoint }
}

function describeEntry({ entry, walletSize, words: { texts } }: EntryProof): Omit<VerifiedEntry, keyof Signed> {
  const { wallet, sequence, amountMinor, currency, atMicros } = entry
  return { wallet, sequence, walletSize, amountMinor, currency, at: new Date(Number(atMicros / 1000n)), texts }
}

export type HistoryVerdict =
  /** The later proof shows that the wallet still begins with the history of the earlier one. */
  | { readonly kind: 'kept'; readonly earlier: VerifiedEntry; readonly later: VerifiedEntry; readonly message: string }
  /** The two proofs contradict each other. */
  | {
      readonly kind: 'rewritten'
      readonly earlier: VerifiedEntry
      readonly later: VerifiedEntry
      readonly message: string
    }
  /** The later proof does not say how it continues the earlier one: ask for a proof `since` that size. */
  | { readonly kind: 'no-link'; readonly since: number; readonly message: string }
  | { readonly kind: 'other-wallet'; readonly message: string }
  /** One of them is of an account, which has no history to compare. */
  | { readonly kind: 'no-wallet'; readonly message: string }
  /** One of them is not a proof by itself. */
  | { readonly kind: 'refused'; readonly fault: ProofFault; readonly message: string }

/** Compares two proofs of one wallet, in either order. Their keys may differ: a restored service has another. */
export async function compareProofs(
  files: readonly [string, string],
  { keys }: Pick<VerifyOptions, 'keys'>,
): Promise<HistoryVerdict> {
  const [a, b] = [await openProof(files[0], { keys }), await openProof(files[1], { keys })]
  if (!a.ok) return { kind: 'refused', fault: a.fault, message: a.message }
  if (!b.ok) return { kind: 'refused', fault: b.fault, message: b.message }
  if (a.kind !== 'entry' || b.kind !== 'entry')
    return { kind: 'no-wallet', message: 'Only two proofs of entries of one wallet can be compared.' }
  if (a.entry.wallet !== b.entry.wallet)
    return { kind: 'other-wallet', message: 'These are proofs of two different wallets.' }
  const [earlier, later] = a.head.size <= b.head.size ? [a, b] : [b, a]
  const both = { earlier: earlier.entry, later: later.entry }
  const rewritten = {
    kind: 'rewritten',
    ...both,
    message: 'History was rewritten: the two proofs contradict each other.',
  } as const
  const kept = {
    kind: 'kept',
    ...both,
    message: `The wallet still begins with the same ${earlier.head.size} ${earlier.head.size === 1 ? 'entry' : 'entries'}.`,
  } as const
  if (isSplit(earlier.signed, later.signed)) return rewritten
  const history = await compareHistories(earlier.proof, later.proof)
  if (history !== 'no-link') return history === 'kept' ? kept : rewritten
  return {
    kind: 'no-link',
    since: earlier.head.size,
    message: `The later proof does not say how the history continued. Ask for one since ${earlier.head.size}.`,
  }
}

/** Two signed states of one log, of one size, with different content. */
const isSplit = (a: Checkpoint, b: Checkpoint) => a.origin === b.origin && a.size === b.size && !isEqual(a.root, b.root)

async function readKeys(texts: readonly string[]): Promise<readonly SignerKey[]> {
  const keys = await Promise.all(texts.map(parseSignerKey))
  return keys.filter((key) => key !== null)
}

/** Undefined if none of the keys signed it. */
async function readCheckpoint(text: string, keys: readonly SignerKey[]): Promise<Checkpoint | undefined> {
  const note = parseNote(text.replaceAll('\r\n', '\n'))
  const checkpoint = note && parseCheckpoint(note.text)
  if (!note || !checkpoint || (await findSigners(note, keys)).length === 0) return undefined
  return checkpoint
}
