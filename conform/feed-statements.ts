/** The feed of events: GET /api/server/events, which the contract does not have. A service without it is not tried. */
import { setTimeout as sleep } from 'node:timers/promises'
import { askFeed, findEnd, ownOf, postAndRead, readFeed, readUntil, type FeedEvent } from './read-feed.ts'
import { NotTried, demand, demandRefusal, demandSuccess, shownValue, type Statement } from './verdict.ts'
import type { Credentials, Query, Subject } from './subject.ts'

const statement = (says: string, attempt: Statement['attempt']): Statement => ({ section: 'events', says, attempt })

/** A wait that ends before the kit's own limit of an answer. */
const waitSeconds = '8'
const invalidClient = { status: 401, code: 'INVALID_CLIENT' }

const numbersOf = (events: readonly FeedEvent[]) => events.map(({ number }) => number)
const referencesOf = (events: readonly FeedEvent[]) => events.map(({ data }) => String(data['referenceId']))

async function demandBad(subject: Subject, query: Query): Promise<void> {
  // Without a feed there is nothing to refuse.
  await readFeed(subject, { limit: '1' })
  demandRefusal(await askFeed(subject, query), JSON.stringify(query), { status: 400 })
}

const refuses = (says: string, queries: readonly Query[]): Statement =>
  statement(says, async (subject) => {
    for (const query of queries) await demandBad(subject, query)
  })

function otherOf({ other }: Subject): Credentials {
  if (!other) throw new NotTried('pass another app as --other-client-id', '--other-client-id')
  return other
}

