import { expect, test } from 'bun:test'
import { parseReport } from './report-file.ts'

const usd = { code: 'USD', decimals: 2 }
const head =
  'balance_transaction_id,created_utc,reporting_category,currency,gross,fee,net,description,payment_intent_id'
const span = { firstDay: '2026-02-01', lastDay: '2026-03-02' }
const parse = (text: string, turn?: () => Promise<unknown>) =>
  parseReport(new TextEncoder().encode(text), usd, span, turn)
const report = (...lines: string[]) => parse([head, ...lines].join('\r\n'))

test('every kind of line is read, with its sign, its fee and its payment', async () => {
  const read = await report(
    'txn_1,2026-03-01 12:00:00,charge,usd,25.00,1.03,23.97,"Top-up, ""by card""\r\nof two lines",pi_1',
    'txn_2,2026-03-01T12:00:01Z,refund,usd,-10.50,0,-10.50,,pi_1',
    'txn_3,2026-03-01 12:00:02,dispute,usd,-14.50,15.00,-29.50,,pi_1',
    'txn_4,2026-03-01 12:00:03,dispute_reversal,usd,14.50,0.00,14.50,,pi_1',
    'txn_5,2026-03-01 12:00:04,fee,usd,-2.00,0.00,-2.00,,',
    'txn_6,2026-03-01 12:00:05,payout,usd,-100.00,0.00,-100.00,,',
    'txn_7,2026-03-01 12:00:06,payout,eur,-100.00,0.00,-100.00,,',
    '',
  )
  expect(
    'lines' in read && read.lines.map((line) => [line.kind, line.amountMinor, line.feeMinor, line.isOurs]),
  ).toEqual([
    ['charge', 2500n, 103n, true],
    ['refund', -1050n, 0n, true],
    ['dispute', -1450n, 1500n, true],
    ['dispute', 1450n, 0n, true],
    ['fee', -200n, 0n, false],
    ['payout', -10000n, 0n, false],
    ['payout', 0n, 0n, false],
  ])
  expect('lines' in read && read.lines[0]).toMatchObject({
    id: 'txn_1',
    paymentIntentId: 'pi_1',
    createdAt: new Date('2026-03-01T12:00:00Z'),
  })
})

test('an account that settles in another currency reports what the payer saw, and other software is distinguished', async () => {
  const read = await parse(
    `${head},customer_facing_amount,customer_facing_currency,payment_metadata[topup_id]
txn_1,2026-03-01 12:00:00,charge,eur,23.00,0.90,22.10,,pi_1,25.00,usd,t-1
txn_2,2026-03-01 12:00:00,charge,usd,5.00,0.90,4.10,,pi_2,,,`,
  )
  expect('lines' in read && read.lines.map((line) => [line.amountMinor, line.feeMinor, line.isOurs])).toEqual([
    [2500n, 0n, true],
    [500n, 90n, false],
  ])
})

test.each([
  ['', 'Missing: balance_transaction_id, created_utc'],
  ['id,amount\n1,2', 'The first line must name the columns.'],
  [head, 'There are no lines after'],
  [`${head}\n\n"txn_1`, 'Line 3: a quote is never closed.'],
  [`${head}\ntxn_1,a"b`, 'Line 2: a quote is never closed.'],
  [`${head}\ntxn_1,a"b"`, 'Line 2: a quote or a line break is out of place.'],
  [`${head}\ntxn_1,2026-03-01 12:00:00,charge,usd,1.00`, 'Line 2: it has 5 cells, but the first line has 9.'],
  [`${head}\ntxn_1,01.03.2026,charge,usd,1.00,0,1.00,,pi_1`, 'Line 2: created_utc is "01.03.2026"'],
  [
    `${head}\ntxn_1,2026-03-01 12:00:00,charge,usd,1.001,0,1.00,,pi_1`,
    'Line 2: gross is "1.001", not an amount of USD.',
  ],
  [`${head}\ntxn_1,2026-03-01 12:00:00,charge,usd,"1,000.00",0,1.00,,pi_1`, 'Line 2: gross is "1,000.00"'],
  [`${head}\ntxn_1,2026-03-01 12:00:00,charge,usd,1.00,x,1.00,,pi_1`, 'Line 2: fee is "x"'],
  [`${head}\ntxn_1,2026-03-01 12:00:00,charge,eur,1.00,0,1.00,,pi_1`, 'Line 2: it is in eur, not in USD.'],
  [`${head}\ntxn_1,2026-03-01 12:00:00,charge,usd,1.00,0,1.00,,ch_1`, 'Line 2: payment_intent_id is "ch_1".'],
  [`${head}\n=1+1,2026-03-01 12:00:00,charge,usd,1.00,0,1.00,,pi_1`, 'Line 2: balance_transaction_id is "=1+1".'],
  [
    `${head}\ntxn_1,0026-03-01 12:00:00,charge,usd,1.00,0,1.00,,pi_1`,
    'Line 2: created_utc is on 0026-03-01, not between',
  ],
  [`${head}\ntxn_1,2026-01-31 23:59:59,charge,usd,1.00,0,1.00,,pi_1`, 'not between 2026-02-01 and 2026-03-02.'],
  [`${head}\ntxn_1,2026-03-03 00:00:00,charge,usd,1.00,0,1.00,,pi_1`, 'Line 2: created_utc is on 2026-03-03'],
  [
    `${head},fee\ntxn_1,2026-03-01 12:00:00,charge,usd,1.00,0,1.00,,pi_1,9.00`,
    'Line 1: two columns have the same name.',
  ],
  [
    `${head}\ntxn_1,2026-03-01 12:00:00,charge,usd,1.00,0,1.00,"a\nb",pi_1\ntxn_1,2026-03-01 12:00:00,charge,usd,1.00,0,1.00,,pi_1`,
    'Line 4: txn_1 is on line 2 already.',
  ],
])('a file that is not understood is refused whole, with the line: %#', async (text, problem) => {
  const read = await parse(text)
  expect('problems' in read && read.problems.join(' ')).toContain(problem)
})

