import { expect, test } from 'bun:test'
import { maskError, maskUrl } from './describe-endpoint.ts'

test.each([
  ['https://shop.example/', 'https://shop.example/'],
  ['https://shop.example/webhooks', 'https://shop.example/webhooks'],
  ['https://shop.example:8443/billfold-hooks', 'https://shop.example:8443/billfold-hooks'],
  ['https://shop.example/webhooks/', 'https://shop.example/webhooks/…'],
  ['https://hooks.example/services/T01/B02/s3cret', 'https://hooks.example/services/…'],
  ['https://shop.example/webhooks?key=s3cret', 'https://shop.example/webhooks/…'],
  ['https://shop.example/?key=s3cret', 'https://shop.example/…'],
  ['https://shop.example/9f86d081884c7d65', 'https://shop.example/…'],
  ['https://shop.example/abcdefghijklmnopqrstuvwxyz', 'https://shop.example/…'],
  ['https://shop.example/v1/hooks', 'https://shop.example/…'],
  ['https://shop.example//s3cret', 'https://shop.example/…'],
])('%s is shown as %s', (url, shown) => {
  expect(maskUrl(url)).toBe(shown)
})

test('an error keeps its sentence and loses the receiver’s answer', () => {
  expect(maskError('The answer was 404: Cannot POST: /hooks/s3cret')).toBe('The answer was 404.')
  expect(maskError('The connection was refused.')).toBe('The connection was refused.')
})
