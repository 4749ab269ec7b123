/** Examples for the API documentation. A test sends each of them. */

import { receiptCodeOf } from '../ledger/receipt-code.ts'

const serviceUserId = 'su_0123456789abcdef0123456789abcdef'

export function postingExample(direction: 'debit' | 'credit') {
  const isDebit = direction === 'debit'
  const referenceType = isDebit ? 'ORDER_PAYMENT' : 'ORDER_REFUND'
  return {
    input: { serviceUserId, amount: 19.99, referenceType, referenceId: 'order-1001', description: 'Order 1001' },
    output: {
      balance: isDebit ? 80.01 : 100,
      available: isDebit ? 80.01 : 100,
      held: 0,
      message: `${isDebit ? 'Debited' : 'Credited'} 19.99 USD.`,
      transactionId: 'txn_5f0c7e3b9a4d4c1e8f2a6b7c8d9e0f1a',
    },
  }
}

const exampleCreatedAt = '2026-03-01T12:00:00.000Z'

export const eventsExample = {
  input: { after: 0, limit: 100, types: 'wallet.topped_up' },
  output: {
    events: [
      {
        id: 'evt_8d0f2c4b6a8e0d1f3b5c7d9e1f3a5b7c',
        number: 42,
        timestamp: exampleCreatedAt,
        type: 'wallet.topped_up',
        data: {
          serviceUserId,
          id: 'txn_1a2b3c4d5e6f708192a3b4c5d6e7f809',
          type: 'CREDIT',
          amount: 25,
          balanceAfter: 105.01,
          currency: 'USD',
          referenceType: 'TOPUP',
          referenceId: 'pi_3OqX2Y',
          description: null,
          sequence: 3,
          createdAt: exampleCreatedAt,
        },
      },
    ],
    last: 42,
    oldest: 1,
  },
}

export const replayExample = {
  input: { endpointId: 'we_5b7c9d1e3f5a7b9c1d3e5f7a9b1c3d5e', from: 17, to: 40 },
  output: { endpointId: 'we_5b7c9d1e3f5a7b9c1d3e5f7a9b1c3d5e', count: 24 },
}

export const bulkExample = {
  input: {
    operations: [
      { direction: 'credit', ...postingExample('credit').input },
      { direction: 'debit', ...postingExample('debit').input, amount: 1_000_000 },
    ],
  },
  output: {
    results: [
      { status: 200, ...postingExample('credit').output },
      {
        status: 400,
        error: 'The balance is not sufficient. A new attempt uses a new referenceId.',
        code: 'INSUFFICIENT_BALANCE',
        balance: 100,
        available: 100,
        held: 0,
        requiredAmount: 1_000_000,
        shortfall: 999_900,
      },
    ],
  },
}

export const walletExample = {
  input: { serviceUserId, limit: 50 },
  output: {
    balance: 80.01,
    available: 80.01,
    held: 0,
    transactions: [
      {
        id: 'txn_5f0c7e3b9a4d4c1e8f2a6b7c8d9e0f1a',
        type: 'DEBIT',
        amount: 19.99,
        balanceAfter: 80.01,
        currency: 'USD',
        referenceType: 'ORDER_PAYMENT',
        referenceId: 'order-1001',
        description: 'Order 1001',
        sequence: 2,
        createdAt: '2026-01-31T12:00:00.000Z',
      },
    ],
    isActive: true,
    currency: 'USD',
    nextBefore: null,
  },
}

const hold = {
  id: 'hold_9c1f3e5d7b9a0c2e4f6a8b0c2d4e6f80',
  status: 'OPEN',
  amount: 30,
  captured: 0,
  remaining: 30,
  currency: 'USD',
  referenceType: 'ORDER_PAYMENT',
  referenceId: 'order-1002',
  description: 'Order 1002',
  createdAt: exampleCreatedAt,
  expiresAt: '2026-03-08T12:00:00.000Z',
  closedAt: null,
}
const closed = { ...hold, remaining: 0, closedAt: '2026-03-02T09:00:00.000Z' }
const { referenceType, referenceId, description } = hold
const asHeld = { balance: 80.01, available: 50.01, held: 30 }
const asFree = { balance: 80.01, available: 80.01, held: 0 }

export const holdExample = {
  place: {
    input: { serviceUserId, amount: 30, referenceType, referenceId, description, expiresIn: 604_800 },
    output: { ...asHeld, message: 'Held 30.00 USD.', hold },
  },
  capture: {
    input: { holdId: hold.id, amount: 28.5, referenceType, referenceId },
    output: {
      balance: 51.51,
      available: 51.51,
      held: 0,
      message: 'Debited 28.50 USD.',
      transactionId: 'txn_2b4d6f8091a3b5c7d9e1f30415263748',
      hold: { ...closed, status: 'CAPTURED', captured: 28.5 },
    },
  },
  void: { input: { holdId: hold.id }, output: { hold: { ...closed, status: 'VOIDED' }, ...asFree } },
  extend: {
    input: { holdId: hold.id, expiresIn: 1_209_600 },
    output: { hold: { ...hold, expiresAt: '2026-03-15T12:00:00.000Z' }, ...asHeld },
  },
  read: { input: { holdId: hold.id }, output: { hold } },
  list: { input: { serviceUserId, status: 'OPEN' }, output: { holds: [hold], nextBefore: null } },
}

/** The transactions of the wallet example with the fields that only the widget gets. */
export const widgetTransactions = walletExample.output.transactions.map((transaction) => ({
  ...transaction,
  app: { clientId: 'app_0123456789abcdef0123', name: 'Example shop', logo: null, color: '#0b756d' },
  receiptCode: receiptCodeOf(transaction.id.slice(4)),
}))

export const proofExample = {
  input: { referenceType: 'ORDER_PAYMENT', referenceId: 'order_1' },
  output: {
    proof:
      'c2sp.org/tlog-proof@v1\nextra eyJ2ZXJzaW9uIjoxLCJ3YWxsZXQiOiJi…\nindex 41\n…\n\nwallet.example.com/books/2b5c7b0e8f0a1d3c\n42\n…\n',
    key: 'wallet.example.com/books/2b5c7b0e8f0a1d3c+4f2a91c0+AQ0c…',
  },
}

export const checkpointExample = `wallet.example.com/books/2b5c7b0e8f0a1d3c
42
c2lnbmVkIHN0YXRlIG9mIHRoZSBsb2csIDMyIGJ5dGU=

— wallet.example.com/books/2b5c7b0e8f0a1d3c TypRwA…
`

export const logKeyExample = 'wallet.example.com/books/2b5c7b0e8f0a1d3c+4f2a91c0+AQ0c…\n'
