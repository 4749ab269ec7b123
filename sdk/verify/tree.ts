/** Checks proofs of RFC 6962 trees, with WebCrypto alone. The algorithms are those of RFC 9162, sections 2.1.3.2 and 2.1.4.2. */

import { getSubtle } from '../subtle.ts'

export async function sha256(...parts: readonly Uint8Array[]): Promise<Uint8Array> {
  return new Uint8Array(await (await getSubtle()).digest('SHA-256', joined(parts)))
}

export function joined(parts: readonly Uint8Array[]): Uint8Array<ArrayBuffer> {
  const bytes = new Uint8Array(parts.reduce((total, part) => total + part.length, 0))
  let at = 0
  for (const part of parts) {
    bytes.set(part, at)
    at += part.length
  }
  return bytes
}

export const hashLeaf = async (data: Uint8Array) => await sha256(Uint8Array.of(0), data)
export const hashNode = async (left: Uint8Array, right: Uint8Array) => await sha256(Uint8Array.of(1), left, right)

export function isEqual(a: Uint8Array, b: Uint8Array): boolean {
  return a.length === b.length && a.every((byte, i) => byte === b[i])
}

export type Inclusion = { readonly index: number; readonly size: number; readonly path: readonly Uint8Array[] }

/** The root that follows from a leaf and its path, or null if the path does not fit the tree. */
export async function rootFromLeaf(leaf: Uint8Array, { index, size, path }: Inclusion): Promise<Uint8Array | null> {
  if (!isCount(index) || !isCount(size) || index >= size) return null
  let [position, last, hash] = [index, size - 1, leaf]
  for (const sibling of path) {
    if (last === 0) return null
    if (position % 2 === 1 || position === last) {
      hash = await hashNode(sibling, hash)
      while (position % 2 === 0 && position !== 0) [position, last] = [position / 2, half(last)]
    } else {
      hash = await hashNode(hash, sibling)
    }
    ;[position, last] = [half(position), half(last)]
  }
  return last === 0 ? hash : null
}

export type Consistency = {
  readonly earlier: { readonly size: number; readonly root: Uint8Array }
  readonly later: { readonly size: number; readonly root: Uint8Array }
  readonly path: readonly Uint8Array[]
}

/** Whether the later tree begins with all leaves of the earlier one. */
export async function isConsistent({ earlier, later, path }: Consistency): Promise<boolean> {
  if (!isCount(earlier.size) || !isCount(later.size) || earlier.size > later.size) return false
  if (earlier.size === later.size) return path.length === 0 && isEqual(earlier.root, later.root)
  if (earlier.size === 0) return path.length === 0
  const isPowerOfTwo = Number.isInteger(Math.log2(earlier.size))
  const roots = await rootsFromPath(earlier.size, later.size, isPowerOfTwo ? [earlier.root, ...path] : path)
  return roots !== null && isEqual(roots.earlier, earlier.root) && isEqual(roots.later, later.root)
}

/**
 * The roots of a tree and of its beginning, from a consistency path that begins with a hash in every case. If the later root is the
 * signed one, the earlier one is what the signed tree says about its beginning. Null if the path does not fit.
 */
export async function rootsFromPath(earlierSize: number, laterSize: number, path: readonly Uint8Array[]) {
  const [first, ...rest] = path
  if (!first || !isCount(earlierSize) || !isCount(laterSize) || earlierSize < 1 || earlierSize >= laterSize) return null
  let [position, last] = [earlierSize - 1, laterSize - 1]
  while (position % 2 === 1) [position, last] = [half(position), half(last)]
  let [earlierHash, laterHash] = [first, first]
  for (const sibling of rest) {
    if (last === 0) return null
    if (position % 2 === 1 || position === last) {
      earlierHash = await hashNode(sibling, earlierHash)
      laterHash = await hashNode(sibling, laterHash)
      while (position % 2 === 0 && position !== 0) [position, last] = [position / 2, half(last)]
    } else {
      laterHash = await hashNode(laterHash, sibling)
    }
    ;[position, last] = [half(position), half(last)]
  }
  return last === 0 ? { earlier: earlierHash, later: laterHash } : null
}

const isCount = (value: number) => Number.isSafeInteger(value) && value >= 0
const half = (value: number) => Math.floor(value / 2)
