/** The demo of the first start: an app for the example shop, and a user with money to spend in it. */
import { findApp, insertApp, insertSecret, listApps, scopes, type App, type AppSettings } from '../store/apps.ts'
import { withDemoLock } from '../store/locks.ts'
import { transact } from '../store/connection/database.ts'
import { listEndpoints, type Endpoint } from '../store/events/endpoints.ts'
import { getOrInsertLink } from '../store/links.ts'
import { findUserByEmail } from '../store/people/users.ts'
import { findWallet } from '../store/wallets.ts'
import { createUser } from './people/create-user.ts'
import { acceptsSecret, readDemoSecret, writeDemoSecret } from './demo-secret.ts'
import { rotateSecret, setAppEvents, updateApp } from './apps/manage-apps.ts'
import { grantBonus } from './money/grant-bonus.ts'
import { isPassword } from './people/passwords.ts'
import { recordAudit } from './audit.ts'
import type { Service, WithDb } from './service.ts'
import { addEndpoint, removeEndpoint, rotateEndpointSecret } from './webhooks/manage-endpoints.ts'
import { hashSecret, newClientSecret, newId, newServiceUserId } from './tokens.ts'

export type Demo = {
  readonly clientId: string
  readonly clientSecret: string
  readonly serviceUserId: string
  readonly email: string
  readonly password: string
  /** Of the shop's endpoint. Undefined while the app's events are off. */
  readonly webhookSecret: string | undefined
}

const clientId = 'app_demo'
const email = 'demo@billfold.example'
/** Public, so `findUnsafeForProduction` checks for it. */
const password = 'correct horse battery staple'
const actor = { name: 'system', address: null }
/** Limits the origins of earlier ports of the shop; an app lists at most fifty. */
const maxOrigins = 20
/** Where the shop takes webhooks. */
const webhookPath = '/webhooks/billfold'

/**
 * Creates what is missing. It may run any number of times and in several processes at once, and keeps what was changed or
 * spent since. The lock is held on a separate connection while the usual actions do the work.
 */
export async function createDemo(service: Service, { shopPort }: { shopPort: number }): Promise<Demo> {
  if (service.config.isProduction) throw new Error('There is no demo in production.')
  const origins = [`http://localhost:${shopPort}`, `http://127.0.0.1:${shopPort}`]
  return await withDemoLock(service.db, async () => {
    const clientSecret = await ensureApp(service, origins)
    const serviceUserId = await ensureUser(service)
    const webhookSecret = await ensureEndpoint(service, `http://127.0.0.1:${shopPort}${webhookPath}`)
    return { clientId, clientSecret, serviceUserId, email, password, webhookSecret }
  })
}

async function ensureApp(service: Service, origins: readonly string[]): Promise<string> {
  const { dataDir } = service.config
  const app = await findApp(service.db.pool, clientId)
  if (!app) return await insertDemoApp(service, origins)
  await ensureOrigins(service, app, origins)
  const kept = await readDemoSecret(dataDir)
  if (kept !== undefined && acceptsSecret(app, kept)) return kept
  // A service on another machine may still use the old secret.
  const { clientSecret } = (await rotateSecret(service, actor, clientId, '7d'))!
  await writeDemoSecret(dataDir, clientId, clientSecret)
  return clientSecret
}

async function insertDemoApp(service: Service, origins: readonly string[]): Promise<string> {
  const clientSecret = newClientSecret()
  const settings: AppSettings = {
    name: 'Small Hours',
    allowedOrigins: origins,
    allowedIframeParents: origins,
    scopes,
    strictReferences: false,
    accentColor: null,
    logoUrl: null,
    maxOperations: null,
  }
  // Write the file first: if the transaction fails, the next start replaces the secret.
  await writeDemoSecret(service.config.dataDir, clientId, clientSecret)
  await transact(service.db, async (tx) => {
    await insertApp(tx, clientId, settings)
    await insertSecret(tx, newId(), clientId, hashSecret(clientSecret))
    await recordAudit(tx, actor, 'app.created', `app:${clientId}`, { ...settings })
  })
  await setAppEvents(service, actor, clientId, true)
  return clientSecret
}

