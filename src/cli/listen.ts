/** Follows the feed of a service and posts each event to a receiver, such as one on a developer's machine. It needs no database. */
import { Billfold, BillfoldError } from '../../sdk/server.ts'
import type { EventType } from '../../sdk/contract.ts'
import { eventTypes } from '../actions/webhooks/manage-endpoints.ts'
import { isWebhookSecret, newWebhookSecret } from '../actions/webhooks/webhook-signature.ts'
import { CommandRefused, UsageMistake, textOf, type Command, type Invocation, type Io, type Reply } from './command.ts'
import { numberOf } from './event-flags.ts'
import { findFeedEnd } from './feed/feed-end.ts'
import { forwardEvent } from './feed/forward-event.ts'

export const listenCommands: readonly Command[] = [
  {
    name: 'listen',
    database: 'none',
    summary: 'forward the events of an app to an address, such as one on this machine, signed as webhooks',
    flags: {
      'forward-to': { value: 'URL', about: 'where to post the events', isRequired: true },
      'base-url': { value: 'URL', about: 'the service (default: BILLFOLD_URL, or http://127.0.0.1:3000)' },
      after: { value: 'NUMBER', about: 'begin after this event (default: only what happens from now on)' },
      types: { value: 'TYPES', about: 'only these types, separated by commas (default: all)' },
    },
    details: `The credentials come from BILLFOLD_CLIENT_ID and BILLFOLD_CLIENT_SECRET, never from the command line. It reads the feed
(GET /api/server/events), so it works wherever a backend of the app works, and needs no database and no public address.

It prints the secret (whsec_…) that signs the events: give it to the receiver. It is a new one at each start, unless
BILLFOLD_WEBHOOK_SECRET is set. The events come one after the other, in the order of their numbers. While the receiver does not
answer with a 2xx, the event is sent again and the later ones wait; while the service does not answer, it is asked again. So no
event is left out. An event may come twice when the receiver's answer is lost.

Ctrl-C ends it with exit code 0 and prints the number to continue after. Refused credentials, an app or a service without
events and events that are no longer kept end it with exit code 1.`,
    examples: [
      'BILLFOLD_CLIENT_ID=app_0123456789abcdef0123 BILLFOLD_CLIENT_SECRET=… npx billfold listen --forward-to http://127.0.0.1:3001/webhooks/billfold',
      'listen --forward-to http://127.0.0.1:3001/webhooks/billfold --base-url https://wallet.example --types wallet.topped_up,wallet.refunded',
      'listen --forward-to http://127.0.0.1:3001/webhooks/billfold --after 17',
    ],
    run: async (invocation) => await listen(invocation, settingsOf(invocation)),
  },
]

type Settings = {
  readonly forwardTo: string
  readonly baseUrl: string
  readonly clientId: string
  readonly clientSecret: string
  readonly secret: string
  readonly after: number | undefined
  readonly types: readonly EventType[] | undefined
}

function settingsOf(invocation: Invocation): Settings {
  const { environment } = invocation.io
  const { BILLFOLD_CLIENT_ID: clientId, BILLFOLD_CLIENT_SECRET: clientSecret } = environment
  const secret = environment['BILLFOLD_WEBHOOK_SECRET']
  const settings = {
    forwardTo: addressOf('--forward-to', textOf(invocation, 'forward-to')!),
    baseUrl: addressOf(
      '--base-url',
      textOf(invocation, 'base-url') ?? (environment['BILLFOLD_URL'] || 'http://127.0.0.1:3000'),
    ),
    after: textOf(invocation, 'after') === '0' ? 0 : numberOf(invocation, 'after'),
    types: typesOf(textOf(invocation, 'types')),
  }
  if (!clientId || !clientSecret)
    throw new CommandRefused('Set BILLFOLD_CLIENT_ID and BILLFOLD_CLIENT_SECRET in the environment.')
  if (secret && !isWebhookSecret(secret))
    throw new CommandRefused('BILLFOLD_WEBHOOK_SECRET must be whsec_ and the base64 of 24 to 64 bytes.')
  return { ...settings, clientId, clientSecret, secret: secret || newWebhookSecret() }
}

