import { afterAll, beforeAll, describe, expect, setDefaultTimeout, test } from 'bun:test'
import { newClient } from '../../test/client.ts'
import { deviceOf } from '../../test/devices.ts'
import { holdClient, holdOf } from '../../test/holds.ts'
import { newPage } from '../../test/page.ts'
import { newApp, newUser, openTestService, type TestService, type TestUser } from '../../test/service.ts'
import { beginDayThatStays, letPass } from '../../test/time.ts'
import { receiptCodeOf } from '../ledger/receipt-code.ts'
import { transact } from '../store/connection/database.ts'
import { lockUser, updateUserDeleted } from '../store/people/users.ts'

setDefaultTimeout(180_000)

let opened: TestService
let shop: { clientId: string; clientSecret: string }
let ada: TestUser

const evil = '=HYPERLINK("https://evil.example";"click")'

beforeAll(async () => {
  // A statement covers a month, and today may be its last day.
  await beginDayThatStays()
  opened = await openTestService({ SERVICE_NAME: 'Penny & Co', SUPPORT_EMAIL: 'help@penny.example' })
  shop = await newApp(opened.service, { name: 'Fernweh <Books>' })
  ada = await newUser(opened.service, shop)
  const client = newClient(opened.app.fetch, shop)
  const entry = { ...shop, serviceUserId: ada.serviceUserId, referenceType: 'ORDER' }
  await client.post('/api/server/wallet/credit', { ...entry, amount: 100, referenceId: 'A-1', description: 'Gift' })
  await client.post('/api/server/wallet/debit', { ...entry, amount: 12.5, referenceId: 'A-2', description: evil })
})
afterAll(() => opened.close())

const fetchPage = async (path: string, init: RequestInit = {}) =>
  await opened.app.fetch(new Request(`http://billfold.test${path}`, init))

async function newSession({ serviceUserId } = ada): Promise<string> {
  const client = newClient(opened.app.fetch, shop)
  return String((await client.post('/api/widget/session', { ...shop, serviceUserId })).body['sessionToken'])
}

const usual = { kind: 'receipt', sequence: 2, lang: 'en', timeZone: 'UTC' }

type Fields = Record<string, unknown>

/** In the frame, on a device of the user. */
async function order(fields: Fields, user = ada, session?: string) {
  const { cookie } = await deviceOf(opened.service, { userId: user.userId, clientId: shop.clientId })
  const page = newPage(opened.app.fetch, undefined, { cookie })
  const path = `/api/widget/papers?session=${session ?? (await newSession(user))}`
  return await page.post(path, { ...usual, ...fields })
}

async function linkTo(fields: Fields = {}, user = ada): Promise<string> {
  const { status, body } = await order(fields, user)
  expect(status).toBe(200)
  return String(body['path'])
}

const read = async (fields: Fields = {}, user = ada) => {
  const response = await fetchPage(await linkTo(fields, user))
  return { status: response.status, headers: response.headers, text: await response.text() }
}

/** Through the link on the statement's page. */
async function readFile(month: string, user = ada) {
  const { text } = await read({ kind: 'statement', month }, user)
  const response = await fetchPage(/href="(\/widget\/papers\/[\w-]{32})"/.exec(text)![1]!)
  const bytes = new Uint8Array(await response.arrayBuffer())
  return { headers: response.headers, bytes, text: new TextDecoder().decode(bytes) }
}

const thisMonth = () => new Date().toISOString().slice(0, 7)
const plainText = (html: string) =>
  html
    .replace(/<[^>]*>/g, ' ')
    .replaceAll('&lt;', '<')
    .replaceAll('&gt;', '>')
    .replaceAll('&amp;', '&')
    .replaceAll('&quot;', '"')
    .replace(/\s+/g, ' ')

describe('a receipt', () => {
  test('shows the amount, the payee, the time, the payer, and the code by which support finds it', async () => {
    const { status, text } = await read()
    expect(status).toBe(200)
    const { rows } = await opened.service.db.pool.query<{ reference_key: string }>(
      'select reference_key from transfers where wallet_id = $1 and sequence = 2',
      [ada.userId],
    )
    const shown = plainText(text)
    for (const part of [
      'Penny & Co',
      '$12.50',
      'Fernweh <Books>',
      'Ada Lovelace',
      'A-2',
      'UTC',
      receiptCodeOf(rows[0]!.reference_key.replaceAll('-', '')),
      'help@penny.example',
    ])
      expect(shown).toContain(part)
    expect(text).not.toContain('<Books>')
  })

  test('comes in the language of the page, in its direction, and in the reader’s time zone', async () => {
    const { text } = await read({ lang: 'ar', timeZone: 'Asia/Tokyo' })
    expect(text).toContain('<html lang="ar" dir="rtl" data-theme="light"')
    expect(plainText(text)).toMatch(/غرينتش\+9|GMT\+9/)
    expect((await read({ lang: 'xx', timeZone: 'Mars/Olympus' })).text).toContain('<html lang="en"')
  })

  test('is not cached, cannot be framed, and runs only our own script', async () => {
    const { headers } = await read()
    expect(Object.fromEntries(headers)).toMatchObject({
      'cache-control': 'no-store',
      'x-frame-options': 'DENY',
      'referrer-policy': 'no-referrer',
      'content-security-policy': expect.stringMatching(/script-src 'nonce-[\w-]+';.*frame-ancestors 'none'/),
    })
    expect(headers.get('set-cookie')).toBeNull()
  })
})

