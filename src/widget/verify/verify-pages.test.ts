/** The public page of a receipt: it confirms one entry to anybody who has the paper, and shows nothing else. */
import { afterAll, beforeAll, describe, expect, setDefaultTimeout, test } from 'bun:test'
import { compareProofs, verifyProof } from '../../../sdk/verify.ts'
import { newClient, type Client } from '../../../test/client.ts'
import { newApp, newUser, openTestService, operator, type TestService, type TestUser } from '../../../test/service.ts'
import { letPass } from '../../../test/time.ts'
import { findEntry } from '../../actions/money/order-paper.ts'
import { closeAccount } from '../../actions/people/delete-account.ts'
import { findProofState, findReceiptUrl, readLogKeys } from '../../actions/proofs/check-receipt.ts'
import { proveEntry } from '../../actions/proofs/prove-entry.ts'
import { transact } from '../../store/connection/database.ts'
import { lockUser } from '../../store/people/users.ts'

setDefaultTimeout(180_000)

let opened: TestService
let client: Client
let ada: TestUser
let shop: { clientId: string; clientSecret: string }

beforeAll(async () => {
  opened = await openTestService({ SERVICE_NAME: 'Penny & Co' })
  shop = await newApp(opened.service, { name: 'Fernweh <Books>' })
  client = newClient(opened.app.fetch, shop)
  ada = await newUser(opened.service, shop, { firstName: 'Ada', lastName: 'Lovelace' })
  await client.credit(ada.serviceUserId, 100, 'secret-1')
  await client.debit(ada.serviceUserId, 12.5, 'secret-2')
})
afterAll(() => opened.close())

async function transferOf({ userId }: TestUser, sequence: number) {
  const found = await findEntry(opened.service, userId, sequence)
  if (!found || found === 'archived') throw new Error(`there is no entry ${sequence}`)
  return found.transfer
}

/** The path of a receipt's public page, as its paper has it. */
async function pathOf(user: TestUser, sequence: number, isSealed = true): Promise<string> {
  const transfer = await transferOf(user, sequence)
  if (isSealed) expect(await findProofState(opened.service, transfer)).toBe('proof')
  return new URL((await findReceiptUrl(opened.service, transfer))!).pathname
}

/** A network for each test: the limit counts per network. */
let networks = 0
const newNetwork = () => `203.0.${++networks}.7`

async function open(path: string, { lang = 'en', from = newNetwork() } = {}) {
  const request = new Request(`http://billfold.test${path}`, { headers: { 'accept-language': lang } })
  const response = await opened.app.fetch(request, from)
  const html = await response.text()
  const text = html
    .replace(/<(style|title)[^>]*>.*?<\/\1>/gs, '')
    .replace(/<[^>]*>/g, ' ')
    .replaceAll('&lt;', '<')
    .replaceAll('&gt;', '>')
    .replaceAll('&amp;', '&')
    .replace(/\s+/g, ' ')
    .trim()
  return { status: response.status, headers: response.headers, html, text }
}

describe('the page of a receipt', () => {
  test('confirms amount, day and shop, and says nothing else', async () => {
    const { status, text, html } = await open(await pathOf(ada, 2))
    const day = new Intl.DateTimeFormat('en', { dateStyle: 'long', timeZone: 'UTC' }).format(
      (await transferOf(ada, 2)).createdAt,
    )
    expect([status, text]).toEqual([
      200,
      [
        'P Penny & Co This receipt is genuine The signed books of Penny & Co contain it.',
        `Amount $12.50 Day ${day} (UTC) To Fernweh <Books>`,
        'Compare this with the paper. If anything is different, the paper was changed.',
      ].join(' '),
    ])
    for (const secret of ['Ada', 'Lovelace', ada.userId, ada.serviceUserId, 'secret', '87.5', '100'])
      expect(html).not.toContain(secret)
  })

  test('names the direction: what was paid in came from the shop', async () => {
    expect((await open(await pathOf(ada, 1))).text).toContain('Amount $100.00 Day')
    expect((await open(await pathOf(ada, 1))).text).toContain('From Fernweh <Books>')
  })

  test('is in the reader’s language and direction', async () => {
    const { html, text } = await open(await pathOf(ada, 2), { lang: 'ar' })
    expect(html).toContain('<html lang="ar" dir="rtl"')
    expect(text).toContain('هذا الإيصال صحيح')
    expect((await open(`${await pathOf(ada, 2)}?lang=de`)).text).toContain('Dieser Beleg ist echt')
  })

  test('is neither cached nor indexed nor framed, sets no cookie, and runs no script', async () => {
    const { headers, html } = await open(await pathOf(ada, 2))
    expect(Object.fromEntries(headers)).toMatchObject({
      'cache-control': 'no-store',
      'x-robots-tag': 'noindex',
      'x-frame-options': 'DENY',
      'referrer-policy': 'no-referrer',
      'cross-origin-opener-policy': 'same-origin',
    })
    expect(headers.get('set-cookie')).toBeNull()
    expect(html).toContain('<meta name="robots" content="noindex"/>')
    expect(html).not.toContain('<script')
  })

  test('is not logged with its address', async () => {
    const path = await pathOf(ada, 2)
    const before = opened.logged.length
    await open(path)
    const logged = opened.logged.slice(before).join('')
    expect(logged).toContain('"route":"/verify/:address"')
    expect(logged).not.toContain(path.split('/').at(-1)!)
  })
})

