/** Apps, users and sessions in every state that a route must refuse, and how a request is sent and checked. */
import { setAppActive, rotateSecret, revokeSecret } from '../../src/actions/apps/manage-apps.ts'
import { createSession, revokeSession, checkSession } from '../../src/actions/people/open-session.ts'
import { connectApp } from '../../src/actions/people/manage-links.ts'
import { updateLinkDisconnected } from '../../src/store/links.ts'
import { listDevices } from '../../src/store/people/devices.ts'
import { newClient } from '../client.ts'
import { eventually } from '../eventually.ts'
import { deviceOf } from '../devices.ts'
import { holdClient, holdOf } from '../holds.ts'
import { newAppWithEvents, numberAll } from '../events/rig.ts'
import { addEndpoint } from '../../src/actions/webhooks/manage-endpoints.ts'
import { listEndpoints } from '../../src/store/events/endpoints.ts'
import { linkUser, newApp, newUser, operator, type Credentials, type TestService, type TestUser } from '../service.ts'
import { letPass } from '../time.ts'

export type Rig = Awaited<ReturnType<typeof openRig>>

/** A text that only its owner may see. */
export const mark = 'OWNER-MARK'
const hourMs = 3_600_000

export async function openRig(opened: TestService) {
  const { service } = opened
  const { pool } = service.db
  const find = async ({ clientId }: Credentials) => (await service.apps.find(clientId))!
  const sessionFor = async (app: Credentials, serviceUserId: string) => {
    const created = await createSession(service, await find(app), { serviceUserId, parentOrigin: null })
    if (created.kind !== 'created') throw new Error(created.kind)
    return created.sessionToken
  }
  const app = await newAppWithEvents(service)
  const owner = await newUser(service, app)

  // The secret and session that must be expired are created first, and then an hour passes.
  const expired = await newApp(service)
  await rotateSecret(service, operator, expired.clientId, '1h')
  const expiredSession = await sessionFor(app, owner.serviceUserId)
  await letPass(pool, hourMs)

  const other = await newApp(service)
  const inactive = await newApp(service)
  const inactiveUser = await newUser(service, inactive)
  const inactiveSession = await sessionFor(inactive, inactiveUser.serviceUserId)
  await setAppActive(service, operator, inactive.clientId, false)
  const revoked = await newApp(service)
  await revokeSecret(service, operator, revoked.clientId, (await find(revoked)).secrets[0]!.id)
  const gone = await newUser(service, app)
  const disconnectedSession = await sessionFor(app, gone.serviceUserId)
  await updateLinkDisconnected(pool, gone.userId, gone.serviceUserId)
  const revokedSession = await sessionFor(app, owner.serviceUserId)
  await revokeSession(service, (await checkSession(service, revokedSession)).session!)
  const stranger = await newUser(service, app)
  const { status } = await newClient(opened.app.fetch, app).post('/api/server/wallet/credit', {
    ...app,
    serviceUserId: owner.serviceUserId,
    amount: 123.45,
    referenceType: mark,
    referenceId: mark,
  })
  if (status !== 200) throw new Error(`the owner got no money: ${status}`)
  await service.apps.refresh()

  return {
    opened,
    app,
    owner,
    /** Each has a secret that was once valid, but is not the app of the owner or lacks a right. */
    apps: {
      other,
      inactive,
      revoked,
      expired,
      unscoped: await newApp(service, { scopes: [] }),
      readOnly: await newApp(service, { scopes: ['wallet:read'] }),
      writeOnly: await newApp(service, { scopes: ['wallet:write'] }),
    },
    disconnected: gone,
    endedSessions: { expired: expiredSession, revoked: revokedSession, disconnectedSession, inactiveSession },
    /** Linked to the other app only. */
    foreignUser: await newUser(service, other),
    stranger,
    strangerSession: () => sessionFor(app, stranger.serviceUserId),
    newUser: (): Promise<TestUser> => newUser(service, app),
    /** The serviceUserId of the owner in another app. */
    linkedTo: (who: Credentials) => linkUser(service, who, owner.userId),
    sessionOf: (serviceUserId: string) => sessionFor(app, serviceUserId),
    /** Returns the sequence of a new entry of the app. */
    newEntry: async ({ serviceUserId }: TestUser): Promise<number> => {
      const client = newClient(opened.app.fetch, app)
      await client.credit(serviceUserId, 1)
      const [newest] = (await client.wallet(serviceUserId)).body['transactions'] as { sequence: number }[]
      return newest!.sequence
    },
    /** The reference of a new entry of the app. */
    newReference: async ({ serviceUserId }: TestUser, referenceId: string) => {
      await newClient(opened.app.fetch, app).credit(serviceUserId, 1, referenceId)
      return { referenceType: 'ORDER', referenceId }
    },
    /** The id of a new open hold of the app. */
    newHold: async ({ serviceUserId }: TestUser): Promise<string> => {
      const client = newClient(opened.app.fetch, app)
      await client.credit(serviceUserId, 100)
      const placed = await holdClient(client, app).place(serviceUserId, 30)
      return holdOf(placed).id
    },
    /** Nothing listens there. The app has had its first event. */
    newEndpoint: async (): Promise<string> => {
      await numberAll(service)
      const [known] = await listEndpoints(pool, app.clientId)
      if (known) return known.id
      const added = await addEndpoint(service, operator, app.clientId, { url: 'https://receiver.test/', types: null })
      if (added.kind !== 'added') throw new Error(added.kind)
      return added.id
    },
    newDeviceId: async ({ userId }: TestUser): Promise<string> => {
      await deviceOf(service, { userId, clientId: app.clientId })
      return (await listDevices(pool, userId))[0]!.id
    },
    /** A browser where the user signed in, with the password just now or long ago. */
    deviceOf: async ({ userId }: TestUser, { hasPassword = true } = {}): Promise<Record<string, string>> => ({
      cookie: (await deviceOf(service, { userId, clientId: app.clientId }, { hasPassword })).cookie,
    }),
    newLinkCode: async () => (await connectApp(pool, await find(app), owner.userId, '10.0.0.1'))!.linkCode,
  }
}

