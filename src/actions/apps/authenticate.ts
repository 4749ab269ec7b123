/** Authenticates an app. An unknown app, a wrong secret and an inactive app get the same answer in the same time. */
import { networkOf, networkText } from '../../platform/address.ts'
import { insertAudit } from '../../store/audit.ts'
import { timingSafeEqual } from 'node:crypto'
import { setTimeout as sleep } from 'node:timers/promises'
import type { App, AppSecret } from '../../store/apps.ts'
import { upsertSecretUse } from '../../store/apps.ts'
import type { RefusalCause } from '../../store/calls/refused-credentials.ts'
import { openAttempts } from '../attempts.ts'
import type { Service } from '../service.ts'
import { fingerprintOf, hashSecret, newId } from '../tokens.ts'

export type Authentication =
  | { readonly app: App; readonly retryAfterSeconds?: never }
  | { readonly app?: never; readonly retryAfterSeconds: number | undefined }

/** Compared with every secret, so that an unknown app takes the time of a known one. */
const noSecret = Buffer.alloc(32)

/** Returns without a promise when the app is in memory and its secret is right, which is the usual case. */
export function authenticate(
  service: Service,
  credentials: { clientId: unknown; clientSecret: unknown },
  caller: { readonly address: string },
): Authentication | Promise<Authentication> {
  const clientId = typeof credentials.clientId === 'string' ? credentials.clientId : ''
  const clientSecret = typeof credentials.clientSecret === 'string' ? credentials.clientSecret : ''
  const found = service.apps.known(clientId)
  if (!(found instanceof Promise) && isRight(service, found, clientSecret)) return { app: found }
  return authenticateSlowly(service, found, { clientId, clientSecret }, caller)
}

async function authenticateSlowly(
  service: Service,
  found: App | undefined | Promise<App | undefined>,
  { clientId, clientSecret }: { readonly clientId: string; readonly clientSecret: string },
  caller: { readonly address: string },
): Promise<Authentication> {
  // Check a failure again after a refresh: the app or secret may be newer than this process's copy. Do so for unknown
  // apps too, so that every failure takes the same time.
  const app = await found
  if (isRight(service, app, clientSecret)) return { app }
  await service.apps.refresh()
  const newer = await service.apps.known(clientId)
  if (isRight(service, newer, clientSecret)) return { app: newer }
  const refused = await slowDown(service, clientId, caller.address)
  if (refused.retryAfterSeconds === undefined) recordRefusal(service, newer, clientSecret, caller.address)
  return refused
}

function isRight(service: Service, app: App | undefined, clientSecret: string): app is App {
  const secret = findSecret(app?.secrets ?? [], clientSecret)
  if (!app?.isActive || !secret || hasEnded(secret, service.apps.now())) return false
  recordUse(service, secret)
  return true
}

/** Ended ones too. */
function findSecret(secrets: readonly AppSecret[], presented: string): AppSecret | undefined {
  const hash = hashSecret(presented)
  let found: AppSecret | undefined
  timingSafeEqual(hash, noSecret)
  for (const secret of secrets) if (timingSafeEqual(hash, secret.hash)) found = secret
  return found
}

function hasEnded({ expiresAt }: AppSecret, now: Date): boolean {
  return expiresAt !== null && expiresAt <= now
}

/** Counts the refusal in memory. What the caller guessed is not kept: only secrets that the service issued have a fingerprint here. */
function recordRefusal(service: Service, app: App | undefined, clientSecret: string, address: string): void {
  const secret = findSecret(app?.secrets ?? [], clientSecret)
  const cause = clientSecret === '' ? 'missing' : causeOf(secret, service.apps.now())
  service.metrics.refusedCredentials(app ? cause : 'unknown-app')
  if (!app) return
  const fingerprint = secret ? fingerprintOf(secret.hash) : ''
  const refused = { clientId: app.clientId, cause, fingerprint, address: networkText(address) }
  service.refusedCredentials.record(refused, performance.now())
}

function causeOf(secret: AppSecret | undefined, now: Date): RefusalCause {
  if (!secret) return 'wrong'
  if (!hasEnded(secret, now)) return 'inactive'
  return secret.revokedAt ? 'revoked' : 'expired'
}

const recordEveryMs = 60_000
const recordedAt = new Map<string, number>()

/** Shows operators whether an old secret is still in use. A resolution of a minute costs the hot path nothing. */
function recordUse(service: Service, secret: AppSecret): void {
  const now = performance.now()
  if (now < (recordedAt.get(secret.id) ?? Number.NEGATIVE_INFINITY) + recordEveryMs) return
  recordedAt.set(secret.id, now)
  upsertSecretUse(service.db.pool, secret.id).catch(() => recordedAt.delete(secret.id))
}

const maxSlowed = 50
let slowed = 0

/**
 * Answers wrong secrets of one app and address more and more slowly. The right secret is never delayed: a backend with an
 * old secret must not block others at its address that have the new one.
 */
async function slowDown(service: Service, clientId: string, address: string): Promise<Authentication> {
  const key = `${clientId.slice(0, 64)} ${networkOf(address)}`
  const { excess, secondsLeft } = service.wrongSecrets.count(key, service.now())
  if (excess === 0 || clientId === '') return { retryAfterSeconds: undefined }
  if (slowed >= maxSlowed) return { retryAfterSeconds: secondsLeft }
  slowed++
  await sleep(Math.min(excess * 50, 1_000))
  slowed--
  return { retryAfterSeconds: undefined }
}

export function openWrongSecrets() {
  return openAttempts({ limit: 20, windowMs: 60_000 })
}

/* A client secret sent by a browser was published somewhere. That is recorded in the audit log. */

export async function recordBrowserCall(
  service: Service,
  { clientId, clientSecret }: { readonly clientId: unknown; readonly clientSecret: unknown },
  address: string,
): Promise<void> {
  const app = typeof clientId === 'string' ? await service.apps.known(clientId) : undefined
  const subject = app ? `app:${app.clientId}` : 'app:unknown'
  const sent = findSecret(app?.secrets ?? [], String(clientSecret))
  const secret = sent && !hasEnded(sent, service.apps.now()) ? sent : undefined
  // Name a real secret of the app, because it must be revoked. An invented one needs no name.
  const detail = secret ? { fingerprint: fingerprintOf(secret.hash) } : {}
  service.metrics.browserCall(secret !== undefined)
  service.log.warn('a client secret arrived from a browser', { clientId: app?.clientId, ...detail })
  // One audit record a minute is enough, and a flood must not fill the log. Count each real secret separately from all
  // invented ones, so that invented secrets cannot hide a leaked one.
  const key = [subject, networkOf(address), secret?.id].join(' ')
  if (service.browserCalls.count(key, service.now()).excess > 0) return
  await insertAudit(service.db.pool, {
    id: newId(service.now()),
    actor: subject,
    action: 'browser-call.refused',
    subject,
    address,
    detail,
  })
}
