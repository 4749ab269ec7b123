/** Commands for the events of an app: what its feed has, and sending some of them again. */
import type { BillfoldEvent } from '../../sdk/contract.ts'
import { selectEvents } from '../actions/events/select-events.ts'
import { eventTypes, maxReplayed, planReplay, replayEvents } from '../actions/webhooks/manage-endpoints.ts'
import type { Service } from '../actions/service.ts'
import { findApp } from '../store/apps.ts'
import { replayRefusals, unknownEndpoint } from './app-endpoints.ts'
import { CommandRefused, UsageMistake, actorOf, textOf, textsOf, wholeNumber } from './command.ts'
import type { Command, Invocation, Reply } from './command.ts'
import { isConfirmed, yesFlag } from './ask-first.ts'
import { withService } from './data.ts'
import { numberOf, parseEventNumber, rangeFlags, rangeOf, timeOf } from './event-flags.ts'

const app = 'app_0123456789abcdef0123'
const endpoint = 'we_0123456789abcdef0123456789abcdef'
const maxListed = 1_000

export const eventCommands: readonly Command[] = [
  {
    name: 'events list',
    database: 'reads',
    summary: 'list the events of an app, oldest first',
    positionals: ['clientId'],
    flags: {
      after: { value: 'NUMBER', about: 'only events with a higher number (default: from the oldest that is kept)' },
      type: { value: 'TYPE', about: 'only events of this type', isRepeatable: true },
      from: { value: 'TIME', about: 'only events from this time on, as 2026-01-31T12:00:00Z' },
      to: { value: 'TIME', about: 'only events before this time' },
      limit: { value: 'N', about: `how many to list, 1 to ${maxListed.toLocaleString('en')} (default: 50)` },
    },
    details: `These are the events of GET /api/server/events, as the app's backend reads them. docs/events.md lists the types.`,
    examples: [
      `events list ${app}`,
      `events list ${app} --type wallet.topped_up --from 2026-01-31T12:00:00Z`,
      `events list ${app} --after 1200 --limit 10`,
    ],
    run: async (invocation) => {
      const selection = selectionOf(invocation)
      return await withService(invocation, async (service) => {
        const clientId = await knownApp(service, invocation)
        return replyWith(await selectEvents(service, clientId, selection))
      })
    },
  },
  {
    name: 'events show',
    database: 'reads',
    summary: 'print one event of an app, with exactly the bytes that the feed and the endpoints have',
    positionals: ['clientId', 'number'],
    examples: [`events show ${app} 17`],
    run: async (invocation) => {
      const number = parseEventNumber('<number>', invocation.positionals[1]!)
      return await withService(invocation, async (service) => {
        const clientId = await knownApp(service, invocation)
        const selection = { after: number - 1, upTo: number, types: null, limit: 1 }
        const { events, oldest, last } = await selectEvents(service, clientId, selection)
        const [event] = events
        if (event) return { json: event, text: JSON.stringify(event) }
        if (number < oldest && last > 0)
          throw new CommandRefused(`Event ${number} is no longer kept: the oldest is ${oldest}.`)
        throw new CommandRefused(`There is no event ${number} yet: the last one of ${clientId} is ${last}.`)
      })
    },
  },
  {
    name: 'events replay',
    database: 'writes',
    summary: 'send events to an endpoint again, by their numbers or by time; says how many first',
    positionals: ['endpoint'],
    flags: { ...rangeFlags, yes: yesFlag('the events are sent') },
    details: `On a terminal it asks first, unless there is --yes. At most ${maxReplayed.toLocaleString('en')} events at once. The endpoint gets only the
types that it chose. Every event keeps its id, so a receiver that records ids ignores what it had.`,
    examples: [
      `events replay ${endpoint} --first 17 --last 40`,
      `events replay ${endpoint} --from 2026-01-31T12:00:00Z`,
    ],
    run: async (invocation) => await withService(invocation, (service) => replay(service, invocation)),
  },
]

function selectionOf(invocation: Invocation) {
  const limit = wholeNumber(textOf(invocation, 'limit') ?? '50')
  if (limit === undefined || limit < 1 || limit > maxListed)
    throw new UsageMistake(`--limit: write a number from 1 to ${maxListed}.`)
  const types = textsOf(invocation, 'type') ?? null
  const unknown = types?.find((type) => !eventTypes.includes(type))
  if (unknown !== undefined) throw new UsageMistake(`--type: choose from ${eventTypes.join(', ')}.`)
  const after = textOf(invocation, 'after') === '0' ? 0 : numberOf(invocation, 'after')
  return { after, types, from: timeOf(invocation, 'from'), to: timeOf(invocation, 'to'), limit }
}

async function knownApp({ db }: Service, { positionals }: Invocation): Promise<string> {
  const clientId = positionals[0]!
  if (!(await findApp(db.pool, clientId)))
    throw new CommandRefused(`There is no app ${clientId}. "app list" shows all.`)
  return clientId
}

function replyWith({ events, readUpTo, last, oldest }: Awaited<ReturnType<typeof selectEvents>>): Reply {
  const text = [
    ...(events.length === 0 ? ['No event matches.'] : events.map(lineOf)),
    last === 0 ? 'The app has had no events.' : `The app has the events ${oldest} to ${last}; read up to ${readUpTo}.`,
  ]
  return { json: { events, readUpTo, oldest, last }, text: text.join('\n') }
}

function lineOf(event: BillfoldEvent): string {
  const { number, timestamp, type, data } = event
  const user = 'serviceUserId' in data ? `  ${data.serviceUserId}` : ''
  // A reference is untrusted text: it must not control the terminal.
  const money =
    'amount' in data
      ? `  ${signOf(data)}${data.amount} ${data.currency}  ${`${data.referenceType} ${data.referenceId}`.replaceAll(/\p{C}/gu, '·')}`
      : ''
  return `${String(number).padStart(8)}  ${timestamp}  ${type.padEnd(17)}${user}${money}`.trimEnd()
}

/** A hold moves no money. */
function signOf(data: object): string {
  if (!('type' in data)) return ''
  return data.type === 'DEBIT' ? '-' : '+'
}

async function replay(service: Service, invocation: Invocation): Promise<Reply> {
  const { io, isJson } = invocation
  const id = invocation.positionals[0]!
  const plan = await planReplay(service, id, rangeOf(invocation, service.now()))
  if (!plan) throw unknownEndpoint(invocation)
  if (plan.kind !== 'planned') throw new CommandRefused(replayRefusals[plan.kind])
  const { url, first, last, count } = plan
  const range = first === last ? `number ${first}` : `numbers ${first} to ${last}`
  if (!isJson)
    io.output.write(`${count === 1 ? 'One event' : `${count.toLocaleString('en')} events`} (${range}) for ${url}\n`)
  if (!(await isConfirmed(invocation))) throw new CommandRefused('Nothing was sent.')
  const result = await replayEvents(service, actorOf(invocation), id, { first, last })
  if (!result) throw unknownEndpoint(invocation)
  if (result.kind !== 'added') throw new CommandRefused(replayRefusals[result.kind])
  return { json: { id, first, last, count }, text: `The events are sent again: "endpoint list" shows how it goes.` }
}