/** The shop's port follows the service's port. */
async function ensureOrigins(service: Service, app: App, origins: readonly string[]): Promise<void> {
  const withOurs = (list: readonly string[]) => [...new Set([...origins, ...list])].slice(0, maxOrigins)
  const hasOurs = (list: readonly string[]) => origins.every((origin) => list.includes(origin))
  if (hasOurs(app.allowedOrigins) && hasOurs(app.allowedIframeParents)) return
  const { name, strictReferences, accentColor, logoUrl, maxOperations } = app
  await updateApp(service, actor, clientId, {
    name,
    scopes: app.scopes,
    strictReferences,
    accentColor,
    logoUrl,
    maxOperations,
    allowedOrigins: withOurs(app.allowedOrigins),
    allowedIframeParents: withOurs(app.allowedIframeParents),
  })
}

/** One endpoint, which follows the shop's port. */
async function ensureEndpoint(service: Service, url: string): Promise<string | undefined> {
  const app = await findApp(service.db.pool, clientId)
  if (!app?.hasEvents) return undefined
  const endpoints = await listEndpoints(service.db.pool, clientId)
  const known = endpoints.find((endpoint) => endpoint.url === url)
  if (known) return await secretOf(service, known)
  for (const { id, url } of endpoints) if (isOfShop(url)) await removeEndpoint(service, actor, id)
  const added = await addEndpoint(service, actor, clientId, { url, types: null })
  return added.kind === 'added' ? added.secret : undefined
}

const isOfShop = (url: string) => /^http:\/\/127\.0\.0\.1:\d+\/webhooks\/billfold$/.test(url)

/** A secret that was sealed with a lost key is replaced. */
async function secretOf(service: Service, { id, secret }: Endpoint): Promise<string | undefined> {
  try {
    if (secret !== null) return await service.secrets.unseal(secret, { purpose: 'endpoint-secret', id })
  } catch {
    // The next line gives it a new one.
  }
  return await rotateEndpointSecret(service, actor, id, 'none')
}

async function ensureUser(service: Service): Promise<string> {
  const { db, config } = service
  if (!(await findUserByEmail(db.pool, email)))
    await createUser(service, actor, { email, password, firstName: 'Demo', lastName: 'User', clientId })
  const { id: userId } = (await findUserByEmail(db.pool, email))!
  const link = await getOrInsertLink(db.pool, { id: newServiceUserId(), clientId, userId })
  if ((await findWallet(db.pool, userId))!.sequence === 0) {
    const amountMinor = 100n * 10n ** BigInt(config.currency.decimals)
    await grantBonus(service, actor, {
      walletId: userId,
      amountMinor,
      referenceId: 'demo',
      reason: 'Welcome to the demo',
    })
  }
  return link.id
}

/** Sentences about what must be fixed before the service handles real money. */
export async function findUnsafeForProduction(service: Pick<Service, 'db' | 'passwordCost'>): Promise<string[]> {
  const problems: string[] = []
  const apps = (await listApps(service.db.pool)).filter((app) => app.isActive)
  if (apps.some((app) => app.clientId === clientId))
    problems.push(`The demo app is active. Deactivate it: npx billfold app deactivate ${clientId}`)
  const user = await findUserByEmail(service.db.pool, email)
  if (user && (await isPassword(service, password, user.passwordHash)) && (await isUsable(service, user.id)))
    problems.push(
      `The demo user ${email} has a well-known password. Freeze the wallet: npx billfold wallet freeze ${email} --reason demo`,
    )
  for (const app of apps) {
    const plain = [...new Set([...app.allowedOrigins, ...app.allowedIframeParents])].filter((o) =>
      o.startsWith('http:'),
    )
    if (plain.length > 0 && app.clientId !== clientId)
      problems.push(
        `The app ${app.name} (${app.clientId}) lists ${plain.join(', ')}. Change it to https: npx billfold app edit ${app.clientId} --origin … --parent …`,
      )
  }
  return problems
}

async function isUsable(service: WithDb, walletId: string): Promise<boolean> {
  const wallet = await findWallet(service.db.pool, walletId)
  return wallet?.frozenFor === null
}
