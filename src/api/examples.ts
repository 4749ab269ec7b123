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

/** The transactions of the wallet example with the fields that only the widget gets. */
export const widgetTransactions = walletExample.output.transactions.map((transaction) => ({
  ...transaction,
  app: { clientId: 'app_0123456789abcdef0123', name: 'Example shop', logo: null, color: '#0b756d' },
  receiptCode: receiptCodeOf(transaction.id.slice(4)),
}))
