/** A service on a new database, and an app and users to try it with. */
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { closeService, openService, type Service } from '../src/actions/service.ts'
import { createApp } from '../src/actions/apps/manage-apps.ts'
import { newId, newServiceUserId } from '../src/actions/tokens.ts'
import { buildApp, type App } from '../src/app.ts'
import { parseConfig, type Environment } from '../src/config.ts'
import { openLog } from '../src/platform/log.ts'
import { openMetrics } from '../src/platform/metrics.ts'
import type { AppSettings } from '../src/store/apps.ts'
import { openDatabase, transact, type Connection, type Limits } from '../src/store/connection/database.ts'
import { getOrInsertLink } from '../src/store/links.ts'
import { insertUser } from '../src/store/people/users.ts'
import { kindsOf } from '../src/work/kinds.ts'
import { startWork } from '../src/work/runner.ts'
import { documented } from './openapi.ts'
import { testDatabase } from './postgres.ts'

export type TestService = {
  readonly service: Service
  readonly app: App
  readonly logged: string[]
  /** For another process on the same database. */
  readonly databaseUrl: string
  readonly close: () => Promise<void>
}

/** Argon2id at its lowest cost: tests sign in thousands of times. Real processes pay in full. */
const passwordCost = { memoryCost: 8, timeCost: 1 }

export const secretsKey = Buffer.alloc(32, 'test key').toString('base64')

/** A starved machine takes seconds for what takes milliseconds elsewhere. */
const patient: Limits = { connectMs: 60_000, waitMs: 60_000, statementMs: 60_000, answerMs: 60_000 }

type TestServiceOptions = {
  readonly now?: () => Date
  /** Puts something between the service and its database, or prepares the database. */
  readonly through?: ((connection: Connection) => Connection | Promise<Connection>) | undefined
  /** Of the database's pools. A service's own ones are for tests that wait for them. */
  readonly limits?: 'patient' | 'own'
}

export async function openTestService(
  environment: Environment = {},
  { now = () => new Date(), through = (connection) => connection, limits = 'patient' }: TestServiceOptions = {},
): Promise<TestService> {
  const database = await testDatabase()
  // Mails that no test reads go there.
  const dataDir = await mkdtemp(join(tmpdir(), 'billfold-service-'))
  const logged: string[] = []
  const usual = { DEMO: '0', LOG_LEVEL: 'debug', SECRETS_KEY: secretsKey, DATA_DIR: dataDir }
  const config = parseConfig({ ...usual, ...environment })
  const db = openDatabase(await through(database.connection), undefined, limits === 'own' ? undefined : patient)
  const log = openLog(config.logLevel, (text) => logged.push(text))
  const service = openService({ config, db, log, metrics: openMetrics(), now, passwordCost })
  // Work runs when an action wakes it, and no poll finds any by itself.
  const stopWork = startWork(service, kindsOf(service), { isPolling: false })
  const undocumented: string[] = []
  const built = buildApp(service)
  const app = { ...built, fetch: documented(built.fetch, undocumented) }
  const close = async () => {
    await stopWork()
    await closeService(service)
    await db.pool.end()
    await database.drop()
    await rm(dataDir, { recursive: true })
    if (undocumented.length > 0) throw new Error(undocumented.join('\n'))
  }
  return { service, app, logged, databaseUrl: database.url, close }
}

export const operator = { name: 'test', address: null }

const settings: AppSettings = {
  name: 'Test shop',
  allowedOrigins: ['https://shop.example'],
  allowedIframeParents: ['https://shop.example'],
  scopes: ['wallet:read', 'wallet:write'],
  strictReferences: false,
  accentColor: null,
  logoUrl: null,
  maxOperations: null,
}

export type Credentials = { readonly clientId: string; readonly clientSecret: string }

export async function newApp(service: Service, changes: Partial<AppSettings> = {}): Promise<Credentials> {
  return await createApp(service, operator, { ...settings, ...changes })
}

/** A user with an empty wallet, linked to the app. */
export async function newUser(
  service: Service,
  { clientId }: { clientId: string },
  { firstName, lastName } = { firstName: 'Ada', lastName: 'Lovelace' },
): Promise<TestUser> {
  const userId = newId()
  return await transact(service.db, async (tx) => {
    const email = `${userId}@example.com`
    await insertUser(tx, { id: userId, email, passwordHash: null, firstName, lastName })
    const link = await getOrInsertLink(tx, { id: newServiceUserId(), clientId, userId })
    return { userId, serviceUserId: link.id }
  })
}

/** One after the other, on one connection: on a busy machine the opening of many at once may take longer than it may. */
export async function newUsers(service: Service, app: { clientId: string }, count: number): Promise<TestUser[]> {
  const users: TestUser[] = []
  while (users.length < count) users.push(await newUser(service, app))
  return users
}

export type TestUser = { readonly userId: string; readonly serviceUserId: string }

export async function linkUser(service: Service, { clientId }: { clientId: string }, userId: string): Promise<string> {
  return (await getOrInsertLink(service.db.pool, { id: newServiceUserId(), clientId, userId })).id
}
