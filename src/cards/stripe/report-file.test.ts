import { expect, test } from 'bun:test'
import { parseReport } from './report-file.ts'

const usd = { code: 'USD', decimals: 2 }
const head =
  'balance_transaction_id,created_utc,reporting_category,currency,gross,fee,net,description,payment_intent_id'
const report = (...lines: string[]) => parseReport([head, ...lines].join('\r\n'), usd)

test('every kind of line is read, with its sign, its fee and its payment', () => {
  const read = report(
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

test('an account that settles in another currency tells what the payer saw, and other software is told apart', () => {
  const read = parseReport(
    `${head},customer_facing_amount,customer_facing_currency,payment_metadata[topup_id]
txn_1,2026-03-01 12:00:00,charge,eur,23.00,0.90,22.10,,pi_1,25.00,usd,t-1
txn_2,2026-03-01 12:00:00,charge,usd,5.00,0.90,4.10,,pi_2,,,`,
    usd,
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
  [`${head}\n"txn_1`, 'a quote is never closed'],
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
    `${head}\ntxn_1,2026-03-01 12:00:00,charge,usd,1.00,0,1.00,"a\nb",pi_1\ntxn_1,2026-03-01 12:00:00,charge,usd,1.00,0,1.00,,pi_1`,
    'Line 4: txn_1 is on line 2 already.',
  ],
])('a file that is not understood is refused whole, with the line: %#', (text, problem) => {
  const read = parseReport(text, usd)
  expect('problems' in read && read.problems.join(' ')).toContain(problem)
})

test('a file of nonsense has at most twenty complaints', () => {
  const read = report(...Array.from({ length: 100 }, () => 'x'))
  expect('problems' in read && read.problems).toHaveLength(20)
})
