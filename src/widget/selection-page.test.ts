/** A paper with the entries that a search found. */
import { afterAll, beforeAll, describe, expect, setDefaultTimeout, test } from 'bun:test'
import { newClient } from '../../test/client.ts'
import { deviceOf } from '../../test/devices.ts'
import { newPage } from '../../test/page.ts'
import {
  linkUser,
  newApp,
  newUser,
  openTestService,
  type Credentials,
  type TestService,
  type TestUser,
} from '../../test/service.ts'
import { languages } from '../languages/languages.ts'

setDefaultTimeout(180_000)

let opened: TestService
let shop: Credentials
let cinema: Credentials
let ada: TestUser

const march = { from: '2024-03-01T00:00:00.000Z', until: '2024-04-01T00:00:00.000Z' }

/** Entries at the given times; a negative amount is a debit. */
async function insertEntries(
  user: TestUser,
  entries: readonly (readonly [at: string, app: Credentials, minor: number, description: string])[],
): Promise<void> {
  const { pool } = opened.service.db.longRunning
  for (const [n, [at, app, minor, description]] of entries.entries())
    await pool.query(
      `insert into transfers (wallet_id, sequence, amount, balance_after, reference_key, created_at, counter_account,
         reference_type, reference_id, description)
       values ($1, $2, $3, 777700, gen_random_uuid(), $4, 'app:' || $5::text, 'ORDER', $6, $7)`,
      [user.userId, n + 1, minor, at, app.clientId, `ref-${n + 1}`, description],
    )
  await pool.query('update wallets set sequence = $2 where id = $1', [user.userId, entries.length])
}

async function insertMany(user: TestUser, count: number, oneIn: number): Promise<void> {
  const { pool } = opened.service.db.longRunning
  await pool.query(
    `insert into transfers (wallet_id, sequence, amount, balance_after, reference_key, created_at, counter_account,
       reference_type, reference_id, description)
     select $1, n, case when n % 2 = 0 then -1 - n else n end, 0, gen_random_uuid(), timestamptz '2024-03-05 10:00Z',
       'app:' || $2::text, 'ORDER', n::text, case when n % $4 = 0 then 'Atlas' else 'Other' end
     from generate_series(1, $3::bigint) n`,
    [user.userId, shop.clientId, count, oneIn],
  )
  await pool.query('update wallets set sequence = $2 where id = $1', [user.userId, count])
}

beforeAll(async () => {
  opened = await openTestService({ SERVICE_NAME: 'Penny & Co' })
  shop = await newApp(opened.service, { name: 'Fernweh <Books>' })
  cinema = await newApp(opened.service, { name: 'Kino Kosmos' })
  ada = await newUser(opened.service, shop)
  await linkUser(opened.service, cinema, ada.userId)
  await insertEntries(ada, [
    ['2024-02-28T12:00:00Z', cinema, -1500, 'Tickets in February'],
    ['2024-03-02T12:00:00Z', shop, 10000, 'Gift'],
    ['2024-03-03T12:00:00Z', cinema, -3150, 'Three tickets'],
    ['2024-03-04T12:00:00Z', cinema, -825, 'Popcorn'],
    ['2024-03-05T12:00:00Z', shop, -6440, '=HYPERLINK("x")'],
    ['2024-03-31T23:30:00Z', cinema, 3150, 'Tickets given back'],
    ['2024-04-02T12:00:00Z', cinema, -9900, 'Season'],
  ])
})
afterAll(() => opened.close())

type Fields = Record<string, unknown>

async function pageOf(user: TestUser) {
  const { cookie } = await deviceOf(opened.service, { userId: user.userId, clientId: shop.clientId })
  const client = newClient(opened.app.fetch, shop)
  const { serviceUserId } = user
  const session = String((await client.post('/api/widget/session', { ...shop, serviceUserId })).body['sessionToken'])
  return { page: newPage(opened.app.fetch, undefined, { cookie }), session }
}

async function order(fields: Fields, user = ada) {
  const { page, session } = await pageOf(user)
  return await page.post(`/api/widget/papers?session=${session}`, { kind: 'selection', lang: 'en', ...fields })
}

const open = async (path: string) => await opened.app.fetch(new Request(`http://billfold.test${path}`))

