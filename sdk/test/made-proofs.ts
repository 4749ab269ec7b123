/** Trees and entries in memory, for tests of proofs. */
import { randomBytes } from 'node:crypto'
import {
  addLeaves,
  beginningParts,
  hashLeaf,
  hashPart,
  inclusionParts,
  noPeaks,
  rootOf,
  type ProofPart,
} from '../../src/proof/merkle.ts'
import type { EntryTexts, ProvenEntry } from '../verify/leaves.ts'

/** A tree with all its subtrees in memory. */
export function grow(leaves: readonly Uint8Array[]) {
  const subtrees = new Map<string, Uint8Array>()
  const peaks = addLeaves(noPeaks, leaves.map(hashLeaf), ({ level, index }, hash) =>
    subtrees.set(`${level}/${index}`, hash),
  )
  const hashesOf = (parts: readonly ProofPart[]) =>
    parts.map((part) => hashPart(part, ({ level, index }) => subtrees.get(`${level}/${index}`)!))
  const pathOf = (index: number) => hashesOf(inclusionParts(index, leaves.length))
  const sinceOf = (size: number) => ({ size, path: hashesOf(beginningParts(size, leaves.length)) })
  return { size: leaves.length, root: rootOf(peaks), pathOf, sinceOf }
}

export const nasty = ['', 'a|b', 'a\nb', '3:abc', '-', 'a\u0000b', 'é𝄞', '\u202Egnp.exe', '"],[', 'x'.repeat(200)]

export const entriesOf = (wallet: string, count: number) =>
  Array.from({ length: count }, (_, i) => {
    const entry: ProvenEntry = {
      wallet,
      sequence: i + 1,
      amountMinor: BigInt((i % 2 ? -1 : 1) * (i + 1)),
      currency: 'USD',
      atMicros: 1_790_000_000_123_456n + BigInt(i),
    }
    const texts: EntryTexts = {
      counterAccount: 'app:app_1',
      referenceType: nasty[i % nasty.length]!,
      referenceId: nasty[(i * 3 + 1) % nasty.length]!,
      description: i % 3 === 0 ? null : nasty[(i * 7 + 2) % nasty.length]!,
    }
    return { entry, texts, salt: new Uint8Array(randomBytes(32)) }
  })
