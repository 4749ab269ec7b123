/**
 * Requests made from the OpenAPI file, valid and invalid ones, by the seed of the day: no fault, every answer is in the file, what the
 * file forbids is never accepted, no refused call moves money, and every accepted debit and credit moves it once.
 * BILLFOLD_FUZZ_SEED sets another seed; BILLFOLD_FUZZ_REQUESTS, and `npm test -- all`, send more requests.
 */
import { afterAll, beforeAll, expect, setDefaultTimeout, test } from 'bun:test'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setAppActive } from '../src/actions/apps/manage-apps.ts'
import { freezeWallet } from '../src/actions/money/manage-wallets.ts'
import { signatureHeader, signBody } from '../sandbox/signature.ts'
import { expectBalancedBooks } from './books.ts'
import { makeRequest, openRandom, operations, type Known, type Made } from './fuzz/random-request.ts'
import { validatorOf } from './openapi.ts'
import { newApp, newUser, openTestService, operator, type Credentials, type TestService } from './service.ts'

setDefaultTimeout(3_600_000)

/** The same for a whole day: a failure that one run finds, the next one finds again. */
const seedOfTheDay = Number(new Date().toISOString().slice(0, 10).replaceAll('-', ''))
const seed = Number(process.env['BILLFOLD_FUZZ_SEED'] ?? seedOfTheDay)
const requests = Number(process.env['BILLFOLD_FUZZ_REQUESTS'] ?? (process.env['TEST_ALL'] === '1' ? 20_000 : 2_000))
process.stdout.write(`BILLFOLD_FUZZ_SEED=${seed}\n`)

let opened: TestService
let folder: string
let app: Credentials
const random = openRandom(seed)
const refusedApps: Credentials[] = []
/** Those whose money moves, one of them frozen, and how much of it, in cents. Others are not the app's, or come and go. */
const moved = new Map<string, bigint>()
const strangers: string[] = []
const visitors: string[] = []
const sessions: string[] = []
const payments: string[] = []
const posted = new Set<string>()
const faults: string[] = []

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'billfold-fuzz-'))
  opened = await openTestService({ DATA_DIR: folder, LOG_LEVEL: 'warn' })
  const { service } = opened
  app = await newApp(service)
  const other = await newApp(service)
  const inactive = await newApp(service)
  const unknown = { ...app, clientId: 'app_00000000000000000000' }
  refusedApps.push(inactive, unknown, { ...inactive, clientSecret: other.clientSecret })
  for (let i = 0; i < 8; i++) moved.set((await newUser(service, app)).serviceUserId, 0n)
  for (let i = 0; i < 20; i++) visitors.push((await newUser(service, app)).serviceUserId)
  const frozen = await newUser(service, app)
  moved.set(frozen.serviceUserId, 0n)
  strangers.push((await newUser(service, other)).serviceUserId, 'su_nobody')
  await freezeWallet(service, operator, frozen.userId, 'for the test')
  await setAppActive(service, operator, inactive.clientId, false)
})
afterAll(async () => {
  await opened.close()
  await rm(folder, { recursive: true })
})

/** Of an app that is accepted, each sign-in costs the hash of a password or as long a wait: few of them are. */
const acceptedOf = (path: string) => (path.startsWith('/api/widget/auth/') ? random.isOne(40) : !random.isOne(8))

