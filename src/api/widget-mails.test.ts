import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'bun:test'
import { newClient } from '../../test/client.ts'
import { deviceOf } from '../../test/devices.ts'
import { newEmail, newPage } from '../../test/page.ts'
import { newApp, newUser, openTestService, operator, type TestService } from '../../test/service.ts'
import { recordAudit } from '../actions/audit.ts'
import { stopUrlOf } from '../actions/mails/stop-mails.ts'
import { transact } from '../store/connection/database.ts'
import type { MailChoice } from '../store/mails.ts'
import { lockUser, updateUserDeleted, updateUserEmail } from '../store/people/users.ts'

let opened: TestService
let userId: string
let session: string
let cookie: string

beforeAll(async () => {
  opened = await openTestService()
})
afterAll(() => opened.close())
beforeEach(async () => {
  const app = await newApp(opened.service)
  const user = await newUser(opened.service, app)
  const client = newClient(opened.app.fetch, app)
  const { body } = await client.post('/api/widget/session', { ...app, serviceUserId: user.serviceUserId })
  userId = user.userId
  session = String(body['sessionToken'])
  cookie = (await deviceOf(opened.service, { userId, clientId: app.clientId })).cookie
})

const path = () => `/api/widget/account/mails?session=${session}`
const page = () => newPage(opened.app.fetch, undefined, { cookie })
const stopped = async () => {
  const { body } = await page().get(path())
  const mails = body['mails'] as { choice: string; isWanted: boolean }[]
  return mails.filter(({ isWanted }) => !isWanted).map(({ choice }) => choice)
}
const choose = (choice: unknown, isWanted: unknown) => page().post(path(), { choice, isWanted })

describe('in the account', () => {
  test('all kinds are on at first; each is turned off and on separately', async () => {
    expect(await stopped()).toEqual([])
    await choose('sign-ins', false)
    await choose('receipts', false)
    await choose('receipts', false)
    expect(await stopped()).toEqual(['receipts', 'sign-ins'])
    const { status, body } = await choose('receipts', true)
    expect([status, body['mails']]).toEqual([
      200,
      [
        { choice: 'receipts', isWanted: true },
        { choice: 'payments', isWanted: true },
        { choice: 'sign-ins', isWanted: false },
      ],
    ])
    expect(await stopped()).toEqual(['sign-ins'])
  })

  test('the user is mailed once when warnings stop, and not about other kinds', async () => {
    for (let time = 0; time < 2; time++) await choose('payments', false)
    await choose('receipts', false)
    await choose('payments', true)
    const { rows } = await opened.service.db.pool.query<{ detail: object }>(
      'select detail from mails where user_id = $1',
      [userId],
    )
    expect(rows.map(({ detail }) => detail)).toEqual([expect.objectContaining({ kind: 'mails-stopped' })])
    const { rows: audit } = await opened.service.db.pool.query<{ detail: object }>(
      `select detail from audit where subject = $1 and action = 'user.mails-stopped'`,
      [`user:${userId}`],
    )
    expect(audit).toEqual([{ detail: { clientId: expect.any(String), choice: 'payments' } }])
  })

  test('mails for safety are none of the choices', async () => {
    for (const choice of ['password-changed', 'dispute', '', null, ['receipts']])
      expect((await choose(choice, false)).status).toBe(400)
    expect((await choose('receipts', 'no')).status).toBe(400)
    expect(await stopped()).toEqual([])
  })
})

const ask = async (url: string, method: 'GET' | 'POST', headers: Record<string, string> = {}) => {
  const body = method === 'POST' ? { body: 'List-Unsubscribe=One-Click' } : {}
  const type = { 'content-type': 'application/x-www-form-urlencoded' }
  const response = await opened.app.fetch(new Request(url, { method, headers: { ...type, ...headers }, ...body }))
  return { status: response.status, text: await response.text(), headers: response.headers }
}
const emailOf = async () =>
  (await opened.service.db.pool.query<{ email: string }>('select email from users where id = $1', [userId])).rows[0]!
    .email
const linkOf = async (choice: MailChoice) => stopUrlOf(opened.service, { userId, email: await emailOf() }, choice)

