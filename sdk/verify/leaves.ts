/** The leaves of the trees: lines of text with one meaning each, so that no two entries or heads have the same bytes. */
import { toBase64, toHex } from './note.ts'
import { sha256 } from './tree.ts'

/** What an entry says in words. Its leaf has a salted hash of it, so that the words can be erased while the proof stays. */
export type EntryTexts = {
  readonly counterAccount: string
  readonly referenceType: string
  readonly referenceId: string
  readonly description: string | null
}

export type ProvenEntry = {
  /** The wallet's name in the log: 64 hexadecimal digits that say nothing about its owner. */
  readonly wallet: string
  readonly sequence: number
  /** In minor units, negative for a debit. */
  readonly amountMinor: bigint
  readonly currency: string
  /** Microseconds since 1970. */
  readonly atMicros: bigint
}

/** The state of a wallet's tree, as one leaf of the log. */
export type WalletHead = { readonly wallet: string; readonly size: number; readonly root: Uint8Array }

const utf8 = (text: string) => new TextEncoder().encode(text)

/** Each text with its length in bytes before it; an absent one has a minus sign. */
export function textsBytes({ counterAccount, referenceType, referenceId, description }: EntryTexts): Uint8Array {
  const parts = [counterAccount, referenceType, referenceId, description]
  return utf8(parts.map((text) => (text === null ? '-' : `${utf8(text).length}:${text}`)).join('\n'))
}

export async function hashTexts(texts: EntryTexts, salt: Uint8Array): Promise<Uint8Array> {
  return await sha256(salt, textsBytes(texts))
}

export function entryLeaf(entry: ProvenEntry, textsHash: Uint8Array): Uint8Array {
  const { wallet, sequence, amountMinor, currency, atMicros } = entry
  const lines = ['billfold-entry/v1', wallet, sequence, amountMinor, currency, atMicros, toHex(textsHash)]
  return utf8(lines.join('\n'))
}

export function headLeaf({ wallet, size, root }: WalletHead): Uint8Array {
  return utf8(['billfold-wallet/v1', wallet, size, toBase64(root)].join('\n'))
}
