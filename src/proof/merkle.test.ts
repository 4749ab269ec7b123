import { describe, expect, test } from 'bun:test'
import { createHash } from 'node:crypto'
import { hashLeaf as verifierLeaf, isConsistent, rootFromLeaf } from '../../sdk/verify/tree.ts'
import {
  addJoined,
  addLeaves,
  consistencyParts,
  hashLeaf,
  hashPair,
  hashPart,
  inclusionParts,
  noPeaks,
  rootOf,
  type Subtree,
} from './merkle.ts'

const hex = (bytes: Uint8Array) => Buffer.from(bytes).toString('hex')
const bytes = (text: string) => new Uint8Array(Buffer.from(text, 'hex'))

/** The definition of RFC 6962, section 2.1, word for word and without any stored subtree. */
function treeHash(leaves: readonly Uint8Array[]): Uint8Array {
  if (leaves.length === 0) return createHash('sha256').digest()
  if (leaves.length === 1) return leaves[0]!
  let k = 1
  while (k * 2 < leaves.length) k *= 2
  return hashPair(treeHash(leaves.slice(0, k)), treeHash(leaves.slice(k)))
}

/** The inputs and roots that implementations of Certificate Transparency test against. */
const referenceLeaves = [
  '',
  '00',
  '10',
  '2021',
  '3031',
  '40414243',
  '5051525354555657',
  '606162636465666768696a6b6c6d6e6f',
]
const referenceRoots = [
  'e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855',
  '6e340b9cffb37a989ca544e6bb780a2c78901d3fb33738768511a30617afa01d',
  'fac54203e7cc696cf0dfcb42c92a1d9dbaf70ad9e621f4bd8d98662f00e3c125',
  'aeb6bcfe274b70a14fb067a5e5578264db0fa9b51af5e0ba159158f329e06e77',
  'd37ee418976dd95753c1c73862b9398fa2a2cf9b4ff0fdfe8b30cd95209614b7',
  '4e3bbb1f7b478dcfe71fb631631519a3bca12c9aefca1612bfce4c13a86264d4',
  '76e67dadbcdf1e10e1b74ddc608abd2f98dfb16fbce75277b5232a127f2087ef',
  'ddb89be403809e325750d3d263cd78929c2942b7942a34b77e122c9594a74c8c',
  '5dc9da79a70659a9ad559cb701ded9a2ab9d823aad2f4960cfe370eff4604328',
]

const most = 70
const leaves = Array.from({ length: most }, (_, i) => hashLeaf(new TextEncoder().encode(`leaf ${i}`)))
const stored = new Map<string, Uint8Array>()
const roots = [noPeaks]
for (const leaf of leaves)
  roots.push(
    addLeaves(roots.at(-1)!, [leaf], ({ level, index }, hash) => {
      stored.set(`${level}/${index}`, hash)
    }),
  )
const hashOf = ({ level, index }: Subtree) => stored.get(`${level}/${index}`)!
const rootAt = (size: number) => rootOf(roots[size]!)
const inclusionOf = (index: number, size: number) => ({
  index,
  size,
  path: inclusionParts(index, size).map((part) => hashPart(part, hashOf)),
})
const consistencyOf = (m: number, n: number) => ({
  earlier: { size: m, root: rootAt(m) },
  later: { size: n, root: rootAt(n) },
  path: consistencyParts(m, n).map((part) => hashPart(part, hashOf)),
})
const flipped = (hash: Uint8Array, bit: number) => {
  const copy = Uint8Array.from(hash)
  copy[bit >> 3]! ^= 1 << (bit & 7)
  return copy
}

test('the reference trees have their published roots, one leaf at a time and all at once', () => {
  const hashes = referenceLeaves.map((leaf) => hashLeaf(bytes(leaf)))
  let peaks = noPeaks
  const seen = [hex(rootOf(peaks))]
  for (const hash of hashes) seen.push(hex(rootOf((peaks = addLeaves(peaks, [hash])))))
  expect(seen).toEqual(referenceRoots)
  expect(addLeaves(noPeaks, hashes)).toEqual(peaks)
})

test('each root is that of the definition', () => {
  for (let size = 0; size <= most; size++) expect(hex(rootAt(size))).toBe(hex(treeHash(leaves.slice(0, size))))
})

test('hashes in one array make the same tree, from every size on, and complete the same subtrees', () => {
  for (let size = 0; size <= most; size++) {
    const completed: string[] = []
    const keep = (level: number, index: number, hash: Uint8Array) =>
      void completed.push(`${level}/${index} ${hex(hash)}`)
    const grown = addJoined(roots[size]!, Buffer.concat(leaves.slice(size)), keep)
    expect(grown).toEqual(roots[most]!)
    const expected: string[] = []
    addLeaves(roots[size]!, leaves.slice(size), ({ level, index }, hash) => {
      expected.push(`${level}/${index} ${hex(hash)}`)
      expect(hash).toEqual(stored.get(`${level}/${index}`)!)
    })
    expect(completed).toEqual(expected)
  }
})

