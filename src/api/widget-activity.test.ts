import { afterAll, beforeAll, describe, expect, setDefaultTimeout, test } from 'bun:test'
import { newClient } from '../../test/client.ts'
import { deviceOf } from '../../test/devices.ts'
import { newPage, type Page } from '../../test/page.ts'
import { linkUser, newApp, newUser, openTestService, operator, type TestService } from '../../test/service.ts'
import { grantBonus } from '../actions/money/grant-bonus.ts'
import { appColor } from '../actions/apps/app-color.ts'
import { postForService } from '../actions/money/post.ts'
import { insertTopup, updateTopupPayment, type NewTopup } from '../store/topups.ts'
import { newId } from '../actions/tokens.ts'

setDefaultTimeout(180_000)

let opened: TestService
let page: Page
let bookshop: { clientId: string; clientSecret: string }
let cinema: { clientId: string; clientSecret: string }
let ada: { userId: string; serviceUserId: string }

const payment = 'pi_test_ada'

beforeAll(async () => {
  opened = await openTestService()
  page = newPage(opened.app.fetch)
  bookshop = await newApp(opened.service, { name: 'Fernweh Books', logoUrl: 'https://cdn.example/a.png' })
  cinema = await newApp(opened.service, { name: 'Kino 100%_Kosmos' })
  ada = await newUser(opened.service, bookshop)
  const atCinema = await linkUser(opened.service, cinema, ada.userId)
  await topup(ada.userId, payment)
  await grantBonus(opened.service, operator, {
    walletId: ada.userId,
    amountMinor: 500n,
    reason: 'Sorry',
    referenceId: newId(),
  })
  const books = newClient(opened.app.fetch, bookshop)
  const films = newClient(opened.app.fetch, cinema)
  const order = {
    ...bookshop,
    serviceUserId: ada.serviceUserId,
    amount: 3,
    referenceType: 'ORDER',
    referenceId: 'B-17',
  }
  await books.post('/api/server/wallet/debit', { ...order, description: 'Atlas of Remote Islands' })
  await films.post('/api/server/wallet/debit', { ...order, ...cinema, serviceUserId: atCinema, referenceId: 'K-1' })
  await books.post('/api/server/wallet/credit', { ...order, referenceType: 'TOPUP', referenceId: 'no card', amount: 1 })
})
afterAll(() => opened.close())

/** A credited card payment of which half was refunded later. */
async function topup(userId: string, paymentIntentId: string): Promise<void> {
  const { service } = opened
  const at = new Date()
  const id = newId()
  const row: NewTopup = {
    id,
    userId,
    clientId: bookshop.clientId,
    processor: 'sandbox',
    amountMinor: 2_000n,
    currency: 'USD',
    createdAt: at,
    expiresAt: at,
  }
  await insertTopup(service.db.pool, row)
  await updateTopupPayment(service.db.pool, id, paymentIntentId)
  await service.db.pool.query(
    `update topups set state = 'succeeded', credited = 2000, refunded = 1000, dispute = 'won' where id = $1`,
    [id],
  )
  const posting = { walletId: userId, counterAccount: 'cards' as const, amountMinor: 2_000n, referenceType: 'TOPUP' }
  await postForService(service, { ...posting, referenceId: paymentIntentId, description: 'Card top-up' })
}

async function newSession(user = ada): Promise<string> {
  const client = newClient(opened.app.fetch, bookshop)
  const { body } = await client.post('/api/widget/session', { ...bookshop, serviceUserId: user.serviceUserId })
  return String(body['sessionToken'])
}

type Shown = {
  readonly transactions: Record<string, unknown>[]
  readonly nextBefore: number | null
  readonly left: number
  readonly apps: { name: string }[]
  readonly firstAt: string | null
}

/** On a device of the user. */
async function readPage(path: string, { userId } = ada) {
  const { cookie } = await deviceOf(opened.service, { userId, clientId: bookshop.clientId })
  return await page.call('GET', path, undefined, { cookie })
}

async function readActivity(query: Record<string, string> = {}, user = ada): Promise<Shown> {
  const asked = new URLSearchParams({ session: await newSession(user), ...query })
  const { status, body } = await readPage(`/api/widget/activity?${asked}`, user)
  expect({ status, code: body['code'] }).toEqual({ status: 200, code: undefined })
  return body as Shown
}

