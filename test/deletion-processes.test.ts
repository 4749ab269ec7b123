/** Deletions by two operators, decided at once on two real processes: exactly one effect, and one mail about it. */
import { afterAll, afterEach, beforeAll, beforeEach, expect, setDefaultTimeout, test } from 'bun:test'
import { formTokenOf } from '../src/actions/operators/manage-sessions.ts'
import { createUser } from '../src/actions/people/create-user.ts'
import { findNewestDeletion } from '../src/store/people/deletions.ts'
import { findUser } from '../src/store/people/users.ts'
import { expectBalancedBooks } from './books.ts'
import { newClient } from './client.ts'
import { deviceOf } from './devices.ts'
import { eventually } from './eventually.ts'
import { beginPatiently, lockWaitsSql } from './lock-waits.ts'
import { startMailServer, type MailServer } from './mail-server.ts'
import { newOperator, type TestOperator } from './operator.ts'
import { newEmail, newPage } from './page.ts'
import { startProcess, type ServiceProcess } from './process.ts'
import { newApp, openTestService, operator, secretsKey, type Credentials, type TestService } from './service.ts'

setDefaultTimeout(180_000)

const password = 'seven tired llamas'
let opened: TestService
let server: MailServer
let processes: ServiceProcess[]
let shop: Credentials
let [ada, bob, cleo]: TestOperator[] = []
let user: { readonly userId: string; readonly serviceUserId: string; readonly email: string }

beforeAll(async () => {
  server = await startMailServer()
  opened = await openTestService()
  shop = await newApp(opened.service)
  const environment = { DATABASE_URL: opened.databaseUrl, SECRETS_KEY: secretsKey, SMTP_URL: server.url }
  processes = await Promise.all([startProcess(environment), startProcess(environment)])
})
beforeEach(async () => {
  ;[ada, bob, cleo] = await Promise.all([1, 2, 3].map(() => newOperator(opened, 'support')))
  const email = newEmail()
  const person = { email, password, firstName: 'Ada', lastName: 'Lovelace' }
  const created = (await createUser(opened.service, operator, { ...person, clientId: shop.clientId }))!
  user = { userId: created.userId, serviceUserId: created.serviceUserId!, email }
  expect((await send(ada!, 0, 'deletion', { deletionReason: 'by post' })).to).toContain('deletion-waiting')
  await eventually(() => server.subjects(email), ['We received a request to delete your wallet'])
})
afterEach(() => expectBalancedBooks(opened.service))
afterAll(async () => {
  await Promise.all(processes.map((one) => one.stop()))
  await opened.close()
  await server.goAway()
})

const pool = () => opened.service.db.pool
const newest = async () => (await findNewestDeletion(pool(), user.userId))!
const isDeleted = async () => (await findUser(pool(), user.userId))!.email === null
const count = async (action: string) =>
  (await pool().query('select 1 from audit where subject = $1 and action = $2', [`user:${user.userId}`, action])).rows
    .length

type Answer = { readonly status: number; readonly to: string }

async function send(by: TestOperator, process: number, what: string, fields: Record<string, string>): Promise<Answer> {
  const { url } = processes[process]!
  const response = await fetch(`${url}/admin/wallets/${user.userId}/${what}`, {
    method: 'POST',
    redirect: 'manual',
    headers: { cookie: `billfold-session=${by.token}`, origin: url, 'sec-fetch-site': 'same-origin' },
    body: new URLSearchParams({ _token: formTokenOf(by.token), ...fields }),
  })
  await response.text()
  return { status: response.status, to: response.headers.get('location') ?? '' }
}

const decide = async (by: TestOperator, process: number, what: 'approve' | 'decline' | 'withdraw') =>
  await send(by, process, `deletion/${what}`, { deletion: (await newest()).id, declineReason: 'another person' })

/** Signs the user in on that process. What is returned deletes the account there. */
async function signIn(process: number): Promise<() => Promise<Answer>> {
  const { send: call, url } = processes[process]!
  const client = newClient(call, shop, url)
  const { body } = await client.post('/api/widget/session', { ...shop, serviceUserId: user.serviceUserId })
  const { cookie } = await deviceOf(opened.service, { userId: user.userId, clientId: shop.clientId })
  const path = `/api/widget/account/delete?session=${String(body['sessionToken'])}`
  return async () => {
    const { status } = await newPage(call, url).call('POST', path, JSON.stringify({ password }), { cookie })
    return { status, to: '' }
  }
}

/** Starts all of them while another transaction holds the user, lets them wait for each other, and then lets them go. */
async function race(...starts: readonly (() => Promise<Answer>)[]): Promise<Answer[]> {
  const holder = await opened.service.db.longRunning.pool.connect()
  try {
    await beginPatiently(holder)
    await holder.query('select 1 from users where id = $1 for update', [user.userId])
    const answers = starts.map((start) => start())
    const state = { isAnswered: false }
    void Promise.race(answers).then(() => (state.isAnswered = true))
    while (!state.isAnswered && (await pool().query(lockWaitsSql)).rows.length < starts.length) await Bun.sleep(10)
    await holder.query('commit')
    return await Promise.all(answers)
  } finally {
    holder.release()
  }
}

