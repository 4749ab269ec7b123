/** §4 C of the contract: the calls of the widget. */
import { newToken, walletPath } from './session-statements.ts'
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
import type { Reply, Subject } from './subject.ts'

async function readWidget(subject: Subject, session?: string): Promise<Readonly<Record<string, unknown>>> {
  return demandSuccess(await subject.get(walletPath, { session: session ?? (await newToken(subject)) }), walletPath)
}

const intentPath = '/api/widget/topup/create-intent'
const confirmPath = '/api/widget/topup/confirm'

/** The card processor is not part of the contract: a service may have none, and its bounds are its own. */
function allowNoCards({ status }: Reply): void {
  if (status >= 500) throw new NotTried(`it answered ${status}: it may have no card processor`)
}

const badIntent = (what: string, amount: unknown): Statement => ({
  section: '4.C',
  says: `POST ${intentPath} is refused with ${what}`,
  attempt: async (subject) => {
    const session = await newToken(subject)
    demandRefusal(await subject.post(intentPath, { amount }, { session }), 'it')
  },
})

export const widgetStatements: readonly Statement[] = [
  {
    section: '4.C',
    says: 'GET /api/widget/wallet has the balance of the wallet',
    attempt: async (subject) => {
      const { balance } = await readWidget(subject)
      demandMoney(balance, await balanceOf(subject), 'balance')
    },
  },
  {
    section: '4.C',
    says: 'GET /api/widget/wallet has transactions (a list of records) and isActive (a boolean)',
    attempt: async (subject) => {
      const { transactions, isActive } = await readWidget(subject)
      demand(Array.isArray(transactions), `transactions is ${shownValue(transactions)}, not a list`)
      const strange = transactions.find((one) => typeof one !== 'object' || one === null)
      demand(strange === undefined, `a transaction is ${shownValue(strange)}, not a record`)
      demand(typeof isActive === 'boolean', `isActive is ${shownValue(isActive)}, not a boolean`)
    },
  },
  {
    section: '4.C',
    says: 'In one session the balance of GET /api/widget/wallet changes with every debit and credit',
    attempt: async (subject) => {
      const session = await newToken(subject)
      const before = demandNumber((await readWidget(subject, session))['balance'], 'balance')
      demandSuccess(await subject.credit(3), 'the credit')
      demandMoney((await readWidget(subject, session))['balance'], before + 3, 'balance after a credit of 3')
      demandSuccess(await subject.debit(1), 'the debit')
      demandMoney((await readWidget(subject, session))['balance'], before + 2, 'balance after a debit of 1')
    },
  },
  {
    section: '4.C',
    says: 'In one session the transactions of GET /api/widget/wallet change with a new one',
    attempt: async (subject) => {
      const session = await newToken(subject)
      const records = async () => ((await readWidget(subject, session))['transactions'] ?? []) as unknown[]
      const before = new Set((await records()).map((record) => JSON.stringify(record)))
      demandSuccess(await subject.credit(1), 'the credit')
      const added = (await records()).filter((record) => !before.has(JSON.stringify(record)))
      demand(added.length > 0, 'the list is the same as before')
    },
  },
  {
    section: '4.C, 8',
    says: 'GET /api/widget/wallet returns only the last 10 transactions',
    attempt: async (subject) => {
      // Twelve new ones, so that there are more than ten in any case.
      for (let i = 0; i < 6; i++) {
        demandSuccess(await subject.credit(1), 'a credit')
        demandSuccess(await subject.debit(1), 'a debit')
      }
      const { transactions } = await readWidget(subject)
      const count = Array.isArray(transactions) ? transactions.length : undefined
      demand(count === 10, `there are ${count}`)
    },
  },
  {
    section: '4.C',
    says: 'GET /api/widget/wallet has user with firstName and lastName',
    attempt: async (subject) => {
      const { user } = await readWidget(subject)
      const { firstName, lastName } = (user ?? {}) as Record<string, unknown>
      demand(typeof firstName === 'string' && typeof lastName === 'string', `user is ${shownValue(user)}`)
    },
  },
  {
    section: '4.C',
    says: 'POST /api/widget/topup/create-intent starts a top-up, which adds nothing before it is paid',
    attempt: async (subject) => {
      const session = await newToken(subject)
      await demandMoved(subject, 0, 'an unpaid top-up', async () => {
        const reply = await subject.post(intentPath, { amount: 10 }, { session })
        allowNoCards(reply)
        if (reply.status === 400 || reply.status === 422)
          throw new NotTried('it does not accept 10; the bounds are up to the service')
        const intent = demandSuccess(reply, 'create-intent')
        const paymentIntentId = intent['paymentIntentId'] ?? intent['id']
        // The contract leaves the shape of the answer open, so the unpaid intent is confirmed only if its id is found.
        if (typeof paymentIntentId === 'string') await subject.post(confirmPath, { paymentIntentId }, { session })
      })
    },
  },
  badIntent('a negative amount', -10),
  badIntent('no amount', undefined),
  badIntent('an amount that is no number', 'ten'),
  {
    section: '4.C',
    says: 'POST /api/widget/topup/confirm is refused for a payment that does not exist, and adds nothing',
    attempt: async (subject) => {
      const session = await newToken(subject)
      let reply: Reply | undefined
      const body = { paymentIntentId: `pi_${subject.stranger}` }
      await demandMoved(subject, 0, 'it', async () => (reply = await subject.post(confirmPath, body, { session })))
      allowNoCards(reply!)
      demandRefusal(reply!, 'it')
    },
  },
  {
    section: '4.C',
    says: 'POST /api/widget/topup/confirm is refused without a paymentIntentId',
    attempt: async (subject) => {
      const session = await newToken(subject)
      demandRefusal(await subject.post(confirmPath, {}, { session }), 'it')
    },
  },
]
