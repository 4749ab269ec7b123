import { describe, expect, test } from 'bun:test'
import type { Payment } from '../../cards/processor.ts'
import type { Topup } from '../../store/topups.ts'
import { nextAttemptAt, readPayment, referenceIdOf } from './topup-rules.ts'

const at = new Date('2026-01-31T12:00:00Z')

const topup: Topup = {
  id: 't',
  userId: 'u',
  clientId: 'app',
  processor: 'stripe',
  paymentIntentId: 'pi',
  amountMinor: 2500n,
  currency: 'USD',
  state: 'created',
  creditedMinor: 0n,
  refundedMinor: 0n,
  disputedMinor: 0n,
  dispute: 'none',
  declineCode: null,
  declinesSeen: 0,
  declinesReported: 0,
  declinedAt: null,
  problem: null,
  failure: null,
  nextAmountMinor: null,
  createdAt: at,
  updatedAt: at,
  expiresAt: new Date(at.getTime() + 3_600_000),
  version: 0n,
}

const payment: Payment = {
  id: 'pi',
  clientSecret: 's',
  status: 'succeeded',
  amountMinor: 2500n,
  amountReceivedMinor: 2500n,
  currency: 'USD',
  refundedMinor: 0n,
  disputed: 'none',
  disputedMinor: 0n,
  declineCode: undefined,
  declineMessage: undefined,
  nextAction: undefined,
  userId: 'u',
  topupId: 't',
}

const credited: Topup = { ...topup, state: 'succeeded', creditedMinor: 2500n }

function planned(before: Partial<Topup>, seen: Partial<Payment>, from: Topup = topup): string[] {
  const { movements } = readPayment({ ...from, ...before }, { ...payment, ...seen }, { at, ledgerCurrency: 'USD' })
  return movements.map(({ referenceType, amountMinor }) => `${referenceType} ${amountMinor}`)
}

const read = (seen: Partial<Payment>) =>
  readPayment(topup, { ...payment, ...seen }, { at, ledgerCurrency: 'USD' }).changes

const inSeconds = (changes: Partial<Topup>, attempts = 0) => {
  const next = nextAttemptAt({ ...topup, ...changes }, attempts, at)
  return next && (next.getTime() - at.getTime()) / 1000
}

describe('the ledger gets', () => {
  const table: [string, Partial<Topup>, Partial<Payment>, string[]][] = [
    ['nothing of a payment that has not succeeded', {}, { status: 'processing', amountReceivedMinor: 0n }, []],
    ['one credit of a paid one', {}, {}, ['TOPUP 2500']],
    ['nothing more of one that is credited', credited, {}, []],
    [
      'nothing of one that is credited and reported as unpaid again',
      credited,
      { status: 'processing', amountReceivedMinor: 0n },
      [],
    ],
    [
      'all at once of one that was refunded before we looked',
      {},
      { refundedMinor: 400n },
      ['TOPUP 2500', 'TOPUP_REFUND -400'],
    ],
    [
      'only what is new of a second refund',
      { ...credited, refundedMinor: 400n },
      { refundedMinor: 900n },
      ['TOPUP_REFUND -500'],
    ],
    [
      'what comes back of a refund that failed',
      { ...credited, refundedMinor: 400n },
      {},
      ['TOPUP_REFUND_RETURNED 400'],
    ],
    ['what a dispute holds', credited, { disputedMinor: 2500n }, ['TOPUP_DISPUTE -2500']],
    [
      'what a won dispute gives back',
      { ...credited, disputedMinor: 2500n },
      { disputed: 'won' },
      ['TOPUP_DISPUTE_RETURNED 2500'],
    ],
    [
      'first what comes in, then what goes out',
      { ...credited, disputedMinor: 2500n },
      { refundedMinor: 2500n },
      ['TOPUP_DISPUTE_RETURNED 2500', 'TOPUP_REFUND -2500'],
    ],
    ['nothing of another amount', {}, { amountMinor: 2400n, amountReceivedMinor: 2400n }, []],
    ['nothing of an order for more than was received', {}, { amountMinor: 2600n }, []],
    ['nothing of less received than ordered', {}, { amountReceivedMinor: 2499n }, []],
    ['nothing of another currency', {}, { currency: 'EUR' }, []],
    ['nothing of a currency that the ledger does not keep', { currency: 'EUR' }, { currency: 'EUR' }, []],
    ['nothing of another user', {}, { userId: 'v' }, []],
    ['nothing of another top-up', {}, { topupId: undefined }, []],
    ['nothing once there is a problem', { problem: 'credit-refused' }, { refundedMinor: 100n }, []],
  ]
  test.each(table)('the ledger gets: %s', (_, before, seen, movements) => {
    expect(planned(before, seen)).toEqual(movements)
  })
})

test('money that is not what was ordered is a problem, and an unpaid payment is none', () => {
  expect(read({ currency: 'EUR' })).toMatchObject({ problem: 'mismatch', state: 'processing' })
  const unpaid = { status: 'requires_payment_method', amountReceivedMinor: 0n } as const
  expect(read({ ...unpaid, currency: 'EUR' })).toMatchObject({ problem: null, state: 'created' })
})

test('a top-up has one reference, and every later movement its own', () => {
  expect(referenceIdOf('TOPUP', 'pi', 1)).toBe('pi')
  expect(referenceIdOf('TOPUP_REFUND', 'pi', 2)).toBe('pi:2')
})

describe('attempts', () => {
  test('the next attempt at an open payment comes after 30 s, then ever later, and never misses its end', () => {
    expect([0, 1, 2, 3].map((attempts) => inSeconds({}, attempts))).toEqual([30, 60, 120, 240])
    expect(inSeconds({}, 20)).toBe(3600)
    expect(inSeconds({ expiresAt: new Date(at.getTime() + 10_000) }, 9)).toBe(10)
  })
  test('the next attempt at a processing one never ends, and is never more than six hours away', () => {
    expect(inSeconds({ state: 'processing' }, 1_000)).toBe(6 * 3600)
  })
  test('the next attempt at an ended one is rare, and for an open dispute daily', () => {
    expect(inSeconds({ state: 'failed' })).toBeNull()
    expect(inSeconds({ state: 'cancelled' })).toBeNull()
    expect(inSeconds({ state: 'succeeded' }, 0)).toBe(3600)
    expect(inSeconds({ state: 'succeeded' }, 11)).toBe(2048 * 3600)
    expect(inSeconds({ state: 'succeeded' }, 12)).toBeNull()
    expect(inSeconds({ state: 'succeeded', dispute: 'open' }, 50)).toBe(24 * 3600)
  })
})