async function read(fields: Fields, user = ada) {
  const { status, body } = await order(fields, user)
  expect([status, body['fields']]).toEqual([200, undefined])
  const html = await (await open(String(body['path']))).text()
  expect(html.endsWith('</html>')).toBe(true)
  return { html, shown: textOf(html), rows: (html.match(/<tr>/g)?.length ?? 1) - 1 }
}

async function readFile(html: string) {
  const response = await open(/href="(\/widget\/papers\/[\w-]{32})"/.exec(html)![1]!)
  return { headers: response.headers, lines: (await response.text()).split('\r\n') }
}

const textOf = (html: string) =>
  html
    .replace(/<style.*?<\/style>|<[^>]*>/gs, ' ')
    .replaceAll('&lt;', '<')
    .replaceAll('&gt;', '>')
    .replaceAll('&quot;', '"')
    .replace(/\s+/g, ' ')

/** The sums of the page in the wallet: the answers of all calls together. */
async function sumsOf(query: Record<string, string>, user = ada) {
  const { page, session } = await pageOf(user)
  const total = { count: 0, in: 0n, out: 0n }
  for (let before: number | null = Number.MAX_SAFE_INTEGER; before !== null;) {
    const asked = new URLSearchParams({ session, ...query, before: String(before) })
    const { body } = await page.get(`/api/widget/activity/sums?${asked}`)
    for (const each of body['sources'] as { count: number; in: string; out: string }[]) {
      total.count += each.count
      total.in += BigInt(each.in.replace('.', ''))
      total.out += BigInt(each.out.replace('.', ''))
    }
    before = body['nextBefore'] as number | null
  }
  return total
}

const dollars = (minor: bigint) =>
  `$${new Intl.NumberFormat('en', { minimumFractionDigits: 2 }).format(Number(minor) / 100)}`

