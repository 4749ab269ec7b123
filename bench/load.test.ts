import { expect, test } from 'bun:test'
import { bulkSize, type Job } from './job.ts'
import { buildTemplate, hugeAmount, smallAmount, writeReference, type Offsets } from './request-template.ts'
import { answerLength, countDone, isBusy, isReplay, statusOf } from './response.ts'

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

test('a debit is written in place, and the request keeps its declared length', () => {
  const template = buildTemplate(job, 4)
  const [position] = template.offsets as [Offsets]
  template.bytes.write('su_9', position.userAt)
  writeReference(template.bytes, position, 1_234_567)
  hugeAmount.copy(template.bytes, position.amountAt)
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
  smallAmount.copy(template.bytes, position.amountAt)
  expect(JSON.parse(template.bytes.toString().split('\r\n\r\n')[1]!)).toMatchObject({ amount: 0.01 })
})

test('each of many debits is written at its own offsets', () => {
  const { bytes, offsets } = buildTemplate({ ...job, call: 'bulk' }, 4)
  expect(offsets).toHaveLength(bulkSize)
  for (const [i, position] of offsets.entries()) {
    bytes.write(`su_${i % 10}`, position.userAt)
    writeReference(bytes, position, i)
    if (i === 7) hugeAmount.copy(bytes, position.amountAt)
  }
  const [head, body] = bytes.toString().split('\r\n\r\n')
  expect(head).toContain(`Content-Length: ${body!.length}`)
  const { operations } = JSON.parse(body!) as { operations: Record<string, unknown>[] }
  expect(operations.map(({ serviceUserId, amount, referenceId }) => [serviceUserId, amount, referenceId])).toEqual(
    offsets.map((_, i) => [`su_${i % 10}`, i === 7 ? 900_000 : 0.01, `order-7-1-${String(i).padStart(8, '0')}`]),
  )
  expect(countDone(Buffer.from('{"results":[{"status":200},{"status":400},{"status":200}]}'))).toBe(2)
})

test('an answer is complete only with the last byte of its body', () => {
  const answer = Buffer.from('HTTP/1.1 400 Bad Request\r\nX-A: 1\r\nContent-Length: 17\r\n\r\n{"replayed":true}')
  for (let length = 0; length < answer.length; length++) expect(answerLength(answer.subarray(0, length))).toBe(0)
  expect(answerLength(answer)).toBe(answer.length)
  expect(statusOf(answer)).toBe(400)
  expect(isReplay(answer)).toBe(true)
})

test('servers may spell the length header in any case', () => {
  const answer = Buffer.from('HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\n{}')
  expect(answerLength(answer)).toBe(answer.length)
  expect(isReplay(answer)).toBe(false)
})

const many = (status: number) => `HTTP/1.1 200 OK\r\n\r\n{"results":[{"status":200},{"status":${status},"code":"X"}]}`

test('an answer that asks to repeat the request is recognised, alone or among many', () => {
  expect(isBusy(Buffer.from('HTTP/1.1 503 Service Unavailable\r\ncontent-length: 2\r\n\r\n{}'))).toBe(true)
  expect([503, 400].map((status) => isBusy(Buffer.from(many(status))))).toEqual([true, false])
})

test('a hold has the fields of a debit, and a capture names its hold', () => {
  const hold = buildTemplate({ ...job, call: 'hold' }, 4).bytes.toString()
  expect(hold).toStartWith('POST /api/server/wallet/hold HTTP/1.1\r\n')
  expect(JSON.parse(hold.split('\r\n\r\n')[1]!)).toMatchObject({ serviceUserId: '####', amount: 0.01 })
  const { bytes, offsets } = buildTemplate({ ...job, call: 'capture' }, 6)
  bytes.write('hold_1', offsets[0]!.userAt)
  const [head, body] = bytes.toString().split('\r\n\r\n')
  expect(head).toStartWith('POST /api/server/wallet/hold/capture HTTP/1.1\r\n')
  expect(head).toContain(`Content-Length: ${body!.length}`)
  expect(JSON.parse(body!)).toEqual({ clientId: 'app_1', clientSecret: 'bfs_1', holdId: 'hold_1' })
})
