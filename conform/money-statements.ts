/** §2 and §4 A of the contract: wallets, debits and credits, and repeats. */
import { demand, demandMoney, demandNumber, demandSuccess, shownValue, type Statement } from './verdict.ts'
import type { Subject } from './subject.ts'

async function balanceOf(subject: Subject): Promise<number> {
  return demandNumber(demandSuccess(await subject.wallet(), 'GET /api/server/wallet')['balance'], 'the balance')
}

/** Compares the balance of the wallet, because the answer to a posting may be wrong. */
async function demandMoved(subject: Subject, before: number, by: number, what: string): Promise<void> {
  const after = await balanceOf(subject)
  demandMoney(after - before, by, `what moved by ${what}`)
}

type Direction = 'debit' | 'credit'

const signed = { debit: -1, credit: 1 }

const fields = (direction: Direction): Statement => ({
  section: '4.A',
  says: `A ${direction} answers balance (a number) and message (text), and balance is the one after it`,
  attempt: async (subject) => {
    const answer = demandSuccess(await subject[direction](1), `the ${direction}`)
    demand(typeof answer['message'] === 'string', `message is ${shownValue(answer['message'])}, not text`)
    const claimed = demandNumber(answer['balance'], 'balance')
    demandMoney(await balanceOf(subject), claimed, 'the balance of the wallet')
  },
})

const exact = (direction: Direction): Statement => ({
  section: '4.A',
  says: `A ${direction} moves its amount, once`,
  attempt: async (subject) => {
    const before = await balanceOf(subject)
    demandSuccess(await subject[direction](2), `the ${direction}`)
    await demandMoved(subject, before, 2 * signed[direction], `a ${direction} of 2`)
  },
})

const repeated = (direction: Direction): Statement[] => [
  {
    section: '4.A rule 2',
    says: `A repeated ${direction} does not change the balance again`,
    attempt: async (subject) => {
      const reference = subject.newReference()
      demandSuccess(await subject[direction](1, reference), `the ${direction}`)
      const before = await balanceOf(subject)
      await subject[direction](1, reference)
      await demandMoved(subject, before, 0, 'the repeat')
    },
  },
  {
    section: '4.A rule 2',
    says: `A repeated ${direction} returns the original outcome, even after the balance has changed`,
    attempt: async (subject) => {
      const reference = subject.newReference()
      const first = demandSuccess(await subject[direction](1, reference), `the ${direction}`)
      demandSuccess(await subject.credit(3), 'a credit in between')
      const again = demandSuccess(await subject[direction](1, reference), 'the repeat')
      demandMoney(again['balance'], demandNumber(first['balance'], 'balance'), 'balance in the repeat’s answer')
      demand(
        again['message'] === first['message'],
        `message was ${shownValue(first['message'])}, and is ${shownValue(again['message'])}`,
      )
    },
  },
]

