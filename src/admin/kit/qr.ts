/**
 * QR codes (ISO/IEC 18004): bytes, error correction level M, versions 1 to 10, which is up to 213 bytes. An address for
 * an authenticator app has about 120.
 */

/** For each version: codewords in all, error correction codewords in a block, blocks. Level M. */
const versions = [
  [26, 10, 1],
  [44, 16, 1],
  [70, 26, 1],
  [100, 18, 2],
  [134, 24, 2],
  [172, 16, 4],
  [196, 18, 4],
  [242, 22, 4],
  [292, 22, 5],
  [346, 26, 5],
] as const

/** The lines on which alignment patterns are centred. */
const alignments = [[], [6, 18], [6, 22], [6, 26], [6, 30], [6, 34], [6, 22, 38], [6, 24, 42], [6, 26, 46], [6, 28, 50]]

/** Dark modules are true; the quiet zone is not part of it. */
export function encodeQr(text: string): boolean[][] {
  const bytes = new TextEncoder().encode(text)
  const version = versions.findIndex(([total, perBlock, blocks], i) => {
    const headerBits = i + 1 < 10 ? 12 : 20
    return (total - perBlock * blocks) * 8 >= headerBits + bytes.length * 8
  })
  if (version < 0) throw new Error(`a QR code of version 10 holds 213 bytes, not ${bytes.length}`)
  const codewords = interleave(toDataCodewords(bytes, version + 1), version + 1)
  const masked = Array.from({ length: 8 }, (_, mask) => draw(version + 1, codewords, mask))
  // The mask that is easiest to scan; the first of several.
  return masked.reduce((best, grid) => (penaltyOf(grid) < penaltyOf(best) ? grid : best))
}

function toDataCodewords(bytes: Uint8Array, version: number): number[] {
  const [total, perBlock, blocks] = versions[version - 1]!
  const capacity = total - perBlock * blocks
  const bits: number[] = []
  const push = (value: number, length: number) => {
    for (let i = length - 1; i >= 0; i--) bits.push((value >>> i) & 1)
  }
  push(0b0100, 4)
  push(bytes.length, version < 10 ? 8 : 16)
  for (const byte of bytes) push(byte, 8)
  push(0, Math.min(4, capacity * 8 - bits.length))
  while (bits.length % 8 > 0) bits.push(0)
  for (let pad = 0xec; bits.length < capacity * 8; pad ^= 0xec ^ 0x11) push(pad, 8)
  return Array.from({ length: capacity }, (_, i) => Number.parseInt(bits.slice(i * 8, i * 8 + 8).join(''), 2))
}

/** Blocks are written column by column, so that a stain on the paper hurts each of them a little. */
function interleave(data: readonly number[], version: number): number[] {
  const [, perBlock, blocks] = versions[version - 1]!
  const shortLength = Math.floor(data.length / blocks)
  const longFrom = blocks - (data.length % blocks)
  const parts: { data: number[]; check: number[] }[] = []
  for (let i = 0, at = 0; i < blocks; i++) {
    const length = shortLength + (i >= longFrom ? 1 : 0)
    const part = data.slice(at, at + length)
    parts.push({ data: part, check: checkwordsOf(part, perBlock) })
    at += length
  }
  const columns = (pick: 'data' | 'check', length: number) =>
    Array.from({ length }, (_, i) => parts.flatMap((part) => part[pick][i] ?? [])).flat()
  return [...columns('data', shortLength + 1), ...columns('check', perBlock)]
}

/** The remainder by the Reed–Solomon generator of this degree, over GF(2^8) with the polynomial 0x11d. */
function checkwordsOf(data: readonly number[], degree: number): number[] {
  const generator = [...Array<number>(degree - 1).fill(0), 1]
  for (let i = 0, root = 1; i < degree; i++, root = multiply(root, 2)) {
    for (let j = 0; j < degree; j++) generator[j] = multiply(generator[j]!, root) ^ (generator[j + 1] ?? 0)
  }
  const remainder = Array<number>(degree).fill(0)
  for (const byte of data) {
    const factor = byte ^ remainder.shift()!
    remainder.push(0)
    generator.forEach((coefficient, i) => (remainder[i]! ^= multiply(coefficient, factor)))
  }
  return remainder
}

function multiply(a: number, b: number): number {
  let product = 0
  for (let i = 7; i >= 0; i--) product = (product << 1) ^ ((product >>> 7) * 0x11d) ^ (((b >>> i) & 1) * a)
  return product
}

type Grid = (boolean | undefined)[][]

function draw(version: number, codewords: readonly number[], mask: number): boolean[][] {
  const size = version * 4 + 17
  const grid: Grid = Array.from({ length: size }, () => Array<boolean | undefined>(size).fill(undefined))
  drawPatterns(grid, version)
  drawFormat(grid, mask)
  if (version >= 7) drawVersion(grid, version)
  drawData(grid, codewords, mask)
  return grid.map((row) => row.map((module) => module === true))
}

