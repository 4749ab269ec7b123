/** The proof beside a receipt and a statement. */
import { afterAll, beforeAll, expect, setDefaultTimeout, test } from 'bun:test'
import { h } from 'preact'
import { renderToString } from 'preact-render-to-string'
import { compareProofs, verifyProof } from '../../sdk/verify.ts'
import { newClient, type Client } from '../../test/client.ts'
import { deviceOf } from '../../test/devices.ts'
import { newPage } from '../../test/page.ts'
import { newApp, newUser, openTestService, type TestService, type TestUser } from '../../test/service.ts'
import { beginDayThatStays, letPass } from '../../test/time.ts'
import { readLogKeys } from '../actions/proofs/check-receipt.ts'
import { QrPicture } from '../web/qr-picture.tsx'

setDefaultTimeout(180_000)

let opened: TestService
let shop: { clientId: string; clientSecret: string }
let client: Client
let ada: TestUser

beforeAll(async () => {
  // A statement covers a month, and today may be its last day.
  await beginDayThatStays()
  opened = await openTestService()
  shop = await newApp(opened.service)
  client = newClient(opened.app.fetch, shop)
  ada = await newUser(opened.service, shop)
  await client.credit(ada.serviceUserId, 100)
  await client.debit(ada.serviceUserId, 12.5)
})
afterAll(() => opened.close())

const get = (path: string) => opened.app.fetch(new Request(`http://billfold.test${path}`))

/** The session alone, as the app's own backend could use it, where `isAlone`. */
async function open(paper: Record<string, unknown>, user = ada, isAlone = false): Promise<string> {
  const { body } = await client.post('/api/widget/session', { ...shop, serviceUserId: user.serviceUserId })
  const { cookie } = await deviceOf(opened.service, { userId: user.userId, clientId: shop.clientId })
  const page = newPage(opened.app.fetch, undefined, isAlone ? {} : { cookie })
  const path = `/api/widget/papers?session=${String(body['sessionToken'])}`
  const ordered = await page.post(path, { lang: 'en', timeZone: 'UTC', ...paper })
  return await (await get(String(ordered.body['path']))).text()
}

const receipt = (sequence: number) => ({ kind: 'receipt', sequence })
const statement = (month = new Date().toISOString().slice(0, 7)) => ({ kind: 'statement', month })
const linkIn = (html: string) => /<a id="proof" class="button" href="(\/widget\/papers\/[\w-]{32})"/.exec(html)?.[1]

async function proofIn(html: string, query = '') {
  const response = await get(`${linkIn(html)}${query}`)
  const file = await response.text()
  const keys = await readLogKeys(opened.service)
  return { response, file, keys, verdict: await verifyProof(file, { keys }) }
}

test('a receipt offers the proof of its entry, which verifies, once', async () => {
  const html = await open(receipt(2))
  const { response, file, verdict } = await proofIn(html)
  expect(Object.fromEntries(response.headers)).toMatchObject({
    'content-type': 'text/plain; charset=utf-8',
    'content-disposition': 'attachment; filename="proof-2.txt"',
    'cache-control': 'no-store',
  })
  expect(verdict).toMatchObject({ ok: true, entry: { sequence: 2, amountMinor: -1250n, walletSize: 2 } })
  expect(file.length).toBeLessThan(4_096)
  expect((await get(linkIn(html)!)).status).toBe(404)
})

test('the code on a receipt is the address beside it', async () => {
  const html = await open(receipt(2))
  const address = /<p class="address"><a href="([^"]+)">Open the page<\/a>/.exec(html)!
  expect(address[1]).toMatch(/^http:\/\/[^/]+\/verify\/[\w-]{43}$/)
  const label = 'QR code: address that confirms this receipt'
  expect(html).toContain(renderToString(h(QrPicture, { text: address[1]!, label })))
})

test('a session proves what it may see, and its link ends with it', async () => {
  const html = await open(receipt(2), ada, true)
  expect((await proofIn(html)).verdict).toMatchObject({ ok: true, entry: { sequence: 2 } })
  const later = await open(receipt(2), ada, true)
  await letPass(opened.service.db.pool, 16 * 60_000)
  expect((await get(linkIn(later)!)).status).toBe(404)
})

test('a statement offers the proof of its last entry, and one without entries offers none', async () => {
  const html = await open(statement())
  expect(html).toContain('the last entry of this month is in its signed books')
  expect(html).not.toContain('class="qr"')
  expect((await proofIn(html)).verdict).toMatchObject({ ok: true, entry: { sequence: 2 } })
  expect(linkIn(await open(statement('2020-01')))).toBeUndefined()
})

test('a proof since an earlier one continues its history; a size that is none, or too large, is left out', async () => {
  const user = await newUser(opened.service, shop)
  for (let i = 0; i < 5; i++) await client.credit(user.serviceUserId, 1)
  const earlier = await proofIn(await open(receipt(3), user))
  for (let i = 0; i < 3; i++) await client.credit(user.serviceUserId, 1)
  const { file, keys } = await proofIn(await open(receipt(7), user), '?since=5')
  expect(await compareProofs([earlier.file, file], { keys })).toMatchObject({ kind: 'kept' })
  for (const since of ['0', '-1', '9', '1e3', 'x', '', '%00', '999999999999999', '9'.repeat(500), '5&since=x']) {
    const { response, verdict, file } = await proofIn(await open(receipt(7), user), `?since=${since}`)
    expect([since, response.status, verdict.ok]).toEqual([since, 200, true])
    const compared = await compareProofs([earlier.file, file], { keys })
    expect([since, compared.kind]).toEqual([since, since.startsWith('5') ? 'kept' : 'no-link'])
  }
})

test('a receipt is shown also where its entry cannot be proven, and says so', async () => {
  const user = await newUser(opened.service, shop)
  await client.credit(user.serviceUserId, 5)
  // The check of the books finds a fault in this wallet, so it is not sealed.
  await opened.service.db.pool.query('update wallets set balance = 700 where id = $1', [user.userId])
  const html = await open(receipt(1), user)
  expect(html).toContain('$5.00')
  expect(html).toContain('The proof of this entry is not ready yet.')
  expect([linkIn(html), html.includes('class="qr"')]).toEqual([undefined, false])
})

test('a receipt of an entry that was changed after it was sealed says so, and offers no proof', async () => {
  const user = await newUser(opened.service, shop)
  await client.credit(user.serviceUserId, 5)
  await client.credit(user.serviceUserId, 6)
  expect((await proofIn(await open(receipt(1), user))).verdict.ok).toBe(true)
  const { pool } = opened.service.db
  await pool.query('alter table transfers disable trigger user; grant all on transfers to current_user')
  await pool.query('update transfers set amount = 900 where wallet_id = $1 and sequence = 1', [user.userId])
  await pool.query('alter table transfers enable trigger user; revoke update on transfers from current_user')
  const html = await open(receipt(1), user)
  expect(html).toContain('The entry was changed after the books were signed.')
  expect(linkIn(html)).toBeUndefined()
})
