/** §2 and §4 A of the contract: wallets, debits and credits. */
import {
  NotTried,
  balanceOf,
  demand,
  demandMoney,
  demandMoved,
  demandNumber,
  demandRefusal,
  demandSuccess,
  shownValue,
  type Statement,
} from './verdict.ts'
import type { Subject } from './subject.ts'

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
  attempt: (subject) =>
    demandMoved(subject, 2 * signed[direction], `a ${direction} of 2`, async () =>
      demandSuccess(await subject[direction](2), `the ${direction}`),
    ),
})

const cents = (direction: Direction): Statement => ({
  section: '4.A',
  says: `A ${direction} with cents moves them too`,
  attempt: (subject) =>
    demandMoved(subject, 1.27 * signed[direction], `a ${direction} of 1.27`, async () => {
      const reply = await subject[direction](1.27)
      if (reply.status === 400 || reply.status === 422)
        throw new NotTried('it does not accept 1.27; the format of amounts is up to the service')
      demandSuccess(reply, `the ${direction}`)
    }),
})

/** Beyond this the wallet holds money that a test should not take, even for a second. */
const mostToDrain = 1_000

async function drainable(subject: Subject): Promise<number> {
  const balance = await balanceOf(subject)
  if (balance > mostToDrain)
    throw new NotTried(`it would debit the whole balance; use a wallet with at most ${mostToDrain}`)
  return balance
}

const listChanges = (direction: Direction): Statement => ({
  section: '2',
  says: `The transactions of a wallet include a ${direction} that was just posted`,
  attempt: async (subject) => {
    const before = new Set((await recordsOf(subject)).map((record) => JSON.stringify(record)))
    demandSuccess(await subject[direction](1), `the ${direction}`)
    const added = (await recordsOf(subject)).filter((record) => !before.has(JSON.stringify(record)))
    demand(added.length > 0, 'the list is the same as before')
  },
})

async function recordsOf(subject: Subject): Promise<unknown[]> {
  const { transactions } = demandSuccess(await subject.wallet(), 'GET /api/server/wallet')
  demand(Array.isArray(transactions), `transactions is ${shownValue(transactions)}, not a list`)
  return transactions
}

async function isEnough(subject: Subject, amount: number): Promise<boolean> {
  const reply = await subject.check(amount)
  if ([400, 422].includes(reply.status) && !Number.isInteger(amount))
    throw new NotTried(`it does not accept ${amount}; the format of amounts is up to the service`)
  return Boolean(demandSuccess(reply, 'check-balance')['hasSufficientBalance'])
}

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
  listChanges('credit'),
  listChanges('debit'),
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
    says: 'check-balance answers the balance of the wallet, also right after a credit',
    attempt: async (subject) => {
      // A service may keep the balance of this call.
      await subject.check(1)
      demandSuccess(await subject.credit(1), 'the credit')
      const { balance } = demandSuccess(await subject.check(1), 'check-balance')
      demandMoney(balance, await balanceOf(subject), 'balance')
    },
  },
  {
    section: '4.A',
    says: 'A balance is sufficient for itself, and not for more',
    attempt: async (subject) => {
      const balance = Math.floor(await balanceOf(subject))
      demand(await isEnough(subject, balance), `hasSufficientBalance is not true for ${balance}`)
      demand(!(await isEnough(subject, balance + 1)), `hasSufficientBalance is not false for ${balance + 1}`)
    },
  },
  {
    section: '4.A',
    says: 'A balance is not sufficient for one cent more',
    attempt: async (subject) => {
      const more = Number(((await balanceOf(subject)) + 0.01).toFixed(3))
      demand(!(await isEnough(subject, more)), `hasSufficientBalance is not false for ${more}`)
    },
  },
  {
    section: '4.A',
    says: 'check-balance moves nothing',
    attempt: (subject) => demandMoved(subject, 0, 'check-balance', () => subject.check(3)),
  },
  fields('credit'),
  fields('debit'),
  exact('credit'),
  exact('debit'),
  cents('credit'),
  cents('debit'),
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
      const labels = ['SUBSCRIPTION_CHARGE', 'MARKETPLACE_ESCROW', 'CHARGEBACK_CREDIT', 'CONFORMANCE_UNKNOWN_LABEL']
      for (const label of labels) {
        demandSuccess(await subject.credit(1, subject.newReference(label)), `a credit with ${label}`)
        demandSuccess(await subject.debit(1, subject.newReference(label)), `a debit with ${label}`)
      }
    },
  },
  {
    section: '2',
    says: 'TOPUP and BONUS, the labels of the service’s own flows, are free labels too',
    attempt: async (subject) => {
      for (const label of ['TOPUP', 'BONUS']) {
        demandSuccess(await subject.credit(1, subject.newReference(label)), `a credit with ${label}`)
        demandSuccess(await subject.debit(1, subject.newReference(label)), `a debit with ${label}`)
      }
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
  {
    section: '4.A',
    says: 'Eight different credits and eight different debits sent at the same time all move',
    attempt: (subject) =>
      demandMoved(subject, 8, 'eight credits of 2 and eight debits of 1', async () => {
        const both = Array.from({ length: 8 }, () => [subject.credit(2), subject.debit(1)]).flat()
        for (const reply of await Promise.all(both)) demandSuccess(reply, 'one of them')
      }),
  },
  {
    section: '1, 7',
    says: 'A debit may take the whole balance, and the next one is 400 INSUFFICIENT_BALANCE',
    attempt: async (subject) => {
      const balance = await drainable(subject)
      try {
        demandSuccess(await subject.debit(balance), 'a debit of the whole balance')
        const expected = { status: 400, code: 'INSUFFICIENT_BALANCE' }
        demandRefusal(await subject.debit(1), 'a debit from the empty wallet', expected)
      } finally {
        await refill(subject, balance)
      }
    },
  },
  {
    section: '1, 7',
    says: 'Of four debits sent at the same time, each of more than half of the balance, one moves',
    attempt: async (subject) => {
      const balance = await drainable(subject)
      const amount = Math.floor(balance / 2) + 1
      try {
        await demandMoved(subject, -amount, `four debits of ${amount}, with ${balance} in the wallet`, () =>
          Promise.all(Array.from({ length: 4 }, () => subject.debit(amount))),
        )
      } finally {
        await refill(subject, balance)
      }
    },
  },
]

/** The statements after this one need the money; what is undone at the end does not depend on it. */
async function refill(subject: Subject, balance: number): Promise<void> {
  const missing = Number((balance - (await balanceOf(subject))).toFixed(3))
  if (missing > 0) await subject.credit(missing)
}
