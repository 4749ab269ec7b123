/** The last mail of a deleted account: it waits for the mail server, survives its process, and leaves no address behind. */
import { afterAll, beforeAll, beforeEach, expect, setDefaultTimeout, test } from 'bun:test'
import { eventually } from '../../test/eventually.ts'
import { startMailServer, type MailServer } from '../../test/mail-server.ts'
import { newApp, newUser, openTestService, type Credentials, type TestService } from '../../test/service.ts'
import { letPass } from '../../test/time.ts'
import { sendSoon } from '../actions/mails/notify.ts'
import { closeAccount } from '../actions/people/delete-account.ts'
import { transact } from '../store/connection/database.ts'
import { lockUser, updateUserLanguage } from '../store/people/users.ts'
import { claimWork } from '../store/work/work.ts'
import { runDue } from './runner.ts'
import { sendFarewell } from './send-farewell.ts'

setDefaultTimeout(180_000)

const dayMs = 86_400_000
let server: MailServer
let rig: TestService
let shop: Credentials
let userId: string
let email: string

beforeAll(async () => {
  server = await startMailServer()
  rig = await openTestService({ SMTP_URL: server.url })
  shop = await newApp(rig.service)
})
afterAll(async () => {
  await server.goAway()
  await rig.close()
})
beforeEach(async () => {
  userId = (await newUser(rig.service, shop)).userId
  email = `${userId}@example.com`
})

const deleteUser = async () =>
  await transact(rig.service.db, async (tx) => {
    const user = (await lockUser(tx, userId))!
    const how = { detail: {}, notification: { kind: 'deleted' } } as const
    expect(await closeAccount(tx, { name: 'test', address: null }, user, how)).toBeUndefined()
  })

/** Rows of the queue that still have the address, with the last error. */
const kept = async () =>
  (
    await rig.service.db.pool.query<{ error: string | null }>(
      `select last_error as error from work where payload::text like $1`,
      [`%${email}%`],
    )
  ).rows
const makeDue = () => rig.service.db.pool.query(`update work set due_at = now() where kind = 'send-farewell'`)

test('is sent in the language of the user, and then the address is nowhere', async () => {
  await updateUserLanguage(rig.service.db.pool, userId, 'de')
  await deleteUser()
  expect(await kept()).toHaveLength(1)
  sendSoon(rig.service)
  await eventually(() => server.subjects(email), ['Ihre Wallet wurde gelöscht'])
  await eventually(kept, [])
})

test('while the mail server is away it waits, and is sent when it is back', async () => {
  await server.goAway()
  await deleteUser()
  await runDue(rig.service, sendFarewell)
  expect(await kept()).toEqual([{ error: 'The mail server did not take it; the log says why.' }])
  await server.comeBack()
  await makeDue()
  await runDue(rig.service, sendFarewell)
  expect(server.subjects(email)).toEqual(['Your wallet has been deleted'])
  expect(await kept()).toEqual([])
})

test('after a day without a mail server the address goes, unsent', async () => {
  await server.goAway()
  await deleteUser()
  await letPass(rig.service.db.pool, dayMs, ['work'])
  await runDue(rig.service, sendFarewell)
  await server.comeBack()
  expect([await kept(), server.subjects(email)]).toEqual([[], []])
})

test('a mailbox that refuses it is not tried again, and the address goes', async () => {
  server.behaviour.isRefusing = true
  await deleteUser()
  await runDue(rig.service, sendFarewell)
  server.behaviour.isRefusing = false
  expect([await kept(), server.subjects(email)]).toEqual([[], []])
})

test('is sent by another process when its own dies with it', async () => {
  await deleteUser()
  const { name: kind, leaseMs, isAtMostOnce } = sendFarewell
  const claimed = await claimWork(rig.service.db.pool, { kind, leaseMs, isAtMostOnce, limit: 10 })
  expect(claimed).toHaveLength(1)
  await runDue(rig.service, sendFarewell)
  expect(server.subjects(email)).toEqual([])
  await letPass(rig.service.db.pool, leaseMs + 1_000, ['work'])
  await runDue(rig.service, sendFarewell)
  expect([await kept(), server.subjects(email)]).toEqual([[], ['Your wallet has been deleted']])
})