type Sums = {
  readonly sources: { source: string; app: { name: string } | null; count: number; in: string; out: string }[]
  readonly searched: number
  readonly left: number
  readonly nextBefore: number | null
  readonly currency: string
}

async function readSums(query: Record<string, string> = {}, user = ada): Promise<Sums> {
  const asked = new URLSearchParams({ session: await newSession(user), ...query })
  const { status, body } = await readPage(`/api/widget/activity/sums?${asked}`, user)
  expect({ status, code: body['code'] }).toEqual({ status: 200, code: undefined })
  return body as Sums
}

/** Entries of the bookshop, numbered from 1, each with the given time, past every check of the writer. */
async function insertEntries(userId: string, entries: readonly { at: string; amountMinor: bigint }[]): Promise<void> {
  const { pool } = opened.service.db.longRunning
  await pool.query(
    `insert into transfers (wallet_id, sequence, amount, balance_after, reference_key, created_at, counter_account,
       reference_type, reference_id, description)
     select $1, n, amount, 0, gen_random_uuid(), at, 'app:' || $2::text, 'ORDER', 'n-' || n, null
     from unnest($3::timestamptz[], $4::bigint[]) with ordinality as e (at, amount, n)`,
    [userId, bookshop.clientId, entries.map(({ at }) => at), entries.map(({ amountMinor }) => amountMinor)],
  )
  await pool.query('update wallets set sequence = $2 where id = $1', [userId, entries.length])
}

const sequences = async (query: Record<string, string>) =>
  (await readActivity(query)).transactions.map(({ sequence }) => sequence)

