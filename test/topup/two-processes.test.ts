/** Two real processes on one database race for every top-up, and one of them is killed at the worst points. */
import { afterAll, afterEach, beforeAll, describe, expect, setDefaultTimeout, test } from 'bun:test'
import type { Send } from '../client.ts'
import { eventually } from '../eventually.ts'
import { beginPatiently, endLockWaitsSql, lockWaitsSql } from '../lock-waits.ts'
import { startMailServer, type MailServer } from '../mail-server.ts'
import { startProcess, type ServiceProcess } from '../process.ts'
import { notify } from '../../src/actions/mails/notify.ts'
import { insertNewLink } from '../../src/store/people/new-links.ts'
import { makeTopupsDue } from '../time.ts'
import { wantsAll } from '../wants-all.ts'
import { openBench, stripeEnvironment, type Bench, type Payer } from './rig.ts'

setDefaultTimeout(240_000)

let bench: Bench
let processes: [ServiceProcess, ServiceProcess]
let environment: Record<string, string>
let mails: MailServer

beforeAll(async () => {
  bench = await openBench()
  mails = await startMailServer()
  environment = {
    DATABASE_URL: bench.opened.databaseUrl,
    SMTP_URL: mails.url,
    ...stripeEnvironment(bench.standIn),
  }
  processes = await Promise.all([startProcess(environment), startProcess(environment)])
})
afterEach(() => bench.expectReconciled())
afterAll(async () => {
  await Promise.all(processes.map((one) => one.stop()))
  await mails.goAway()
  await bench.close()
})

const payerAt = ({ send, url }: { send: Send; url: string }) => bench.newPayer(send, url)
const succeeded = (id: string) => bench.eventsOf('payment_intent.succeeded', id)[0]!
const webhookAt = ({ send, url }: ServiceProcess, id: string) => bench.sendEvent(succeeded(id), {}, send, url)
const creditsOf = async (payer: Payer) => (await payer.entries()).filter((entry) => entry.startsWith('TOPUP '))

const inVain = ['WALLET_INACTIVE', 'INSUFFICIENT_BALANCE']

/** Waits as long as a busy machine may need; the assertions that follow decide. */
async function until(isSo: () => Promise<boolean> | boolean): Promise<void> {
  for (const endsAt = Date.now() + 90_000; Date.now() < endsAt && !(await isSo());) await Bun.sleep(50)
}

/** No card payment is undecided, and every movement is posted. */
const isQuiet = async () =>
  (
    await bench.service.db.pool.query(
      `select 1 from topups where state = 'created' and payment_intent_id is not null
       union all select 1 from topup_movements where posted_at is null`,
    )
  ).rowCount === 0

/** Only the sweepers of the processes credit it, as soon as it is due. */
async function untilSwept(payer: Payer, balance: number): Promise<void> {
  await makeTopupsDue(bench.service.db.pool, 'user_id = $1', [payer.userId])
  await until(async () => (await payer.balance()) === balance)
  expect(await payer.balance()).toBe(balance)
}

/** Each round is a payer with ten payments. */
const rounds = wantsAll ? 10 : 2

test(`confirm on one process and the webhook on the other at once, ${10 * rounds} times, are as many credits and receipts`, async () => {
  const payers: Payer[] = []
  for (let round = 0; round < rounds; round++) {
    const payer = await payerAt(processes[round % 2]!)
    payers.push(payer)
    const other = processes[(round + 1) % 2]!
    for (let time = 0; time < 10; time++) {
      const id = await payer.begin(1 + time)
      bench.standIn.state.pay(id)
      const [confirmed, received] = await Promise.all([payer.confirm(id), webhookAt(other, id)])
      expect(confirmed).toMatchObject({ status: 200, body: { status: 'succeeded' } })
      expect(received.status).toBe(200)
    }
    expect(await creditsOf(payer)).toEqual(Array.from({ length: 10 }, (_, i) => `TOPUP ${i + 1}`))
  }
  const expected = Array.from({ length: 10 }, (_, i) => `$${i + 1}.00 is in your wallet`)
  for (const { userId } of payers) {
    const subjects = () => mails.subjects(`${userId}@example.com`).sort()
    await until(() => subjects().length >= 10)
    expect(subjects()).toEqual(expected.toSorted())
  }
})

