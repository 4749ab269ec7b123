/** Commands for the endpoints that an app's events are posted to. */
import { overlaps, type Overlap } from '../actions/apps/manage-apps.ts'
import {
  addEndpoint,
  disableEndpoint,
  enableEndpoint,
  noSecretText,
  maxEndpoints,
  maxReplayed,
  parseEndpoint,
  pingApp,
  removeEndpoint,
  replayEvents,
  rotateEndpointSecret,
} from '../actions/webhooks/manage-endpoints.ts'
import { describeEndpoint } from '../actions/webhooks/describe-endpoint.ts'
import { findEventHeads } from '../store/events/feed.ts'
import { findEndpoint, listEndpoints, type Endpoint } from '../store/events/endpoints.ts'
import type { Service } from '../actions/service.ts'
import { CommandRefused, UsageMistake, actorOf, isSet, textOf, textsOf } from './command.ts'
import type { Command, Invocation } from './command.ts'
import { withService } from './data.ts'
import { rangeFlags, rangeOf } from './event-flags.ts'
import { formatFields, formatTime } from './table.ts'

const example = 'we_0123456789abcdef0123456789abcdef'
const secretNote = 'Store the secret now: it is not shown again.'

export const endpointCommands: readonly Command[] = [
  {
    name: 'endpoint add',
    database: 'writes',
    summary: 'post the events of an app to an address; the secret that signs them is shown only now',
    positionals: ['clientId', 'url'],
    flags: { type: { value: 'TYPE', about: 'a type of event it gets (default: all)', isRepeatable: true } },
    details: `It gets the events from now on, signed as Standard Webhooks defines it. An app has at most ${maxEndpoints} endpoints.
The address must be public, or in WEBHOOK_ALLOWED_NETS; in production it must be https.`,
    examples: [
      'endpoint add app_0123456789abcdef0123 https://shop.example/webhooks',
      'endpoint add app_0123456789abcdef0123 https://shop.example/webhooks --type wallet.topped_up',
    ],
    run: async (invocation) =>
      await withService(invocation, async (service) => {
        const [clientId, address] = invocation.positionals as [string, string]
        const checked = parseEndpoint({ url: address, types: textsOf(invocation, 'type') }, service.config)
        if (checked.problems)
          throw new UsageMistake(
            Object.entries(checked.problems)
              .map(([field, problem]) => `${field === 'url' ? 'The address' : '--type'}: ${problem}.`)
              .join('\n'),
          )
        const added = await addEndpoint(service, actorOf(invocation), clientId, checked)
        if (added.kind !== 'added') throw new CommandRefused(refusals[added.kind].replace('{app}', clientId))
        const { id, secret } = added
        const text = formatFields([
          ['endpoint', id],
          ['secret', secret],
        ])
        return {
          json: { id, clientId, url: checked.url, types: checked.types, secret },
          text: `${text}\n${secretNote}`,
        }
      }),
  },
  {
    name: 'endpoint list',
    database: 'reads',
    summary: 'list the endpoints of an app, how far each has come, and what is wrong',
    positionals: ['clientId'],
    examples: ['endpoint list app_0123456789abcdef0123'],
    run: async (invocation) =>
      await withService(invocation, async ({ db }) => {
        const clientId = invocation.positionals[0]!
        const endpoints = await listEndpoints(db.pool, clientId)
        const last = (await findEventHeads(db.pool, [clientId])).get(clientId) ?? 0
        const text = endpoints.map((endpoint) => describeFor(endpoint, last)).join('\n\n')
        return {
          json: { last, endpoints: endpoints.map((endpoint) => endpointToJson(endpoint, last)) },
          text: text || 'There are no endpoints. Add one with "endpoint add".',
        }
      }),
  },
  {
    name: 'endpoint rotate',
    database: 'writes',
    summary: 'make a new secret, shown only now; both sign for the overlap',
    positionals: ['endpoint'],
    flags: {
      overlap: {
        value: 'TIME',
        about: `how long the old secret signs too: ${Object.keys(overlaps).join(', ')} (default: 24h)`,
      },
    },
    examples: [`endpoint rotate ${example}`, `endpoint rotate ${example} --overlap none`],
    run: async (invocation) =>
      await withService(invocation, async (service) => {
        const id = invocation.positionals[0]!
        const overlap = textOf(invocation, 'overlap') ?? '24h'
        if (!isOverlap(overlap)) throw new UsageMistake(`--overlap: write one of ${Object.keys(overlaps).join(', ')}.`)
        const secret = await rotateEndpointSecret(service, actorOf(invocation), id, overlap)
        if (secret === undefined) throw unknownEndpoint(invocation)
        const text = formatFields([
          ['endpoint', id],
          ['secret', secret],
        ])
        return { json: { id, secret, overlap }, text: `${text}\n${secretNote}` }
      }),
  },
  {
    name: 'endpoint test',
    database: 'writes',
    summary: 'record a test.ping for an app: its feed and its endpoints get it',
    positionals: ['clientId'],
    examples: ['endpoint test app_0123456789abcdef0123'],
    run: async (invocation) =>
      await withService(invocation, async (service) => {
        const clientId = invocation.positionals[0]!
        if (!(await pingApp(service, actorOf(invocation), clientId)))
          throw new CommandRefused(refusals['events-off'].replace('{app}', clientId))
        return { json: { clientId }, text: 'A test.ping is on its way: "endpoint list" shows when it has arrived.' }
      }),
  },
  {
    name: 'endpoint disable',
    database: 'writes',
    summary: 'stop posting events to an endpoint; they wait for it',
    positionals: ['endpoint'],
    examples: [`endpoint disable ${example}`],
    run: async (invocation) =>
      await change(invocation, (service, id) => disableEndpoint(service, actorOf(invocation), id), {
        isDone: 'is disabled. Its events wait, as long as events are kept.',
        wasSo: 'was disabled already.',
      }),
  },
  {
    name: 'endpoint enable',
    database: 'writes',
    summary: 'post events again, from where it stood',
    positionals: ['endpoint'],
    flags: { 'from-now': { about: 'leave out the events that waited' } },
    examples: [`endpoint enable ${example}`, `endpoint enable ${example} --from-now`],
    run: async (invocation) =>
      await change(
        invocation,
        (service, id) =>
          enableEndpoint(service, actorOf(invocation), id, isSet(invocation, 'from-now') ? 'now' : 'where-it-stood'),
        { isDone: 'is enabled.', wasSo: 'was enabled already.' },
      ),
  },
  {
    name: 'endpoint remove',
    database: 'writes',
    summary: 'delete an endpoint and its attempts',
    positionals: ['endpoint'],
    examples: [`endpoint remove ${example}`],
    run: async (invocation) =>
      await change(invocation, (service, id) => removeEndpoint(service, actorOf(invocation), id), {
        isDone: 'is deleted.',
        wasSo: '',
      }),
  },
  {
    name: 'endpoint replay',
    database: 'writes',
    summary: 'send events again, by their numbers or by time',
    positionals: ['endpoint'],
    flags: rangeFlags,
    details: `At most ${maxReplayed.toLocaleString('en')} events at once. Every event keeps its id, so a receiver that records ids ignores what it had.`,
    examples: [
      `endpoint replay ${example} --first 17 --last 40`,
      `endpoint replay ${example} --from 2026-01-31T12:00:00Z`,
    ],
    run: async (invocation) =>
      await withService(invocation, async (service) => {
        const id = invocation.positionals[0]!
        const result = await replayEvents(service, actorOf(invocation), id, rangeOf(invocation, service.now()))
        if (!result) throw unknownEndpoint(invocation)
        if (result.kind !== 'added') throw new CommandRefused(replayRefusals[result.kind])
        const { first, last } = result
        return { json: { id, first, last }, text: `The events ${first} to ${last} are sent again.` }
      }),
  },
]

