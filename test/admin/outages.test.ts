/**
 * Really cuts off the database, the card processor and the mail server of a deployment. Follows docs/operations/runbooks.md in the
 * browser and on the command line, counts the steps, and then checks the money.
 */
import { afterAll, afterEach, beforeAll, beforeEach, expect, test } from 'bun:test'
import type { Page } from '@playwright/test'
import { Client as Postgres } from 'pg'
import { expectBalancedBooks } from '../books.ts'
import { startStripeStandIn, type StripeStandIn } from '../cards/stripe-stand-in.ts'
import { newClient, type Client, type Reply } from '../client.ts'
import { box, play, stepsOf } from '../deploy/runbooks.ts'
import { openForwarder } from '../forwarder.ts'
import { startMailServer, type MailServer } from '../mail-server.ts'
import type { Credentials, TestUser } from '../service.ts'
import { letPass, topupTables } from '../time.ts'
import { payerOf, stripeEnvironment } from '../topup/rig.ts'
import { startRig, type Rig } from './rig.ts'

type Wire = Awaited<ReturnType<typeof openForwarder>>

let rig: Rig
let page: Page
let standIn: StripeStandIn
let mail: MailServer
/** The connections to the database and to the card processor. */
let wire: Wire
let cable: Wire
let app: Credentials
let client: Client
/** Connects directly, not through the wire. */
let db: Postgres
/** Pages opened so far. */
let steps: number

beforeAll(async () => {
  standIn = startStripeStandIn()
  standIn.webhooks.mode = 'never'
  mail = await startMailServer()
  cable = await openForwarder(standIn.api)
  const cards = { ...stripeEnvironment(standIn), STRIPE_API_URL: `http://127.0.0.1:${cable.connection.port}` }
  rig = await startRig(async (database) => {
    wire = await openForwarder(database.connection)
    return { ...cards, SMTP_URL: mail.url, DATABASE_URL: wire.url }
  })
  await rig.startSecond()
  page = await rig.openPage()
  await rig.signIn(page)
  const created = await rig.cli(['app', 'create', '--name', 'Fernweh Books'])
  app = { clientId: created['clientId']!, clientSecret: created['clientSecret']! }
  client = newClient((request) => fetch(request), app, rig.base)
  db = new Postgres({ connectionString: rig.databaseUrl })
  await db.connect()
})
beforeEach(() => {
  steps = 0
})
afterEach(() => expectBalancedBooks({ db: { pool: db } }))
afterAll(async () => {
  await db.end()
  await rig.stop()
  for (const each of [wire, cable]) each.close()
  await mail.goAway()
  await standIn.stop()
})

async function until(fact: () => Promise<boolean>): Promise<void> {
  while (!(await fact())) await Bun.sleep(100)
}

async function open(path: string): Promise<void> {
  steps++
  await page.goto(rig.base + path)
}

const counted = (trouble: string, commands: number) =>
  expect([trouble, { commands, pages: steps }]).toEqual([trouble, stepsOf(trouble)])

async function newUser(email: string, balance: number): Promise<TestUser> {
  const names = ['--first', 'Grace', '--last', 'Hopper', '--link', app.clientId]
  const made = await rig.cli(['user', 'create', '--email', email, ...names], 'a password for grace')
  const user = { userId: made['userId']!, serviceUserId: made['serviceUserId']! }
  await client.credit(user.serviceUserId, balance)
  return user
}

const newPayer = async (email: string, balance: number) =>
  await payerOf((request) => fetch(request), rig.base, app, await newUser(email, balance))

/** Repeats like a backend that is answered with "try again". */
async function sendUntilPaid(serviceUserId: string, amount: number, reference: string): Promise<Reply> {
  for (;;) {
    const reply = await client.debit(serviceUserId, amount, reference)
    if (reply.status !== 503) return reply
    await Bun.sleep(100)
  }
}

const readiness = async () => {
  const response = await fetch(`${rig.base}/readyz`)
  return `${response.status} ${((await response.json()) as { database: string }).database}`
}