describe('a selection', () => {
  test('has the entries of the search, names the search, and adds up as the wallet and the database do', async () => {
    const query = { ...march, min: '20.01', app: cinema.clientId, search: 'ticket' }
    const { shown, rows } = await read(query)
    expect(shown).toContain('Period March 2024 Search ticket Amount at least $20.01 App Kino Kosmos')
    const sums = await sumsOf(query)
    const { rows: stored } = await opened.service.db.pool.query(
      `select count(*)::int as count, sum(amount) filter (where amount > 0) as "in", -sum(amount) filter (where amount < 0) as out
       from transfers where wallet_id = $1 and created_at >= $2 and created_at < $3 and abs(amount) >= 2001
         and description ilike '%ticket%' and counter_account = 'app:' || $4`,
      [ada.userId, march.from, march.until, cinema.clientId],
    )
    expect(
      stored.map((each) => ({ ...each, in: BigInt(each['in'] as string), out: BigInt(each['out'] as string) })),
    ).toEqual([sums])
    expect([sums, rows]).toEqual([{ count: 2, in: 3150n, out: 3150n }, 2])
    expect(shown).toContain('Entries found 2 Money in $31.50 Money out $31.50')
    expect(shown).toContain('Tickets given back')
    for (const other of ['Popcorn', 'February', 'Gift']) expect(shown).not.toContain(other)
  })

  test('says that it is no statement, and shows no balance', async () => {
    const { shown, html } = await read({ search: 'ticket' })
    expect(shown).toContain('This is a selection')
    expect(shown).toContain('It is not a full statement and has no opening or closing balance.')
    // Every entry here has this balance after it.
    expect(shown).not.toContain('$7,777.00')
    const { lines } = await readFile(html)
    expect(lines.join()).not.toContain('7777.00')
    expect(html).not.toContain('Opening balance')
  })

  test.each([
    [{ ...march }, 'Period March 2024 Entries'],
    [{ from: march.from, until: '2024-03-02T00:00:00.000Z' }, 'Period March 1, 2024 Entries'],
    [{ from: '2024-01-01T00:00:00.000Z', until: '2025-01-01T00:00:00.000Z' }, 'Period January 1 – December 31, 2024'],
    [{ from: '2024-03-01T00:00:00.001Z', until: march.until }, 'Period March 1, 2024 at 12:00:00 AM UTC – April 1'],
    [{ min: '64.40', max: '64.40' }, 'Amount $64.40 Entries'],
    [{ min: '5', max: '20' }, 'Amount at least $5.00 and up to $20.00 Entries'],
    [{ max: '999999999999.99' }, 'Amount up to $999,999,999,999.99 Entries'],
    [{ direction: 'in' }, 'Direction In Entries'],
    [{ direction: 'out', app: 'service' }, 'App Top-ups and bonuses Direction Out Entries'],
    [{ search: '64.40', amount: '64.4' }, 'Search 64.40 or $64.40 Entries'],
    [{ search: 'card', types: 'TOPUP_REFUND,BONUS' }, 'Search card or Bonus Entries'],
    [{ search: '<b>x</b>', amount: '1' }, 'Search <b>x</b> or $1.00 Entries'],
  ])('%j is named in words: %p', async (query, words) => {
    const { shown, html } = await read(query)
    expect(shown.replace(/[\u2009\u202F\u00A0]/g, ' ')).toContain(words)
    expect(html).not.toContain('<b>x')
  })

  test('knows the months of the reader’s time zone', async () => {
    const query = { from: '2024-02-29T23:00:00.000Z', until: '2024-03-31T22:00:00.000Z', timeZone: 'Europe/Berlin' }
    const { shown, rows } = await read(query)
    expect([shown.includes('Period March 2024'), rows]).toEqual([true, 4])
  })

  test('comes in every language, with the same sums', async () => {
    for (const [code, { dir, paper }] of languages) {
      const { html, shown } = await read({ ...march, lang: code })
      expect(html).toContain(`<html lang="${code}" dir="${dir}"`)
      expect(shown).toContain(paper.selectionText)
      expect([code, (await readFile(html)).lines[1]?.includes(',31.50,USD')]).toEqual([code, true])
    }
  })

  test('as a file has the same entries, no cell is a formula, and its last lines name the search', async () => {
    const { html } = await read({ ...march, direction: 'out' })
    const { headers, lines } = await readFile(html)
    expect(headers.get('content-disposition')).toBe('attachment; filename="selected-entries.csv"')
    expect(lines[0]).toBe('Date and time (UTC),Description,App,Reference,Receipt code,Amount,Currency')
    expect(lines[1]).toMatch(/^2024-03-05 12:00:00,"'=HYPERLINK\(""x""\)",Fernweh <Books>,ref-5,[\w-]{14},-64\.40,USD$/)
    expect(lines.slice(4)).toEqual([
      ',This is a selection: only the entries that match the search below. It is not a full statement and has no opening or closing balance.,,,,,',
      ',Period: March 2024,,,,,',
      ',Direction: Out,,,,,',
      '',
    ])
  })

  test('has the entries up to its order, also in the file', async () => {
    const late = await newUser(opened.service, shop)
    const client = newClient(opened.app.fetch, shop)
    await client.credit(late.serviceUserId, 5)
    const { body } = await order({ direction: 'in' }, late)
    await client.credit(late.serviceUserId, 7)
    await opened.service.db.pool.query(
      `update paper_links set paper = jsonb_set(paper::jsonb, '{at}', '"2024-03-05T10:11:12.000Z"') where user_id = $1`,
      [late.userId],
    )
    const html = await (await open(String(body['path']))).text()
    expect(textOf(html)).toContain('As of Tuesday, March 5, 2024 at 10:11:12 AM UTC')
    expect(textOf(html)).toContain('Entries found 1 Money in $5.00')
    expect((await readFile(html)).lines.filter((line) => line.endsWith('USD'))).toHaveLength(1)
  })

  test('of more entries than its page shows says so; the file has every one, and the sums are exact', async () => {
    const rich = await newUser(opened.service, shop)
    await insertMany(rich, 24_000, 2)
    const { html, shown, rows } = await read({ search: 'atlas' }, rich)
    const sums = await sumsOf({ search: 'atlas' }, rich)
    expect(sums).toEqual({ count: 12_000, in: 0n, out: 144_024_000n })
    expect(shown).toContain(`Entries found 12,000 Money in $0.00 Money out ${dollars(sums.out)}`)
    expect(shown).toContain('Entries found: 12,000. This page shows the newest 5,000. The CSV file has all of them.')
    expect(shown).not.toContain('were searched')
    expect(rows).toBe(5_000)
    const { lines } = await readFile(html)
    expect(lines.filter((line) => line.endsWith(',USD'))).toHaveLength(12_000)
  })

  test('of a wallet with more entries than it searches says how many it searched, and adds up those', async () => {
    const vast = await newUser(opened.service, shop)
    await insertMany(vast, 100_050, 25)
    const { html, shown } = await read({ search: 'atlas', direction: 'out' }, vast)
    const text = 'Entries: 100,050. Only the newest 100,000 were searched. Older ones are not in this selection.'
    expect(shown).toContain(text)
    const { rows } = await opened.service.db.pool.query<{ count: number; out: string }>(
      `select count(*)::int as count, -sum(amount) as out from transfers
       where wallet_id = $1 and sequence > 50 and description = 'Atlas' and amount < 0`,
      [vast.userId],
    )
    expect(shown).toContain(`Entries found ${rows[0]!.count.toLocaleString('en')} Money in`)
    expect(shown).toContain(`Money out ${dollars(BigInt(rows[0]!.out))}`)
    const { lines } = await readFile(html)
    expect(lines.filter((line) => line.endsWith(',USD'))).toHaveLength(rows[0]!.count)
    expect(lines.at(-2)).toBe(`,"${text}",,,,,`)
  })

  test('that found nothing says so', async () => {
    const { html, shown } = await read({ search: 'marmalade' })
    expect(shown).toContain('Entries found 0 Money in $0.00 Money out $0.00')
    expect(shown).toContain('No entry matches this search.')
    expect(html).not.toContain('<table')
    expect((await readFile(html)).lines).toHaveLength(4)
  })
})

