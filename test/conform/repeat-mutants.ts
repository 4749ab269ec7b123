/** Services that take a repeat for a new operation, or a new operation for a repeat. */
import {
  answering,
  asking,
  credit,
  debit,
  isPosting,
  postOf,
  readAsked,
  withId,
  type Body,
  type Mutant,
} from './proxy.ts'

const ok = (status: number) => status === 200

/** Returns a number that is new for every repeat that the key does not recognize. */
function counting(keyOf: (sent: Body) => string) {
  const seen = new Map<string, number>()
  return (sent: Body) => {
    const key = keyOf(sent)
    seen.set(key, (seen.get(key) ?? 0) + 1)
    return seen.get(key)!
  }
}

const pairOf = (sent: Body) => `${String(sent['referenceType'])} ${String(sent['referenceId'])}`

/** Recognizes a repeat by more than the pair, so that what differs in it is a new operation. */
const keyedBy =
  (path: string, ...fields: string[]) =>
  (around: Parameters<Mutant['send']>[0]) => {
    const variants = new Map<string, string[]>()
    return asking((asked) => {
      const { sent } = asked
      if (asked.path !== path || sent['referenceId'] === undefined) return undefined
      const known = variants.get(pairOf(sent)) ?? []
      const variant = JSON.stringify(fields.map((field) => sent[field] ?? null))
      if (!known.includes(variant)) known.push(variant)
      variants.set(pairOf(sent), known)
      const number = known.indexOf(variant)
      return number === 0 ? undefined : [withId(sent, number)]
    })(around)
  }

/** Joins the pair with this text to one key. */
const joinedBy = (joint: string) =>
  asking(({ path, sent }) => {
    const { referenceType, referenceId } = sent
    if (!isPosting(path) || typeof referenceType !== 'string' || typeof referenceId !== 'string') return undefined
    return [{ ...sent, referenceType: 'ONE', referenceId: `${referenceType}${joint}${referenceId}` }]
  })

const forgetful = (path: string) => (around: Parameters<Mutant['send']>[0]) => {
  const count = counting(pairOf)
  return asking((asked) =>
    asked.path === path && typeof asked.sent['referenceId'] === 'string'
      ? [withId(asked.sent, count(asked.sent))]
      : undefined,
  )(around)
}

const repeatedOutcome = (direction: string) =>
  `A repeated ${direction} returns the original outcome, even after the balance has changed`

/** What a service breaks whose repeats move money again. */
const movesAgain = (direction: 'credit' | 'debit'): readonly string[] => {
  const repeat = `${direction} that repeats a pair with another`
  return [
    `A repeated ${direction} does not change the balance again`,
    `A repeated ${direction} returns the original outcome, even after the balance has changed`,
    `A ${repeat} amount moves nothing`,
    `A ${repeat} amount returns the original outcome`,
    `A ${repeat} description moves nothing`,
  ]
}
export const creditsAgain = [...movesAgain('credit'), 'Eight equal credits sent at the same time move money once']
export const debitsAgain = [
  ...movesAgain('debit'),
  'Eight equal debits sent at the same time all return the same outcome',
]