describe('a statement', () => {
  test('is about entries, and says below its sums what is on hold now', async () => {
    const user = await newUser(opened.service, shop)
    const client = newClient(opened.app.fetch, shop)
    await client.credit(user.serviceUserId, 50)
    const statement = async () => plainText((await read({ kind: 'statement', month: thisMonth() }, user)).text)
    expect(await statement()).not.toContain('On hold')
    const { id } = holdOf(await holdClient(client, shop).place(user.serviceUserId, 18))
    const text = await statement()
    expect(text).toContain('On hold when this was made: $18.00.')
    expect(text).toMatch(/Closing balance\s+\$50\.00/)
    await holdClient(client, shop).void(id)
    expect(await statement()).not.toContain('On hold')
  })

  test('opens, adds up and closes exactly', async () => {
    const { status, text } = await read({ kind: 'statement', month: thisMonth() })
    expect(status).toBe(200)
    const shown = plainText(text)
    expect(shown).toMatch(/Opening balance \$0\.00 Money in \$100\.00 Money out \$12\.50 Closing balance \$87\.50/)
    expect(text.match(/<tr>/g)).toHaveLength(3)
    expect(text.endsWith('</html>')).toBe(true)
    const empty = await read({ kind: 'statement', month: '2020-01' })
    expect(plainText(empty.text)).toContain('No activity this month.')
    expect(empty.text).not.toContain('<table')
  })

  test('as a file is RFC 4180, and no cell of it is a formula', async () => {
    const { headers, bytes, text } = await readFile(thisMonth())
    // Spreadsheets read a file that starts with this as Unicode.
    expect([...bytes.subarray(0, 3)]).toEqual([0xef, 0xbb, 0xbf])
    expect(headers.get('content-disposition')).toBe(`attachment; filename="statement-${thisMonth()}.csv"`)
    const lines = text.split('\r\n')
    expect(lines[0]).toBe('Date and time (UTC),Description,App,Reference,Receipt code,Amount,Balance,Currency')
    expect(lines[1]).toMatch(/^20\d\d-\d\d-01 00:00:00,Opening balance,,,,,0\.00,USD$/)
    expect(lines[2]).toMatch(/^20\d\d-\d\d-\d\d \d\d:\d\d:\d\d,Gift,Fernweh <Books>,A-1,[\w-]{14},100\.00,100\.00,USD$/)
    expect(lines[3]).toContain(`,"'=HYPERLINK(""https://evil.example"";""click"")",`)
    expect(lines[3]).toMatch(/,-12\.50,87\.50,USD$/)
    expect([lines[4]!.endsWith(',Closing balance,,,,,87.50,USD'), lines.length, lines[5]]).toEqual([true, 6, ''])
  })

  test('of a long month shows the first 5,000 entries and says so; the file has every one; the sums are exact', async () => {
    const rich = await newUser(opened.service, shop)
    const count = 12_000
    const { pool } = opened.service.db.longRunning
    await pool.query(
      `insert into transfers (wallet_id, sequence, amount, balance_after, reference_key, created_at, counter_account,
         reference_type, reference_id)
       select $1, n, case when n % 2 = 0 then -100 else 300 end, 0, gen_random_uuid(), timestamptz '2024-03-05 10:00Z',
         'app:' || $2::text, 'ORDER', n::text
       from generate_series(1, $3::bigint) n`,
      [rich.userId, shop.clientId, count],
    )
    await pool.query('update wallets set sequence = $2 where id = $1', [rich.userId, count])
    const page = await read({ kind: 'statement', month: '2024-03' }, rich)
    const shown = plainText(page.text)
    expect(shown).toContain('Entries this month: 12,000. This page shows the first 5,000.')
    expect(shown).toMatch(/Money in \$18,000\.00 Money out \$6,000\.00/)
    expect(page.text.match(/<tr>/g)).toHaveLength(5_001)
    const file = await readFile('2024-03', rich)
    expect(file.text.split('\r\n')).toHaveLength(count + 4)
  })
})

