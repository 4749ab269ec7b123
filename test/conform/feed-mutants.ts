/** Services whose feed of events loses, repeats, reorders, or takes what it should refuse. */
import {
  answering,
  credit,
  postOf,
  readAsked,
  withId,
  without,
  type Around,
  type Body,
  type Mutant,
  type Send,
} from './proxy.ts'
import { creditsAgain } from './repeat-mutants.ts'

const feed = '/api/server/events'

type Event = { id: string; number: number; type: string; data: Body }

/** Changes the pages of the feed. */
const paging = (change: (events: Event[], body: Body) => Body) =>
  answering(({ path, status, body }) =>
    path === feed && status === 200 ? { body: { ...body, ...change(body['events'] as Event[], body) } } : undefined,
  )

/** Changes the query of a read. */
const reading =
  (change: (query: URLSearchParams) => void) =>
  ({ answer }: Around): Send =>
  async (request) => {
    const url = new URL(request.url)
    if (url.pathname !== feed) return await answer(request)
    change(url.searchParams)
    return await answer(new Request(url))
  }

const dataOf = (change: (data: Body) => Body) =>
  paging((events) => ({ events: events.map((event) => ({ ...event, data: change(event.data) })) }))

/** Answers this in place of a refusal. */
const accepting = (isMeant: (query: URLSearchParams, status: number, body: Body) => boolean) =>
  answering(({ path, url, status, body }) =>
    path === feed && status !== 200 && isMeant(url.searchParams, status, body)
      ? { status: 200, body: { events: [], last: Number(url.searchParams.get('after') ?? 0), oldest: 1 } }
      : undefined,
  )

const isMovement = ({ data }: Event) => data['amount'] !== undefined

const oneEach = 'A debit and a credit have one event each, wallet.debited and wallet.credited'
const data = 'The data of a movement is the transaction of GET wallet and the serviceUserId'
const order = 'The events of a wallet come in the order of its movements, oldest first'
const numbers = 'The numbers are whole and have no gaps, and every event has its own id'
const none = 'A refused debit and a repeated credit have no event'
const pages = 'Small pages hold the same events as a large one'
const limit = 'limit bounds a page'
const types = 'types leaves out the others, and last passes over them'
const waits = 'A call that waits is answered with the event when it comes'
const bytes = 'An event has the same bytes at every read'

const gone = 'A number whose events are gone is 410 EVENTS_GONE, with the oldest that is kept'
const unknown = 'A parameter that the feed does not know changes nothing'
const credentials = 'Wrong credentials read no events: 401 INVALID_CLIENT'
const others = 'Another app does not read this app’s events'

