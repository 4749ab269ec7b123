/** Services whose holds take money, leak it, count it twice, or let others at it. */
import {
  answering,
  asking,
  check,
  debit,
  readAsked,
  wallet,
  withId,
  type Around,
  type Body,
  type Mutant,
  type Send,
} from './proxy.ts'
import { debitsAgain } from './repeat-mutants.ts'

const hold = `${wallet}/hold`
const capture = `${hold}/capture`

const reserves = 'A hold leaves the balance as it is, and lowers what is available by its amount'
const unspent = 'What is held cannot be spent: a debit of it is 400 INSUFFICIENT_BALANCE'
const checked = 'check-balance counts what is available'
const beyond = 'A hold beyond what is available is 400 INSUFFICIENT_BALANCE'
const once = 'A hold with the same reference again reserves once, and is the same hold'
const debits = 'A capture is a debit, and the rest is available at once'
const parts = 'Captures with final: false take parts, and the rest stays held'
const repeats = 'A capture with the same reference again moves nothing'
const pair = 'A plain debit with the reference of a captured hold does not charge it again'
const exceeded = 'A capture of more than remains is 400 HOLD_EXCEEDED, unless allowExtra is true'
const voids = 'A void releases the money once; what was voided cannot be captured: 409 HOLD_CLOSED'
const ends = 'A hold ends when it was asked to, and an extension never ends it earlier'
const limits = 'An expiresIn below 60 seconds or above 30 days is 400'
const lists = 'GET holds lists the newest first, and those of a status alone'
const others = 'Another app does not know the hold: 404 HOLD_NOT_FOUND'
const credentials = 'Wrong credentials read and change no hold: 401 INVALID_CLIENT'

/** Changes the body of a route. */
const bodyOf = (path: string, change: (sent: Body) => Body) =>
  asking((asked) => (asked.path === path ? [change(asked.sent)] : undefined))

const isHold = (path: string) => path.startsWith(hold)

/** A reference that came before is another one. */
const forgetting = (paths: readonly string[]) => (around: Around) => {
  const seen = new Map<string, number>()
  return asking(({ path, sent }) => {
    if (!paths.includes(path)) return undefined
    const key = `${paths.length > 1 ? '' : path} ${String(sent['referenceId'])}`
    const times = (seen.get(key) ?? 0) + 1
    seen.set(key, times)
    return [times === 1 ? sent : withId(sent, times)]
  })(around)
}

/** Requests about holds that this app could not make are made with its credentials. */
const trusting =
  (isMeant: (sent: Body, around: Around) => boolean) =>
  (around: Around): Send =>
  async (request) => {
    const { path, url, method, sent } = await readAsked(request)
    if (!isHold(path) || !isMeant(sent, around)) return await around.answer(request)
    if (method === 'POST') return await asking(() => [{ ...sent, ...around.app }])(around)(request)
    for (const [name, value] of Object.entries(around.app)) url.searchParams.set(name, value)
    return await around.answer(new Request(url))
  }