export const feedStatements: readonly Statement[] = [
  statement('A debit and a credit have one event each, wallet.debited and wallet.credited', async (subject) => {
    const { events, referenceIds } = await postAndRead(subject, [2, -1])
    const types = ownOf(events, referenceIds).map(({ type }) => type)
    demand(types.join() === 'wallet.credited,wallet.debited', `their events are ${shownValue(types)}`)
  }),
  statement('The data of a movement is the transaction of GET wallet and the serviceUserId', async (subject) => {
    const { events, referenceIds } = await postAndRead(subject, [1])
    const [event] = ownOf(events, referenceIds)
    const { transactions } = demandSuccess(await subject.wallet(), 'GET /api/server/wallet')
    const all = Array.isArray(transactions) ? (transactions as Readonly<Record<string, unknown>>[]) : []
    const transaction = all.find(({ referenceId }) => referenceId === referenceIds[0])
    demand(transaction !== undefined, 'GET wallet has no transaction with that reference')
    const expected = { serviceUserId: subject.serviceUserId, ...transaction }
    demand(sorted(event!.data) === sorted(expected), `it has ${Object.keys(event!.data).join(', ')}`)
  }),
  statement('The events of a wallet come in the order of its movements, oldest first', async (subject) => {
    const { events, referenceIds } = await postAndRead(subject, [1, 2, -1, 1, -2])
    const seen = referencesOf(ownOf(events, referenceIds))
    demand(seen.join() === referenceIds.join(), 'they come in another order')
  }),
  statement('The numbers are whole and have no gaps, and every event has its own id', async (subject) => {
    const { events, after } = await postAndRead(subject, [1, 1, 1])
    const numbers = numbersOf(events)
    const expected = numbers.map((_, i) => after + 1 + i)
    demand(numbers.join() === expected.join(), `after ${after} come ${numbers.join(', ').slice(0, 100)}`)
    demand(new Set(events.map(({ id }) => id)).size === events.length, 'two events have the same id')
  }),
  statement('A refused debit and a repeated credit have no event', async (subject) => {
    const after = await findEnd(subject)
    const [refused, repeated, marker] = [subject.newReference(), subject.newReference(), subject.newReference()]
    demandRefusal(await subject.debit(1_000_000_000, refused), 'a debit of a billion')
    for (const reference of [repeated, repeated, marker]) demandSuccess(await subject.credit(1, reference), 'a credit')
    const ids = [refused, repeated, marker].map(({ referenceId }) => referenceId)
    // A service that takes the repeat for a new posting may give it another reference.
    const events = await readUntil(subject, after, ids.slice(1))
    const own = events.filter(({ data }) => String(data['referenceId']).startsWith(subject.run))
    demand(referencesOf(own).join() === ids.slice(1).join(), `there are ${own.length} events, not 2`)
  }),
  statement('Small pages hold the same events as a large one', async (subject) => {
    const { after, events } = await postAndRead(subject, [1, 1, 1, 1])
    for (const limit of [1, 3]) {
      const found: FeedEvent[] = []
      for (let next = after; found.length < events.length;) {
        const page = await readFeed(subject, { after: String(next), limit: String(limit) })
        demand(page.events.length > 0, `a page of ${limit} after ${next} is empty`)
        found.push(...page.events)
        next = page.last
      }
      const [one, other] = [found.slice(0, events.length), events].map((list) => JSON.stringify(list))
      demand(one === other, `pages of ${limit} hold the numbers ${numbersOf(found).join(', ').slice(0, 100)}`)
    }
  }),
  statement('limit bounds a page', async (subject) => {
    const { after } = await postAndRead(subject, [1, 1, 1])
    const { events, last } = await readFeed(subject, { after: String(after), limit: '2' })
    demand(events.length === 2 && last === after + 2, `limit=2 has ${events.length} events, and last ${last}`)
  }),
  refuses('A limit below 1, above 1,000 or that is no number is 400', [
    { limit: '0' },
    { limit: '1001' },
    { limit: 'x' },
  ]),
  statement('types leaves out the others, and last passes over them', async (subject) => {
    const { after, events } = await postAndRead(subject, [1, -1, 1])
    const limit = String(events.length)
    const page = await readFeed(subject, { after: String(after), limit, types: 'wallet.debited,link.created' })
    const chosen = events.filter(({ type }) => type === 'wallet.debited' || type === 'link.created')
    demand(
      numbersOf(page.events).join() === numbersOf(chosen).join(),
      `it has ${shownValue(page.events.map(({ type }) => type))}`,
    )
    demand(page.last === after + events.length, `last is ${page.last}, not ${after + events.length}`)
  }),
  refuses('An unknown type is 400', [{ types: 'wallet.conformance' }, { types: 'wallet.debited,' }]),
  statement('A call that waits is answered with the event when it comes', async (subject) => {
    const after = await findEnd(subject)
    const waiting = readFeed(subject, { after: String(after), wait: waitSeconds })
    // A fault of the credit must not leave this one without a listener.
    waiting.catch(() => undefined)
    await sleep(300)
    demandSuccess(await subject.credit(1), 'a credit')
    const { events } = await waiting
    demand(events.length > 0, 'the answer has no event')
  }),
  statement('A call that waits in vain is answered with no event and the same number', async (subject) => {
    const after = await findEnd(subject)
    const { events, last } = await readFeed(subject, { after: String(after), wait: '1' })
    demand(last === after + events.length, `last is ${last}, not ${after}`)
  }),
  refuses('A wait above 20 seconds or below 0 is 400', [{ wait: '21' }, { wait: '-1' }]),
  refuses('An after that is no whole number is 400', [{ after: '-1' }, { after: '1.5' }, { after: 'x' }]),
  statement('A number above the last event is 400', async (subject) => {
    const above = (await findEnd(subject)) + 1_000_000
    demandRefusal(await askFeed(subject, { after: String(above) }), 'it', { status: 400 })
  }),
  statement('A number whose events are gone is 410 EVENTS_GONE, with the oldest that is kept', async (subject) => {
    const { oldest } = await readFeed(subject, { limit: '1' })
    if (oldest <= 1) throw new NotTried('all events of the app are kept', 'events that are gone')
    const reply = await askFeed(subject, { after: '0' })
    demandRefusal(reply, 'it', { status: 410, code: 'EVENTS_GONE' })
    demand(reply.body?.['oldest'] === oldest, `oldest is ${shownValue(reply.body?.['oldest'])}, not ${oldest}`)
    const { events } = await readFeed(subject, { after: String(oldest - 1), limit: '1' })
    demand(events[0] === undefined || events[0].number === oldest, `the oldest event is ${events[0]?.number}`)
  }),
  statement('A parameter that the feed does not know changes nothing', async (subject) => {
    const { after } = await postAndRead(subject, [1])
    const query = { after: String(after), limit: '1' }
    const { text } = await readFeed(subject, query)
    demand((await readFeed(subject, { ...query, conformance: '1' })).text === text, 'the answer is another one')
  }),
  statement('An event has the same bytes at every read', async (subject) => {
    const { after } = await postAndRead(subject, [1, -1])
    const query = { after: String(after), limit: '2' }
    const { text } = await readFeed(subject, query)
    for (let i = 0; i < 3; i++) demand((await readFeed(subject, query)).text === text, 'a later answer differs')
  }),
  statement('Wrong credentials read no events: 401 INVALID_CLIENT', async (subject) => {
    await readFeed(subject, { limit: '1' })
    const { clientId, clientSecret } = subject.credentials
    for (const who of [
      { clientId, clientSecret: 'not-the-secret' },
      { clientId: 'app_unknown', clientSecret },
    ])
      demandRefusal(await askFeed(subject, { limit: '1' }, who), 'it', invalidClient)
  }),
  statement('Another app does not read this app’s events', async (subject) => {
    await readFeed(subject, { limit: '1' })
    const other = otherOf(subject)
    const { clientId } = subject.credentials
    const mixed = { clientId, clientSecret: other.clientSecret }
    demandRefusal(await askFeed(subject, { limit: '1' }, mixed), 'its secret', invalidClient)
    const end = await findEnd(subject, other)
    const { referenceIds } = await postAndRead(subject, [1])
    const { events } = await readFeed(subject, { after: String(end) }, other)
    demand(ownOf(events, referenceIds).length === 0, 'it has an event of this app')
  }),
]

function sorted(fields: Readonly<Record<string, unknown>>): string {
  return JSON.stringify(Object.entries(fields).sort(([a], [b]) => (a < b ? -1 : 1)))
}