function drawPatterns(grid: Grid, version: number): void {
  const size = grid.length
  for (let i = 0; i < size; i++) {
    grid[6]![i] = i % 2 === 0
    grid[i]![6] = i % 2 === 0
  }
  for (const [row, column] of [
    [3, 3],
    [3, size - 4],
    [size - 4, 3],
  ] as const)
    drawSquare(grid, row, column, 4, (distance) => distance !== 2 && distance !== 4)
  const lines = alignments[version - 1]!
  for (const row of lines)
    for (const column of lines) {
      const isFinder = (row === 6 && (column === 6 || column === size - 7)) || (row === size - 7 && column === 6)
      if (!isFinder) drawSquare(grid, row, column, 2, (distance) => distance !== 1)
    }
}

function drawSquare(
  grid: Grid,
  row: number,
  column: number,
  reach: number,
  isDark: (distance: number) => boolean,
): void {
  for (let dy = -reach; dy <= reach; dy++)
    for (let dx = -reach; dx <= reach; dx++) {
      const line = grid[row + dy]
      if (line && column + dx >= 0 && column + dx < grid.length)
        line[column + dx] = isDark(Math.max(Math.abs(dx), Math.abs(dy)))
    }
}

/** Level M is 00; ten check bits; the mask 0x5412 keeps it from being all zeros. */
function drawFormat(grid: Grid, mask: number): void {
  const size = grid.length
  const bits = ((mask << 10) | remainderOf(mask, 10, 0x537)) ^ 0x5412
  for (let i = 0; i < 15; i++) {
    const isDark = ((bits >>> i) & 1) === 1
    const [row, column] = i < 6 ? [i, 8] : i < 8 ? [i + 1, 8] : i === 8 ? [8, 7] : [8, 14 - i]
    grid[row]![column] = isDark
    if (i < 8) grid[8]![size - 1 - i] = isDark
    else grid[size - 15 + i]![8] = isDark
  }
  grid[size - 8]![8] = true
}

function drawVersion(grid: Grid, version: number): void {
  const size = grid.length
  const bits = (version << 12) | remainderOf(version, 12, 0x1f25)
  for (let i = 0; i < 18; i++) {
    const [far, near] = [size - 11 + (i % 3), Math.floor(i / 3)]
    grid[near]![far] = ((bits >>> i) & 1) === 1
    grid[far]![near] = ((bits >>> i) & 1) === 1
  }
}

function remainderOf(value: number, degree: number, polynomial: number): number {
  let remainder = value
  for (let i = 0; i < degree; i++) remainder = (remainder << 1) ^ ((remainder >>> (degree - 1)) * polynomial)
  return remainder
}

/** Two columns at a time from the right, up and down in turn, around what is already drawn. */
function drawData(grid: Grid, codewords: readonly number[], mask: number): void {
  const size = grid.length
  let bit = 0
  for (let right = size - 1, isUp = true; right > 0; right -= 2, isUp = !isUp) {
    if (right === 6) right--
    for (let i = 0; i < size; i++) {
      const row = isUp ? size - 1 - i : i
      for (const column of [right, right - 1]) {
        if (grid[row]![column] !== undefined) continue
        const isDark = (((codewords[bit >>> 3] ?? 0) >>> (7 - (bit & 7))) & 1) === 1
        grid[row]![column] = isDark !== isMasked(mask, row, column)
        bit++
      }
    }
  }
}

function isMasked(mask: number, y: number, x: number): boolean {
  const rules = [
    (y + x) % 2,
    y % 2,
    x % 3,
    (y + x) % 3,
    (Math.floor(y / 2) + Math.floor(x / 3)) % 2,
    ((y * x) % 2) + ((y * x) % 3),
    (((y * x) % 2) + ((y * x) % 3)) % 2,
    (((y + x) % 2) + ((y * x) % 3)) % 2,
  ]
  return rules[mask] === 0
}

/** The four rules of the standard: long runs, blocks, what looks like a finder, and more dark than light. */
function penaltyOf(grid: boolean[][]): number {
  const size = grid.length
  const columns = grid.map((_, x) => grid.map((row) => row[x]!))
  let penalty = 0
  for (const line of [...grid, ...columns]) {
    const text = line.map(Number).join('')
    for (const run of text.match(/0{5,}|1{5,}/g) ?? []) penalty += run.length - 2
    for (const finder of ['10111010000', '00001011101'])
      for (let at = text.indexOf(finder); at >= 0; at = text.indexOf(finder, at + 1)) penalty += 40
  }
  let dark = 0
  for (let y = 0; y < size; y++)
    for (let x = 0; x < size; x++) {
      const module = grid[y]![x]
      if (module) dark++
      if (
        y + 1 < size &&
        x + 1 < size &&
        [grid[y]![x + 1], grid[y + 1]![x], grid[y + 1]![x + 1]].every((m) => m === module)
      )
        penalty += 3
    }
  return penalty + Math.floor(Math.abs((dark * 20) / size / size - 10)) * 10
}