test('a debt repaid by card on one process and by an app on the other ends with the credit that brings it to zero', async () => {
  const payer = await payerAt(processes[0])
  const other = await bench.newPayer(processes[1].send, processes[1].url, payer)
  const spent = await payer.begin(20)
  bench.standIn.state.pay(spent)
  await payer.confirm(spent)
  await payer.client.debit(payer.serviceUserId, 20)
  bench.standIn.state.dispute(spent)
  for (const event of bench.eventsOf('charge.dispute.created', spent)) await bench.sendEvent(event)
  expect([await payer.balance(), await payer.isActive()]).toEqual([-20, false])
  const id = await payer.begin(12)
  bench.standIn.state.pay(id)
  // Debits in between are refused, by a frozen wallet and by an empty one: none may succeed on the way.
  const debits = [payer, other, payer, other].map(({ client }) => client.debit(payer.serviceUserId, 1))
  const credits = [5, 3].map((amount) => other.client.credit(payer.serviceUserId, amount))
  const [refused] = await Promise.all([Promise.all(debits), payer.confirm(id), ...credits])
  expect(refused.map(({ body }) => body['code']).filter((code) => !inVain.includes(String(code)))).toEqual([])
  expect([await other.balance(), await other.isActive()]).toEqual([0, true])
})

test('the processes find a first payment, and unsent mails, by themselves, and send each once', async () => {
  const { pool } = bench.service.db
  const payer = await payerAt(processes[0])
  const { userId, serviceUserId, client } = payer
  await insertNewLink(pool, { linkId: serviceUserId, clientId: bench.credentials.clientId, userId })
  await client.credit(serviceUserId, 20)
  await client.debit(serviceUserId, 15)
  await notify(pool, userId, { kind: 'declined', amountMinor: '500' }, { id: userId })
  const subjects = () => mails.subjects(`${userId}@example.com`).sort()
  await until(() => subjects().length >= 2)
  expect(subjects()).toEqual(['First payment to Test shop', 'Your card was declined'])
})

test('refunds and disputes reported to both processes at once, in any order, are booked once', async () => {
  const payer = await payerAt(processes[0])
  const times = wantsAll ? 8 : 4
  for (let time = 0; time < times; time++) {
    const id = await payer.begin(25)
    bench.standIn.state.pay(id)
    await payer.confirm(id)
    bench.standIn.state.refund(id, 500)
    bench.standIn.state.refund(id, 300)
    bench.standIn.state.dispute(id)
    if (time % 2 === 0) bench.standIn.state.winDispute(id)
    const events = bench.standIn.events.filter((event) => JSON.stringify(event).includes(id)).toReversed()
    const answers = await Promise.all(
      events.flatMap((event) => processes.map(({ send, url }) => bench.sendEvent(event, {}, send, url))),
    )
    for (const { status } of answers) expect([200, 503]).toContain(status)
    // The processor repeats an event that was refused under load.
    for (const { send, url } of processes) await bench.sendEvent(events[0]!, {}, send, url)
  }
  expect(await payer.balance()).toBe((times / 2) * 17)
})

const forgotten = wantsAll ? 40 : 16

/** Leaves that many paid top-ups to the sweepers, and returns the number of requests to the processor until all were credited. */
async function countRequestsForForgotten(): Promise<number> {
  const payers = await Promise.all(Array.from({ length: 8 }, (_, i) => payerAt(processes[i % 2]!)))
  const each = forgotten / payers.length
  for (const payer of payers) {
    for (let time = 0; time < each; time++) bench.standIn.state.pay(await payer.begin(2))
  }
  const before = bench.standIn.requests.length
  await makeTopupsDue(bench.service.db.pool, `state = 'created'`)
  await until(isQuiet)
  for (const payer of payers) expect(await creditsOf(payer)).toEqual(Array(each).fill('TOPUP 2'))
  return bench.standIn.requests.length - before
}

test(`both sweepers at once post each of ${forgotten} forgotten top-ups once, and one process alone asks about each`, async () => {
  // On a busy machine an answer may time out and be repeated. Two processes that claim the same top-up would do so every time.
  const asked = [await countRequestsForForgotten()]
  while (asked.length < 4 && asked.at(-1) !== forgotten) asked.push(await countRequestsForForgotten())
  expect(asked.at(-1), `asked ${asked.join(', ')} times`).toBe(forgotten)
})

/** A process waits for the held row, at intervals: the ledger waits a short time, and tries again. */
async function waitForLock(): Promise<void> {
  await eventually(async () => (await bench.service.db.pool.query(lockWaitsSql)).rowCount !== 0, true)
}