/** Tables that hold money or rights. Counters of attempts, audit records and sessions may change. */
const precious = [
  'apps',
  'app_secrets',
  'links',
  'users',
  'wallets',
  'transfers',
  'outcomes',
  'holds',
  'hold_steps',
  'positions',
  'topups',
  'topup_movements',
  'sandbox_payments',
  'devices',
  'mail_settings',
  'paper_links',
  'operators',
  'operator_invites',
  'operator_grants',
  'operator_changes',
  'operator_recovery_codes',
]
/** A sum needs no order: sorting the rows as texts took most of the time of every-route.test.ts. */
const digestSql = `select concat_ws('|', ${precious
  .map((table) => `(select concat(count(*), ' ', sum(hash_record_extended(t, 0))) from ${table} t)`)
  .join(', ')}) as digest`

async function digestOf({ service }: TestService): Promise<string> {
  const { rows } = await service.db.pool.query<{ digest: string }>({ name: 'digest', text: digestSql })
  return rows[0]!.digest
}

/** A mail that sends a link changes the row of the link. */
async function settleMails({ service }: TestService): Promise<void> {
  const sql = `select key from work where kind = 'send-operator-mail' and (given_up_at is null or leased_until > now())`
  await eventually(async () => (await service.db.pool.query<{ key: string }>(sql)).rows, [])
}

export type Case = {
  readonly name: string
  readonly request: Request
  /** `401 INVALID_CLIENT`, `303 /admin`, `415`: the status with its code or address. A trailing * matches any rest. */
  readonly answers: readonly string[]
  readonly allow?: string
  readonly address?: string
}

let addresses = 0

/** A new address for each request: limits by address never refuse it for the requests before. */
function nextAddress(): string {
  addresses++
  return `10.${addresses >> 16}.${(addresses >> 8) & 255}.${addresses & 255}`
}

export type Outcome = { readonly answer: string; readonly text: string; readonly headers: Headers }

export async function send(opened: TestService, request: Request, address = nextAddress()): Promise<Outcome> {
  const response = await opened.app.fetch(request, address)
  const { status, headers } = response
  const isStream = headers.get('content-type') === 'text/event-stream'
  if (isStream) await response.body!.cancel()
  const text = isStream ? '' : await response.text()
  const isJson = headers.get('content-type')?.startsWith('application/json') === true && text !== ''
  const body = isJson ? (JSON.parse(text) as Record<string, unknown>) : {}
  const about = headers.get('location') ?? (typeof body['code'] === 'string' ? body['code'] : undefined)
  return { answer: about === undefined ? String(status) : `${status} ${about}`, text, headers }
}

export const isAmong = (answer: string, expected: readonly string[]): boolean =>
  expected.some((one) => (one.endsWith('*') ? answer.startsWith(one.slice(0, -1)) : answer === one))

export type Tried = { readonly count: number; readonly faults: readonly string[] }

/** Faults: requests with an unexpected answer, and refused requests that changed something. */
export async function tryCases(opened: TestService, cases: readonly Case[]): Promise<Tried> {
  const faults: string[] = []
  await settleMails(opened)
  let before = await digestOf(opened)
  for (const { name, request, answers, allow, address } of cases) {
    const { answer, headers, text } = await send(opened, request, address)
    if (!isAmong(answer, answers)) faults.push(`${name}: ${answer} instead of ${answers.join(' or ')}`)
    if (allow !== undefined && headers.get('allow') !== allow)
      faults.push(`${name}: Allow is ${headers.get('allow')} instead of ${allow}`)
    if (text.includes(mark)) faults.push(`${name}: shows what only the owner may see`)
    const after = await digestOf(opened)
    if (after !== before) faults.push(`${name}: changed something`)
    before = after
  }
  return { count: cases.length, faults }
}

const methods = ['GET', 'POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS', 'HEAD']

export function wrongMethods(url: string, has: readonly string[], leftOut: readonly string[] = []): Case[] {
  return methods
    .filter((method) => !has.includes(method) && !leftOut.includes(method))
    .map((method) => ({
      name: `the method ${method}`,
      request: new Request(url, { method, headers: { 'content-type': 'application/x-www-form-urlencoded' } }),
      answers: [method === 'HEAD' ? '405' : '405 METHOD_NOT_ALLOWED'],
      allow: has.join(', '),
    }))
}

export const elsewhere = [
  { origin: 'https://evil.example' },
  { origin: 'null' },
  { 'sec-fetch-site': 'cross-site' },
  { 'sec-fetch-site': 'same-site' },
  { 'sec-fetch-site': 'none' },
  { origin: 'https://evil.example', 'sec-fetch-site': 'cross-site' },
] as const
