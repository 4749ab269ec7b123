import { expect, test } from 'bun:test'
import { createHash } from 'node:crypto'
import { networkOf, parseAddress } from './address.ts'

const v4 = '203.0.113.9'
const v6 = '2001:db8:1:2::7'

test.each([
  [v4, v4],
  [`${v4}:49152`, v4],
  [`${v4}:1`, v4],
  [` \t${v4} `, v4],
  ['203.000.113.009', v4],
  ['203.0.113.010', '203.0.113.10'],
  [`"${v4}"`, v4],
  [`"${v4}:443"`, v4],
  [`::ffff:${v4}`, v4],
  [`::FFFF:${v4}`, v4],
  ['::ffff:cb00:7109', v4],
  ['0:0:0:0:0:ffff:cb00:7109', v4],
  [`[::ffff:${v4}]:443`, v4],
  [v6, v6],
  ['2001:0db8:0001:0002:0000:0000:0000:0007', v6],
  ['2001:DB8:1:2:0:0:0:7', v6],
  [`[${v6}]`, v6],
  [`[${v6}]:443`, v6],
  [`"[${v6}]:443"`, v6],
  [`${v6}%eth0`, v6],
  [`[${v6}%25eth0]:443`, v6],
  ['::1', '::1'],
  ['::', '::'],
  ['2001:db8::1:0:0:1', '2001:db8::1:0:0:1'],
  ['2001:0:0:1:0:0:0:1', '2001:0:0:1::1'],
  ['64:ff9b::203.0.113.9', '64:ff9b::cb00:7109'],
])('the address %j is %s', (text, address) => {
  expect(parseAddress(text)).toBe(address)
})

test.each([
  '',
  ' ',
  'unknown',
  '_hidden',
  '_',
  'unix:',
  'localhost',
  'example.com',
  '1.2.3',
  '1.2.3.4.5',
  '256.1.1.1',
  '1.2.3.4444',
  '1.2.3.-4',
  '0x7f.0.0.1',
  '2130706433',
  '1.2.3.4:',
  '1.2.3.4:123456',
  '1.2.3.4:80:80',
  '[1.2.3.4]:80',
  '1.2.3.4/24',
  '1.2.3.4 5.6.7.8',
  'for=1.2.3.4',
  '1:2:3:4:5:6:7',
  '1:2:3:4:5:6:7:8:9',
  '1::2::3',
  ':::',
  '1:2:3:4:5:6:7::8',
  '12345::',
  'g::1',
  '[::1',
  '::1]',
  '[::1]:x',
  '::1%',
  '::1.2.3',
  '1.2.3.4::',
  '"',
  '""',
  '"1.2.3.4',
  '１.2.3.4',
  '1.2.3.4\u0000',
  '\u0000',
  '\ud800',
  'x'.repeat(10_000),
  ':'.repeat(10_000),
  '1.'.repeat(5_000),
  `${'0'.repeat(10_000)}1.2.3.4`,
])('%p is no address', (text) => {
  expect(parseAddress(text)).toBeUndefined()
})

test.each([
  [v4, v4],
  [`${v4}:1`, v4],
  [`::ffff:${v4}`, v4],
  ['2001:db8:1:2:3:4:5:6', '2001:db8:1:2'],
  ['[2001:db8:1:2:3:4:5:6]:443', '2001:db8:1:2'],
  ['2001:0db8:0001:0002::7', '2001:db8:1:2'],
  ['2001:db8::1', '2001:db8:0:0'],
  ['::1', '0:0:0:0'],
  ['fe80::1%eth0', 'fe80:0:0:0'],
  ['unknown', 'unknown'],
])('the address %s counts as %s', (address, network) => {
  expect(networkOf(address)).toBe(network)
})

test('every address of a thousand is read again from its own text', () => {
  for (let i = 0; i < 1_000; i++) {
    const bytes = createHash('sha256').update(String(i)).digest()
    const groups = Array.from({ length: 8 }, (_, at) => (bytes[at]! < 128 ? 0 : bytes.readUInt16BE(8 + 2 * at)))
    const full = groups.map((group) => group.toString(16).padStart(4, '0')).join(':')
    const parsed = parseAddress(full)!
    expect(parseAddress(parsed)).toBe(parsed)
    // Bun's own parser of addresses in URLs writes the same text.
    if (!/^\d+\.\d+/.test(parsed)) expect(new URL(`http://[${full}]/`).hostname).toBe(`[${parsed}]`)
  }
})