const refusals = {
  'no-app': 'There is no app {app}. "app list" shows all.',
  'events-off': 'The events of {app} are off. Switch them on with "app events {app} on".',
  'too-many': `The app has ${maxEndpoints} endpoints already.`,
} as const

export const replayRefusals = {
  nothing: 'The endpoint has had no event of that range.',
  'too-many': `Those are more than ${maxReplayed.toLocaleString('en')} events: ask for fewer.`,
} as const

async function change(
  invocation: Invocation,
  run: (service: Service, id: string) => Promise<boolean | 'no-secret' | undefined>,
  texts: { readonly isDone: string; readonly wasSo: string },
) {
  return await withService(invocation, async (service) => {
    const id = invocation.positionals[0]!
    const isChanged = await run(service, id)
    if (isChanged === undefined) throw unknownEndpoint(invocation)
    if (isChanged === 'no-secret') throw new CommandRefused(noSecretText)
    const endpoint = await findEndpoint(service.db.pool, id)
    return {
      json: { id, isChanged, ...(endpoint && { isDisabled: endpoint.disabledAt !== null }) },
      text: `${id} ${isChanged ? texts.isDone : texts.wasSo}`,
    }
  })
}

export function unknownEndpoint(invocation: Invocation): CommandRefused {
  return new CommandRefused(`There is no endpoint ${invocation.positionals[0]}. "endpoint list" shows those of an app.`)
}

function isOverlap(text: string): text is Overlap {
  return Object.hasOwn(overlaps, text)
}

function describeFor(endpoint: Endpoint, last: number): string {
  return formatFields([
    ['endpoint', endpoint.id],
    ['address', endpoint.url],
    ['types', endpoint.types?.join(', ') ?? 'all'],
    ['state', describeEndpoint(endpoint, last)],
    ['delivered up to', `${endpoint.deliveredUpTo} of ${last}`],
    ['last delivery', formatTime(endpoint.lastSuccessAt)],
  ])
}

/** Without the secrets, also in their sealed form. */
function endpointToJson(endpoint: Endpoint, last: number) {
  return { ...endpoint, secret: undefined, oldSecret: undefined, lag: Math.max(0, last - endpoint.deliveredUpTo) }
}
