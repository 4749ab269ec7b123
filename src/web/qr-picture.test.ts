import { expect, test } from 'bun:test'
import { createHash } from 'node:crypto'
import { encodeQr } from './qr-picture.tsx'

const drawn = (text: string) => encodeQr(text).map((row) => row.map((isDark) => (isDark ? '#' : '.')).join(''))
const hashOf = (text: string) => createHash('sha256').update(drawn(text).join('\n')).digest('hex').slice(0, 16)

test('a short text is the picture that a scanner read back as that text', () => {
  expect(drawn('Billfold')).toEqual([
    '#######..###..#######',
    '#.....#.....#.#.....#',
    '#.###.#.#.###.#.###.#',
    '#.###.#.###...#.###.#',
    '#.###.#.##.##.#.###.#',
    '#.....#.##..#.#.....#',
    '#######.#.#.#.#######',
    '........#.###........',
    '#.#####..##.#.#####..',
    '######..##..##.##...#',
    '#.....##..##.....###.',
    '..#.#..#.#.....#.##.#',
    '.#.#######.#....#....',
    '........#..#######...',
    '#######..##.#.#...##.',
    '#.....#.#..####.###..',
    '#.###.#.##..#...#...#',
    '#.###.#.#...#..###...',
    '#.###.#.####.#....#..',
    '#.....#........####..',
    '#######.#.##.#.....#.',
  ])
})

// Every picture behind these hashes was read as exactly its text by a decoder that shares nothing with the encoder.
const long =
  'otpauth://totp/Billfold%20pay.example:ada@example.com?secret=JBSWY3DPEHPK3PXPJBSWY3DPEHPK3PXP&issuer=Billfold%20pay.example'
test.each([
  [14, 21, 'ace6c461b42db340'],
  [26, 25, '2ac6c03d51b4e94f'],
  [42, 29, 'dd8efa8f64f5f685'],
  [62, 33, '58a1a083f915d988'],
  [84, 37, 'b9fc25c80518121d'],
  [106, 41, '721ae59d0beb04c9'],
  [122, 45, '46ac4b2ef4be40e9'],
  [152, 49, '60fa550a8e315650'],
  [180, 53, '46e1fb232b7e6669'],
  [213, 57, '4765debc8ee98963'],
] as const)('a text of %d bytes takes %d modules a side, as verified with a scanner', (bytes, size, hash) => {
  const text = long.repeat(2).slice(0, bytes)
  expect(encodeQr(text).length).toBe(size)
  expect(hashOf(text)).toBe(hash)
})

test('what does not fit into version 10 is refused, not cut', () => {
  expect(() => encodeQr('x'.repeat(214))).toThrow('too long')
})
