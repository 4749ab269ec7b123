/** Commands for client apps; those for their secrets are in app-secrets. */
import {
  createApp,
  parseAppSettings,
  setAppActive,
  setAppEvents,
  updateApp,
  type AppInput,
} from '../actions/apps/manage-apps.ts'
import { fingerprintOf } from '../actions/tokens.ts'
import { findApp, listApps, scopes, type App, type AppSettings } from '../store/apps.ts'
import { listRefusedCredentials, type RefusalSum } from '../store/calls/refused-credentials.ts'
import { CommandRefused, UsageMistake, actorOf, isSet, textOf, textsOf } from './command.ts'
import type { Invocation, Command, Flag } from './command.ts'
import { withService } from './data.ts'
import { formatFields, formatList, formatTime } from './table.ts'

const settingFlags: Readonly<Record<string, Flag>> = {
  origin: {
    value: 'ORIGIN',
    about: "an origin of the app's front end, such as https://shop.example",
    isRepeatable: true,
  },
  parent: { value: 'ORIGIN', about: 'an origin whose pages may embed the widget', isRepeatable: true },
  scope: { value: 'SCOPE', about: `${scopes.join(' or ')} (default: both)`, isRepeatable: true },
  'strict-references': { about: 'answer 409 when a reference is repeated with another amount, user or direction' },
  'accent-color': { value: '#RRGGBB', about: "the widget's colour in this app" },
  'logo-url': { value: 'URL', about: 'the https address of a logo for the widget' },
  operations: { value: 'N', about: 'how many debits and credits it may have under way; by default APP_OPERATIONS' },
}

