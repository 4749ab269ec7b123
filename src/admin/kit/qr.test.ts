import { expect, test } from 'bun:test'
import { createHash } from 'node:crypto'
import { encodeQr } from './qr.ts'

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

// Every picture behind these hashes was read by zbar, an independent decoder, as exactly its text.
const long =
  'otpauth://totp/Billfold%20pay.example:ada@example.com?secret=JBSWY3DPEHPK3PXPJBSWY3DPEHPK3PXP&issuer=Billfold%20pay.example'
test.each([
  [14, 21, 'ace6c461b42db340'],
  [26, 25, '2ac6c03d51b4e94f'],
  [42, 29, 'dd8efa8f64f5f685'],
  [62, 33, '8a57012d1ef5c988'],
  [84, 37, 'b9fc25c80518121d'],
  [106, 41, 'c374163012a914cf'],
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
  expect(() => encodeQr('x'.repeat(214))).toThrow('213 bytes')
})