describe('a selection is private', () => {
  test('another user’s selection has none of these entries, and an app that the user never used has no name', async () => {
    const grace = await newUser(opened.service, shop)
    const secret = await newApp(opened.service, { name: 'Secret startup' })
    for (const query of [march, { search: 'ticket' }, { app: cinema.clientId }, { app: secret.clientId }]) {
      const { html, shown } = await read(query, grace)
      expect(shown).toContain('Entries found 0')
      for (const part of ['Kino Kosmos', 'Three tickets', 'Secret startup']) expect(html).not.toContain(part)
    }
  })

  test('its link works once, and not after the device was signed out', async () => {
    const { body } = await order(march)
    const path = String(body['path'])
    expect((await open(path)).status).toBe(200)
    expect((await open(path)).status).toBe(404)
    const later = String((await order(march)).body['path'])
    await opened.service.db.pool.query('update devices set revoked_at = now() where user_id = $1', [ada.userId])
    const refused = await open(later)
    expect(refused.status).toBe(404)
    expect(await refused.text()).not.toContain('31.50')
  })

  test('a session without the person does not get it', async () => {
    const { session } = await pageOf(ada)
    const app = newPage(opened.app.fetch)
    const { status, body } = await app.post(`/api/widget/papers?session=${session}`, { kind: 'selection', ...march })
    expect([status, body['code'], body['path']]).toEqual([403, 'PERSON_REQUIRED', undefined])
  })
})

test.each([
  [{}, 'search'],
  [{ search: '' }, 'search'],
  [{ search: '  \t', types: 'TOPUP', amount: '1' }, 'search'],
  [{ search: 'x'.repeat(101) }, 'search'],
  [{ search: 'a\0b' }, 'search'],
  [{ search: '\ud800' }, 'search'],
  [{ search: 7 }, 'search'],
  [{ search: ['a'] }, 'search'],
  [{ search: null }, 'search'],
  [{ from: march.from }, 'until'],
  [{ until: march.until }, 'from'],
  [{ from: march.until, until: march.from }, 'until'],
  [{ from: '2024-03-01', until: march.until }, 'from'],
  [{ from: '1970', until: march.until }, 'from'],
  [{ min: '-1' }, 'min'],
  [{ min: '1e9' }, 'min'],
  [{ min: 5 }, 'min'],
  [{ max: '1.001' }, 'max'],
  [{ min: '5', max: '4' }, 'max'],
  [{ direction: 'sideways' }, 'direction'],
  [{ app: '' }, 'app'],
  [{ app: 'x'.repeat(5_000) }, 'app'],
  [{ search: 'a', types: 'ORDER' }, 'types'],
  [{ search: 'a', types: Array.from({ length: 500 }, () => 'TOPUP').join() }, 'types'],
  [{ kind: 'selection-file', search: 'a' }, 'kind'],
  [{ ...march, timeZone: 'x'.repeat(61) }, 'timeZone'],
] as [Fields, string][])('%j is refused by name: %s', async (fields, name) => {
  const { status, body } = await order(fields)
  expect([status, Object.keys(body['fields'] as object)]).toEqual([400, [name]])
})
