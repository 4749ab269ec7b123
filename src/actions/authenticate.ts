/** Is this the app it says it is? One answer for an unknown app, a wrong secret and an inactive app, in the same time. */
import { timingSafeEqual } from 'node:crypto'
import type { App, AppSecret } from '../store/apps.ts'
import { upsertSecretUse } from '../store/apps.ts'
import { openAttempts } from './attempts.ts'
import type { Service } from './service.ts'
import { hashSecret } from './tokens.ts'

export type Authentication =
  | { readonly app: App; readonly retryAfterSeconds?: never }
  | { readonly app?: never; readonly retryAfterSeconds: number | undefined }

/** Compared when there is nothing to compare with, so that an unknown app costs what a known one does. */
const noSecret: AppSecret = {
  id: '',
  hash: Buffer.alloc(32),
  createdAt: new Date(0),
  expiresAt: new Date(0),
  lastUsedAt: null,
}

export async function authenticate(
  service: Service,
  credentials: { clientId: unknown; clientSecret: unknown },
  address: string,
): Promise<Authentication> {
  const clientId = typeof credentials.clientId === 'string' ? credentials.clientId : ''
  const clientSecret = typeof credentials.clientSecret === 'string' ? credentials.clientSecret : ''
  const found = service.apps.find(clientId)
  const app = found instanceof Promise ? await found : found
  const secret = findSecret(app?.secrets ?? [], clientSecret, service.now())
  if (app && secret && app.isActive) {
    noteUse(service, secret)
    return { app }
  }
  return { retryAfterSeconds: service.wrongSecrets.fail(`${clientId.slice(0, 64)} ${address}`, service.now()) }
}

function findSecret(secrets: readonly AppSecret[], presented: string, now: Date): AppSecret | undefined {
  const hash = hashSecret(presented)
  let found: AppSecret | undefined
  for (const secret of [...secrets, noSecret]) {
    const isEqual = timingSafeEqual(hash, secret.hash)
    if (isEqual && (secret.expiresAt === null || secret.expiresAt > now)) found = secret
  }
  return found
}

const noteEveryMs = 60_000
const notedAt = new Map<string, number>()

/** Operators want to know whether an old secret is still in use; a minute is exact enough, and costs the hot path nothing. */
function noteUse(service: Service, secret: AppSecret): void {
  const now = service.now()
  if (now.getTime() - (notedAt.get(secret.id) ?? 0) < noteEveryMs) return
  notedAt.set(secret.id, now.getTime())
  upsertSecretUse(service.db.pool, secret.id, now).catch(() => notedAt.delete(secret.id))
}

/** Ten wrong secrets a minute for each app and address; the right secret, and every other address, is not held up. */
export function openWrongSecrets() {
  return openAttempts({ limit: 10, windowMs: 60_000 })
}