describe('a link', () => {
  test('works once, and says so afterwards; of several requests at once, one succeeds', async () => {
    const path = await linkTo()
    expect(path).toMatch(/^\/widget\/papers\/[\w-]{32}$/)
    const all = await Promise.all(Array.from({ length: 6 }, () => fetchPage(path)))
    expect(all.map(({ status }) => String(status)).sort()).toEqual(['200', '404', '404', '404', '404', '404'])
    const again = await fetchPage(path, { headers: { 'accept-language': 'de' } })
    expect([again.status, await again.text()]).toEqual([404, expect.stringContaining('nur einmal öffnen')])
  })

  test('ends after two minutes, by the database’s clock', async () => {
    const path = await linkTo()
    await letPass(opened.service.db.pool, 121_000)
    expect((await fetchPage(path)).status).toBe(404)
  })

  test('contains no session; neither is logged, and the database has only its hash', async () => {
    const session = await newSession()
    const before = opened.logged.length
    const path = String((await order({}, ada, session)).body['path'])
    const token = path.split('/').at(-1)!
    const { rows } = await opened.service.db.pool.query('select * from paper_links')
    expect(JSON.stringify(rows)).not.toContain(token)
    const page = await (await fetchPage(path)).text()
    const logged = opened.logged.slice(before).join('')
    expect(logged).toContain('"route":"/widget/papers/:token"')
    for (const text of [path, page, logged]) expect(text).not.toContain(session.slice(3))
    expect(logged).not.toContain(token)
  })

  test('shows only entries of the wallet of the user who ordered it', async () => {
    const grace = await newUser(opened.service, shop)
    expect((await order({ sequence: 2 }, grace)).body['fields']).toEqual({
      sequence: 'is not a transaction of this wallet',
    })
    const { text: month } = await read({ kind: 'statement', month: thisMonth() }, grace)
    expect(month).not.toContain('12.50')
  })
})

test.each([
  [{ kind: 'invoice' }, 'kind'],
  [{ kind: 'statement-file', month: '2026-01' }, 'kind'],
  [{ sequence: '2' }, 'sequence'],
  [{ sequence: undefined }, 'sequence'],
  [{ sequence: 0 }, 'sequence'],
  [{ sequence: -1 }, 'sequence'],
  [{ sequence: 1.5 }, 'sequence'],
  [{ sequence: 3 }, 'sequence'],
  [{ sequence: Number.MAX_SAFE_INTEGER }, 'sequence'],
  [{ kind: 'statement', month: '2026-1' }, 'month'],
  [{ kind: 'statement', month: '2026-13' }, 'month'],
  [{ kind: 'statement' }, 'month'],
  [{ timeZone: 'x'.repeat(4_096) }, 'timeZone'],
] as [Fields, string][])('%j is refused by name: %s', async (fields, name) => {
  const { status, body } = await order(fields)
  expect([status, body['code'], Object.keys(body['fields'] as object)]).toEqual([400, 'INVALID_REQUEST', [name]])
})

test('an expired session gets no paper', async () => {
  const session = await newSession()
  await letPass(opened.service.db.pool, 6 * 60_000)
  expect((await order({}, ada, session)).status).toBe(401)
})

test('a user who orders too many papers has to wait', async () => {
  const eager = await newUser(opened.service, shop)
  const session = await newSession(eager)
  const statuses = []
  for (let i = 0; i < 61; i++)
    statuses.push((await order({ kind: 'statement', month: '2026-01' }, eager, session)).status)
  expect([statuses[59], statuses[60]]).toEqual([200, 429])
})

const dataOf = async (user = ada) => {
  const { text } = await read({ kind: 'data' }, user)
  const path = /href="(\/widget\/papers\/[\w-]{32})"/.exec(text)![1]!
  return { path, file: await fetchPage(path) }
}

describe('my data', () => {
  test('is a page with a link to a file, which downloads once', async () => {
    const { path, file } = await dataOf()
    expect(file.headers.get('content-disposition')).toBe('attachment; filename="my-data.json"')
    const data = (await file.json()) as Record<string, unknown>
    expect(data).toMatchObject({ account: { userId: ada.userId }, wallet: { balance: 87.5 } })
    expect(data['transactions']).toHaveLength(2)
    expect((await fetchPage(path)).status).toBe(404)
  })

  test('is the user’s own, and gone with the user', async () => {
    const stranger = await newUser(opened.service, shop)
    expect(await (await dataOf(stranger)).file.text()).not.toContain(ada.userId)
    const { text } = await read({ kind: 'data' }, stranger)
    const path = /href="(\/widget\/papers\/[\w-]{32})"/.exec(text)![1]!
    await transact(opened.service.db, async (tx) => updateUserDeleted(tx, (await lockUser(tx, stranger.userId))!))
    expect((await fetchPage(path)).status).toBe(404)
  })
})
