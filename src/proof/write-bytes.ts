/**
 * Texts written byte by byte. Sealing writes three for each entry: strings would cost twice the time, most of it for numbers and for the
 * garbage. Each function returns where it ended.
 */

const [minus, digitZero] = [45, 48]
const hexDigits = new TextEncoder().encode('0123456789abcdef')
/** A number of at most 16 digits is two numbers of at most 8, which are small integers. */
const half = 1e8

/** Memory that is written again and again. The views of its beginnings are kept: making one costs as much as hashing it. */
export type Scratch = { readonly bytes: Uint8Array; readonly views: (Uint8Array | undefined)[] }

export const openScratch = (length: number): Scratch => ({ bytes: new Uint8Array(length), views: [] })

const longestKept = 1_024

export function beginning({ bytes, views }: Scratch, end: number): Uint8Array {
  return end > longestKept ? bytes.subarray(0, end) : (views[end] ??= bytes.subarray(0, end))
}

export function writeBytes(to: Uint8Array, at: number, source: Uint8Array, from: number, until: number): number {
  let end = at
  for (let i = from; i < until; i++) to[end++] = source[i]!
  return end
}

export function writeHex(to: Uint8Array, at: number, source: Uint8Array): number {
  let end = at
  for (let i = 0; i < source.length; i++) {
    const value = source[i]!
    to[end++] = hexDigits[value >> 4]!
    to[end++] = hexDigits[value & 15]!
  }
  return end
}

/** A whole number of at most 16 digits. */
export function writeWhole(to: Uint8Array, at: number, value: number): number {
  if (value < 0) {
    to[at] = minus
    return writeWhole(to, at + 1, -value)
  }
  if (value < half) return writeDigits(to, at, value, countDigits(value))
  const high = Math.floor(value / half)
  return writeDigits(to, writeDigits(to, at, high, countDigits(high)), value - high * half, 8)
}

function countDigits(value: number): number {
  let count = 1
  for (let most = 10; value >= most; most *= 10) count++
  return count
}

function writeDigits(to: Uint8Array, at: number, value: number, count: number): number {
  let rest = value | 0
  for (let i = at + count - 1; i >= at; i--) {
    const next = (rest / 10) | 0
    to[i] = digitZero + rest - next * 10
    rest = next
  }
  return at + count
}
