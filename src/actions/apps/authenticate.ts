/** Is this the app it says it is? One answer for an unknown app, a wrong secret and an inactive app, in the same time. */
import { insertAudit } from '../../store/audit.ts'
import { timingSafeEqual } from 'node:crypto'
import { setTimeout as sleep } from 'node:timers/promises'
import type { App, AppSecret } from '../../store/apps.ts'
import { upsertSecretUse } from '../../store/apps.ts'
import { openAttempts } from '../attempts.ts'
import type { Service } from '../service.ts'
import { fingerprintOf, hashSecret, newId } from '../tokens.ts'

export type Authentication =
  | { readonly app: App; readonly retryAfterSeconds?: never }
  | { readonly app?: never; readonly retryAfterSeconds: number | undefined }

/** Compared when there is nothing to compare with, so that an unknown app costs what a known one does. */
const noSecret = Buffer.alloc(32)

/** Answers at once when the app is known here and its secret is right, as nearly always. */
export function authenticate(
  service: Service,
  credentials: { clientId: unknown; clientSecret: unknown },
  caller: { readonly address: string },
): Authentication | Promise<Authentication> {
  const clientId = typeof credentials.clientId === 'string' ? credentials.clientId : ''
  const clientSecret = typeof credentials.clientSecret === 'string' ? credentials.clientSecret : ''
  const found = service.apps.find(clientId)
  if (!(found instanceof Promise) && isRight(service, found, clientSecret)) return { app: found }
  return authenticateSlowly(service, found, { clientId, clientSecret }, caller)
}

async function authenticateSlowly(
  service: Service,
  found: App | undefined | Promise<App | undefined>,
  { clientId, clientSecret }: { readonly clientId: string; readonly clientSecret: string },
  caller: { readonly address: string },
): Promise<Authentication> {
  // A failure is looked at twice: the app or secret may be newer than what this process holds. That is so for every
  // failure, known app or not, so all of them take the same time.
  const app = await found
  if (isRight(service, app, clientSecret)) return { app }
  await service.apps.refresh()
  const newer = await service.apps.find(clientId)
  if (isRight(service, newer, clientSecret)) return { app: newer }
  return await slowDown(service, clientId, caller.address)
}

function isRight(service: Service, app: App | undefined, clientSecret: string): app is App {
  const secret = findSecret(app?.secrets ?? [], clientSecret, service.apps.now())
  if (!app?.isActive || !secret) return false
  noteUse(service, secret)
  return true
}

function findSecret(secrets: readonly AppSecret[], presented: string, now: Date): AppSecret | undefined {
  const hash = hashSecret(presented)
  let found: AppSecret | undefined
  timingSafeEqual(hash, noSecret)
  for (const secret of secrets) {
    const isEqual = timingSafeEqual(hash, secret.hash)
    if (isEqual && (secret.expiresAt === null || secret.expiresAt > now)) found = secret
  }
  return found
}

const noteEveryMs = 60_000
const notedAt = new Map<string, number>()

/** Operators want to know whether an old secret is still in use; a minute is exact enough, and costs the hot path nothing. */
function noteUse(service: Service, secret: AppSecret): void {
  const now = performance.now()
  if (now < (notedAt.get(secret.id) ?? Number.NEGATIVE_INFINITY) + noteEveryMs) return
  notedAt.set(secret.id, now)
  upsertSecretUse(service.db.pool, secret.id).catch(() => notedAt.delete(secret.id))
}

const maxSlowed = 50
let slowed = 0

/**
 * Wrong secrets of one app from one address wait longer and longer for the same answer. The right secret is never held
 * up, here or elsewhere: a backend that still has an old one must not stop its neighbours that have the new one.
 */
async function slowDown(service: Service, clientId: string, address: string): Promise<Authentication> {
  const key = `${clientId.slice(0, 64)} ${address}`
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

/* A client secret arrived from a browser: somebody put it where everyone can read it. That goes on record. */

export async function recordBrowserCall(
  service: Service,
  { clientId, clientSecret }: { readonly clientId: unknown; readonly clientSecret: unknown },
  address: string,
): Promise<void> {
  const app = typeof clientId === 'string' ? await service.apps.find(clientId) : undefined
  const subject = app ? `app:${app.clientId}` : 'app:unknown'
  const secret = findSecret(app?.secrets ?? [], String(clientSecret), service.apps.now())
  // Of a secret that is the app's own: which one to end. What somebody made up is no news.
  const detail = secret ? { fingerprint: fingerprintOf(secret.hash) } : {}
  service.metrics.browserCall(secret !== undefined)
  service.log.warn('a client secret arrived from a browser', { clientId: app?.clientId, ...detail })
  // One audit record a minute says it all, and a flood must not fill the log: one for each secret of the app, and one
  // for everything made up, so that nobody can hide a secret that leaked behind one that did not.
  const key = [subject, address, secret?.id].join(' ')
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
