import { expect, test } from 'bun:test'
import { parseOrigin, parseOrigins } from './origins.ts'

const development = { isProduction: false }

test.each([
  ['https://shop.example', 'https://shop.example'],
  ['HTTPS://Shop.Example', 'https://shop.example'],
  ['https://shop.example:443', 'https://shop.example'],
  ['https://shop.example:8443', 'https://shop.example:8443'],
  ['http://localhost:3001', 'http://localhost:3001'],
  ['http://[::1]:3001', 'http://[::1]:3001'],
  ['https://münchen.example', 'https://xn--mnchen-3ya.example'],
])('the origin %s is stored as %s', (text, origin) => {
  expect(parseOrigin(text, development)).toEqual({ origin })
})

test.each([
  '',
  '*',
  'https://*.example',
  'shop.example',
  '//shop.example',
  'https://',
  'https://shop.example/',
  'https://shop.example/path',
  'https://shop.example?x',
  'https://shop.example#x',
  'https://user:pass@shop.example',
  'https://:pass@shop.example',
  'ftp://shop.example',
  'javascript:alert(1)',
  'null',
  'https://shop.example; script-src *',
  'https://shop.example;script-src',
  "https://shop.example 'unsafe-inline'",
  'https://shop.example,https://evil.example',
  'https://shop.example\r\nset-cookie: x=1',
  'https://shop.example\u0000',
  'https://shop.example:99999',
])('%p is no origin', (text) => {
  expect(parseOrigin(text, development).problem).toBeString()
})

test('production takes https alone', () => {
  expect(parseOrigin('http://shop.example', { isProduction: true }).problem).toContain('https')
  expect(parseOrigin('https://shop.example', { isProduction: true })).toEqual({ origin: 'https://shop.example' })
})

test('all problems are told together, and an origin written twice counts once', () => {
  const { origins, problems } = parseOrigins(['https://a.example', 'https://A.example', '*', 'x'], development)
  expect(origins).toEqual(['https://a.example'])
  expect(problems).toHaveLength(2)
})
