import { expect, test } from 'bun:test'
import { chooseEncoding } from './compress.ts'

test.each([
  ['br, gzip', 'br'],
  ['gzip, deflate, br, zstd', 'br'],
  ['gzip;q=0.5, br;q=0', 'gzip'],
  ['gzip;q=1.0, br;q=0.8', 'gzip'],
  ['br;q=1.0, gzip;q=1.0', 'br'],
  ['BR ; Q=0.3', 'br'],
  ['br;q=0.000, gzip;q=0.0', 'identity'],
  ['identity, gzip;q=0.5', 'identity'],
  ['identity;q=0.2, gzip;q=0.5', 'gzip'],
  ['identity;q=0, gzip;q=0.001', 'gzip'],
  ['identity;q=0', 'identity'],
  ['gzip;q=2, br;q=often', 'identity'],
  ['*', 'identity'],
  ['*;q=0', 'identity'],
  ['', 'identity'],
  [',;,q=1,;q=0', 'identity'],
  ['brotli', 'identity'],
] as const)('Accept-Encoding %p gets %p', (accepted, encoding) => {
  expect(chooseEncoding(accepted)).toBe(encoding)
})
