/** Subtrees of trees in the database. Those of every eighth level are stored; smaller subtrees are computed from their leaves. */
import { hashPair, type Peaks, type Subtree } from '../../proof/merkle.ts'
import { hashBytes } from '../../proof/sha256.ts'

/** The levels of a stored subtree and of the leaves of a tile: 256 each. */
const tileLevels = 8

export const isStored = (level: number) => level > 0 && level % tileLevels === 0

export const hex = (bytes: Uint8Array) => bytes.toHex()

/** Names a subtree in a map. */
export const keyOf = ({ level, index }: Subtree) => `${level}/${index}`

export function joinHashes(hashes: readonly Uint8Array[]): Buffer {
  return Buffer.concat(hashes)
}

export function splitHashes(joined: Uint8Array): Uint8Array[] {
  return Array.from({ length: joined.length / hashBytes }, (_, i) =>
    joined.subarray(i * hashBytes, (i + 1) * hashBytes),
  )
}

export function readPeaks(size: bigint | number, joined: Uint8Array): Peaks {
  return { size: Number(size), hashes: splitHashes(joined) }
}

/** Which stored hashes a subtree is computed from: those at `level`, from number `first`, `count` of them. */
export type Source = { readonly level: number; readonly first: number; readonly count: number }

export function sourceOf({ level, index }: Subtree): Source {
  const stored = level - (level % tileLevels)
  const count = 2 ** (level - stored)
  return { level: stored, first: index * count, count }
}

/** The root of a complete subtree, from its hashes in order. */
export function foldComplete(hashes: readonly Uint8Array[]): Uint8Array {
  let row = hashes
  while (row.length > 1) row = row.flatMap((left, i) => (i % 2 === 0 ? [hashPair(left, row[i + 1]!)] : []))
  return row[0]!
}
