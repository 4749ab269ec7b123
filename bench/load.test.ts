import { expect, test } from 'bun:test'
import type { Job } from './job.ts'
import { buildTemplate, hugeAmount, smallAmount, writeReference } from './request-template.ts'
import { answerLength, isReplay, statusOf } from './response.ts'

const job: Job = {
  target: { port: 1234, clientId: 'app_1', clientSecret: 'bfs_1', usersFile: '' },
  call: 'debit',
  users: 1,
  connections: 1,
  seconds: 1,
  refused: 0,
  replayed: 0,
  mark: '7-1',
}

test('a debit is written in place, and stays a request of the length it says', () => {
  const template = buildTemplate(job, 4)
  template.bytes.write('su_9', template.userAt)
  writeReference(template, 1_234_567)
  hugeAmount.copy(template.bytes, template.amountAt)
  const [head, body] = template.bytes.toString().split('\r\n\r\n')
  expect(head).toContain(`Content-Length: ${body!.length}`)
  expect(JSON.parse(body!)).toEqual({
    clientId: 'app_1',
    clientSecret: 'bfs_1',
    serviceUserId: 'su_9',
    amount: 900_000,
    referenceType: 'ORDER_PAYMENT',
    referenceId: 'order-7-1-01234567',
    description: 'One order',
  })
  smallAmount.copy(template.bytes, template.amountAt)
  expect(JSON.parse(template.bytes.toString().split('\r\n\r\n')[1]!)).toMatchObject({ amount: 0.01 })
})

test('an answer is complete only with the last byte of its body', () => {
  const answer = Buffer.from('HTTP/1.1 400 Bad Request\r\nX-A: 1\r\nContent-Length: 17\r\n\r\n{"replayed":true}')
  for (let length = 0; length < answer.length; length++) expect(answerLength(answer.subarray(0, length))).toBe(0)
  expect(answerLength(answer)).toBe(answer.length)
  expect(statusOf(answer)).toBe(400)
  expect(isReplay(answer)).toBe(true)
})

test('servers may spell the length header as they like', () => {
  const answer = Buffer.from('HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\n{}')
  expect(answerLength(answer)).toBe(answer.length)
  expect(isReplay(answer)).toBe(false)
})