const knownOf = (path: string): Known => {
  const who = acceptedOf(path) ? app : random.pick(refusedApps)
  const users = path.endsWith('/session') ? visitors : [...moved.keys()]
  return (name) => {
    if (name === 'clientId') return who.clientId
    if (name === 'clientSecret') return who.clientSecret
    if (name === 'serviceUserId') return random.isOne(10) ? random.pick(strangers) : random.pick(users)
    if (name === 'session') return sessions.length === 0 ? undefined : random.pick(sessions)
    if (name === 'amount') return random.isOne(30) ? 999_999_999.99 : (1 + random.below(5_000)) / 100
    if (name === 'requiredAmount') return String(random.below(5_000) / 100)
    if (name === 'limit' || name === 'before') return String(1 + random.below(200))
    if (name === 'referenceType') return random.pick(['ORDER', 'TOPUP'])
    // Few enough that many come again, with another amount, user or direction.
    if (name === 'referenceId') return `fuzz-${random.below(requests / 8)}`
    if (name === 'email') return random.pick(['ada@example.com', 'eve@example.com'])
    if (name === 'parentOrigin') return 'https://shop.example'
    if (name === 'paymentIntentId') return payments.length === 0 ? undefined : random.pick(payments)
    return undefined
  }
}

let addresses = 0

/** A new client address each time, so that no call is slowed or limited for what another did. */
function nextAddress(): string {
  addresses++
  return `10.${(addresses >> 16) & 255}.${(addresses >> 8) & 255}.${addresses & 255}`
}

const routine = operations.filter(({ path }) => path !== '/api/openapi.json')
/** The calls with a session need many, because some of them end theirs. */
const opening = operations.filter(({ path }) => path === '/api/widget/session')
const money = operations.filter(({ path }) => /\/(debit|credit|bulk)$/.test(path))

function nextRequest(): Made {
  const operation = random.pick(
    random.isOne(3) ? money : random.isOne(12) ? opening : random.isOne(500) ? operations : routine,
  )
  const made = makeRequest(operation, random, knownOf(operation.path))
  // What the sandbox sends is signed; half of it here.
  if (operation.path === '/api/processor/sandbox' && random.isOne(2) && made.values && !made.isSpoiled) {
    const signature = signBody(JSON.stringify(made.values), 'whsec_sandbox', new Date())
    made.request.headers.set(signatureHeader, signature)
  }
  return made
}

async function sendOne(number: number): Promise<void> {
  const made = nextRequest()
  const { operation, request } = made
  const fault = (what: string) => {
    faults.push(`request ${number}, ${request.method} ${operation.path} ${JSON.stringify(made.values)}: ${what}`)
  }
  let response: Response
  let tries = 0
  try {
    // As a client does: a machine that is too busy answers 503, and the same request again returns what became of it.
    do response = await opened.app.fetch(request.clone(), nextAddress())
    while (response.status === 503 && operation.path !== '/readyz' && ++tries < 5)
  } catch (error) {
    // The answer is not in the file.
    return fault(String(error))
  }
  // A busy machine may be a second too slow to be called ready, and that is no fault.
  if (response.status >= 500 && operation.path !== '/readyz') fault(`answered ${response.status}`)
  if (response.status === 401) forget(sessions, new URL(request.url).searchParams.get('session'))
  if (response.status === 404) forget(visitors, made.values?.['serviceUserId'])
  const isJson = response.headers.get('content-type') === 'application/json'
  // A stream does not end by itself, and the answer to a HEAD has no body.
  if (!response.ok || !isJson || request.method === 'HEAD') return await response.body?.cancel()
  const body = (await response.json()) as Record<string, unknown>
  const accepted = operation.path.endsWith('/bulk') ? withAccepted(made, body) : made
  if (accepted && !isAllowed(accepted)) fault('was accepted, and the file forbids it')
  await note(made, body, tries > 0, fault)
}

/** Each operation of a list is accepted or refused by itself: the request with those alone that were accepted, if any was. */
function withAccepted(made: Made, { results }: Record<string, unknown>): Made | undefined {
  const listed = made.values?.['operations'] as unknown[]
  const operations = listed.filter((_, i) => (results as { status: number }[])[i]!.status === 200)
  return operations.length > 0 ? { ...made, values: { ...made.values, operations } } : undefined
}

/** What has ended is not worth trying again and again. */
function forget(list: string[], value: unknown): void {
  const index = list.indexOf(String(value))
  if (index >= 0) list.splice(index, 1)
}