describe('it works', () => {
  test('each entry has its app, its receipt code and the state of its card payment', async () => {
    const { transactions, apps, nextBefore, firstAt } = await readActivity()
    expect(transactions.map(({ sequence, app }) => [sequence, (app as { name: string } | null)?.name])).toEqual([
      [5, 'Fernweh Books'],
      [4, 'Kino 100%_Kosmos'],
      [3, 'Fernweh Books'],
      [2, undefined],
      [1, undefined],
    ])
    expect(transactions[2]!['app']).toMatchObject({
      clientId: bookshop.clientId,
      color: appColor({ ...bookshop, accentColor: null }),
      logo: expect.stringMatching(/^\/widget\/logo\/app_\w+\?v=[0-9a-f]{8}$/),
    })
    expect(transactions[4]!['card']).toEqual({ refunded: 10, disputed: 0, dispute: 'won' })
    // An app that calls its own entry TOPUP has no card payment.
    expect(transactions[0]!['card']).toBeUndefined()
    expect(new Set(transactions.map(({ receiptCode }) => receiptCode)).size).toBe(5)
    expect(apps.map(({ name }) => name).sort()).toEqual(['Fernweh Books', 'Kino 100%_Kosmos'])
    expect([nextBefore, firstAt]).toEqual([null, transactions[4]!['createdAt'] as string])
  })

  test('the wallet’s last ten have the same fields', async () => {
    const { body } = await readPage(`/api/widget/wallet?session=${await newSession()}`)
    expect(body['transactions']).toEqual((await readActivity()).transactions)
  })

  test.each([
    [{ direction: 'in' }, [5, 2, 1]],
    [{ direction: 'out' }, [4, 3]],
    [{ app: 'service' }, [2, 1]],
    [{ search: 'REMOTE isl' }, [3]],
    [{ search: 'b-17' }, [3]],
    [{ search: 'kosmos' }, [4]],
    [{ search: '100%_k' }, [4]],
    [{ search: '%' }, [4]],
    [{ search: '_' }, [4, 1]],
    [{ search: '\\' }, []],
    [{ search: "' or true --" }, []],
    [{ search: '  ' }, [5, 4, 3, 2, 1]],
    [{ search: 'Aufladung', types: 'TOPUP,BONUS' }, [2, 1]],
    [{ before: '3' }, [2, 1]],
    [{ before: '3', direction: 'out' }, []],
    [{ min: '3' }, [4, 3, 2, 1]],
    [{ min: '3.01' }, [2, 1]],
    [{ max: '3' }, [5, 4, 3]],
    [{ min: '1', max: '3', direction: 'in' }, [5]],
    [{ search: 'atlas', min: '4' }, []],
    [{ search: '3.00', amount: '3' }, [4, 3]],
    [{ search: 'kosmos', amount: '1' }, [5, 4]],
    // Without a search text there is nothing to add to.
    [{ amount: '3' }, [5, 4, 3, 2, 1]],
    [{ from: '2999-01-01T00:00:00.000Z' }, []],
    [{ until: '1970-01-01T00:00:00.000Z' }, []],
  ] as [Record<string, string>, number[]][])('%j finds %j', async (query, expected) => {
    expect(await sequences(query)).toEqual(expected)
  })

  test('a time range begins at its start and ends before its end, also with a text, an app and a page', async () => {
    const bo = await newUser(opened.service, bookshop)
    const days = [
      '2026-02-28T23:59:59.999Z',
      '2026-03-01T00:00:00.000Z',
      '2026-03-31T23:59:59.999Z',
      '2026-04-01T00:00:00.000Z',
    ]
    await insertEntries(
      bo.userId,
      days.map((at) => ({ at, amountMinor: -5n })),
    )
    const march = { from: '2026-03-01T00:00:00.000Z', until: '2026-04-01T00:00:00.000Z' }
    const found = async (query: Record<string, string>) =>
      (await readActivity(query, bo)).transactions.map(({ sequence }) => sequence)
    expect(await found(march)).toEqual([3, 2])
    expect(await found({ ...march, search: 'n-2' })).toEqual([2])
    expect(await found({ ...march, app: cinema.clientId })).toEqual([])
    expect(await found({ ...march, before: '3' })).toEqual([2])
    expect(await found({ from: march.until })).toEqual([4])
    expect(await found({ until: march.from })).toEqual([1])
  })

  test('sums say by app, card and service what came in and went out', async () => {
    const { sources, ...rest } = await readSums()
    const bySource = sources.map(({ source, app, ...sum }) => [app?.name ?? source, sum] as const)
    expect(Object.fromEntries(bySource)).toEqual({
      'Fernweh Books': { count: 2, out: '3.00', in: '1.00' },
      'Kino 100%_Kosmos': { count: 1, out: '3.00', in: '0.00' },
      card: { count: 1, out: '0.00', in: '20.00' },
      service: { count: 1, out: '0.00', in: '5.00' },
    })
    expect(rest).toEqual({ searched: 5, left: 0, nextBefore: null, currency: 'USD' })
  })

  test.each([
    [{ direction: 'in' }, ['0.00', '26.00']],
    [{ search: 'kosmos' }, ['3.00', '0.00']],
    [{ min: '4' }, ['0.00', '25.00']],
    [{ app: 'service' }, ['0.00', '25.00']],
    [{ search: 'nothing has this' }, ['0.00', '0.00']],
    [{ until: '1970-01-01T00:00:00.000Z' }, ['0.00', '0.00']],
    [{ before: '3' }, ['0.00', '25.00']],
  ] as [Record<string, string>, string[]][])('sums of %j are %j', async (query, expected) => {
    const { sources } = await readSums(query)
    const total = (side: 'in' | 'out') => sources.reduce((sum, each) => sum + Number(each[side]), 0).toFixed(2)
    expect([total('out'), total('in')]).toEqual(expected)
  })

  test('an app is found by its clientId, and an entry by its receipt code', async () => {
    expect(await sequences({ app: cinema.clientId })).toEqual([4])
    const { transactions } = await readActivity()
    const code = String(transactions[3]!['receiptCode'])
    expect(await sequences({ search: code })).toEqual([2])
    expect(await sequences({ search: code.replaceAll('-', ' ').toLowerCase() })).toEqual([2])
  })
})