/** The same payer, on the surviving process. */
const payerAtOther = (payer: Payer) => bench.newPayer(processes[1].send, processes[1].url, payer)

/** A statement that a killed process had sent would still run; a machine that dies takes its connections with it. */
async function endOrphans(): Promise<void> {
  const { pool } = bench.service.db
  while ((await pool.query(endLockWaitsSql)).rowCount) await Bun.sleep(10)
}

/** Locks a row, so that the process stops exactly there. */
async function killedWhileHeld(sql: string, values: unknown[], payer: Payer, id: string): Promise<void> {
  const holder = await bench.service.db.pool.connect()
  await beginPatiently(holder)
  await holder.query(sql, values)
  const asked = bench.standIn.requests.length
  const confirmed = payer.confirm(id).catch(() => 'cut off')
  while (bench.standIn.requests.length === asked) await Bun.sleep(5)
  await waitForLock()
  await processes[0].kill()
  await endOrphans()
  await holder.query('rollback')
  holder.release()
  expect(await confirmed).toBe('cut off')
}

describe('killed processes', () => {
  test('a process killed between the processor’s success and storing it costs no money: the other process’s sweeper credits it', async () => {
    const payer = await payerAt(processes[0])
    const id = await payer.begin(25)
    bench.standIn.state.pay(id)
    await killedWhileHeld('select 1 from topups where payment_intent_id = $1 for update', [id], payer, id)
    const later = await payerAtOther(payer)
    expect(await bench.topup(id)).toMatchObject({ state: 'created', creditedMinor: 0n })
    await untilSwept(later, 25)
    expect(await creditsOf(later)).toEqual(['TOPUP 25'])
    processes[0] = await startProcess(environment)
  })

  test('a process killed between storing it and the ledger’s commit costs no money either', async () => {
    const payer = await payerAt(processes[0])
    const id = await payer.begin(25)
    bench.standIn.state.pay(id)
    await killedWhileHeld('select 1 from wallets where id = $1 for update', [payer.userId], payer, id)
    const later = await payerAtOther(payer)
    expect(await bench.topup(id)).toMatchObject({ state: 'succeeded', creditedMinor: 2500n })
    expect(await later.balance()).toBe(0)
    await untilSwept(later, 25)
    expect(await creditsOf(later)).toEqual(['TOPUP 25'])
    processes[0] = await startProcess(environment)
  })

  test('a process killed during a stream of top-ups loses none and credits none twice', async () => {
    const payers = await Promise.all(Array.from({ length: 6 }, () => payerAt(processes[0])))
    const end = new AbortController()
    const streams = payers.map(async (payer) => {
      for (let time = 0; time < 10 && !end.signal.aborted; time++) {
        const created = await payer.create(3).catch(() => undefined)
        const id = created?.status === 200 ? String(created.body['paymentIntentId']) : undefined
        if (id === undefined) continue
        bench.standIn.state.pay(id)
        await payer.confirm(id).catch(() => undefined)
      }
    })
    // Halfway: the first are paid and credited, and most are still to come.
    const credited = `select 1 from transfers where wallet_id = any($1)`
    const userIds = payers.map((payer) => payer.userId)
    await until(async () => (await bench.service.db.pool.query(credited, [userIds])).rowCount !== 0)
    await processes[0].kill()
    end.abort()
    await Promise.all(streams)
    // Pay the payments whose creation was never answered: then every top-up has an outcome.
    const { rows: unpaid } = await bench.service.db.pool.query<{ id: string }>(
      `select payment_intent_id as id from topups where state = 'created' and payment_intent_id is not null`,
    )
    for (const { id } of unpaid) if (bench.standIn.state.intent(id).status !== 'succeeded') bench.standIn.state.pay(id)
    await makeTopupsDue(bench.service.db.pool, 'true')
    await until(isQuiet)
    const { rows } = await bench.service.db.pool.query<{ paid: bigint; credited: bigint }>(
      `select (select sum(amount) from topups where user_id = any($1) and state = 'succeeded')::bigint as paid,
         (select sum(amount) from transfers where wallet_id = any($1))::bigint as credited`,
      [userIds],
    )
    expect(rows[0]!.credited).toBe(rows[0]!.paid)
    expect(rows[0]!.paid).toBeGreaterThan(0n)
    processes[0] = await startProcess(environment)
  })
})
