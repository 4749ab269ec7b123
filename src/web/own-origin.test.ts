import { expect, test } from 'bun:test'
import { isFromOwnPage } from './own-origin.ts'

const publicUrl = 'https://pay.example'
const [own, evil] = [publicUrl, 'https://evil.example']

/** Headers of a request, and whether a call by script and a form with them are accepted, in production. */
const cases: readonly [site: string | undefined, origin: string | undefined, call: boolean, form: boolean][] = [
  ['same-origin', own, true, true],
  ['same-origin', undefined, true, false],
  ['same-origin', evil, true, false],
  [undefined, own, true, true],
  [undefined, undefined, true, false],
  [undefined, evil, false, false],
  [undefined, 'null', false, false],
  ['cross-site', own, false, false],
  ['same-site', own, false, false],
  ['none', own, false, false],
  ['', own, false, false],
]

test.each(cases)('Sec-Fetch-Site %p with Origin %p', (site, origin, call, form) => {
  const headers = { ...(site !== undefined && { 'sec-fetch-site': site }), ...(origin !== undefined && { origin }) }
  const request = new Request(`${publicUrl}/admin`, { headers })
  const names = { publicUrl, isProduction: true }
  expect(isFromOwnPage(names, request, { mustNameOrigin: false })).toBe(call)
  expect(isFromOwnPage(names, request, { mustNameOrigin: true })).toBe(form)
})

test('the host of the request is another name of the service in development alone', () => {
  const headers = { host: 'localhost:3000', origin: 'http://localhost:3000' }
  const request = new Request('http://localhost:3000/admin', { headers })
  expect(isFromOwnPage({ publicUrl, isProduction: false }, request, { mustNameOrigin: true })).toBe(true)
  expect(isFromOwnPage({ publicUrl, isProduction: true }, request, { mustNameOrigin: true })).toBe(false)
})