export const moneyStatements: readonly Statement[] = [
  {
    section: '2, 4.A',
    says: 'A wallet has balance (a number), transactions (a list of records) and isActive (a boolean)',
    attempt: async (subject) => {
      const { balance, transactions, isActive } = demandSuccess(await subject.wallet(), 'GET /api/server/wallet')
      demandNumber(balance, 'balance')
      demand(Array.isArray(transactions), `transactions is ${shownValue(transactions)}, not a list`)
      const strange = transactions.find((one) => typeof one !== 'object' || one === null)
      demand(strange === undefined, `a transaction is ${shownValue(strange)}, not a record`)
      demand(typeof isActive === 'boolean', `isActive is ${shownValue(isActive)}, not a boolean`)
    },
  },
  {
    section: '2',
    says: 'The transactions of a wallet include a credit that was just posted',
    attempt: async (subject) => {
      demandSuccess(await subject.credit(1), 'the credit')
      const { transactions } = demandSuccess(await subject.wallet(), 'GET /api/server/wallet')
      demand(Array.isArray(transactions) && transactions.length > 0, 'there are none')
    },
  },
  {
    section: '4.A',
    says: 'check-balance answers balance, requiredAmount and hasSufficientBalance (a boolean)',
    attempt: async (subject) => {
      const answer = demandSuccess(await subject.check(1), 'check-balance')
      demandNumber(answer['balance'], 'balance')
      demandMoney(Number(answer['requiredAmount']), 1, 'requiredAmount')
      const { hasSufficientBalance } = answer
      demand(typeof hasSufficientBalance === 'boolean', `hasSufficientBalance is ${shownValue(hasSufficientBalance)}`)
    },
  },
  {
    section: '4.A',
    says: 'A balance is sufficient for itself, and not for more',
    attempt: async (subject) => {
      const balance = Math.floor(await balanceOf(subject))
      const isEnough = async (amount: number) =>
        demandSuccess(await subject.check(amount), 'check-balance')['hasSufficientBalance']
      demand(Boolean(await isEnough(balance)), `hasSufficientBalance is not true for ${balance}`)
      demand(!(await isEnough(balance + 1)), `hasSufficientBalance is not false for ${balance + 1}`)
    },
  },
  fields('credit'),
  fields('debit'),
  exact('credit'),
  exact('debit'),
  {
    section: '4.A',
    says: 'A description may be sent, and may be left out',
    attempt: async (subject) => {
      const description = 'A conformance check'
      demandSuccess(await subject.credit(1, subject.newReference(), { description }), 'a credit with a description')
      demandSuccess(await subject.debit(1, subject.newReference(), { description }), 'a debit with a description')
    },
  },
  {
    section: '2',
    says: 'referenceType is a free label: no enumeration is enforced',
    attempt: async (subject) => {
      for (const label of ['ORDER_REFUND', 'CHARGEBACK_CREDIT', 'CONFORMANCE_UNKNOWN_LABEL'])
        demandSuccess(await subject.credit(1, subject.newReference(label)), `a credit with ${label}`)
    },
  },
  ...repeated('debit'),
  ...repeated('credit'),
  {
    section: '4.A rule 1',
    says: 'Eight equal credits sent at the same time move money once',
    attempt: async (subject) => {
      const before = await balanceOf(subject)
      const reference = subject.newReference()
      await Promise.all(Array.from({ length: 8 }, () => subject.credit(1, reference)))
      await demandMoved(subject, before, 1, 'eight equal credits')
    },
  },
  {
    section: '4.A rule 2',
    says: 'Eight equal debits sent at the same time all return the same outcome',
    attempt: async (subject) => {
      const reference = subject.newReference()
      const replies = await Promise.all(Array.from({ length: 8 }, () => subject.debit(1, reference)))
      const balances = replies.map((reply) => demandSuccess(reply, 'one of them')['balance'])
      demand(new Set(balances).size === 1, `their balances are ${shownValue([...new Set(balances)])}`)
    },
  },
  {
    section: '2',
    says: 'The key is the pair: the same referenceId with another referenceType, or the other way round, is another operation',
    attempt: async (subject) => {
      const reference = subject.newReference()
      demandSuccess(await subject.credit(1, reference), 'the first')
      const before = await balanceOf(subject)
      demandSuccess(await subject.credit(1, { ...reference, referenceType: 'CONFORMANCE_OTHER' }), 'the second')
      demandSuccess(await subject.credit(1, subject.newReference(reference.referenceType)), 'the third')
      await demandMoved(subject, before, 2, 'two credits, each with half of a used pair')
    },
  },
  {
    section: '4.A rule 3',
    says: 'A refund with its own pair is not a repeat of the debit',
    attempt: async (subject) => {
      const { referenceId } = subject.newReference()
      demandSuccess(await subject.debit(2, { referenceType: 'ORDER_PAYMENT', referenceId }), 'the debit')
      const before = await balanceOf(subject)
      demandSuccess(await subject.credit(2, { referenceType: 'ORDER_REFUND', referenceId }), 'the refund')
      demand((await balanceOf(subject)) > before, 'nothing was paid back')
    },
  },
]
