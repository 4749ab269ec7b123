/**
 * An app with only its secret. Its backend creates sessions of a user without the user, and sends every request that it can make with
 * them, with any headers: what the user has with another app stays unchanged and unseen.
 */
import { afterAll, beforeAll, expect, setDefaultTimeout, test } from 'bun:test'
import type { Route } from '../src/api/route.ts'
import { receiptCodeOf } from '../src/ledger/receipt-code.ts'
import { newId } from '../src/actions/tokens.ts'
import { postForService } from '../src/actions/money/post.ts'
import { findLink } from '../src/store/links.ts'
import { newClient, type Client } from './client.ts'
import { cookieOf } from './devices.ts'
import { holdClient, holdOf } from './holds.ts'
import { openIdentityRig, password, type IdentityRig } from './identity-rig.ts'
import { newApp, type Credentials } from './service.ts'
import { toRequest } from './routes/json-cases.ts'

setDefaultTimeout(180_000)

let rig: IdentityRig
/** The app that attacks, and the one whose things it must not reach. */
let app: Credentials
let rival: Credentials
let client: Client
let rivals: Client
/** The user's ids at the two apps, and what the app must never see. */
let serviceUserId: string
let rivalUserId: string
let userId: string
let secrets: Record<string, string>
/** A device of the app's own developer, who is a user too. */
let developer: Record<string, string>

beforeAll(async () => {
  rig = await openIdentityRig()
  rig.move()
  const { service, app: web } = rig.opened
  app = rig.credentials
  rival = await newApp(service, { name: 'Rival shop' })
  client = newClient(web.fetch, app)
  rivals = newClient(web.fetch, rival)
  const person = rig.newPerson()
  serviceUserId = String((await person.newAccount()).body['serviceUserId'])
  const signedIn = await person.logIn({ clientId: rival.clientId })
  rivalUserId = String(signedIn.body['serviceUserId'])
  const session = String(
    (await rivals.post('/api/widget/session', { ...rival, serviceUserId: rivalUserId })).body['sessionToken'],
  )
  const own = (path: string, body: object) =>
    rig.page.call(
      'POST',
      `/api/widget/account/${path}?session=${session}`,
      JSON.stringify(body),
      cookieOf(signedIn.headers),
    )
  await own('mails', { choice: 'receipts', isWanted: false })
  await own('language', { language: 'de' })
  const entry = {
    ...rival,
    serviceUserId: rivalUserId,
    amount: 30,
    referenceType: 'PRESCRIPTION',
    referenceId: 'rx-4711',
  }
  const credited = await rivals.post('/api/server/wallet/credit', { ...entry, description: 'Insulin' })
  await client.credit(serviceUserId, 20)
  const held = { ...entry, amount: 7, referenceId: 'rx-4712', description: 'Test strips' }
  const placed = await rivals.post('/api/server/wallet/hold', held)
  const holdId = holdOf(placed).id
  await holdClient(client, app).place(serviceUserId, 4, { description: 'A book' })
  // An operator's correction on the account of the other app, with the reason.
  const correction = { referenceType: 'CORRECTION', referenceId: newId(), description: 'Wrong dose of the pharmacy' }
  await postForService(service, {
    walletId: (await findLink(service.db.pool, app.clientId, serviceUserId))!.userId,
    counterAccount: `app:${rival.clientId}`,
    amountMinor: 100n,
    ...correction,
  })
  const transactionId = String(credited.body['transactionId'])
  const { rows } = await service.db.pool.query<{ id: string }>('select id from users where email = $1', [person.email])
  userId = rows[0]!.id
  secrets = {
    email: person.email,
    rivalUserId,
    clientId: rival.clientId,
    name: 'Rival shop',
    referenceType: 'PRESCRIPTION',
    referenceId: 'rx-4711',
    description: 'Insulin',
    heldReferenceId: 'rx-4712',
    heldDescription: 'Test strips',
    holdId,
    correction: correction.description,
    transactionId,
    receiptCode: receiptCodeOf(transactionId.slice('txn_'.length)),
    device: cookieOf(signedIn.headers)['cookie']!.split('=')[1]!,
  }
  const own2 = rig.newPerson()
  developer = cookieOf((await own2.newAccount()).headers)
})
afterAll(() => rig.close())