/** Whether the file accepts this body. Fields that it does not name are ignored. */
function isAllowed({ request, operation: { method, path, body }, values, isSpoiled }: Made): boolean {
  // What a card processor signed is never refused for its shape: that would only make it send it again.
  if (path.startsWith('/api/processor/')) return true
  if (isSpoiled) return false
  // Sent with another method it is another call, which reads no body or none of these fields.
  if (!body || !values || request.method !== method) return true
  const names = Object.keys(body.properties ?? {})
  const named = Object.fromEntries(Object.entries(values).filter(([name]) => names.includes(name)))
  return validatorOf(body)(JSON.parse(JSON.stringify(named)))
}

function keep(list: string[], value: unknown): void {
  if (list.push(String(value)) > 60) list.shift()
}

/** What an accepted call changed, for the next ones and for the sum at the end. */
async function note(
  { operation: { path }, values = {} }: Made,
  body: Record<string, unknown>,
  wasOpen: boolean,
  fault: (what: string) => void,
): Promise<void> {
  if (path.endsWith('/session')) keep(sessions, body['sessionToken'])
  if (path.endsWith('/create-intent')) keep(payments, body['paymentIntentId'])
  if (path.endsWith('/disconnect')) visitors.push((await newUser(opened.service, app)).serviceUserId)
  if (path.endsWith('/bulk')) {
    const listed = values['operations'] as Record<string, unknown>[]
    for (const [i, result] of (body['results'] as Record<string, unknown>[]).entries())
      if (result['status'] === 200) noteMoved(String(listed[i]!['direction']), listed[i]!, result, wasOpen, fault)
  }
  const direction = /\/(debit|credit)$/.exec(path)?.[1]
  if (direction) noteMoved(direction, values, body, wasOpen, fault)
}

function noteMoved(
  direction: string,
  { serviceUserId, amount }: Readonly<Record<string, unknown>>,
  body: Record<string, unknown>,
  wasOpen: boolean,
  fault: (what: string) => void,
): void {
  const id = String(body['transactionId'])
  // When the first answer was 503, the repeat may be the first to return the transfer.
  if (body['replayed'] === true && !(wasOpen && !posted.has(id))) return
  const minor = BigInt(Math.round(Number(amount) * 100))
  const before = moved.get(String(serviceUserId))
  if (before === undefined) return fault('moved money of somebody who is not the app’s')
  moved.set(String(serviceUserId), before + (direction === 'debit' ? -minor : minor))
  if (posted.has(id)) fault(`was accepted as ${id}, which is another one’s`)
  posted.add(id)
}

test('requests made from the OpenAPI file cause no fault, and are answered as it says', async () => {
  let sent = 0
  const client = async () => {
    while (sent < requests && faults.length < 10) await sendOne(++sent)
  }
  await Promise.all(Array.from({ length: 10 }, client))
  expect([seed, faults]).toEqual([seed, []])
  expect(opened.logged.filter((line) => line.includes('"level":"error"'))).toEqual([])
})

test('no refused request moved money, and every accepted one moved it once', async () => {
  const { rows: transfers } = await opened.service.db.pool.query<{ id: string }>(
    `select 'txn_' || replace(reference_key::text, '-', '') as id from transfers`,
  )
  expect(transfers.length).toBeGreaterThan(requests / 50)
  expect(new Set(transfers.map(({ id }) => id))).toEqual(posted)
  const { rows } = await opened.service.db.pool.query<{ id: string; balance: bigint }>(
    'select l.id, w.balance from links l join wallets w on w.id = l.user_id where w.balance <> 0',
  )
  const balances = new Map(rows.map(({ id, balance }) => [id, balance]))
  expect(balances).toEqual(new Map([...moved].filter(([, balance]) => balance !== 0n)))
  await expectBalancedBooks(opened.service)
})
