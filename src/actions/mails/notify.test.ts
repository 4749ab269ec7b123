import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'bun:test'
import { openIdentityRig, type IdentityRig } from '../../../test/identity-rig.ts'
import { startMailServer, type MailServer } from '../../../test/mail-server.ts'
import {
  newApp,
  newUser,
  newUsers,
  openTestService,
  type Credentials,
  type TestService,
} from '../../../test/service.ts'
import { letPass } from '../../../test/time.ts'
import { newClient } from '../../../test/client.ts'
import { openMetrics } from '../../platform/metrics.ts'
import { deleteExpired } from '../../store/cleanup.ts'
import { openDatabase, transact } from '../../store/connection/database.ts'
import { insertNewLink } from '../../store/people/new-links.ts'
import { updateMailChoice } from '../../store/mails.ts'
import { lockUser, updateUserDeleted } from '../../store/people/users.ts'
import { closeService, openService, type Service } from '../service.ts'
import { findFirstPayment } from '../../work/find-first-payment.ts'
import { runDue } from '../../work/runner.ts'
import { sendMail } from '../../work/send-mail.ts'
import { notify } from './notify.ts'

const sendMails = (service: Service) => runDue(service, sendMail)

let server: MailServer
let opened: TestService
/** Acts as another process: it shares only the database. */
let other: Service
let app: Credentials

beforeAll(async () => {
  server = await startMailServer()
  opened = await openTestService({ SMTP_URL: server.url })
  const { config, log, now } = opened.service
  const db = openDatabase({ connectionString: opened.databaseUrl })
  other = openService({ config, db, log, metrics: openMetrics(), now })
  app = await newApp(opened.service, { name: 'Small Hours' })
})
afterAll(async () => {
  await closeService(other)
  await other.db.pool.end()
  await opened.close()
  await server.goAway()
})
beforeEach(() => void (server.taken.length = 0))

const both = (work: (service: Service) => Promise<void>) => Promise.all([work(opened.service), work(other)])
const pool = () => opened.service.db.pool
const emailOf = (userId: string) => `${userId}@example.com`
/** Waits until the expected number has arrived, because mails are sent in the background. Returns all, so that a surplus shows. */
const subjectsOf = async (userId: string, count: number) => {
  for (let tries = 0; tries < 1_500 && server.subjects(emailOf(userId)).length < count; tries++) await Bun.sleep(20)
  return server.subjects(emailOf(userId))
}
const declined = { kind: 'declined', amountMinor: '500' } as const

describe('each notification is sent once', () => {
  test('by any number of concurrent processes', async () => {
    const users = await newUsers(opened.service, app, 40)
    await both(async (service) => {
      for (const { userId } of users) await notify(service.db.pool, userId, declined, { id: userId })
    })
    await Promise.all([both(sendMails), both(sendMails)])
    expect(server.taken.map(({ to }) => to).sort()).toEqual(users.map(({ userId }) => emailOf(userId)).sort())
    await both(sendMails)
    expect(server.taken).toHaveLength(40)
  })

  test('a mail whose connection was lost during delivery is not sent again', async () => {
    const { userId } = await newUser(opened.service, app)
    server.behaviour.isHangingUp = true
    await notify(pool(), userId, declined, { id: userId })
    await sendMails(opened.service)
    server.behaviour.isHangingUp = false
    await letPass(pool(), 60 * 60_000, ['mails', 'work'])
    await both(sendMails)
    expect(server.subjects(emailOf(userId))).toEqual(['Your card was declined'])
  })

  test('no more than fifty of a kind go to one user in a day', async () => {
    const { userId } = await newUser(opened.service, app)
    for (let i = 0; i < 60; i++) await notify(pool(), userId, declined, { id: `${userId}:${i}` })
    await sendMails(opened.service)
    expect(server.subjects(emailOf(userId))).toHaveLength(50)
  })
})

