/** Registering client apps, changing them, and their secrets. The same for the command line and the admin pages. */
import type { AppSettings } from '../../store/apps.ts'
import * as store from '../../store/apps.ts'
import { transact, type Transaction } from '../../store/connection/database.ts'
import { parseOrigins } from './origins.ts'
import { recordAudit, type Actor } from '../audit.ts'
import { isName, maxNameLength } from '../people/create-user.ts'
import type { Service } from '../service.ts'
import { hashSecret, newClientId, newClientSecret, newId } from '../tokens.ts'

type HasApps = Pick<Service, 'db' | 'apps'>

/** Untrusted input. */
export type AppInput = Readonly<Record<keyof AppSettings, unknown>>

export type AppChecked =
  | { readonly settings: AppSettings; readonly problems?: never }
  /** All problems, by field. */
  | { readonly problems: Readonly<Record<string, string>> }

export function parseAppSettings(input: AppInput, where: { isProduction: boolean }): AppChecked {
  const problems: Record<string, string> = {}
  const name = typeof input.name === 'string' ? input.name.trim() : ''
  if (!isName(name)) problems['name'] = `write a name of 1 to ${maxNameLength} characters`
  const lists = { allowedOrigins: [] as string[], allowedIframeParents: [] as string[] }
  for (const field of ['allowedOrigins', 'allowedIframeParents'] as const) {
    const texts = toTexts(input[field])
    const parsed = parseOrigins(texts ?? [], where)
    if (texts === undefined) problems[field] = 'write a list of origins'
    else if (texts.length > 50) problems[field] = 'list at most 50 origins'
    else if (parsed.problems.length > 0) problems[field] = parsed.problems.join('; ')
    lists[field] = parsed.origins
  }
  const scopes = store.scopes.filter((scope) => toTexts(input.scopes)?.includes(scope))
  if (scopes.length !== new Set(toTexts(input.scopes) ?? ['?']).size)
    problems['scopes'] = `choose from ${store.scopes.join(' and ')}`
  const accentColor = typeof input.accentColor === 'string' ? input.accentColor.toLowerCase() : null
  if (accentColor !== null && !/^#[0-9a-f]{6}$/.test(accentColor)) problems['accentColor'] = 'write a colour as #rrggbb'
  const logoUrl = typeof input.logoUrl === 'string' ? input.logoUrl : null
  if (logoUrl !== null && !isLogo(logoUrl)) problems['logoUrl'] = 'write the https address of a picture'
  const maxOperations = toBound(input.maxOperations)
  if (maxOperations === undefined) problems['maxOperations'] = `write a whole number from 1 to ${mostOperations}`
  if (Object.keys(problems).length > 0 || maxOperations === undefined) return { problems }
  const strictReferences = input.strictReferences === true
  return { settings: { name, ...lists, scopes, strictReferences, accentColor, logoUrl, maxOperations } }
}

const mostOperations = 1_000_000

/** Null means the service's default. */
function toBound(value: unknown): number | null | undefined {
  if (value === null || value === undefined || value === '') return null
  const text = typeof value === 'number' ? String(value) : value
  const bound = typeof text === 'string' && /^\d{1,7}$/.test(text) ? Number(text) : 0
  return bound >= 1 && bound <= mostOperations ? bound : undefined
}

function toTexts(value: unknown): string[] | undefined {
  return Array.isArray(value) && value.every((item) => typeof item === 'string') ? value : undefined
}

function isLogo(text: string): boolean {
  return text.length <= 500 && URL.canParse(text) && new URL(text).protocol === 'https:' && !/[\s;,'"\\<>]/.test(text)
}

export async function createApp(
  service: HasApps,
  actor: Actor,
  settings: AppSettings,
): Promise<{ clientId: string; clientSecret: string }> {
  const clientId = newClientId()
  const clientSecret = newClientSecret()
  await transact(service.db, async (tx) => {
    await store.insertApp(tx, clientId, settings)
    await store.insertSecret(tx, newId(), clientId, hashSecret(clientSecret))
    await recordAudit(tx, actor, 'app.created', `app:${clientId}`, { ...settings })
  })
  await service.apps.changed(clientId)
  return { clientId, clientSecret }
}

/** False when there is no such app. */
export async function updateApp(
  service: HasApps,
  actor: Actor,
  clientId: string,
  settings: AppSettings,
): Promise<boolean> {
  return await changeApp(service, clientId, async (tx, before) => {
    await store.updateApp(tx, clientId, settings)
    const changed = Object.entries(settings).filter(
      ([key, value]) => JSON.stringify(value) !== JSON.stringify(before[key as keyof AppSettings]),
    )
    const was = Object.fromEntries(changed.map(([key]) => [key, before[key as keyof AppSettings]]))
    await recordAudit(tx, actor, 'app.changed', `app:${clientId}`, { from: was, to: Object.fromEntries(changed) })
  })
}

export async function setAppActive(
  service: HasApps,
  actor: Actor,
  clientId: string,
  isActive: boolean,
): Promise<boolean> {
  return await changeApp(service, clientId, async (tx) => {
    await store.updateAppActive(tx, clientId, isActive)
    await recordAudit(tx, actor, isActive ? 'app.activated' : 'app.deactivated', `app:${clientId}`)
  })
}

export type EventsSwitched = 'switched' | 'already' | 'unknown-app'

export async function setAppEvents(
  service: HasApps,
  actor: Actor,
  clientId: string,
  hasEvents: boolean,
): Promise<EventsSwitched> {
  let switched: EventsSwitched = 'unknown-app'
  await changeApp(service, clientId, async (tx, before) => {
    if (before.hasEvents === hasEvents) switched = 'already'
    else {
      await store.updateAppEvents(tx, clientId, hasEvents)
      await recordAudit(tx, actor, hasEvents ? 'app.events-on' : 'app.events-off', `app:${clientId}`)
      switched = 'switched'
    }
  })
  return switched
}

export const overlaps = { none: 0, '1h': 3_600_000, '24h': 86_400_000, '7d': 604_800_000 } as const
export type Overlap = keyof typeof overlaps

/** Creates a new secret. The others stay valid for the overlap, so that every backend can switch in time. */
export async function rotateSecret(
  service: HasApps,
  actor: Actor,
  clientId: string,
  overlap: Overlap,
): Promise<{ clientSecret: string; previousEndsAt: Date } | undefined> {
  const clientSecret = newClientSecret()
  let previousEndsAt: Date | undefined
  await changeApp(service, clientId, async (tx) => {
    const secretId = newId()
    await store.insertSecret(tx, secretId, clientId, hashSecret(clientSecret))
    previousEndsAt = await store.updateOtherSecretsEnd(tx, clientId, secretId, overlaps[overlap])
    await recordAudit(tx, actor, 'app.secret-rotated', `app:${clientId}`, { secretId, overlap })
  })
  return previousEndsAt && { clientSecret, previousEndsAt }
}

/** Ends one secret now. False when the app has no such secret. */
export async function revokeSecret(
  service: HasApps,
  actor: Actor,
  clientId: string,
  secretId: string,
): Promise<boolean> {
  let isRevoked = false
  await changeApp(service, clientId, async (tx) => {
    isRevoked = await store.updateSecretEnd(tx, clientId, secretId)
    if (isRevoked) await recordAudit(tx, actor, 'app.secret-revoked', `app:${clientId}`, { secretId })
  })
  return isRevoked
}

async function changeApp(
  service: HasApps,
  clientId: string,
  change: (tx: Transaction, before: store.App) => Promise<void>,
): Promise<boolean> {
  const work = async (tx: Transaction) => {
    const before = await store.findApp(tx, clientId)
    if (before) await change(tx, before)
    return before !== undefined
  }
  try {
    return await transact(service.db, work)
  } finally {
    // Also after a failure: the commit of a lost connection may have revoked a secret.
    await service.apps.changed(clientId)
  }
}
