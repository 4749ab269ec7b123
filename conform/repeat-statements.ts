/** §2 and §4 A rules 1 to 3 of the contract: the pair (referenceType, referenceId) moves money once. */
import {
  NotTried,
  demand,
  demandMoney,
  demandMoved,
  demandNumber,
  demandSuccess,
  shownValue,
  type Statement,
} from './verdict.ts'
import type { Reply } from './subject.ts'

type Direction = 'debit' | 'credit'

const opposite = { debit: 'credit', credit: 'debit' } as const

function demandOriginal(first: Reply, again: Reply, what: string): void {
  const before = demandSuccess(first, 'the first')
  const after = demandSuccess(again, what)
  demandMoney(after['balance'], demandNumber(before['balance'], 'balance'), `balance in the answer to ${what}`)
  demand(
    after['message'] === before['message'],
    `message was ${shownValue(before['message'])}, and is ${shownValue(after['message'])}`,
  )
}

const repeated = (direction: Direction): Statement[] => [
  {
    section: '4.A rule 2',
    says: `A repeated ${direction} does not change the balance again`,
    attempt: async (subject) => {
      const reference = subject.newReference()
      demandSuccess(await subject[direction](1, reference), `the ${direction}`)
      await demandMoved(subject, 0, 'the repeat', () => subject[direction](1, reference))
    },
  },
  {
    section: '4.A rule 2',
    says: `A repeated ${direction} returns the original outcome, even after the balance has changed`,
    attempt: async (subject) => {
      const reference = subject.newReference()
      const first = await subject[direction](1, reference)
      demandSuccess(first, `the ${direction}`)
      demandSuccess(await subject.credit(3), 'a credit in between')
      demandOriginal(first, await subject[direction](1, reference), 'the repeat')
    },
  },
  {
    section: '4.A rule 2',
    says: `A ${direction} that repeats a pair with another amount moves nothing`,
    attempt: async (subject) => {
      const reference = subject.newReference()
      demandSuccess(await subject[direction](1, reference), `the ${direction}`)
      await demandMoved(subject, 0, 'the repeat with 4', () => subject[direction](4, reference))
    },
  },
  {
    section: '4.A rule 2',
    says: `A ${direction} that repeats a pair with another amount returns the original outcome`,
    attempt: async (subject) => {
      const reference = subject.newReference()
      const first = await subject[direction](1, reference)
      const again = await subject[direction](4, reference)
      // An app may ask Billfold to refuse a repeat that differs, because its caller made a mistake.
      if (again.status === 409) throw new NotTried('the repeat with 4 is refused as a conflict')
      demandOriginal(first, again, 'the repeat with 4')
    },
  },
  {
    section: '4.A rule 2',
    says: `A ${direction} that repeats a pair with another description moves nothing`,
    attempt: async (subject) => {
      const reference = subject.newReference()
      demandSuccess(await subject[direction](1, reference, { description: 'first' }), `the ${direction}`)
      await demandMoved(subject, 0, 'the repeat', () => subject[direction](1, reference, { description: 'second' }))
    },
  },
  {
    section: '4.A rules 2 and 3',
    says: `A ${opposite[direction]} with the pair of a ${direction} is a repeat of it, and moves nothing`,
    attempt: async (subject) => {
      const reference = subject.newReference()
      demandSuccess(await subject[direction](1, reference), `the ${direction}`)
      const other = opposite[direction]
      await demandMoved(subject, 0, `the ${other} with the same pair`, () => subject[other](1, reference))
    },
  },
]

/** Pairs that are the same text when they are joined, with each of these between them. */
const joints = ['', '-', ':', '_', '|']

export const repeatStatements: readonly Statement[] = [
  ...repeated('debit'),
  ...repeated('credit'),
  {
    section: '4.A rule 1',
    says: 'Eight equal credits sent at the same time move money once',
    attempt: async (subject) => {
      const reference = subject.newReference()
      await demandMoved(subject, 1, 'eight equal credits', () =>
        Promise.all(Array.from({ length: 8 }, () => subject.credit(1, reference))),
      )
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
      await demandMoved(subject, 2, 'two credits, each with half of a used pair', async () => {
        demandSuccess(await subject.credit(1, { ...reference, referenceType: 'CONFORMANCE_OTHER' }), 'the second')
        demandSuccess(await subject.credit(1, subject.newReference(reference.referenceType)), 'the third')
      })
    },
  },
  {
    section: '2',
    says: 'The key is the pair, not its two texts joined: two pairs that read the same are two operations',
    attempt: async (subject) => {
      for (const joint of joints) {
        const { referenceId } = subject.newReference()
        const [one, two] = ['CONFORMANCE_A', `B${joint}${referenceId}`]
        await demandMoved(subject, 2, `two pairs that join to ${one}${joint}B…`, async () => {
          const pairs = [
            { referenceType: one, referenceId: two },
            { referenceType: `${one}${joint}B`, referenceId },
          ]
          for (const pair of pairs) demandSuccess(await subject.credit(1, pair), 'a credit')
        })
      }
    },
  },
]
