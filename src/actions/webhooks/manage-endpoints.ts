/** Adding endpoints, changing them and sending events again. The same for the command line, the admin pages and an app's own replay. */
import { EVENT_TYPES } from '../../../sdk/contract.ts'
import { lockApp } from '../../store/apps.ts'
import { transact, type Queryable, type Transaction } from '../../store/connection/database.ts'
import {
  deleteEndpoint,
  findEndpoint,
  findNumbersBetween,
  insertEndpoint,
  insertReplay,
  listEndpoints,
  lockEndpoint,
  updateEndpointCursor,
  updateEndpointDisabled,
  updateEndpointEnabled,
  updateEndpointSecret,
  type Endpoint,
} from '../../store/events/endpoints.ts'
import { findKept } from '../../store/events/feed.ts'
import { journalPing } from '../../store/events/journal.ts'
import { recordAudit, type Actor } from '../audit.ts'
import { selectEvents } from '../events/select-events.ts'
import type { Service } from '../service.ts'
import { newId } from '../tokens.ts'
import { overlaps, type Overlap } from '../apps/manage-apps.ts'
import { maskUrl } from './describe-endpoint.ts'
import { newWebhookSecret } from './webhook-signature.ts'

export const maxEndpoints = 5
export const eventTypes: readonly string[] = EVENT_TYPES
type Managing = Pick<Service, 'db' | 'secrets' | 'config'>

export type EndpointInput = { readonly url: unknown; readonly types: unknown }

export type EndpointChecked =
  | { readonly url: string; readonly types: readonly string[] | null; readonly problems?: never }
  | { readonly problems: Readonly<Record<string, string>> }

const maxUrlLength = 2_000

const isKnown = (type: unknown) => (EVENT_TYPES as readonly unknown[]).includes(type)

/** No types means every type, also those of later versions. */
export function parseEndpoint(
  { url, types }: EndpointInput,
  { isProduction }: { isProduction: boolean },
): EndpointChecked {
  const problems: Record<string, string> = {}
  const parsed = typeof url === 'string' && url.length <= maxUrlLength ? URL.parse(url.trim()) : null
  const schemes = isProduction ? ['https:'] : ['https:', 'http:']
  if (!parsed || !schemes.includes(parsed.protocol))
    problems['url'] = `write an address that begins with ${isProduction ? 'https' : 'https or http'}://`
  else if (parsed.username || parsed.password) problems['url'] = 'write the address without a name and password'
  else if (parsed.hash) problems['url'] = 'write the address without #'
  const list = Array.isArray(types) ? types : types === undefined || types === null ? [] : undefined
  if (!list?.every(isKnown)) problems['types'] = `choose from ${EVENT_TYPES.join(', ')}`
  if (!parsed || !list || Object.keys(problems).length > 0) return { problems }
  return { url: parsed.href, types: list.length === 0 ? null : [...new Set(list as string[])] }
}

export type AddEndpointResult =
  | { readonly kind: 'added'; readonly id: string; readonly secret: string }
  | { readonly kind: 'no-app' | 'events-off' | 'too-many' }

export async function addEndpoint(
  { db, secrets }: Managing,
  actor: Actor,
  clientId: string,
  { url, types }: { readonly url: string; readonly types: readonly string[] | null },
): Promise<AddEndpointResult> {
  const id = `we_${newId().replaceAll('-', '')}`
  const secret = newWebhookSecret()
  const sealed = await secrets.seal(secret, { purpose: 'endpoint-secret', id })
  return await transact(db, async (tx) => {
    // The lock on the app keeps two additions at once within the limit.
    const app = await lockApp(tx, clientId)
    if (!app) return { kind: 'no-app' }
    if (!app.hasEvents) return { kind: 'events-off' }
    if ((await listEndpoints(tx, clientId)).length >= maxEndpoints) return { kind: 'too-many' }
    await insertEndpoint(tx, { id, clientId, url, types, secret: sealed })
    await recordAudit(tx, actor, 'endpoint.added', `app:${clientId}`, {
      endpoint: id,
      url: maskUrl(url),
      types: types ?? 'all',
    })
    return { kind: 'added', id, secret }
  })
}

/** Undefined when there is no such endpoint. */
async function changeEndpoint<T>(
  { db }: Pick<Service, 'db'>,
  id: string,
  change: (tx: Transaction, endpoint: Endpoint) => Promise<T>,
): Promise<T | undefined> {
  return await transact(db, async (tx) => {
    const endpoint = await lockEndpoint(tx, id)
    return endpoint && (await change(tx, endpoint))
  })
}

/** The new secret; it is shown once. An endpoint that was disabled because its secret was lost continues where it stood. */
export async function rotateEndpointSecret(
  service: Managing,
  actor: Actor,
  id: string,
  overlap: Overlap,
): Promise<string | undefined> {
  const secret = newWebhookSecret()
  const sealed = await service.secrets.seal(secret, { purpose: 'endpoint-secret', id })
  return await changeEndpoint(service, id, async (tx, { clientId, disabledFor }) => {
    await updateEndpointSecret(tx, id, sealed, overlaps[overlap])
    await recordAudit(tx, actor, 'endpoint.secret-rotated', `app:${clientId}`, { endpoint: id, overlap })
    if (disabledFor === 'secret-lost') await enable(tx, actor, { id, clientId }, 'where-it-stood')
    return secret
  })
}

/** False when it is disabled already. */
export async function disableEndpoint(service: Managing, actor: Actor, id: string): Promise<boolean | undefined> {
  return await changeEndpoint(service, id, async (tx, { clientId, disabledAt }) => {
    if (disabledAt !== null) return false
    await updateEndpointDisabled(tx, id, 'operator')
    await recordAudit(tx, actor, 'endpoint.disabled', `app:${clientId}`, { endpoint: id, reason: 'operator' })
    return true
  })
}