describe('while the mail server is away', () => {
  test('a mail waits, longer each time, and is sent once when it is back', async () => {
    const { userId } = await newUser(opened.service, app)
    await server.goAway()
    await notify(pool(), userId, declined, { id: userId })
    const waits: number[] = []
    for (let tries = 0; tries < 3; tries++) {
      await both(sendMails)
      const { rows } = await pool().query<{ wait: number }>(
        `select extract(epoch from due_at - now())::float as wait from work where key = $1`,
        [`declined:${userId}`],
      )
      waits.push(rows[0]!.wait)
      await letPass(pool(), rows[0]!.wait * 1_000 + 1_000, ['mails', 'work'])
    }
    expect(waits[1]).toBeGreaterThan(waits[0]! * 2)
    expect(waits[2]).toBeGreaterThan(waits[1]! * 2)
    await server.comeBack()
    await both(sendMails)
    await both(sendMails)
    expect(server.subjects(emailOf(userId))).toEqual(['Your card was declined'])
    const texts = await Promise.all([opened.service, other].map(({ metrics }) => metrics.render()))
    expect(texts.join()).toMatch(/billfold_mails_total\{result="away"\} [1-9]/)
  })

  test('after a day it is given up, and the log names no recipient', async () => {
    const { userId } = await newUser(opened.service, app)
    await server.goAway()
    await notify(pool(), userId, declined, { id: userId })
    await letPass(pool(), 25 * 60 * 60_000, ['mails', 'work'])
    await sendMails(opened.service)
    await server.comeBack()
    await letPass(pool(), 25 * 60 * 60_000, ['mails', 'work'])
    await both(sendMails)
    expect(server.subjects(emailOf(userId))).toEqual([])
    const logged = opened.logged.filter((line) => line.includes('a mail was given up')).join()
    expect(logged).toContain('"kind":"declined"')
    expect(logged).not.toContain(userId)
  })

  test('no more than ten thousand wait', async () => {
    const { userId } = await newUser(opened.service, app)
    await opened.service.db.longRunning.pool.query(
      `insert into work (kind, key, due_at) select 'send-mail', 'full:' || n, now() + interval '1 hour' from generate_series(1, 10000) n`,
    )
    await notify(pool(), userId, declined, { id: 'one too many' })
    await opened.service.db.longRunning.pool.query(`delete from work where key like 'full:%'`)
    const { rows } = await pool().query('select 1 from mails where user_id = $1', [userId])
    expect(rows).toEqual([])
  })
})

describe('the user chooses', () => {
  const receipt = { kind: 'refund', amountMinor: '2500', receipt: 'txn_1', at: new Date().toISOString() } as const

  test('a stopped kind is not sent, except for a debt, and is sent again once resumed', async () => {
    const { userId } = await newUser(opened.service, app)
    await updateMailChoice(pool(), userId, 'receipts', false)
    await notify(pool(), userId, { ...receipt, balanceMinor: '0' }, { id: `${userId}:1` })
    await notify(pool(), userId, { ...receipt, balanceMinor: '-2500' }, { id: `${userId}:2` })
    await notify(pool(), userId, { ...receipt, balanceMinor: '0', heldMinor: '2500' }, { id: `${userId}:4` })
    await notify(pool(), userId, { kind: 'password-changed', at: receipt.at, browser: null }, { id: userId })
    await sendMails(opened.service)
    expect(server.subjects(emailOf(userId)).sort()).toEqual([
      '$25.00 goes back to your card',
      '$25.00 goes back to your card',
      'Your wallet has a new password',
    ])
    await updateMailChoice(pool(), userId, 'receipts', true)
    await notify(pool(), userId, { ...receipt, balanceMinor: '0' }, { id: `${userId}:3` })
    await sendMails(opened.service)
    expect(server.subjects(emailOf(userId))).toHaveLength(4)
  })

  test('a mail that can be stopped says how in its headers; one that cannot says nothing of it', async () => {
    const { userId } = await newUser(opened.service, app)
    await notify(pool(), userId, declined, { id: userId })
    await notify(pool(), userId, { kind: 'no-password' }, { id: userId })
    await sendMails(opened.service)
    const messages = Object.fromEntries(
      server.taken.map(({ message }) => [message.includes('Choose a password'), message]),
    )
    expect(messages['false']).toMatch(/^List-Unsubscribe:\s+<http:\/\/127\.0\.0\.1:3000\/mails\/stop\?token=/m)
    expect(messages['false']).toMatch(/^List-Unsubscribe-Post: List-Unsubscribe=One-Click$/m)
    expect(messages['true']).not.toMatch(/List-Unsubscribe|mails\/stop/)
    expect(messages['true']).toContain('multipart/alternative')
  })

  test('in the chosen language, else that of the page it happened on, else that of the last page', async () => {
    const { userId } = await newUser(opened.service, app)
    const send = async (id: string, lang?: string) => {
      await notify(pool(), userId, declined, { id: `${userId}:${id}`, lang })
      await sendMails(opened.service)
      return server.subjects(emailOf(userId)).at(-1)
    }
    expect(await send('1')).toBe('Your card was declined')
    await pool().query('insert into mail_settings (user_id, language) values ($1, $2)', [userId, 'ja'])
    expect(await send('2')).toBe('カードが拒否されました')
    expect(await send('3', 'fr')).toBe('Votre carte a été refusée')
    await pool().query('update users set language = $2 where id = $1', [userId, 'de'])
    expect(await send('4', 'fr')).toBe('Ihre Karte wurde abgelehnt')
  })

  test('a deleted user gets no more mails, and none of theirs is kept', async () => {
    const { userId, serviceUserId } = await newUser(opened.service, app)
    await insertNewLink(pool(), { linkId: serviceUserId, clientId: app.clientId, userId })
    await updateMailChoice(pool(), userId, 'receipts', false)
    await notify(pool(), userId, declined, { id: `${userId}:1` })
    await transact(opened.service.db, async (tx) => updateUserDeleted(tx, (await lockUser(tx, userId))!))
    await notify(pool(), userId, declined, { id: `${userId}:2` })
    expect(await updateMailChoice(pool(), userId, 'receipts', true)).toBeUndefined()
    for (const table of ['mails', 'mail_settings', 'new_links'])
      expect((await pool().query(`select 1 from ${table} where user_id = $1`, [userId])).rows).toEqual([])
  })

  test('a notification is kept for a month after it was sent', async () => {
    const { userId } = await newUser(opened.service, app)
    await notify(pool(), userId, declined, { id: userId })
    const isKept = async (days: number) => {
      await letPass(pool(), days * 24 * 60 * 60_000, ['mails', 'work'])
      await deleteExpired(opened.service.db)
      return (await pool().query('select 1 from mails where user_id = $1', [userId])).rows.length === 1
    }
    expect([await isKept(29), await isKept(2)]).toEqual([true, false])
  })
})

