/** Mails about a top-up: a receipt, a dispute, a debt, a declined card. Each is sent once, no matter which process resolves it. */
import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { closeService, openService, type Service } from '../../src/actions/service.ts'
import { resolveTopup } from '../../src/actions/topups/resolve-topup.ts'
import { maxDeclinesAnHour } from '../../src/actions/topups/topup-limits.ts'
import { resolveTopup as topupKind } from '../../src/work/resolve-topup.ts'
import { runDue } from '../../src/work/runner.ts'
import { sendMail } from '../../src/work/send-mail.ts'
import { receiptCodeOf } from '../../src/ledger/receipt-code.ts'
import { openMetrics } from '../../src/platform/metrics.ts'
import { openDatabase } from '../../src/store/connection/database.ts'
import { holdClient } from '../holds.ts'
import { mailsTo } from '../page.ts'
import { letPass, topupTables } from '../time.ts'
import { openBench, type Bench, type Payer } from './rig.ts'

let bench: Bench
/** A second process on the same database. */
let other: Service

beforeAll(async () => {
  bench = await openBench()
  const { config, log, now, cards } = bench.service
  const db = openDatabase({ connectionString: bench.opened.databaseUrl })
  other = Object.assign(openService({ config, db, log, metrics: openMetrics(), now }), { cards })
})
afterAll(async () => {
  await closeService(other)
  await other.db.pool.end()
  await bench.close()
})

/** Waits for the expected number of mails, and returns all of them. */
const letters = async ({ userId }: Payer, count: number) => {
  await Promise.all([runDue(bench.service, sendMail), runDue(other, sendMail)])
  return await mailsTo(`${userId}@example.com`, bench.opened.logged, count)
}
const subjects = async (payer: Payer, count: number) => (await letters(payer, count)).map(({ subject }) => subject)
const resolve = async (id: string) => {
  const topup = await bench.topup(id)
  await Promise.all([bench.service, other, bench.service, other].map((service) => resolveTopup(service, topup.id)))
}
const hourMs = 60 * 60_000

/** The stored notifications, sent or not. */
const notifiedOf = async (...payers: Payer[]) => {
  const { rows } = await bench.service.db.pool.query<{ kind: string }>(
    'select kind from mails where user_id = any($1) order by created_at',
    [payers.map(({ userId }) => userId)],
  )
  return rows.map(({ kind }) => kind)
}

test('a top-up that two processes resolve at once has one receipt, with the amount, the balance and the transaction', async () => {
  const payer = await bench.newPayer()
  await payer.client.credit(payer.serviceUserId, 5)
  const id = await payer.begin(25)
  bench.standIn.state.pay(id)
  await resolve(id)
  await resolve(id)
  const [receipt, ...more] = await letters(payer, 1)
  expect(more).toEqual([])
  expect(receipt!.subject).toBe('$25.00 is in your wallet')
  const { body } = await payer.client.wallet(payer.serviceUserId)
  const [entry] = body['transactions'] as { id: string }[]
  expect(receipt!.text).toContain('Amount: $25.00')
  expect(receipt!.text).toContain('Balance after: $30.00')
  expect(receipt!.text).toContain(`Receipt: ${receiptCodeOf(entry!.id.slice('txn_'.length))}`)
})

test('the mail about a dispute of spent money says what is owed and how to repay; when won, that the money is back', async () => {
  const payer = await bench.newPayer()
  const id = await payer.begin(25)
  bench.standIn.state.pay(id)
  await resolve(id)
  // Two processes send, so a later mail could arrive first: wait for each before the next has a cause.
  await letters(payer, 1)
  await payer.client.debit(payer.serviceUserId, 20)
  bench.standIn.state.dispute(id)
  await resolve(id)
  const reversal = (await letters(payer, 2))[1]!
  expect(reversal.subject).toBe('A card payment of $25.00 was reversed')
  expect(reversal.text).toContain('You owe: $20.00')
  expect(reversal.text).toContain('To repay, open your wallet')
  bench.standIn.state.winDispute(id)
  await resolve(id)
  expect((await subjects(payer, 3)).slice(2)).toEqual(['$25.00 is back in your wallet'])
})

test('a dispute that leaves less than is on hold is a debt too, and a card payment repays it', async () => {
  const payer = await bench.newPayer()
  const id = await payer.begin(25)
  bench.standIn.state.pay(id)
  await resolve(id)
  await letters(payer, 1)
  await payer.client.credit(payer.serviceUserId, 5)
  expect((await holdClient(payer.client, bench.credentials).place(payer.serviceUserId, 20)).status).toBe(200)
  bench.standIn.state.dispute(id)
  await resolve(id)
  const reversal = (await letters(payer, 2))[1]!
  expect(reversal.text).toContain('Your available balance is now below zero')
  expect(reversal.text).toContain('You owe: $15.00')
  expect(reversal.text).toContain('Repay $15.00')
  const part = await payer.begin(10)
  bench.standIn.state.pay(part)
  await resolve(part)
  const repaid = (await letters(payer, 3))[2]!
  expect(repaid.subject).toBe('Part of your debt is repaid')
  expect(repaid.text).toContain('You owe: $5.00')
})

const begin = async (payer: Payer, isDeclined = true) => {
  const id = await payer.begin(25)
  if (isDeclined) {
    bench.standIn.state.decline(id, 'insufficient_funds')
    await payer.confirm(id)
  }
  return id
}
const later = async (ms: number) => {
  await letPass(bench.service.db.pool, ms, topupTables)
  await Promise.all([runDue(bench.service, topupKind), runDue(other, topupKind)])
}

describe('a card that was declined', () => {
  test('is mailed when the time to pay is over, and not while the payer may still be on the page', async () => {
    const payer = await bench.newPayer()
    await begin(payer)
    await later(hourMs / 2)
    expect(await notifiedOf(payer)).toEqual([])
    await later(hourMs)
    await later(hourMs)
    expect(await subjects(payer, 1)).toEqual(['Your card was declined'])
  })

  test('is not mailed to a payer who paid with another, began another top-up, or had none declined', async () => {
    const [paid, again, none] = [await bench.newPayer(), await bench.newPayer(), await bench.newPayer()]
    bench.standIn.state.pay(await begin(paid))
    await begin(again)
    await later(1_000)
    await begin(again, false)
    await begin(none, false)
    await later(2 * hourMs)
    await later(hourMs)
    expect(await subjects(paid, 1)).toEqual(['$25.00 is in your wallet'])
    expect(await notifiedOf(again, none)).toEqual([])
  })

  test('is not mailed for a payment cancelled after many declines: those are attempts to test stolen cards', async () => {
    const payer = await bench.newPayer()
    const id = await payer.begin(25)
    for (let i = 0; i < maxDeclinesAnHour; i++) {
      bench.standIn.state.decline(id, `code_${i}`)
      await payer.confirm(id)
    }
    expect(await bench.topup(id)).toMatchObject({ state: 'cancelled' })
    expect(await notifiedOf(payer)).toEqual([])
  })
})