describe('an address', () => {
  test('with any character changed, cut or added belongs to no receipt', async () => {
    const path = await pathOf(ada, 2)
    const name = path.split('/').at(-1)!
    for (let i = 0; i < name.length; i++) {
      const other = name[i] === 'A' ? 'B' : 'A'
      const { status, text } = await open(`/verify/${name.slice(0, i)}${other}${name.slice(i + 1)}`)
      expect([i, status]).toEqual([i, 404])
      expect(text).toContain('No receipt has this address')
      expect(text).not.toContain('12.50')
    }
    for (const wrong of [
      name.slice(1),
      name.slice(0, -1),
      `${name}A`,
      `${name}=`,
      'x',
      '%00',
      '..%2f',
      'x'.repeat(5_000),
    ])
      expect([wrong, (await open(`/verify/${wrong}`)).status]).toEqual([wrong, 404])
    // The last character has bits that belong to no byte: only one spelling counts.
    const last = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_'.split('')
    const opening = []
    for (const letter of last) opening.push((await open(`/verify/${name.slice(0, -1)}${letter}`)).status)
    expect(opening.filter((status) => status === 200)).toHaveLength(1)
  })

  test('of one receipt says nothing about the address of another one of the same wallet', async () => {
    const [one, other] = [await pathOf(ada, 1), await pathOf(ada, 2)].map((path) =>
      Buffer.from(path.split('/').at(-1)!, 'base64url'),
    )
    const mixed = Buffer.concat([one!.subarray(0, 16), other!.subarray(16)]).toString('base64url')
    expect((await open(`/verify/${mixed}`)).status).toBe(404)
  })

  test('of an entry that is not sealed yet says so, and confirms nothing', async () => {
    const bob = await newUser(opened.service, shop)
    await client.credit(bob.serviceUserId, 5)
    expect(await findReceiptUrl(opened.service, await transferOf(bob, 1))).toBeUndefined()
    await pathOf(bob, 1)
    await client.credit(bob.serviceUserId, 7)
    const path = await pathOf(bob, 2, false)
    const { status, text } = await open(path)
    expect([status, text]).toEqual([200, expect.stringContaining('This receipt is not in the signed books yet')])
    expect(text).not.toContain('7.00')
    expect(await pathOf(bob, 2)).toBe(path)
    expect((await open(path)).text).toContain('Amount $7.00')
  })

  test('of an entry that was changed in the database after it was sealed is not confirmed', async () => {
    const eve = await newUser(opened.service, shop)
    await client.credit(eve.serviceUserId, 5)
    await client.credit(eve.serviceUserId, 6)
    const path = await pathOf(eve, 1)
    const { pool } = opened.service.db
    await pool.query('alter table transfers disable trigger user; grant all on transfers to current_user')
    await pool.query('update transfers set amount = 900 where wallet_id = $1 and sequence = 1', [eve.userId])
    await pool.query('alter table transfers enable trigger user; revoke update on transfers from current_user')
    const { text } = await open(path)
    expect(text).toContain('This receipt does not match the signed books')
    expect(text).not.toMatch(/[59]\.00/)
  })

  test('can be tried 60 times in 15 minutes from one network', async () => {
    const path = await pathOf(ada, 2)
    const from = newNetwork()
    const statuses = []
    for (let i = 0; i < 62; i++) statuses.push((await open(path, { from })).status)
    expect([statuses[59], statuses[60], statuses[61]]).toEqual([200, 429, 429])
    const { headers, text } = await open(path, { from })
    expect(Number(headers.get('retry-after'))).toBeGreaterThan(0)
    expect(text).toContain('Too many checks')
    expect((await open(path)).status).toBe(200)
    await letPass(opened.service.db.pool, 16 * 60_000)
    expect((await open(path, { from })).status).toBe(200)
  })
})