/** The value of one series of the first process; undefined while it has none. */
async function metric(series: string): Promise<number | undefined> {
  const text = await (await fetch(`${rig.base}/metrics`)).text()
  const line = text.split('\n').find((each) => each.startsWith(`${series} `))
  return line === undefined ? undefined : Number(line.slice(series.length))
}

type Check = { readonly name: string; readonly state: string; readonly text: string; readonly fix?: string }

/** The doctor's check of that name, run with the command in the runbook. */
async function doctorOf(boxName: string, name: string): Promise<{ count: number; check: Check }> {
  const said = await play(boxName, rig.environment)
  const { checks } = said[0]!.json as { checks: Check[] }
  return { count: said.length, check: checks.find((check) => check.name === name)! }
}

const entriesOf = async (referenceId: string) =>
  (await db.query<{ count: number }>('select count(*)::int from transfers where reference_id = $1', [referenceId]))
    .rows[0]!.count

test('the database is away', async () => {
  const { serviceUserId } = await newUser('away@example.com', 20)
  wire.cut()
  const sent = await client.debit(serviceUserId, 5, 'order-away')
  expect([sent.status, sent.body['code']]).toEqual([503, 'UNAVAILABLE'])
  expect(Number(sent.headers.get('retry-after'))).toBeGreaterThan(0)
  await until(async () => (await readiness()) === '503 not reachable')
  await until(async () => (await metric('billfold_database_up')) === 0)
  await open('/admin')
  await page.getByText('its database is unavailable').waitFor()
  const { count, check } = await doctorOf('database-away', 'Database')
  expect(check).toMatchObject({ state: 'bad', fix: 'docs/operations/runbooks.md#the-database-is-away-or-slow.' })
  wire.mend()
  // Nothing is restarted, and a debit sent before counts once, however often it is repeated.
  expect((await sendUntilPaid(serviceUserId, 5, 'order-away')).status).toBe(200)
  expect((await sendUntilPaid(serviceUserId, 5, 'order-away')).body).toMatchObject({ replayed: true, balance: 15 })
  await until(async () => (await readiness()) === '200 ok')
  await until(async () => (await metric('billfold_database_up')) === 1)
  await open('/admin')
  await page.getByRole('heading', { name: 'Overview' }).waitFor()
  expect(await entriesOf('order-away')).toBe(1)
  counted('The database is away', count)
})

test('the database is slow', async () => {
  const { userId, serviceUserId } = await newUser('slow@example.com', 20)
  const other = await newUser('quick@example.com', 20)
  const holder = new Postgres({ connectionString: rig.databaseUrl })
  // The server ends this connection, which is an error event.
  holder.on('error', () => {})
  await holder.connect()
  await holder.query('begin')
  await holder.query('select from wallets where id = $1 for update', [userId])
  const paid = sendUntilPaid(serviceUserId, 5, 'order-slow')
  await until(async () => ((await metric('billfold_database_waiting{kind="Lock"}')) ?? 0) > 0)
  expect((await client.debit(other.serviceUserId, 5)).status).toBe(200)
  const age = page.locator('dl.facts div').filter({ hasText: 'Oldest transaction' })
  await until(async () => {
    await page.goto(`${rig.base}/admin`)
    return /transaction[1-9]/.test((await age.textContent()) ?? '')
  })
  await open('/admin')
  expect(await age.textContent()).toMatch(/transaction[1-9]\d* s$/)
  const { count, check } = await doctorOf('database-away', 'Writes')
  expect(check.state).toBe('good')
  const [select, end] = box('database-slow', 'sql') as [string, string]
  // A debit that waits for the row gives up after a short time, and is repeated.
  let pid: number | undefined
  await until(async () => {
    const { rows } = await db.query<{ blocked_by: number[] }>(select)
    pid = rows.flatMap(({ blocked_by }) => blocked_by)[0]
    return pid !== undefined
  })
  await db.query(end.replace('$PID', String(pid)))
  expect((await paid).status).toBe(200)
  expect((await client.wallet(serviceUserId)).body['balance']).toBe(15)
  expect(await entriesOf('order-slow')).toBe(1)
  counted('The database is slow', count + 2)
  await holder.end().catch(() => {})
})

