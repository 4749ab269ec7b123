/** Services with wrong wallets, debits and credits. */
import {
  answering,
  asking,
  check,
  credit,
  debit,
  isPosting,
  postOf,
  readAsked,
  wallet,
  withId,
  without,
  type Body,
  type Mutant,
} from './proxy.ts'

const ok = (status: number) => status === 200

/** Sends the amount that `change` makes of it. */
const movingOther = (path: string, change: (amount: number) => number) =>
  asking((asked) => {
    const { amount } = asked.sent
    return asked.path === path && typeof amount === 'number' ? [{ ...asked.sent, amount: change(amount) }] : undefined
  })

/** Balances of the wallet as they were a number of reads ago. */
const stale = (path: string) => (around: Parameters<Mutant['send']>[0]) => {
  let first: unknown
  return answering(({ path: asked, status, body }) => {
    if (asked !== path || !ok(status)) return undefined
    first ??= body['balance']
    return { body: { ...body, balance: first } }
  })(around)
}

const repeatedOutcome = (direction: string) =>
  `A repeated ${direction} returns the original outcome, even after the balance has changed`

export const moneyMutants: readonly Mutant[] = [
  {
    name: 'isActive as text',
    send: answering(({ path, status, body }) =>
      path === wallet && ok(status) ? { body: { ...body, isActive: 'true' } } : undefined,
    ),
    breaks: ['A wallet has balance (a number), transactions (a list of records) and isActive (a boolean)'],
  },
  {
    name: 'transactions as ids instead of records',
    send: answering(({ path, status, body }) =>
      path === wallet && ok(status)
        ? { body: { ...body, transactions: (body['transactions'] as Body[]).map(({ id }) => id) } }
        : undefined,
    ),
    breaks: ['A wallet has balance (a number), transactions (a list of records) and isActive (a boolean)'],
  },
  {
    name: 'a list without debits',
    send: answering(({ path, status, body }) =>
      path === wallet && ok(status)
        ? {
            body: {
              ...body,
              transactions: (body['transactions'] as Body[]).filter(({ type }) => type === 'CREDIT'),
            },
          }
        : undefined,
    ),
    breaks: ['The transactions of a wallet include a debit that was just posted'],
  },
  {
    name: 'a list that never changes',
    send: (around) => {
      let first: unknown
      return answering(({ path, status, body }) =>
        path === wallet && ok(status)
          ? { body: { ...body, transactions: (first ??= body['transactions']) } }
          : undefined,
      )(around)
    },
    breaks: [
      'The transactions of a wallet include a credit that was just posted',
      'The transactions of a wallet include a debit that was just posted',
    ],
  },
  {
    name: 'hasSufficientBalance as a number',
    send: answering(({ path, status, body }) =>
      path === check && ok(status)
        ? { body: { ...body, hasSufficientBalance: body['hasSufficientBalance'] ? 1 : 0 } }
        : undefined,
    ),
    breaks: ['check-balance answers balance, requiredAmount and hasSufficientBalance (a boolean)'],
  },
  {
    name: 'check-balance without requiredAmount',
    send: answering(({ path, status, body }) =>
      path === check && ok(status) ? { body: without(body, 'requiredAmount') } : undefined,
    ),
    breaks: ['check-balance answers balance, requiredAmount and hasSufficientBalance (a boolean)'],
  },
  {
    name: 'check-balance with the balance of its first call',
    send: stale(check),
    breaks: ['check-balance answers the balance of the wallet, also right after a credit'],
  },
  {
    name: 'a balance that is sufficient only for less than itself',
    send: answering(({ path, status, body }) =>
      path === check && ok(status)
        ? { body: { ...body, hasSufficientBalance: Number(body['balance']) > Number(body['requiredAmount']) } }
        : undefined,
    ),
    breaks: ['A balance is sufficient for itself, and not for more'],
  },
  {
    name: 'check-balance that ignores cents',
    send: answering(({ path, status, body }) =>
      path === check && ok(status)
        ? {
            body: {
              ...body,
              hasSufficientBalance: Number(body['balance']) >= Math.floor(Number(body['requiredAmount'])),
            },
          }
        : undefined,
    ),
    breaks: ['A balance is not sufficient for one cent more'],
  },
  {
    name: 'check-balance that takes what it checks',
    send: (around) => async (request) => {
      const { path, sent, url } = await readAsked(request)
      if (path === check && sent['requiredAmount'] === '3') {
        const { requiredAmount, ...who } = sent
        const body = {
          ...who,
          amount: Number(requiredAmount),
          referenceType: 'CHECK',
          referenceId: crypto.randomUUID(),
        }
        await around.answer(postOf(request, body, new URL(debit, url)))
      }
      return await around.answer(request)
    },
    breaks: ['check-balance moves nothing'],
  },
  {
    name: 'a debit without a message',
    send: answering(({ path, status, body }) =>
      path === debit && ok(status) ? { body: without(body, 'message') } : undefined,
    ),
    breaks: ['A debit answers balance (a number) and message (text), and balance is the one after it'],
  },
  {
    name: 'a credit that answers the balance before it',
    send: answering(({ path, status, sent, body }) =>
      path === credit && ok(status)
        ? { body: { ...body, balance: Number(body['balance']) - Number(sent['amount']) } }
        : undefined,
    ),
    breaks: [
      'A credit answers balance (a number) and message (text), and balance is the one after it',
      'A credit that repeats a pair with another amount returns the original outcome',
    ],
  },
  {
    name: 'a debit whose balance is text',
    send: answering(({ path, status, body }) =>
      path === debit && ok(status) ? { body: { ...body, balance: String(body['balance']) } } : undefined,
    ),
    breaks: [
      'A debit answers balance (a number) and message (text), and balance is the one after it',
      repeatedOutcome('debit'),
      'A debit that repeats a pair with another amount returns the original outcome',
    ],
  },
  {
    name: 'a debit that moves twice',
    send: asking(({ path, sent }) => (path === debit && sent['amount'] === 2 ? [withId(sent, 2), sent] : undefined)),
    breaks: ['A debit moves its amount, once'],
  },
  {
    name: 'a credit that moves twice',
    send: asking(({ path, sent }) =>
      path === credit && sent['amount'] === 2 ? [withId(sent, 'more'), sent] : undefined,
    ),
    breaks: [
      'A credit moves its amount, once',
      'Eight different credits and eight different debits sent at the same time all move',
    ],
  },
  {
    name: 'a debit with a fee of one cent',
    send: movingOther(debit, (amount) => Number((amount + 0.01).toFixed(2))),
    breaks: [
      'A debit moves its amount, once',
      'A debit with cents moves them too',
      'Eight different credits and eight different debits sent at the same time all move',
      'A debit may take the whole balance, and the next one is 400 INSUFFICIENT_BALANCE',
      'Of four debits sent at the same time, each of more than half of the balance, one moves',
      'In one session the balance of GET /api/widget/wallet changes with every debit and credit',
    ],
  },
  {
    name: 'debits whose cents are cut off',
    send: movingOther(debit, Math.floor),
    breaks: ['A debit with cents moves them too'],
  },
  {
    name: 'credits whose cents are rounded up',
    send: movingOther(credit, Math.ceil),
    breaks: ['A credit with cents moves them too'],
  },
  {
    name: 'a description refused',
    send: answering(({ path, sent }) =>
      isPosting(path) && 'description' in sent ? { status: 400, body: { error: 'x' } } : undefined,
    ),
    breaks: [
      'A description may be sent, and may be left out',
      'A debit that repeats a pair with another description moves nothing',
      'A credit that repeats a pair with another description moves nothing',
    ],
  },
  {
    name: 'a list of labels',
    send: labels((label) => /UNKNOWN/.test(label)),
    breaks: ['referenceType is a free label: no enumeration is enforced'],
  },
  {
    name: 'TOPUP and BONUS refused as labels',
    send: labels((label) => label === 'TOPUP' || label === 'BONUS'),
    breaks: ['TOPUP and BONUS, the labels of the service’s own flows, are free labels too'],
  },
  {
    name: 'a refund that is taken for a repeat of its debit',
    send: asking(({ path, sent }) =>
      isPosting(path) && String(sent['referenceType']).startsWith('ORDER_')
        ? [{ ...sent, referenceType: 'ORDER' }]
        : undefined,
    ),
    breaks: ['A refund with its own pair is not a repeat of the debit'],
  },
  {
    name: 'a lost update among credits at the same time',
    send: (around) => {
      let underWay = 0
      return async (request) => {
        const { path, sent } = await readAsked(request)
        if (path !== credit || sent['amount'] !== 2) return await around.answer(request)
        underWay++
        const isLost = underWay > 4
        const response = await around.answer(request)
        underWay--
        if (isLost) await around.answer(postOf(request, withId(sent, 'lost'), request.url.replace(credit, debit)))
        return response
      }
    },
    breaks: ['Eight different credits and eight different debits sent at the same time all move'],
  },
  {
    name: 'a debit of the whole balance refused',
    send: (around) => async (request) => {
      const { path, sent } = await readAsked(request)
      if (path === debit && Number(sent['amount']) > 20) {
        const { clientId, clientSecret, serviceUserId } = sent
        const query = new URLSearchParams({ clientId, clientSecret, serviceUserId } as Record<string, string>)
        const read = await around.answer(new Request(`${new URL(request.url).origin}${wallet}?${query}`))
        const { balance } = (await read.json()) as Body
        if (balance === sent['amount'])
          return Response.json({ error: 'x', code: 'INSUFFICIENT_BALANCE' }, { status: 400 })
      }
      return await around.answer(request)
    },
    breaks: ['A debit may take the whole balance, and the next one is 400 INSUFFICIENT_BALANCE'],
  },
  {
    name: 'an overdraft by debits at the same time',
    send: (around) => {
      let [underWay, below] = [0, 0]
      const send = answering(({ path, status, body }) =>
        path === wallet && ok(status) ? { body: { ...body, balance: Number(body['balance']) - below } } : undefined,
      )(around)
      return async (request) => {
        const { path, sent } = await readAsked(request)
        const amount = Number(sent['amount'])
        if (path === credit && amount > 20) {
          const paid = { ...sent, amount: amount - below }
          below = 0
          return await send(postOf(request, paid))
        }
        if (path !== debit || amount <= 20) return await send(request)
        // The second of two reads the balance before the first has moved.
        if (++underWay === 2) {
          below += amount
          return Response.json({ balance: 0, message: 'Debited.' })
        }
        const response = await send(request)
        underWay = 0
        return response
      }
    },
    breaks: ['Of four debits sent at the same time, each of more than half of the balance, one moves'],
  },
]

/** Refuses some labels. */
function labels(isRefused: (label: string) => boolean): Mutant['send'] {
  return (around) => async (request) => {
    const { path, sent } = await readAsked(request)
    if (isPosting(path) && isRefused(String(sent['referenceType'])))
      return Response.json({ error: 'x', code: 'INVALID_REQUEST' }, { status: 400 })
    return await around.answer(request)
  }
}