export const repeatMutants: readonly Mutant[] = [
  {
    name: 'a repeated debit that moves again',
    send: forgetful(debit),
    breaks: [
      'A repeated debit does not change the balance again',
      repeatedOutcome('debit'),
      'A debit that repeats a pair with another amount moves nothing',
      'A debit that repeats a pair with another amount returns the original outcome',
      'A debit that repeats a pair with another description moves nothing',
      'A credit with the pair of a debit is a repeat of it, and moves nothing',
      'A debit with the pair of a credit is a repeat of it, and moves nothing',
      'Eight equal debits sent at the same time all return the same outcome',
    ],
  },
  {
    name: 'a repeated credit that moves again',
    send: forgetful(credit),
    breaks: [
      'A credit with the pair of a debit is a repeat of it, and moves nothing',
      'A repeated credit does not change the balance again',
      repeatedOutcome('credit'),
      'A credit that repeats a pair with another amount moves nothing',
      'A credit that repeats a pair with another amount returns the original outcome',
      'A credit that repeats a pair with another description moves nothing',
      'A debit with the pair of a credit is a repeat of it, and moves nothing',
      'Eight equal credits sent at the same time move money once',
    ],
  },
  {
    name: 'equal credits at the same time that move twice',
    send: (around) => {
      const underWay = new Set<string>()
      return async (request) => {
        const { path, sent } = await readAsked(request)
        const pair = pairOf(sent)
        if (path !== credit) return await around.answer(request)
        if (underWay.has(pair)) return await around.answer(postOf(request, withId(sent, crypto.randomUUID())))
        underWay.add(pair)
        const response = await around.answer(request)
        underWay.delete(pair)
        return response
      }
    },
    breaks: ['Eight equal credits sent at the same time move money once'],
  },
  {
    name: 'a repeat that returns the balance of now',
    send: answering(({ path, status, body }) =>
      isPosting(path) && ok(status) && body['replayed'] === true
        ? { body: { ...body, balance: Number(body['balance']) + 3 } }
        : undefined,
    ),
    breaks: [
      repeatedOutcome('debit'),
      'A debit that repeats a pair with another amount returns the original outcome',
      repeatedOutcome('credit'),
      'A credit that repeats a pair with another amount returns the original outcome',
      'Eight equal debits sent at the same time all return the same outcome',
    ],
  },
  {
    name: 'a repeat with another message',
    send: answering(({ path, status, body }) =>
      path === credit && ok(status) && body['replayed'] === true
        ? { body: { ...body, message: 'Already done.' } }
        : undefined,
    ),
    breaks: [
      repeatedOutcome('credit'),
      'A credit that repeats a pair with another amount returns the original outcome',
    ],
  },
  {
    name: 'a repeat refused as a duplicate',
    send: answering(({ path, status, body }) =>
      path === debit && ok(status) && body['replayed'] === true && !body['mismatch']
        ? { status: 409, body: { error: 'x' } }
        : undefined,
    ),
    breaks: [repeatedOutcome('debit'), 'Eight equal debits sent at the same time all return the same outcome'],
  },
  {
    name: 'a debit that repeats a pair with another amount and moves',
    send: keyedBy(debit, 'amount'),
    breaks: [
      'A debit that repeats a pair with another amount moves nothing',
      'A debit that repeats a pair with another amount returns the original outcome',
    ],
  },
  {
    name: 'a credit that repeats a pair with another amount and moves',
    send: keyedBy(credit, 'amount'),
    breaks: [
      'A credit that repeats a pair with another amount moves nothing',
      'A credit that repeats a pair with another amount returns the original outcome',
    ],
  },
  {
    name: 'a credit that repeats a pair with another amount and answers a new outcome',
    send: answering(({ path, status, sent, body }) =>
      path === credit && ok(status) && body['mismatch']
        ? { body: { ...body, message: `Credited ${String(sent['amount'])}.` } }
        : undefined,
    ),
    breaks: ['A credit that repeats a pair with another amount returns the original outcome'],
  },
  {
    name: 'a key that includes the description',
    send: keyedBy(debit, 'description'),
    breaks: ['A debit that repeats a pair with another description moves nothing'],
  },
  {
    name: 'debit and credit keyed apart',
    send: asking(({ path, sent }) =>
      path === credit && 'referenceId' in sent && sent['referenceId'] !== null ? [withId(sent, 'credit')] : undefined,
    ),
    breaks: [
      'A credit with the pair of a debit is a repeat of it, and moves nothing',
      'A debit with the pair of a credit is a repeat of it, and moves nothing',
    ],
  },
  {
    name: 'a key of the referenceId alone',
    send: asking(({ path, sent }) =>
      isPosting(path) && typeof sent['referenceType'] === 'string' ? [{ ...sent, referenceType: 'ONE' }] : undefined,
    ),
    breaks: [
      'A refund with its own pair is not a repeat of the debit',
      'The key is the pair: the same referenceId with another referenceType, or the other way round, is another operation',
    ],
  },
  {
    name: 'a key of the two texts joined',
    send: joinedBy(''),
    breaks: ['The key is the pair, not its two texts joined: two pairs that read the same are two operations'],
  },
  {
    name: 'a key of the two texts joined with a colon',
    send: joinedBy(':'),
    breaks: ['The key is the pair, not its two texts joined: two pairs that read the same are two operations'],
  },
]