export const feedMutants: readonly Mutant[] = [
  {
    name: 'a feed with the newest event first',
    send: paging((events) => ({ events: events.toReversed() })),
    breaks: [oneEach, order, numbers, none, pages],
  },
  {
    name: 'a feed that loses every debit',
    // Not in a page of one, with which the kit finds the end of the feed.
    send: answering(({ path, url, status, body }) =>
      path === feed && status === 200 && url.searchParams.get('limit') !== '1'
        ? { body: { ...body, events: (body['events'] as Event[]).filter(({ type }) => type !== 'wallet.debited') } }
        : undefined,
    ),
    breaks: [oneEach, order, types, bytes],
  },
  {
    name: 'a feed with events twice',
    send: paging((events) => ({ events: events.flatMap((event) => [event, event]) })),
    breaks: [oneEach, order, numbers, none, limit, types],
  },
  {
    name: 'a feed with gaps between its numbers',
    send: paging((events) => ({ events: events.map((event) => ({ ...event, number: event.number * 2 })) })),
    breaks: [numbers, gone],
  },
  {
    name: 'a feed whose events share an id',
    send: paging((events) => ({ events: events.map((event) => ({ ...event, id: 'evt_1' })) })),
    breaks: [numbers],
  },
  {
    name: 'a feed that calls every movement a credit',
    send: paging((events) => ({
      events: events.map((event) => (isMovement(event) ? { ...event, type: 'wallet.credited' } : event)),
    })),
    breaks: [oneEach, types],
  },
  {
    name: 'a feed that passes over events between pages',
    send: answering(({ path, url, status, body }) =>
      path === feed && status === 200 && url.searchParams.get('limit') === '1'
        ? { body: { ...body, last: Number(body['last']) + 1 } }
        : undefined,
    ),
    breaks: [pages],
  },
  {
    name: 'a feed without limit',
    send: reading((query) => {
      if (/^[1-9]\d{0,2}$/.test(query.get('limit') ?? '')) query.set('limit', '1000')
    }),
    breaks: [limit],
  },
  {
    name: 'a feed that takes every limit',
    send: accepting((query) => query.has('limit') && !/^[1-9]\d{0,2}$/.test(query.get('limit')!)),
    breaks: ['A limit below 1, above 1,000 or that is no number is 400'],
  },
  {
    name: 'a feed that ignores types',
    send: reading((query) => query.delete('types')),
    breaks: [types, 'An unknown type is 400'],
  },
  {
    name: 'a feed whose last stops at the last chosen event',
    send: answering(({ path, url, status, body }) => {
      if (path !== feed || status !== 200 || !url.searchParams.has('types')) return undefined
      const events = body['events'] as Event[]
      return { body: { ...body, last: events.at(-1)?.number ?? Number(url.searchParams.get('after') ?? 0) } }
    }),
    breaks: [types],
  },
  {
    name: 'a feed that takes unknown types',
    send: accepting((query) => query.has('types')),
    breaks: ['An unknown type is 400'],
  },
  {
    name: 'a feed that never waits',
    send: answering(({ path, url, status, body }) =>
      path === feed && status === 200 && url.searchParams.get('wait') === '8'
        ? { body: { ...body, events: [], last: Number(url.searchParams.get('after')) } }
        : undefined,
    ),
    breaks: [waits],
  },
  {
    name: 'a feed that forgets the number while it waits',
    send: answering(({ path, url, status, body }) =>
      path === feed && status === 200 && url.searchParams.get('wait') === '1'
        ? { body: { ...body, last: 0 } }
        : undefined,
    ),
    breaks: ['A call that waits in vain is answered with no event and the same number'],
  },
  {
    name: 'a feed that takes every wait',
    send: accepting((query) => query.has('wait')),
    breaks: ['A wait above 20 seconds or below 0 is 400'],
  },
  {
    name: 'a feed that takes every after',
    send: accepting((query, status) => status === 400 && !/^\d+$/.test(query.get('after') ?? '0')),
    breaks: ['An after that is no whole number is 400'],
  },
  {
    name: 'a feed that waits for numbers of another database',
    send: accepting((query, status) => status === 400 && Number(query.get('after')) > 1_000_000),
    breaks: ['A number above the last event is 400'],
  },
  {
    name: 'a feed that passes over events that are gone',
    send:
      ({ answer }) =>
      async (request) => {
        const response = await answer(request)
        const url = new URL(request.url)
        if (url.pathname !== feed || response.status !== 410) return response
        url.searchParams.delete('after')
        return await answer(new Request(url))
      },
    breaks: [gone],
  },
  {
    name: 'a feed that does not name the oldest event',
    send: answering(({ path, status, body }) =>
      path === feed && status === 410 ? { body: { ...body, oldest: undefined } } : undefined,
    ),
    breaks: [gone],
  },
  {
    name: 'a feed that refuses what it does not know',
    send:
      ({ answer }) =>
      async (request) =>
        new URL(request.url).searchParams.has('conformance')
          ? Response.json({ error: 'no', code: 'INVALID_REQUEST' }, { status: 400 })
          : await answer(request),
    breaks: [unknown],
  },
  {
    name: 'a feed with the time of the read in its events',
    send: (around) => {
      let reads = 0
      return paging((events) => {
        reads++
        return { events: events.map((event) => ({ ...event, readAt: reads })) }
      })(around)
    },
    breaks: [pages, unknown, bytes],
  },
  {
    name: 'a feed with another balance than the wallet',
    send: dataOf((data) =>
      'balanceAfter' in data ? { ...data, balanceAfter: Number(data['balanceAfter']) + 1 } : data,
    ),
    breaks: [data],
  },
  {
    name: 'a feed that names the person',
    send: dataOf((data) => ({ ...data, firstName: 'Ada' })),
    breaks: [data],
  },
  {
    name: 'a feed without the user',
    send: dataOf((data) => without(data, 'serviceUserId')),
    breaks: [data],
  },
  {
    name: 'a feed that reports a repeat',
    send: (around) => {
      const seen = new Map<unknown, number>()
      return async (request) => {
        const { path, sent } = await readAsked(request)
        const { referenceId } = sent
        if (path !== credit || typeof referenceId !== 'string') return await around.answer(request)
        const times = (seen.get(referenceId) ?? 0) + 1
        seen.set(referenceId, times)
        return await around.answer(times === 1 ? request : postOf(request, withId(sent, times)))
      }
    },
    breaks: [...creditsAgain, none],
  },
  {
    name: 'a feed for everybody who knows the clientId',
    send: (around) => reading((query) => query.set('clientSecret', secretOf(around, query)))(around),
    breaks: [credentials, others],
  },
  {
    name: 'a feed that shows another app these events',
    send: (around) => async (request) => {
      const url = new URL(request.url)
      const isOther = url.searchParams.get('clientSecret') === around.other.clientSecret
      if (url.pathname !== feed || !isOther || url.searchParams.get('clientId') !== around.other.clientId)
        return await around.answer(request)
      for (const [name, value] of Object.entries(around.app)) url.searchParams.set(name, value)
      return await around.answer(new Request(url))
    },
    breaks: [others],
  },
]

function secretOf({ app, other }: Around, query: URLSearchParams): string {
  return query.get('clientId') === other.clientId ? other.clientSecret : app.clientSecret
}