const newLinked = async (count = 1) => {
  const user = await newUser(opened.service, app)
  const { userId, serviceUserId } = user
  const client = newClient(opened.app.fetch, app)
  await client.credit(serviceUserId, 50)
  for (let i = 0; i < count; i++) await insertNewLink(pool(), { linkId: serviceUserId, clientId: app.clientId, userId })
  await client.credit(serviceUserId, 50)
  return { ...user, client, subjects: (count: number) => subjectsOf(userId, count) }
}
const look = async () => {
  await letPass(pool(), 60 * 60_000, ['new_links', 'work'])
  await both((service) => runDue(service, findFirstPayment))
  await both(sendMails)
}

describe('the first payment to a new app', () => {
  test('is notified once by any number of processes, and later payments are not', async () => {
    const { client, userId, serviceUserId, subjects } = await newLinked()
    await look()
    expect(await subjects(0)).toEqual([])
    await client.debit(serviceUserId, 14.99)
    await client.debit(serviceUserId, 20)
    await look()
    await client.debit(serviceUserId, 5)
    await look()
    expect(await subjects(1)).toEqual(['First payment to Small Hours'])
    expect(server.taken.find(({ to }) => to === emailOf(userId))!.message).toContain('Amount: $14.99')
    const { rows } = await pool().query('select 1 from new_links where link_id = $1', [serviceUserId])
    expect(rows).toEqual([])
  })

  test('is found behind any number of other entries, and a credit is none', async () => {
    const { client, userId, serviceUserId, subjects } = await newLinked()
    const { clientId, clientSecret } = await newApp(opened.service)
    const elsewhere = newClient(opened.app.fetch, { clientId, clientSecret })
    const link = `su_${'0'.repeat(31)}1`
    await pool().query('insert into links (id, client_id, user_id) values ($1, $2, $3)', [link, clientId, userId])
    await Promise.all(Array.from({ length: 1_100 }, () => elsewhere.debit(link, 0.01)))
    await client.debit(serviceUserId, 1)
    await look()
    await look()
    expect(await subjects(1)).toEqual(['First payment to Small Hours'])
  })

  test('of a link that was disconnected, or is a month old, is not notified', async () => {
    const gone = await newLinked()
    await gone.client.debit(gone.serviceUserId, 1)
    await pool().query('update links set disconnected_at = now() where id = $1', [gone.serviceUserId])
    const old = await newLinked()
    await letPass(pool(), 31 * 24 * 60 * 60_000, ['new_links', 'work'])
    await old.client.debit(old.serviceUserId, 1)
    await look()
    expect([await gone.subjects(0), await old.subjects(0)]).toEqual([[], []])
    const { rows } = await pool().query('select 1 from new_links')
    expect(rows).toEqual([])
  })
})

describe('signing in', () => {
  let rig: IdentityRig
  beforeAll(async () => {
    rig = await openIdentityRig()
  })
  afterAll(() => rig.close())

  /** Reads the rows, because some mails may not be sent yet. */
  const notices = async ({ email }: { email: string }) => {
    const { rows } = await rig.opened.service.db.pool.query<{ detail: object }>(
      `select detail from mails m join users u on u.id = m.user_id where u.email = $1 and kind = 'sign-in'`,
      [email],
    )
    return rows.map(({ detail }) => detail)
  }

  test('from a new place is notified once; from where the account was made, or again from there, never', async () => {
    rig.move()
    const person = rig.newPerson()
    await person.newAccount()
    await person.logIn()
    expect(await notices(person)).toEqual([])
    const home = rig.move()
    await Promise.all([person.logIn(), person.logIn(), person.logIn()])
    await person.logIn()
    expect(await notices(person)).toHaveLength(1)
    rig.move(home)
    await person.logIn()
    expect(await notices(person)).toHaveLength(1)
    expect((await person.mails(2))[1]!.subject).toBe('New sign-in to your wallet')
  })

  test('from a new place every few minutes is notified five times a day', async () => {
    rig.move()
    const person = rig.newPerson()
    await person.newAccount()
    for (let i = 0; i < 8; i++) {
      rig.move()
      await person.logIn()
    }
    expect(await notices(person)).toHaveLength(5)
  })

  test('of an account that an operator made is none the first time', async () => {
    const person = rig.newPerson()
    await person.newAccount()
    await rig.opened.service.db.pool.query('delete from user_addresses')
    rig.move()
    await person.logIn()
    expect(await notices(person)).toEqual([])
  })
})