/** Everything of the user that is not the app's: it must be the same after the attack. */
async function rowsOfOthers(): Promise<Record<string, unknown>> {
  const { pool } = rig.opened.service.db
  const read = async (sql: string, ...values: string[]) => (await pool.query(sql, values)).rows
  return {
    user: await read('select * from users where id = $1', userId),
    links: await read('select * from links where user_id = $1 and client_id <> $2', userId, app.clientId),
    sessions: await read('select * from widget_sessions where user_id = $1 and client_id <> $2', userId, app.clientId),
    devices: await read('select * from devices where user_id = $1 and client_id <> $2', userId, app.clientId),
    mailChoices: await read('select * from mail_settings where user_id = $1', userId),
    addresses: await read('select * from user_addresses where user_id = $1', userId),
    emailChanges: await read('select * from email_changes where user_id = $1', userId),
    entries: await read(
      'select * from transfers where wallet_id = $1 and counter_account = $2',
      userId,
      `app:${rival.clientId}`,
    ),
    holds: await read('select * from holds where wallet_id = $1 and client_id <> $2', userId, app.clientId),
    // The page of a receipt offers the proof of the same entry.
    papers: await read(
      `select * from paper_links p where user_id = $1 and paper->>'kind' <> 'receipt' and not (paper->>'kind' = 'proof' and exists (
        select from transfers t where t.wallet_id = p.user_id and t.sequence = (paper->>'sequence')::bigint and t.counter_account = $2))`,
      userId,
      `app:${app.clientId}`,
    ),
  }
}

const fieldsOf = (schema: unknown): string[] => Object.keys((schema as { shape?: object } | undefined)?.shape ?? {})

/** The inputs that reach furthest: the other app, another wallet's paper, every mail. */
const aims: Record<string, readonly Record<string, unknown>[]> = {
  '/api/widget/papers': [
    { kind: 'receipt', sequence: 1 },
    { kind: 'receipt', sequence: 2 },
    { kind: 'receipt', sequence: 3 },
    { kind: 'statement', month: '2026-01' },
    { kind: 'selection', search: 'Insulin' },
    { kind: 'selection', min: '0' },
    { kind: 'data' },
  ],
  '/api/widget/account/mails': [
    { choice: 'receipts', isWanted: true },
    { choice: 'sign-ins', isWanted: false },
    { choice: 'payments', isWanted: false },
  ],
  '/api/widget/activity': [{}, { app: '' }, { search: 'Insulin' }],
  '/api/widget/activity/sums': [{}, { app: '' }, { search: 'Insulin' }, { min: '0' }],
}

/** Routes by which the app leaves the user: they end its own access, so they come last. */
const leaving = new Set(['/api/widget/logout', '/api/widget/account/sign-out', '/api/widget/links/disconnect'])

const forged = (): Record<string, string>[] => {
  const ownPage = { origin: rig.opened.service.config.publicUrl, 'sec-fetch-site': 'same-origin' }
  const token = `wd_${'A'.repeat(43)}`
  return [
    {},
    ownPage,
    { ...ownPage, 'billfold-device': token },
    { ...ownPage, cookie: `__Host-billfold-device=${token}` },
    { ...ownPage, ...developer },
    { ...ownPage, 'billfold-device': developer['cookie']!.split('=')[1]! },
  ]
}

const newSession = async () =>
  String((await client.post('/api/widget/session', { ...app, serviceUserId })).body['sessionToken'])

/** With the secret where the route takes one, with a new session where it takes that, and else with what the app knows. */
async function valuesFor(route: Route, aim: Record<string, unknown>): Promise<Record<string, unknown>> {
  const fields = [...fieldsOf(route.input), ...fieldsOf(route.query)]
  const isBackend = fields.includes('clientSecret')
  const known: Record<string, unknown> = {
    clientId: isBackend ? app.clientId : rival.clientId,
    clientSecret: app.clientSecret,
    serviceUserId,
    session: await newSession(),
    password: 'a guess of the app',
    email: secrets['email'],
  }
  const given = Object.entries(known).filter(([name]) => fields.includes(name))
  return { ...route.example.input, ...Object.fromEntries(given), ...aim }
}

async function textOf(response: Response): Promise<string> {
  if (response.headers.get('content-type') !== 'text/event-stream') return await response.text()
  const reader = response.body!.getReader()
  const text: string[] = []
  // The first chunk is the time to reconnect, and the second the wallet.
  for (let i = 0; i < 2; i++) text.push(new TextDecoder().decode((await reader.read()).value))
  await reader.cancel()
  return text.join('')
}