function addressOf(flag: string, text: string): string {
  const url = URL.parse(text)
  if (!url || !/^https?:$/.test(url.protocol))
    throw new UsageMistake(`${flag}: write an address such as http://127.0.0.1:3001/webhooks.`)
  if (url.username || url.password) throw new UsageMistake(`${flag}: write the address without a name and password.`)
  if (flag === '--base-url' && (url.search || url.hash))
    throw new UsageMistake(`${flag}: write the address without a query.`)
  return url.href
}

function typesOf(text: string | undefined): readonly EventType[] | undefined {
  const types = text?.split(',')
  if (types?.every((type) => eventTypes.includes(type)) === false)
    throw new UsageMistake(`--types: choose from ${eventTypes.join(', ')}.`)
  return types as readonly EventType[] | undefined
}

async function listen({ io, isJson }: Invocation, settings: Settings): Promise<Reply> {
  const { forwardTo, secret, types } = settings
  const { signal } = io
  // With --json stdout has only the result.
  const say = (line: string) => void (isJson ? io.errors : io.output).write(`${line}\n`)
  let forwarded = 0
  let last: number | undefined
  const billfold = openFeed(settings, io, say)
  try {
    const after = settings.after ?? (await findFeedEnd(billfold, signal))
    last = after
    say(`Forwarding the events after ${after} of ${settings.baseUrl} to ${forwardTo}`)
    say(`The secret of the receiver is ${secret}`)
    for await (const event of billfold.events({ after, ...(types && { types }) }, { signal })) {
      await forwardEvent(event, { url: forwardTo, secret, signal, say })
      last = event.number
      forwarded++
    }
  } catch (error) {
    if (!signal.aborted) throw refusalOf(error, settings)
  }
  const json = { forwarded, last: last ?? null, isStopped: true }
  return { json, text: `Stopped. ${last === undefined ? '' : `To continue: --after ${last}`}`.trimEnd() }
}

/** The client waits for a service that does not answer; this says so, once for each outage. */
function openFeed(
  { baseUrl, clientId, clientSecret }: Settings,
  { signal }: Io,
  say: (line: string) => void,
): Billfold {
  let isAway = false
  const note = (problem: string | undefined) => {
    if (problem !== undefined && !isAway) say(`The service ${problem}. Waiting for it.`)
    if (problem === undefined && isAway) say('The service answers again.')
    isAway = problem !== undefined
  }
  const watched = async (input: string, init: RequestInit): Promise<Response> => {
    try {
      const response = await fetch(input, init)
      const { status } = response
      note(status >= 500 || status === 429 || status === 408 ? `answers ${status}` : undefined)
      return response
    } catch (error) {
      if (!signal.aborted) note('cannot be reached')
      throw error
    }
  }
  return new Billfold({ baseUrl, clientId, clientSecret, maxRetries: 0, fetch: watched as typeof fetch })
}

function refusalOf(error: unknown, { baseUrl, clientId, after }: Settings): unknown {
  if (!(error instanceof BillfoldError)) return error
  const { code, status, oldest, fields, message } = error
  if (code === 'INVALID_CLIENT')
    return new CommandRefused(
      `${baseUrl} refuses these credentials: check BILLFOLD_CLIENT_ID and BILLFOLD_CLIENT_SECRET.`,
    )
  if (code === 'EVENTS_OFF')
    return new CommandRefused(`The events of ${clientId} are off. Switch them on with "app events ${clientId} on".`)
  if (code === 'EVENTS_GONE' && oldest !== undefined)
    return new CommandRefused(
      `The events up to ${oldest - 1} are no longer kept. Read the wallets that you care about, then continue with --after ${oldest - 1}.`,
    )
  if (code === 'INVALID_REQUEST' && fields?.['after'] !== undefined)
    return new CommandRefused(
      `--after ${after ?? ''}: it ${fields['after']}. The number is of another app or database.`,
    )
  if (status === 404) return new CommandRefused(`${baseUrl} has no feed of events: GET /api/server/events is 404.`)
  return new CommandRefused(message)
}