test('the published proofs of the reference tree are made and accepted', async () => {
  const subtrees = new Map<string, Uint8Array>()
  addLeaves(
    noPeaks,
    referenceLeaves.map((leaf) => hashLeaf(bytes(leaf))),
    ({ level, index }, hash) => subtrees.set(`${level}/${index}`, hash),
  )
  const hashes = (parts: readonly (readonly Subtree[])[]) =>
    parts.map((part) => hex(hashPart(part, ({ level, index }) => subtrees.get(`${level}/${index}`)!)))
  expect(hashes(inclusionParts(0, 8))).toEqual([
    '96a296d224f285c67bee93c30f8a309157f0daa35dc5b87e410b78630a09cfc7',
    '5f083f0a1a33ca076a95279832580db3e0ef4584bdff1f54c8a360f50de3031e',
    '6b47aaf29ee3c2af9af889bc1fb9254dabd31177f16232dd6aab035ca39bf6e4',
  ])
  expect(hashes(inclusionParts(5, 8))).toEqual([
    'bc1a0643b12e4d2d7c77918f44e0f4f79a838b6cf9ec5b5c283e1f4d88599e6b',
    'ca854ea128ed050b41b35ffc1b87b8eb2bde461e9e3b5596ece6b9d5975a0ae0',
    'd37ee418976dd95753c1c73862b9398fa2a2cf9b4ff0fdfe8b30cd95209614b7',
  ])
  expect(hashes(consistencyParts(6, 8))).toEqual([
    '0ebc5d3437fbe2db158b9f126a1d118e308181031d0a949f8dededebc558ef6a',
    'ca854ea128ed050b41b35ffc1b87b8eb2bde461e9e3b5596ece6b9d5975a0ae0',
    'd37ee418976dd95753c1c73862b9398fa2a2cf9b4ff0fdfe8b30cd95209614b7',
  ])
  expect(hashes(consistencyParts(2, 5))).toEqual([
    '5f083f0a1a33ca076a95279832580db3e0ef4584bdff1f54c8a360f50de3031e',
    'bc1a0643b12e4d2d7c77918f44e0f4f79a838b6cf9ec5b5c283e1f4d88599e6b',
  ])
  expect(hex(await verifierLeaf(bytes('2021')))).toBe(hex(hashLeaf(bytes('2021'))))
})

describe('of every tree up to 70 leaves', () => {
  test('every leaf is proven, and its proof fits no other place, no other size and no other leaf', async () => {
    for (let size = 1; size <= most; size++)
      for (let index = 0; index < size; index++) {
        const proof = inclusionOf(index, size)
        const root = hex(rootAt(size))
        const from = async (leaf: Uint8Array, changed: Partial<typeof proof>) => {
          const computed = await rootFromLeaf(leaf, { ...proof, ...changed })
          return computed !== null && hex(computed) === root
        }
        expect(await from(leaves[index]!, {})).toBe(true)
        expect(await from(leaves[(index + 1) % most]!, {})).toBe(false)
        expect(await from(leaves[index]!, { path: [...proof.path, leaves[0]!] })).toBe(false)
        if (size > 1) {
          expect(await from(leaves[index]!, { index: (index + 1) % size })).toBe(false)
          expect(await from(leaves[index]!, { path: proof.path.slice(1) })).toBe(false)
          // It leads to the root of a part of the tree.
          expect(await rootFromLeaf(leaves[index]!, { ...proof, path: proof.path.slice(0, -1) })).toBeNull()
        }
      }
  })

  test('every earlier tree is proven to be its beginning, and another root is not', async () => {
    for (let n = 1; n <= most; n++)
      for (let m = 1; m <= n; m++) {
        const proof = consistencyOf(m, n)
        expect(await isConsistent(proof)).toBe(true)
        const other = { size: m, root: hashPair(rootAt(m), rootAt(m)) }
        expect(await isConsistent({ ...proof, earlier: other })).toBe(false)
        expect(await isConsistent({ ...proof, later: { ...other, size: n } })).toBe(false)
        expect(await isConsistent({ ...proof, path: [...proof.path, leaves[0]!] })).toBe(false)
        if (proof.path.length > 0) expect(await isConsistent({ ...proof, path: proof.path.slice(1) })).toBe(false)
      }
  })
})

test('no bit of a proof can change', async () => {
  const inclusion = inclusionOf(37, most)
  const consistency = consistencyOf(37, most)
  for (let i = 0; i < inclusion.path.length; i++)
    for (let bit = 0; bit < 256; bit++) {
      const path = inclusion.path.map((hash, at) => (at === i ? flipped(hash, bit) : hash))
      expect(hex((await rootFromLeaf(leaves[37]!, { ...inclusion, path }))!)).not.toBe(hex(rootAt(most)))
    }
  for (let i = 0; i < consistency.path.length; i++)
    for (let bit = 0; bit < 256; bit++) {
      const path = consistency.path.map((hash, at) => (at === i ? flipped(hash, bit) : hash))
      expect(await isConsistent({ ...consistency, path })).toBe(false)
    }
})

test('a proof of what is not there cannot be asked for, and impossible numbers are refused', async () => {
  for (const [index, size] of [
    [0, 0],
    [3, 3],
    [-1, 3],
    [0.5, 3],
  ] as const) {
    expect(() => inclusionParts(index, size)).toThrow(RangeError)
    expect(await rootFromLeaf(leaves[0]!, { index, size, path: [] })).toBeNull()
  }
  expect(() => consistencyParts(0, 3)).toThrow(RangeError)
  expect(() => consistencyParts(4, 3)).toThrow(RangeError)
  const root = rootAt(3)
  expect(await isConsistent({ earlier: { size: 4, root }, later: { size: 3, root }, path: [] })).toBe(false)
  expect(await isConsistent({ earlier: { size: Number.NaN, root }, later: { size: 3, root }, path: [] })).toBe(false)
})