test('the card processor is away', async () => {
  const payer = await newPayer('payer@example.com', 20)
  const paid = await payer.begin(25)
  // The card is charged, and the service cannot learn of it: no webhook arrives, and no request is answered.
  standIn.state.pay(paid)
  cable.cut()
  const away = 'billfold_processor_calls_total{result="away"}'
  const before = (await metric(away))!
  for (const refused of [await payer.create(10), await payer.confirm(paid)])
    expect([refused.status, refused.body['code']]).toEqual([503, 'PROCESSOR_UNAVAILABLE'])
  expect(await metric(away)).toBeGreaterThan(before)
  expect((await client.debit(payer.serviceUserId, 5)).status).toBe(200)
  expect(await payer.balance()).toBe(15)
  const readWork = async () =>
    (
      await db.query<{ attempts: number; late: boolean }>(
        `select attempts, due_at <= now() as late from work join topups t on t.id::text = key where payment_intent_id = $1`,
        [paid],
      )
    ).rows[0]!
  await letPass(db, 10 * 60_000, topupTables)
  // One of the two processes asks and gets no answer; a failed attempt does not delay the next one.
  await until(async () => !(await readWork()).late)
  await until(async () => (await readWork()).attempts === 0)
  await open('/admin/topups?state=created')
  expect(await page.getByRole('row').filter({ hasText: '$25.00' }).count()).toBe(1)
  const { count, check } = await doctorOf('processor-away', 'Card processor')
  expect(check).toMatchObject({ state: 'bad' })
  expect(check.fix).toContain('#the-card-processor-is-away')
  // The processor is back, at first with errors.
  standIn.failNext(500, 1_000)
  cable.mend()
  expect((await payer.create(10)).status).toBe(503)
  standIn.recover()
  await letPass(db, 2 * 60_000, topupTables)
  await until(async () => (await payer.balance()) === 40)
  await open('/admin/topups?state=succeeded')
  expect(await page.getByRole('row').filter({ hasText: '$25.00' }).count()).toBe(1)
  expect(await payer.entries()).toEqual(['ORDER 20', 'ORDER -5', 'TOPUP 25'])
  const { rows } = await db.query(`select sum(credited - debited)::int as held from positions
    where counter_account = 'cards'`)
  expect(rows).toEqual([{ held: 2500 }])
  counted('The card processor is away', count)
})

test('mail is down', async () => {
  const email = 'reader@example.com'
  const payer = await newPayer(email, 20)
  await mail.goAway()
  const paid = await payer.begin(25)
  standIn.state.pay(paid)
  expect((await payer.confirm(paid)).status).toBe(200)
  expect(await payer.balance()).toBe(45)
  const waiting = async () =>
    (
      await db.query<{ count: number; late: boolean }>(
        `select count(*)::int, bool_or(w.due_at <= now()) as late from mails m join work w on w.key = m.fact
         where m.user_id = $1 and w.given_up_at is null`,
        [payer.userId],
      )
    ).rows[0]!
  // Failed mails are due again later; after half an hour they still wait, and the overview shows it.
  await letPass(db, 31 * 60_000, ['mails', 'work'])
  await until(async () => {
    const { count, late } = await waiting()
    return count === 1 && !late
  })
  await until(async () => ((await metric('billfold_mail_oldest_seconds')) ?? 0) > 1_800)
  await open('/admin')
  const row = page.getByRole('listitem').filter({ hasText: 'Emails failing for ten minutes' })
  expect(Number(await row.locator('.badge').innerText())).toBeGreaterThan(0)
  const { count, check } = await doctorOf('mail-down', 'Mail server')
  expect(check).toMatchObject({ state: 'bad' })
  expect(check.fix).toContain('#mail-is-down')
  // The mail server is back, and at first answers with "try later".
  mail.behaviour.refuseNext = 1
  await mail.comeBack()
  await until(async () => {
    // Skips each pause; the tests of the sender check how long the pauses are.
    await db.query(`update work set due_at = now() where kind = 'send-mail' and due_at > now()`)
    return mail.subjects(email).length > 0
  })
  expect(mail.subjects(email)).toEqual(['$25.00 is in your wallet'])
  counted('Mail is down', count)
})