describe('it is safe', () => {
  test('no query finds entries of another user', async () => {
    const grace = await newUser(opened.service, bookshop)
    const code = String((await readActivity()).transactions[0]!['receiptCode'])
    for (const query of [{}, { search: code }, { search: 'Atlas' }, { app: cinema.clientId }, { before: '4' }])
      expect(await readActivity(query as Record<string, string>, grace)).toEqual({
        transactions: [],
        nextBefore: null,
        left: 0,
        apps: [expect.objectContaining({ name: 'Fernweh Books' })] as never,
        firstAt: null,
        currency: 'USD',
      } as Shown)
  })

  test('the state of another user’s card payment is not shown, even if an entry names it', async () => {
    const grace = await newUser(opened.service, bookshop)
    await topup(grace.userId, 'pi_test_grace')
    const posting = { walletId: ada.userId, counterAccount: 'cards' as const, amountMinor: 1n, referenceType: 'TEST' }
    await postForService(opened.service, { ...posting, referenceId: 'pi_test_grace:2', description: 'x' })
    const [newest] = (await readActivity()).transactions
    expect([newest!['referenceId'], newest!['card']]).toEqual(['pi_test_grace:2', undefined])
  })

  test('a page scans at most 5,000 entries, and following the pages returns every entry once', async () => {
    const rich = await newUser(opened.service, bookshop)
    const { pool } = opened.service.db.longRunning
    await pool.query(
      `insert into transfers (wallet_id, sequence, amount, balance_after, reference_key, created_at, counter_account,
         reference_type, reference_id, description)
       select $1, n, 1, n, gen_random_uuid(), now(), 'app:' || $2::text, 'ORDER', n::text, case when n = 7 then 'needle' end
       from generate_series(1, 12000) n`,
      [rich.userId, bookshop.clientId],
    )
    await pool.query('update wallets set sequence = 12000, balance = 12000 where id = $1', [rich.userId])
    for (const query of [{ search: 'needle' }, { direction: 'out' }, { app: cinema.clientId }]) {
      const found: unknown[] = []
      const befores: (number | null)[] = []
      let before: number | null = null
      do {
        const answer = await readActivity({ ...query, ...(before && { before: String(before) }) }, rich)
        found.push(...answer.transactions.map(({ sequence }) => sequence))
        befores.push((before = answer.nextBefore))
      } while (before !== null)
      expect(befores).toEqual([7001, 2001, null])
      expect(found).toEqual('search' in query ? [7] : [])
    }
    const first = await readActivity({}, rich)
    expect([first.transactions.length, first.nextBefore, first.left]).toEqual([30, 11_971, 11_970])
  })

  test('a call adds up at most 10,000 entries, and following the calls adds up every entry once', async () => {
    const rich = await newUser(opened.service, bookshop)
    // The largest operation, so often that the sum has more digits than a JSON number keeps.
    const huge = 99_999_999_999n
    const at = new Date(0).toISOString()
    await insertEntries(
      rich.userId,
      Array.from({ length: 12_000 }, (_, n) => ({ at, amountMinor: n % 2 ? huge : -huge })),
    )
    const first = await readSums({}, rich)
    expect([first.searched, first.left, first.nextBefore]).toEqual([10_000, 2_000, 2_001])
    expect(first.sources).toMatchObject([{ count: 10_000, out: '4999999999950.00', in: '4999999999950.00' }])
    const last = await readSums({ before: '2001' }, rich)
    expect([last.searched, last.left, last.nextBefore]).toEqual([2_000, 0, null])
    expect(last.sources).toMatchObject([{ count: 2_000, out: '999999999990.00', in: '999999999990.00' }])
    const none = await readSums({ search: 'needle' }, rich)
    expect([none.sources, none.nextBefore]).toEqual([[], 2_001])
  })
})

const refusals: [field: string, query: Record<string, string>][] = [
  ['before', { before: '0' }],
  ['before', { before: '1e3' }],
  ['direction', { direction: 'both' }],
  ['app', { app: 'x'.repeat(129) }],
  ['search', { search: 'x'.repeat(101) }],
  ['search', { search: 'a\u0000b' }],
  ['types', { types: 'TOPUP,ORDER' }],
  ['types', { types: '' }],
  ['min', { min: '-1' }],
  ['min', { min: '1,50' }],
  ['min', { min: '9'.repeat(16) }],
  ['max', { max: '0.001' }],
  ['max', { max: '' }],
  ['max', { min: '5', max: '4.99' }],
  ['amount', { search: '1', amount: '1e2' }],
  ['from', { from: '2026-03-01' }],
  ['from', { from: '2026-02-30T00:00:00.000Z' }],
  ['from', { from: '0000-01-01T00:00:00.000Z' }],
  ['from', { from: '+275760-09-13T00:00:00.000Z' }],
  ['until', { until: 'yesterday' }],
  ['until', { from: '2026-03-01T00:00:00.000Z', until: '2026-03-01T00:00:00.000Z' }],
]

describe.each(['activity', 'activity/sums'])('%s', (path) => {
  test.each(refusals)('a wrong %s is refused by name: %j', async (name, query) => {
    const asked = new URLSearchParams({ session: await newSession(), ...query })
    const { status, body } = await readPage(`/api/widget/${path}?${asked}`)
    const code = name === 'amount' ? 'INVALID_AMOUNT' : 'INVALID_REQUEST'
    expect([status, body['code'], Object.keys(body['fields'] as object)]).toEqual([400, code, [name]])
  })
})