export const appCommands: readonly Command[] = [
  {
    name: 'app create',
    database: 'writes',
    summary: 'register a client app; its secret is shown only now',
    flags: { name: { value: 'NAME', about: 'the name that users see', isRequired: true }, ...settingFlags },
    details: `An origin is scheme, host and port: https://shop.example or http://localhost:3001. In production it must be https.
Only a hash of the secret is stored. If the secret is lost, "app rotate" makes a new one.`,
    examples: [
      'app create --name "My shop" --origin https://shop.example --parent https://shop.example',
      'app create --name Reports --scope wallet:read --json',
    ],
    run: async (invocation) =>
      await withService(invocation, async (service) => {
        const settings = checkSettings(service.config, {
          name: textOf(invocation, 'name'),
          allowedOrigins: textsOf(invocation, 'origin') ?? [],
          allowedIframeParents: textsOf(invocation, 'parent') ?? [],
          scopes: textsOf(invocation, 'scope') ?? scopes,
          strictReferences: isSet(invocation, 'strict-references'),
          accentColor: textOf(invocation, 'accent-color'),
          logoUrl: textOf(invocation, 'logo-url'),
          maxOperations: textOf(invocation, 'operations'),
        })
        const { clientId, clientSecret } = await createApp(service, actorOf(invocation), settings)
        const text = formatFields([
          ['clientId', clientId],
          ['clientSecret', clientSecret],
        ])
        const note = 'Store the secret now: it is not shown again.'
        return { json: { clientId, clientSecret, isActive: true, ...settings }, text: `${text}\n${note}` }
      }),
  },
  {
    name: 'app list',
    database: 'reads',
    summary: 'list all client apps',
    examples: ['app list', 'app list --json'],
    run: async (invocation) =>
      await withService(invocation, async (service) => {
        const apps = await listApps(service.db.pool)
        const lines = apps.map((app) => `${app.clientId}  ${app.isActive ? 'active  ' : 'inactive'}  ${app.name}`)
        return {
          json: { apps: apps.map(appToJson) },
          text: lines.join('\n') || 'There are no apps yet. Create one with "app create".',
        }
      }),
  },
  {
    name: 'app show',
    database: 'reads',
    summary: 'show the settings of a client app, its secrets without their values, and which calls got 401',
    positionals: ['clientId'],
    details: `Refused credentials are calls that got 401 INVALID_CLIENT, the newest first, by cause, secret and address. They are written every
minute, and deleted 31 days after the last call. A wrong secret is not stored.`,
    examples: ['app show app_0123456789abcdef0123'],
    run: async (invocation) =>
      await withService(invocation, async (service) => {
        const app = await findApp(service.db.pool, invocation.positionals[0]!)
        if (!app) throw unknownApp(invocation)
        const refusedCredentials = await listRefusedCredentials(service.db.pool, app.clientId, maxRefusals)
        const text = [describeApp(app), ...describeRefusals(refusedCredentials)].join('\n')
        return { json: { ...appToJson(app), refusedCredentials }, text }
      }),
  },
  {
    name: 'app edit',
    database: 'writes',
    summary: 'change the given settings and keep the others',
    positionals: ['clientId'],
    flags: {
      name: { value: 'NAME', about: 'the name that users see' },
      ...settingFlags,
      'no-origins': { about: 'remove all origins' },
      'no-parents': { about: 'remove all parents' },
      'no-scopes': { about: 'remove all scopes' },
      'no-strict-references': {
        about: 'answer a repeated reference with its first outcome, even if the request differs',
      },
    },
    details:
      'Origins, parents and scopes replace the whole list. Every process of the service uses them within a second.',
    examples: [
      'app edit app_0123456789abcdef0123 --origin https://shop.example --origin https://www.shop.example',
      'app edit app_0123456789abcdef0123 --scope wallet:read',
    ],
    run: async (invocation) =>
      await withService(invocation, async (service) => {
        const clientId = invocation.positionals[0]!
        const before = await findApp(service.db.pool, clientId)
        if (!before) throw unknownApp(invocation)
        await updateApp(
          service,
          actorOf(invocation),
          clientId,
          checkSettings(service.config, editOf(invocation, before)),
        )
        const app = (await findApp(service.db.pool, clientId))!
        return { json: appToJson(app), text: describeApp(app) }
      }),
  },
  activation('activate', true, 'accept its credentials again'),
  activation('deactivate', false, 'refuse its credentials, within a second, until it is reactivated'),
  {
    name: 'app events',
    database: 'writes',
    summary: 'switch the events of a client app on or off',
    positionals: ['clientId', 'on|off'],
    details: `While they are on, what happens to its users' wallets is recorded for it, and its backend reads it from GET /api/server/events.
What happens while they are off is never reported to it. Every process follows the switch within a second.`,
    examples: ['app events app_0123456789abcdef0123 on'],
    run: async (invocation) =>
      await withService(invocation, async (service) => {
        const [clientId, to] = invocation.positionals as [string, string]
        if (to !== 'on' && to !== 'off') throw new UsageMistake('Write "on" or "off" after the clientId.')
        const hasEvents = to === 'on'
        const switched = await setAppEvents(service, actorOf(invocation), clientId, hasEvents)
        if (switched === 'unknown-app') throw unknownApp(invocation)
        return { json: { clientId, hasEvents }, text: `The events of ${clientId} are ${to}.` }
      }),
  },
]

function activation(verb: string, isActive: boolean, summary: string): Command {
  return {
    name: `app ${verb}`,
    database: 'writes',
    summary,
    positionals: ['clientId'],
    examples: [`app ${verb} app_0123456789abcdef0123`],
    run: async (invocation) =>
      await withService(invocation, async (service) => {
        const clientId = invocation.positionals[0]!
        if (!(await setAppActive(service, actorOf(invocation), clientId, isActive))) throw unknownApp(invocation)
        return { json: { clientId, isActive }, text: `${clientId} is ${isActive ? 'active' : 'inactive'}.` }
      }),
  }
}