/** The account is deleted once, by one decision, and the user is mailed once. */
async function expectDeletedOnce(): Promise<void> {
  expect([await isDeleted(), await count('user.deleted')]).toEqual([true, 1])
  await eventually(() => server.subjects(user.email).slice(1), ['Your wallet has been deleted'])
  await eventually(async () => (await pool().query(`select 1 from work where kind = 'send-farewell'`)).rows, [])
  expect(server.subjects(user.email)).toHaveLength(2)
}

test('of two approvals at once one deletes the account, and the other one finds it decided', async () => {
  const answers = await race(
    () => decide(bob!, 0, 'approve'),
    () => decide(cleo!, 1, 'approve'),
  )
  expect(answers.map(({ to }) => /deletion-\w+/.exec(to)?.[0] ?? to).toSorted()).toEqual([
    'deletion-approved',
    'deletion-decided',
  ])
  expect((await newest()).state).toBe('approved')
  await expectDeletedOnce()
})

const orders = [
  ['withdraw', 'approve first'],
  ['withdraw', 'approve last'],
  ['decline', 'approve first'],
  ['decline', 'approve last'],
] as const

test.each(orders)('of an approval and a %s at once one counts, %s', async (other, order) => {
  const starts = [() => decide(bob!, 0, 'approve'), () => decide(other === 'withdraw' ? ada! : cleo!, 1, other)]
  const answers = await race(...(order === 'approve first' ? starts : starts.toReversed()))
  expect(answers.map(({ status }) => status)).toEqual([303, 303])
  expect(answers.filter(({ to }) => to.includes('deletion-decided'))).toHaveLength(1)
  const { state } = await newest()
  const records = ['user.deleted', 'user.deletion-withdrawn', 'user.deletion-declined']
  const counts = await Promise.all(records.map(count))
  expect(counts.reduce((sum, each) => sum + each, 0)).toBe(1)
  if (state === 'approved') return await expectDeletedOnce()
  expect([await isDeleted(), state, counts[0]]).toEqual([false, other === 'withdraw' ? 'withdrawn' : 'declined', 0])
})

test('of an approval and the user’s own deletion at once one deletes the account', async () => {
  const deleteOwn = await signIn(1)
  const [approved, own] = await race(() => decide(bob!, 0, 'approve'), deleteOwn)
  const { state } = await newest()
  expect(['approved', 'overtaken']).toContain(state)
  if (state === 'approved')
    expect([approved!.to.includes('deletion-approved'), own!.status === 200]).toEqual([true, false])
  else expect([approved!.to.includes('deletion-decided'), own!.status]).toEqual([true, 200])
  await expectDeletedOnce()
})

test('after the user’s own deletion nothing is left to decide, and the page says so', async () => {
  expect((await (await signIn(1))()).status).toBe(200)
  expect((await newest()).state).toBe('overtaken')
  expect((await decide(bob!, 0, 'approve')).to).toContain('deletion-decided')
  expect((await decide(ada!, 1, 'withdraw')).to).toContain('deletion-decided')
  const html = await (await bob!.get(`/admin/wallets/${user.userId}`)).text()
  expect(html).toContain('the user deleted the account')
  expect(html).toContain('Deleted by the user')
  await expectDeletedOnce()
})

test('credits that race an approval keep the account or are refused: never is there money without an owner', async () => {
  const client = newClient(processes[1]!.send, shop, processes[1]!.url)
  const credits = Array.from({ length: 12 }, async (_, i) => {
    await Bun.sleep(i * 3)
    return (await client.credit(user.serviceUserId, 1)).status
  })
  const { status } = await decide(bob!, 0, 'approve')
  const credited = (await Promise.all(credits)).filter((each) => each === 200).length
  const { rows } = await pool().query('select balance::int as balance from wallets where id = $1', [user.userId])
  expect(rows).toEqual([{ balance: credited * 100 }])
  expect([status, credited > 0]).toEqual((await isDeleted()) ? [303, false] : [409, true])
  expect((await newest()).state).toBe((await isDeleted()) ? 'approved' : 'waiting')
})

test('of two requests at once on two processes one waits', async () => {
  await decide(ada!, 0, 'withdraw')
  const answers = await race(
    () => send(bob!, 0, 'deletion', { deletionReason: 'one' }),
    () => send(cleo!, 1, 'deletion', { deletionReason: 'two' }),
  )
  expect(answers.map(({ status }) => status).toSorted((a, b) => a - b)).toEqual([303, 409])
  expect(await count('user.deletion-asked')).toBe(2)
})