test('a file of nonsense has at most twenty complaints', async () => {
  const read = await report(...Array.from({ length: 100 }, () => 'x'))
  expect('problems' in read && read.problems).toHaveLength(20)
})

const line = (i: number, description = '') =>
  `txn_${i},2026-03-01 12:00:00,charge,usd,1.00,0,1.00,"${description}",pi_${i}\n`
const megabytes = (text: string, count = 10) =>
  text.repeat(Math.ceil((count * 1024 * 1024 - head.length) / text.length) - 1)
const bytes = (...parts: (string | number[])[]) =>
  Buffer.concat(parts.map((part) => (typeof part === 'string' ? Buffer.from(part) : Buffer.from(part))))

test.each<[string, Uint8Array, string]>([
  ['10 MB of commas', bytes(megabytes(',')), 'Line 1: it is longer than 256 KiB'],
  ['10 MB of commas after the column names', bytes(head, '\n', megabytes(',')), 'Line 2: it is longer than 256 KiB'],
  [
    'lines of too many commas',
    bytes(head, '\n', megabytes(`${','.repeat(1_000)}\n`)),
    'Line 2: it has more than 200 cells.',
  ],
  ['one huge line', bytes(head, '\n', megabytes('x')), 'Line 2: it is longer than 256 KiB'],
  [
    'a quote that is never closed',
    bytes(head, '\n"', megabytes('x\n')),
    'Line 2: it is longer than 256 KiB, or a quote',
  ],
  ['nothing but quotes', bytes(megabytes('"')), 'Line 1: it is longer than 256 KiB'],
  ['a million short lines', bytes(head, '\n', 'x\n'.repeat(1_000_000)), 'Line 2: it has 1 cells'],
  ['a million empty lines', bytes(head, '\n'.repeat(1_000_000)), 'Line 100002: there are more than 100000 lines.'],
  ['a cell that is too long', bytes(head, '\n', line(1, 'x'.repeat(140_000))), 'Line 2: a cell has more than 131072'],
  ['a NUL', bytes(head, '\n', line(1), 'txn_\0'), 'Line 3: it contains a NUL character.'],
  [
    'a lone surrogate',
    bytes(head, '\n', line(1), line(2).slice(0, -1), [0xed, 0xa0, 0x80]),
    'Line 3: it is not UTF-8.',
  ],
  ['Latin-1', bytes(head, '\n', 'txn_', [0xe9]), 'Line 2: it is not UTF-8.'],
  ['UTF-16', Buffer.from(`\uFEFF${head}`, 'utf16le'), 'Line 1: the file is UTF-16.'],
  ['UTF-16 without a mark', Buffer.from(head, 'utf16le'), 'Line 1: it contains a NUL character.'],
])('a file of %s is refused with its line', async (_, file, problem) => {
  const read = await parseReport(file, usd, span)
  expect('problems' in read && read.problems[0]).toContain(problem)
})

test('a byte order mark is accepted', async () => {
  expect(await parse(`\uFEFF${head}\n${line(1)}`)).toMatchObject({ days: ['2026-03-01'] })
})

test.each([
  ['many lines', Array.from({ length: 100_000 }, (_, i) => line(i)).join(''), 100_000],
  ['few lines of many commas', Array.from({ length: 90 }, (_, i) => line(i, ','.repeat(110_000))).join(''), 90],
])('%s: the event loop has a turn after every 64 KiB', async (_, text, count) => {
  let turns = 0
  const read = await parse(`${head}\n${text}`, async () => void turns++)
  expect('lines' in read && read.lines).toHaveLength(count)
  expect(turns).toBeGreaterThanOrEqual(Math.floor((head.length + text.length) / 65_536))
})

test('a file of more than 400 days is refused', async () => {
  const days = Array.from({ length: 401 }, (_, i) => new Date(Date.UTC(2025, 0, 1 + i)).toISOString().slice(0, 10))
  const text = days.map((day, i) => line(i).replace('2026-03-01', day)).join('')
  const long = { firstDay: '2025-01-01', lastDay: '2026-12-31' }
  const read = await parseReport(bytes(head, '\n', text), usd, long)
  expect('problems' in read && read.problems).toEqual(['Line 402: there are more than 400 days. Export fewer days.'])
})