function editOf(invocation: Invocation, before: App): AppInput {
  const list = (flag: string, old: readonly string[]) => {
    if (!isSet(invocation, `no-${flag}s`)) return textsOf(invocation, flag) ?? old
    if (textsOf(invocation, flag)) throw new UsageMistake(`--${flag} and --no-${flag}s contradict each other.`)
    return []
  }
  if (isSet(invocation, 'strict-references') && isSet(invocation, 'no-strict-references'))
    throw new UsageMistake('--strict-references and --no-strict-references contradict each other.')
  return {
    name: textOf(invocation, 'name') ?? before.name,
    allowedOrigins: list('origin', before.allowedOrigins),
    allowedIframeParents: list('parent', before.allowedIframeParents),
    scopes: list('scope', before.scopes),
    strictReferences:
      isSet(invocation, 'strict-references') || (before.strictReferences && !isSet(invocation, 'no-strict-references')),
    accentColor: textOf(invocation, 'accent-color') ?? before.accentColor,
    logoUrl: textOf(invocation, 'logo-url') ?? before.logoUrl,
    maxOperations: textOf(invocation, 'operations') ?? before.maxOperations,
  }
}

const flagOf: Readonly<Record<string, string>> = {
  allowedOrigins: 'origin',
  allowedIframeParents: 'parent',
  scopes: 'scope',
  accentColor: 'accent-color',
  logoUrl: 'logo-url',
  maxOperations: 'operations',
}

function checkSettings(where: { isProduction: boolean }, input: AppInput): AppSettings {
  const result = parseAppSettings(input, where)
  if ('settings' in result) return result.settings
  const sentences = Object.entries(result.problems).map(([field, problem]) => `--${flagOf[field] ?? field}: ${problem}`)
  throw new UsageMistake(sentences.join('\n'))
}

export function unknownApp(invocation: Invocation): CommandRefused {
  return new CommandRefused(`There is no app ${invocation.positionals[0]}. "app list" shows all.`)
}

function appToJson(app: App) {
  const { secrets, ...rest } = app
  return { ...rest, secrets: secrets.map(({ hash, ...secret }) => ({ ...secret, fingerprint: fingerprintOf(hash) })) }
}

function describeApp(app: App): string {
  const shown = formatFields([
    ['clientId', app.clientId],
    ['name', app.name],
    ['active', app.isActive ? 'yes' : 'no'],
    ['origins', formatList(app.allowedOrigins)],
    ['parents', formatList(app.allowedIframeParents)],
    ['scopes', formatList(app.scopes)],
    ['strict references', app.strictReferences ? 'yes' : 'no'],
    ['events', app.hasEvents ? 'on' : 'off'],
    ['operations under way', app.maxOperations === null ? 'default' : `at most ${app.maxOperations}`],
    ['created', formatTime(app.createdAt)],
  ])
  const secrets = app.secrets.map((secret) => {
    const end = secret.expiresAt && `${secret.hasEnded ? 'ended' : 'ends'} ${formatTime(secret.expiresAt)}`
    const used = secret.lastUsedAt ? `last used ${formatTime(secret.lastUsedAt)}` : 'never used'
    return `  ${secret.id}  …${fingerprintOf(secret.hash)}  ${[`made ${formatTime(secret.createdAt)}`, used, end].filter(Boolean).join(', ')}`
  })
  return [shown, 'secrets', ...secrets].join('\n')
}

const maxRefusals = 50

function describeRefusals(refusals: readonly RefusalSum[]): string[] {
  if (refusals.length === 0) return ['refused credentials  none in the last 31 days']
  return [
    'refused credentials',
    ...refusals.map(({ cause, fingerprint, address, calls, firstAt, lastAt }) => {
      const [from, until] = [formatTime(firstAt), formatTime(lastAt)]
      const secret = fingerprint ? ` …${fingerprint}` : ''
      return `  ${cause}${secret}  ${address || 'other addresses'}  ${calls} calls, first ${from}, last ${until}`
    }),
  ]
}
