import { expect, test } from 'bun:test'
import { clientAddress, isCallerHidden } from './client-address.ts'

const proxy = '10.0.0.7'

/** One X-Forwarded-For header for each of the texts. */
function addressOf(forwarded: readonly string[], trustedProxies = 1, socket = proxy): string {
  const headers = new Headers()
  for (const each of forwarded) headers.append('x-forwarded-for', each)
  return clientAddress(new Request('http://billfold.test/', { headers }), trustedProxies, socket)
}

test.each([
  ['the last hop', ['198.51.100.1, 203.0.113.9'], 1, '203.0.113.9'],
  ['with a port', ['203.0.113.9:49152'], 1, '203.0.113.9'],
  ['IPv6 with brackets and a port', ['[2001:db8::7]:443'], 1, '2001:db8::7'],
  ['the hop before the last of two proxies', ['198.51.100.1, 203.0.113.9:5, 10.0.0.1'], 2, '203.0.113.9'],
  ['several headers', ['198.51.100.1', '203.0.113.9', '10.0.0.1'], 2, '203.0.113.9'],
  ['spaces and tabs', [' 198.51.100.1 ,\t203.0.113.9 '], 1, '203.0.113.9'],
  ['10 kB of claims before it', [`${'1.2.3.4, '.repeat(1_100)}203.0.113.9`], 1, '203.0.113.9'],
  ['commas before it', [`${','.repeat(10_000)}203.0.113.9`], 1, '203.0.113.9'],
])('X-Forwarded-For: %s', (_, forwarded, trustedProxies, address) => {
  expect(addressOf(forwarded, trustedProxies)).toBe(address)
})

test.each([
  ['no header', [], 1],
  ['an empty header', [''], 1],
  ['an empty element at the end', ['203.0.113.9,'], 1],
  ['an empty element in its place', ['203.0.113.9, , 10.0.0.1'], 2],
  ['only a comma', [','], 2],
  ['fewer hops than proxies', ['203.0.113.9'], 2],
  ['unknown', ['unknown'], 1],
  ['a hidden name', ['_hidden'], 1],
  ['a quoted claim with a comma', ['"203.0.113.9,198.51.100.1"'], 1],
  ['garbage', ['203.0.113.9x'], 1],
  ['10 kB of garbage', ['x'.repeat(10_000)], 1],
])('the proxy itself counts for X-Forwarded-For with %s', (_, forwarded, trustedProxies) => {
  expect(addressOf(forwarded, trustedProxies)).toBe(proxy)
})

test('without a trusted proxy the header is a claim, and the socket counts', () => {
  expect(addressOf(['203.0.113.9'], 0, '::ffff:198.51.100.1')).toBe('198.51.100.1')
  expect(addressOf([], 0, 'unknown')).toBe('unknown')
})

const isHidden = (headers: Record<string, string>, trustedProxies: number) =>
  isCallerHidden(new Request('http://billfold.test/', { headers }), trustedProxies)

test('a caller is hidden by a header without an address in its place, and not by a missing header', () => {
  expect([isHidden({}, 0), isHidden({}, 1), isHidden({ 'x-forwarded-for': '203.0.113.9' }, 1)]).toEqual([
    false,
    false,
    false,
  ])
  expect([isHidden({ 'x-forwarded-for': 'unknown' }, 1), isHidden({ 'x-forwarded-for': '203.0.113.9' }, 2)]).toEqual([
    true,
    true,
  ])
})
