/** What holds answers against the OpenAPI document finds what is not in it. */
import { expect, test } from 'bun:test'
import { documented, findUndocumented } from './openapi.ts'

const path = '/api/server/wallet/debit'
const requestId = 'req_abc'
const headers = { 'content-type': 'application/json', 'x-request-id': requestId }
const good = { balance: 1, available: 1, held: 0, message: 'Debited 1.00 USD.', transactionId: `txn_${'0'.repeat(32)}` }
const refusal = { error: 'No.', code: 'INSUFFICIENT_BALANCE', requestId }

type Sent = { status?: number; body?: unknown; changes?: Record<string, string>; method?: string; at?: string }

function problemsOf({ status = 200, body = good, changes = {}, method = 'POST', at = path }: Sent): string {
  const text = typeof body === 'string' ? body : JSON.stringify(body)
  const response = new Response(null, { status, headers: { ...headers, ...changes } })
  return findUndocumented(method, `http://billfold.test${at}?q=1`, response, text).join('\n')
}

test('an answer that the document describes is fine, and so is what is no part of the API', () => {
  expect(problemsOf({})).toBe('')
  expect(problemsOf({ body: { ...good, replayed: true }, changes: { 'idempotent-replayed': 'true' } })).toBe('')
  expect(problemsOf({ status: 400, body: { ...refusal, balance: 0, requiredAmount: 1, shortfall: 1 } })).toBe('')
  expect(problemsOf({ status: 503, body: { ...refusal, code: 'UNAVAILABLE' }, changes: { 'retry-after': '2' } })).toBe(
    '',
  )
  expect(problemsOf({ at: '/widget/wallet', body: '<p>', changes: { 'content-type': 'text/html' } })).toBe('')
  const notFound = { ...refusal, code: 'NOT_FOUND' }
  expect(problemsOf({ at: '/api/nothing', status: 404, body: notFound })).toBe('')
  const wrongMethod = { ...refusal, code: 'METHOD_NOT_ALLOWED' }
  expect(problemsOf({ method: 'PUT', status: 405, body: wrongMethod, changes: { allow: 'POST' } })).toBe('')
  expect(problemsOf({ method: 'HEAD', at: '/readyz', status: 503, body: '' })).toBe('')
})

test.each<[string, Sent, string]>([
  ['a status', { status: 201 }, 'is not in the OpenAPI document'],
  ['a path', { at: '/api/nothing' }, 'is not in the OpenAPI document'],
  ['a method', { method: 'PUT' }, 'is not in the OpenAPI document'],
  ['a field', { body: { ...good, extra: 1 } }, 'must NOT have additional properties'],
  ['a field of an error', { status: 400, body: { ...refusal, extra: 1 } }, 'must NOT have additional properties'],
  ['a field that is missing', { body: { balance: 1 } }, 'must have required property'],
  ['a field of another type', { body: { ...good, balance: '1' } }, 'must be number'],
  ['a code of another status', { status: 409, body: refusal }, 'must be equal to one of the allowed values'],
  ['a header', { changes: { 'x-other': '1' } }, 'the header x-other is not in the OpenAPI document'],
  ['a header that is missing', { status: 429, body: { ...refusal, code: 'RATE_LIMITED' } }, 'retry-after is missing'],
  ['a header of another form', { changes: { 'x-request-id': '7' } }, 'the header x-request-id is 7'],
  ['a content type', { changes: { 'content-type': 'text/html' } }, 'the content type text/html'],
  ['a body', { method: 'HEAD', at: '/readyz', body: '{}' }, 'has a body'],
])('what the document does not know is found: %s', (_, sent, problem) => {
  expect(problemsOf(sent)).toContain(problem)
})

test('such an answer throws, and is kept for where the error is not seen', async () => {
  const kept: string[] = []
  const send = documented(async () => Response.json(good, { status: 201, headers }), kept)
  const sending = send(new Request(`http://billfold.test${path}`, { method: 'POST' }))
  expect(sending).rejects.toThrow('is not in the OpenAPI document')
  await sending.catch(() => {})
  expect(kept).toHaveLength(1)
})