describe('by the link in a mail', () => {
  test('looking changes nothing; the button stops that kind alone, and pressing it twice is no mistake', async () => {
    const url = await linkOf('payments')
    const seen = await ask(url, 'GET')
    expect([seen.status, await stopped()]).toEqual([200, []])
    expect(seen.text).toContain('First payment to a new app')
    const [, action] = /<form method="post" action="([^"]*)"/.exec(seen.text)!
    expect(new URL(action!, url).href).toBe(new URL(url).href)
    for (let time = 0; time < 2; time++) expect((await ask(url, 'POST')).status).toBe(200)
    expect(await stopped()).toEqual(['payments'])
  })

  test('a mail program posts from nowhere, with neither cookie nor session', async () => {
    expect(
      (await ask(await linkOf('receipts'), 'POST', { 'sec-fetch-site': 'cross-site', origin: 'null' })).status,
    ).toBe(200)
    expect(await stopped()).toEqual(['receipts'])
  })

  test('the user is mailed once when a link stops warnings, and not when it stops receipts', async () => {
    for (const choice of ['sign-ins', 'sign-ins', 'receipts'] as const)
      expect((await ask(await linkOf(choice), 'POST')).status).toBe(200)
    const { rows } = await opened.service.db.pool.query('select detail from mails where user_id = $1', [userId])
    expect(rows).toEqual([{ detail: expect.objectContaining({ kind: 'mails-stopped', choice: 'sign-ins' }) }])
  })

  test('an altered, truncated or invented link is refused and reveals nothing', async () => {
    const url = await linkOf('receipts')
    const token = new URL(url).searchParams.get('token')!
    const sealedFor = await opened.service.secrets.seal(`receipts ${userId}`, { purpose: 'totp', id: userId })
    const middle = Math.floor(token.length / 2)
    const altered = token.slice(0, middle) + (token[middle] === 'A' ? 'B' : 'A') + token.slice(middle + 1)
    for (const bad of [altered, token.slice(0, -4), sealedFor, userId, `receipts ${userId}`, 'sealed:1:x:']) {
      const { status, text } = await ask(url.replace(/token=.*/, `token=${encodeURIComponent(bad)}`), 'POST')
      expect([bad, status]).toEqual([bad, 404])
      expect(text).not.toContain(userId)
    }
    expect(await stopped()).toEqual([])
  })

  test('a link ends with a change of the email, and a new one works; so do links of the previous release', async () => {
    const { db, secrets } = opened.service
    const before = await linkOf('sign-ins')
    const token = await secrets.seal(`receipts ${userId}`, { purpose: 'mail-stop', id: 'link' })
    const older = before.replace(/token=.*/, `token=${encodeURIComponent(token)}`)
    expect((await ask(older, 'POST')).status).toBe(200)
    await transact(db, async (tx) => {
      await updateUserEmail(tx, userId, newEmail())
      await recordAudit(tx, operator, 'user.email-changed', `user:${userId}`, {})
    })
    for (const url of [before, older])
      for (const method of ['GET', 'POST'] as const) expect((await ask(url, method)).status).toBe(404)
    expect(await stopped()).toEqual(['receipts'])
    expect((await ask(await linkOf('payments'), 'POST')).status).toBe(200)
    expect(await stopped()).toEqual(['receipts', 'payments'])
  })

  test('a link ends with the account', async () => {
    const url = await linkOf('sign-ins')
    await transact(opened.service.db, async (tx) => await updateUserDeleted(tx, (await lockUser(tx, userId))!))
    for (const method of ['GET', 'POST'] as const) expect((await ask(url, method)).status).toBe(404)
  })

  test('the page speaks the language of the user, and no log has the link', async () => {
    await opened.service.db.pool.query('update users set language = $2 where id = $1', [userId, 'ar'])
    const url = await linkOf('sign-ins')
    const { text, headers } = await ask(url, 'GET', { 'accept-language': 'de' })
    expect(text).toContain('<html lang="ar" dir="rtl"')
    expect(headers.get('referrer-policy')).toBe('no-referrer')
    expect((await ask(`${url}x`, 'GET', { 'accept-language': 'de' })).text).toContain('Dieser Link funktioniert nicht')
    expect(opened.logged.join('')).not.toContain(new URL(url).searchParams.get('token')!.slice(20))
  })
})