export const holdMutants: readonly Mutant[] = [
  {
    name: 'holds that take the money at once',
    send: answering(({ path, status, body }) =>
      path === wallet && status === 200 ? { body: { ...body, balance: body['available'] } } : undefined,
    ),
    breaks: [reserves, once, parts, repeats],
  },
  {
    name: 'holds that reserve nothing',
    send: answering(({ path, status, body }) =>
      path === wallet && status === 200 ? { body: { ...body, available: body['balance'], held: 0 } } : undefined,
    ),
    breaks: [reserves, once, parts, repeats],
  },
  {
    name: 'a refused debit that forgets what is held',
    send: answering(({ path, status, body }) =>
      path === debit && status === 400 && body['held'] !== 0
        ? { body: { ...body, shortfall: Number(body['requiredAmount']) - Number(body['balance']) } }
        : undefined,
    ),
    breaks: [unspent],
  },
  {
    name: 'debits that spend what is held',
    send: answering(({ path, status, body }) =>
      path === debit && status === 400 && body['code'] === 'INSUFFICIENT_BALANCE' && body['held'] !== 0
        ? { status: 200, body: { transactionId: 'txn_1', balance: 0, message: 'paid' } }
        : undefined,
    ),
    breaks: [unspent],
  },
  {
    name: 'a check-balance that counts the balance',
    send: answering(({ path, url, status, body }) =>
      path === check && status === 200
        ? {
            body: {
              ...body,
              hasSufficientBalance: Number(body['balance']) >= Number(url.searchParams.get('requiredAmount')),
            },
          }
        : undefined,
    ),
    breaks: [checked],
  },
  {
    name: 'holds without money',
    send: answering(({ path, status, body }) =>
      path === hold && status === 400 && body['code'] === 'INSUFFICIENT_BALANCE'
        ? { status: 200, body: { hold: { id: 'hold_1', status: 'OPEN' }, message: 'held' } }
        : undefined,
    ),
    breaks: [beyond],
  },
  { name: 'holds that a repeat reserves again', send: forgetting([hold]), breaks: [once] },
  {
    name: 'captures that keep the rest',
    send: bodyOf(capture, (sent) => ({ ...sent, final: false })),
    breaks: [debits],
  },
  {
    name: 'captures that are always final',
    send: bodyOf(capture, (sent) => ({ ...sent, final: true })),
    breaks: [parts, repeats],
  },
  { name: 'captures that a repeat takes again', send: forgetting([capture]), breaks: [repeats] },
  {
    name: 'a debit that charges a captured order again',
    send: forgetting([capture, debit]),
    breaks: [...debitsAgain, repeats, pair],
  },
  {
    name: 'captures of any amount',
    send: bodyOf(capture, (sent) => ({ ...sent, allowExtra: true })),
    breaks: [exceeded],
  },
  {
    name: 'captures that never take extra',
    send: bodyOf(capture, (sent) => ({ ...sent, allowExtra: false })),
    breaks: [exceeded],
  },
  {
    name: 'a void that leaves the hold open',
    send: answering(({ path, status, body }) =>
      path === `${hold}/void` && status === 200
        ? { body: { ...body, hold: { ...(body['hold'] as Body), status: 'OPEN' } } }
        : undefined,
    ),
    breaks: [voids],
  },
  {
    name: 'a void that can be captured',
    send: answering(({ path, status, body }) =>
      path === capture && status === 409
        ? { status: 200, body: { ...body, transactionId: 'txn_1', balance: 0, message: 'captured' } }
        : undefined,
    ),
    breaks: [voids],
  },
  {
    name: 'holds that always last a minute',
    send: bodyOf(hold, (sent) => (sent['expiresIn'] === 600 ? { ...sent, expiresIn: 60 } : sent)),
    breaks: [ends],
  },
  {
    name: 'an extension that shortens',
    send: answering(({ path, status, body }) => {
      if (path !== `${hold}/extend` || status !== 200) return undefined
      const { createdAt, ...rest } = body['hold'] as Body
      return { body: { ...body, hold: { ...rest, createdAt, expiresAt: createdAt } } }
    }),
    breaks: [ends],
  },
  {
    name: 'holds that last as long as they like',
    send: bodyOf(hold, (sent) => {
      const seconds = Number(sent['expiresIn'])
      return { ...sent, expiresIn: Math.min(2_592_000, Math.max(60, seconds)) }
    }),
    breaks: [limits],
  },
  {
    name: 'a list of holds with the oldest first',
    send: answering(({ path, status, body }) =>
      path === `${hold}s` && status === 200
        ? { body: { ...body, holds: (body['holds'] as Body[]).toReversed() } }
        : undefined,
    ),
    breaks: [lists],
  },
  {
    name: 'a list of holds of every status',
    send:
      ({ answer }) =>
      async (request) => {
        const url = new URL(request.url)
        if (url.pathname !== `${hold}s`) return await answer(request)
        url.searchParams.delete('status')
        return await answer(new Request(url))
      },
    breaks: [lists],
  },
  {
    name: 'holds that every app knows',
    send: trusting((sent, { other }) => sent['clientId'] === other.clientId),
    breaks: [others],
  },
  {
    name: 'holds without a secret',
    send: trusting((sent, { app }) => sent['clientId'] === app.clientId),
    breaks: [credentials],
  },
]