test('it sees and changes nothing that its user has with another app', async () => {
  const before = await rowsOfOthers()
  const routes = rig.opened.app.routes.filter(({ path, proof }) => path.startsWith('/api/') && proof !== undefined)
  const inOrder = [
    ...routes.filter(({ path }) => !leaving.has(path)),
    ...routes.filter(({ path }) => leaving.has(path)),
  ]
  const seen: string[] = []
  const faults: string[] = []
  const opened: string[] = []
  let calls = 0
  for (const route of inOrder)
    for (const aim of aims[route.path] ?? [{}])
      for (const headers of forged()) {
        const isBackend = route.proof === 'app'
        const values = await valuesFor(route, aim)
        const address = `10.9.${calls >> 8}.${calls & 255}`
        const response = await rig.opened.app.fetch(
          toRequest(route, { values, headers: isBackend ? {} : headers }),
          address,
        )
        const text = await textOf(response)
        const name = `${route.method} ${route.path} ${JSON.stringify(aim)}`
        if (response.status >= 500) faults.push(`${name}: ${response.status}`)
        const path = /"path":"([^"]*)"/.exec(text)?.[1]
        if (path) opened.push(path)
        for (const [what, secret] of Object.entries(secrets))
          if (text.includes(secret)) seen.push(`${name} shows ${what}`)
        calls++
      }
  const session = await newSession()
  for (const path of [...opened, `/widget/wallet?session=${session}`, `/widget/topup?session=${session}`]) {
    const text = await (await rig.opened.app.fetch(new Request(`http://billfold.test${path}`))).text()
    for (const [what, secret] of Object.entries(secrets))
      if (text.includes(secret)) seen.push(`${path.split('/')[2]} shows ${what}`)
  }
  expect({ seen, faults }).toEqual({ seen: [], faults: [] })
  expect(calls).toBeGreaterThan(200)
  // One receipt for each set of headers: that of the app's entry.
  expect(opened).toHaveLength(forged().length)
  expect(await rowsOfOthers()).toEqual(before)
  expect((await rivals.debit(rivalUserId, 1)).status).toBe(200)
})

test('it sees that the user has other entries, and nothing about them', async () => {
  const { body } = await rig.page.wallet(await newSession())
  const [, own, others] = (body['transactions'] as Record<string, unknown>[]).slice(-3)
  expect(own).toMatchObject({ amount: 20, app: { clientId: app.clientId }, referenceType: 'ORDER' })
  expect(others).toEqual({
    id: expect.stringMatching(/^txn_[0-9a-f]{32}$/),
    type: 'CREDIT',
    amount: 30,
    balanceAfter: 30,
    currency: 'USD',
    sequence: 1,
    createdAt: expect.any(String),
    referenceType: '',
    referenceId: '',
    description: null,
    app: null,
    receiptCode: '',
    isPrivate: true,
  })
  expect(body).toMatchObject({ proof: 'session', user: { firstName: 'Ada' } })
})

test('it sees its own holds, and of those of other apps the amount and the end', async () => {
  const session = await newSession()
  const { body } = await rig.page.call('GET', `/api/widget/holds?session=${session}`)
  // The attack above has placed one more hold of the app.
  const [own, others] = (body['holds'] as Record<string, unknown>[]).slice(-2)
  expect(own).toMatchObject({ remaining: 4, app: { clientId: app.clientId }, description: 'A book' })
  const redacted = {
    id: expect.stringMatching(/^hold_[0-9a-f]{32}$/),
    amount: 7,
    captured: 0,
    remaining: 7,
    createdAt: expect.any(String),
    expiresAt: expect.any(String),
    referenceType: '',
    referenceId: '',
    description: null,
    app: null,
    isPrivate: true,
  }
  expect(others).toEqual(redacted)
  expect(others!['id']).not.toBe(secrets['holdId'])
  const { body: wallet } = await rig.page.wallet(session)
  expect((wallet['holds'] as unknown[]).slice(-2)).toEqual([own, redacted])
})

test('it may leave: it disconnects itself, and what the user has with the other app stays', async () => {
  const before = await rowsOfOthers()
  const path = `/api/widget/links/disconnect?session=${await newSession()}`
  expect((await rig.page.post(path, { clientId: app.clientId })).status).toBe(200)
  expect((await client.debit(serviceUserId, 1)).status).toBe(404)
  expect(await rowsOfOthers()).toEqual(before)
  expect((await rivals.debit(rivalUserId, 1)).status).toBe(200)
})

test('its guesses from many addresses use up its own attempts, and none that the user has elsewhere', async () => {
  const person = rig.newPerson()
  serviceUserId = String((await person.newAccount()).body['serviceUserId'])
  const session = await newSession()
  const statuses: number[] = []
  for (let i = 0; i < 120; i++) {
    rig.move()
    statuses.push((await rig.page.post(`/api/widget/account/prove?session=${session}`, { password: `${i}` })).status)
  }
  expect(statuses).toEqual([...Array<number>(20).fill(401), ...Array<number>(100).fill(429)])
  rig.move()
  expect((await person.logIn()).status).toBe(200)
})

test('the password does not help it: the same limits as at the sign-in count its guesses', async () => {
  const person = rig.newPerson()
  serviceUserId = String((await person.newAccount()).body['serviceUserId'])
  const session = await newSession()
  rig.move()
  const prove = (guess: string) => rig.page.post(`/api/widget/account/prove?session=${session}`, { password: guess })
  const statuses: number[] = []
  for (let i = 0; i < 11; i++) statuses.push((await prove(`guess ${i}`)).status)
  expect(statuses).toEqual([...Array<number>(10).fill(401), 429])
  expect((await prove(password)).status).toBe(429)
})