type BeginsAt = 'where-it-stood' | 'now'

/** Continues with the events that waited, or with the next one. False when it is enabled already. */
export async function enableEndpoint(
  service: Managing,
  actor: Actor,
  id: string,
  from: BeginsAt,
): Promise<boolean | 'no-secret' | undefined> {
  return await changeEndpoint(service, id, async (tx, endpoint) => {
    if (endpoint.disabledAt === null) return false
    if (endpoint.secret === null) return 'no-secret'
    await enable(tx, actor, endpoint, from)
    return true
  })
}

export const noSecretText = 'The key of its secret is lost. Rotate the secret first.'

async function enable(
  tx: Transaction,
  actor: Actor,
  { id, clientId }: Pick<Endpoint, 'id' | 'clientId'>,
  from: BeginsAt,
): Promise<void> {
  await updateEndpointEnabled(tx, id, from === 'now')
  await recordAudit(tx, actor, 'endpoint.enabled', `app:${clientId}`, { endpoint: id, from })
}

export async function removeEndpoint(service: Managing, actor: Actor, id: string): Promise<boolean | undefined> {
  return await changeEndpoint(service, id, async (tx, { clientId, url }) => {
    await deleteEndpoint(tx, id)
    await recordAudit(tx, actor, 'endpoint.removed', `app:${clientId}`, {
      endpoint: id,
      url: maskUrl(url),
    })
    return true
  })
}

/** A `test.ping` in the app's feed, for every endpoint that takes its type. False while the app's events are off. */
export async function pingApp({ db }: Pick<Service, 'db'>, actor: Actor, clientId: string): Promise<boolean> {
  return await transact(db, async (tx) => {
    const app = await lockApp(tx, clientId)
    if (!app?.hasEvents) return false
    await journalPing(tx, clientId)
    await recordAudit(tx, actor, 'endpoint.tested', `app:${clientId}`)
    return true
  })
}

/** Of one request that names its last event. More than that is a case for the feed, or for going on from the first one. */
export const maxReplayed = 10_000

/** Without an end, the endpoint goes on from there. */
export type ReplayRange =
  | { readonly first: number; readonly last?: number }
  | { readonly from: Date; readonly to?: Date }

type Replay = {
  readonly first: number
  /** The last one so far, if the endpoint goes on from the first. */
  readonly last: number
  readonly goesOn: boolean
}

export type ReplayResult =
  | ({ readonly kind: 'added' } & Replay)
  | { readonly kind: 'nothing' }
  | { readonly kind: 'too-many' }

/** Events after the endpoint's cursor come by themselves, and those that are no longer kept cannot come. */
async function replayableIn(
  db: Queryable,
  { clientId, deliveredUpTo }: Endpoint,
  range: ReplayRange,
): Promise<ReplayResult> {
  const { last: head, oldest } = await findKept(db, clientId)
  const found = 'first' in range ? range : await findNumbersBetween(db, clientId, range.from, range.to)
  const goesOn = ('first' in range ? range.last : range.to) === undefined
  const first = Math.max(found?.first ?? Number.MAX_SAFE_INTEGER, oldest)
  const last = goesOn ? head : Math.min(found?.last ?? 0, deliveredUpTo)
  if (first > Math.min(last, deliveredUpTo)) return { kind: 'nothing' }
  return !goesOn && last - first >= maxReplayed ? { kind: 'too-many' } : { kind: 'added', first, last, goesOn }
}

export type ReplayPlan =
  | (Replay & {
      readonly kind: 'planned'
      readonly url: string
      /** Events between them of the types that the endpoint gets; if it chose some, counted up to `maxReplayed`. */
      readonly count: number
    })
  | { readonly kind: 'nothing' | 'too-many' }

/** What `replayEvents` would send. Undefined when there is no such endpoint. */
export async function planReplay(
  service: Pick<Service, 'db' | 'config'>,
  id: string,
  range: ReplayRange,
): Promise<ReplayPlan | undefined> {
  const endpoint = await findEndpoint(service.db.pool, id)
  if (!endpoint) return undefined
  const found = await replayableIn(service.db.pool, endpoint, range)
  if (found.kind !== 'added') return found
  const { first, last, goesOn } = found
  const { clientId, types, url } = endpoint
  const selection = { after: first - 1, upTo: last, types, limit: maxReplayed }
  const count = types === null ? last - first + 1 : (await selectEvents(service, clientId, selection)).events.length
  return count === 0 && !goesOn ? { kind: 'nothing' } : { kind: 'planned', url, first, last, goesOn, count }
}

/**
 * Sends events again, each by itself in no particular order; or, if the range has no end, moves the endpoint's cursor back, so that all
 * events from there on come again in order. The endpoint gets only the types it chose.
 */
export async function replayEvents(
  service: Pick<Service, 'db' | 'wakeUps'>,
  actor: Actor,
  id: string,
  range: ReplayRange,
): Promise<ReplayResult | undefined> {
  const result = await changeEndpoint(service, id, async (tx, endpoint) => {
    const found = await replayableIn(tx, endpoint, range)
    if (found.kind !== 'added') return found
    const { first, last, goesOn } = found
    if (goesOn) await updateEndpointCursor(tx, id, first - 1)
    else await insertReplay(tx, id, first, last)
    const detail = goesOn ? { endpoint: id, first, goesOn } : { endpoint: id, first, last }
    await recordAudit(tx, actor, 'endpoint.replayed', `app:${endpoint.clientId}`, detail)
    return found
  })
  if (result?.kind === 'added' && !result.goesOn) service.wakeUps.wake('deliver-event')
  return result
}