test('the receipt and the proof of a deleted user stay valid, and neither names the user', async () => {
  const gone = await newUser(opened.service, shop, { firstName: 'Grace', lastName: 'Hopper' })
  await client.credit(gone.serviceUserId, 20)
  await client.debit(gone.serviceUserId, 20)
  const path = await pathOf(gone, 2)
  await transact(opened.service.db, async (tx) => {
    const user = (await lockUser(tx, gone.userId))!
    expect(await closeAccount(tx, operator, user, { detail: {}, notification: { kind: 'deleted' } })).toBeUndefined()
  })
  const { status, text } = await open(path)
  expect([status, text]).toEqual([200, expect.stringContaining('Amount $20.00')])
  const proven = await proveEntry(opened.service, { walletId: gone.userId, sequence: 2 })
  const file = proven.kind === 'proof' ? proven.file : ''
  const keys = await readLogKeys(opened.service)
  expect(await verifyProof(file, { keys })).toMatchObject({ ok: true, entry: { amountMinor: -2000n, sequence: 2 } })
  const extra = Buffer.from(/^extra (.*)$/m.exec(file)![1]!, 'base64').toString()
  for (const secret of ['Grace', 'Hopper', gone.userId]) expect(extra).not.toContain(secret)
})

describe('the page that checks files', () => {
  test('loads nothing: its style and script are in it, and its policy allows no other', async () => {
    await pathOf(ada, 1)
    const { status, headers, html } = await open('/verify')
    expect(status).toBe(200)
    const policy = headers.get('content-security-policy')!
    expect(policy).toMatch(
      /^default-src 'none'; script-src 'sha256-[\w+/=]{44}'; style-src 'sha256-[\w+/=]{44}'; img-src data:;/,
    )
    expect(policy).not.toContain('connect-src')
    const own = /<meta http-equiv="content-security-policy" content="([^"]*)"/.exec(html)![1]!
    expect(policy).toBe(`${own}; frame-ancestors 'none'`)
    expect(html.match(/<link[^>]*>/g)).toEqual(['<link rel="icon" href="data:,"/>'])
    expect(html).not.toMatch(/<script[^>]* src=|@import|url\(|<img/)
    expect(html).toContain(JSON.stringify((await readLogKeys(opened.service))[0]))
  })

  test('downloads as one file, in the language asked for', async () => {
    const { headers, html } = await open('/verify?lang=he&save=1')
    expect(headers.get('content-disposition')).toBe('attachment; filename="check-proofs.html"')
    expect(html).toContain('<html lang="he" dir="rtl">')
  })
})

test('the page that checks files has the key of each name of the log, so that proofs from before a restore verify', async () => {
  const { pool } = opened.service.db
  const proven = await proveEntry(opened.service, { walletId: ada.userId, sequence: 1 })
  const file = proven.kind === 'proof' ? proven.file : ''
  // What a restore to another server looks like.
  await pool.query(`update log_state set home = 'elsewhere'`)
  await client.credit(ada.serviceUserId, 1)
  const later = await proveEntry(opened.service, { walletId: ada.userId, sequence: 3, since: 2 })
  const keys = await readLogKeys(opened.service)
  expect(keys).toHaveLength(2)
  const { html } = await open('/verify')
  for (const key of keys) expect(html).toContain(JSON.stringify(key))
  const files = [file, later.kind === 'proof' ? later.file : ''] as const
  const compared = await compareProofs(files, { keys })
  expect(compared).toMatchObject({ kind: 'kept', earlier: { walletSize: 2 }, later: { walletSize: 3 } })
  expect(await verifyProof(file, { keys: keys.slice(0, 1) })).toMatchObject({ fault: 'UNKNOWN_SIGNER' })
})
