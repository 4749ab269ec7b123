/** The pages that show holds to operators. */
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, setDefaultTimeout, test } from 'bun:test'
import { beginPatiently } from '../../../test/lock-waits.ts'
import { getHoldLevels, listHoldsByKey, type HoldCursor } from '../../store/books/hold-lists.ts'
import { newClient, type Client } from '../../../test/client.ts'
import { holdClient, holdOf, letHoldsAge } from '../../../test/holds.ts'
import { parseCsv } from '../../../test/parse-csv.ts'
import { newOperator, type TestOperator } from '../../../test/operator.ts'
import { newApp, newUser, openTestService, type TestService, type TestUser } from '../../../test/service.ts'

setDefaultTimeout(60_000)

let opened: TestService
let finance: TestOperator
let viewer: TestOperator
let client: Client
let holds: ReturnType<typeof holdClient>
let user: TestUser
let id: string
let order: string
let count = 0

beforeAll(async () => {
  opened = await openTestService()
  finance = await newOperator(opened, 'finance')
  viewer = await newOperator(opened, 'viewer')
  const credentials = await newApp(opened.service, { name: 'The shop' })
  client = newClient(opened.app.fetch, credentials)
  holds = holdClient(client, credentials)
})
beforeEach(async () => {
  const { rows } = await opened.service.db.pool.query<{ client_id: string }>('select client_id from apps limit 1')
  user = await newUser(opened.service, { clientId: rows[0]!.client_id })
  await client.credit(user.serviceUserId, 100)
  order = `ORDER-${++count}`
  id = holdOf(await holds.place(user.serviceUserId, 60, { referenceId: order, description: 'Two chairs' })).id
})
afterAll(() => opened.close())

const html = async (path: string, by = finance) => {
  const response = await by.get(path)
  return response.status === 200 ? await response.text() : `status ${response.status}`
}
/** Text of the page without tags, so that amounts can be read in order. */
const words = async (path: string, by = finance) => asWords(await html(path, by))
const asWords = (page: string) =>
  page
    .replaceAll(/<(script|style)[\s\S]*?<\/\1>/g, '')
    .replaceAll(/<[^>]+>/g, ' ')
    .replaceAll(/\s+/g, ' ')
const wallet = () => `/admin/wallets/${user.userId}`
const press = (fields: Record<string, string>, by = finance) => by.post(`/admin/holds/${id}/void`, fields)

describe('the wallet page', () => {
  test('shows what is available, held and the balance, and each open hold', async () => {
    await holds.capture(id, { amount: 10, final: false, referenceType: 'PART', referenceId: `${id} 1` })
    const text = await words(wallet())
    expect(text).toMatch(/Available \$40\.00/)
    expect(text).toMatch(/Balance \$90\.00 Held \$50\.00/)
    expect(text).toMatch(new RegExp(`The shop ${order} open \\$60\\.00 \\$10\\.00 \\$50\\.00 \\d{4}-`))
    expect(await html(wallet())).toContain(`href="/admin/holds/${id}#void"`)
    expect(await html(wallet(), viewer)).not.toContain(`#void"`)
  })

  test('lists ended holds apart, and says when there is none', async () => {
    await holds.void(id)
    const text = await words(wallet())
    expect(text).toMatch(/Held nothing/)
    expect(text).toMatch(new RegExp(`No hold is open\\. Ended holds .*${order} voided \\$60\\.00 \\$0\\.00 \\$0\\.00`))
    const other = await newUser(opened.service, { clientId: (await opened.service.apps.list())[0]!.clientId })
    expect(await words(`/admin/wallets/${other.userId}`)).toContain('No app has ever held money of this wallet.')
  })

  test('links an entry to the hold that it captured, as the reference inspector does', async () => {
    await holds.capture(id)
    for (const path of [wallet(), `/admin/references?type=ORDER&id=${order}`])
      expect(await html(path)).toContain(`<a href="/admin/holds/${id}">captured from a hold</a>`)
  })
})

describe('the page of a hold', () => {
  test('shows its figures, and its steps with the entry of each capture', async () => {
    await holds.capture(id, { amount: 10, final: false, referenceType: 'PART', referenceId: `PART-${order}` })
    await holds.extend(id, 20 * 24 * 60 * 60)
    await holds.capture(id, { amount: 70, allowExtra: true })
    const text = await words(`/admin/holds/${id}`)
    expect(text).toMatch(/Remaining \$0\.00/)
    expect(text).toMatch(/Held \$60\.00 Captured \$80\.00 Of that, beyond what was held \$20\.00 Given back \$0\.00/)
    expect(text).toContain('Two chairs')
    expect(text).toMatch(
      new RegExp(
        `captured \\$70\\.00 ${order} #3 the app .*extended the app .*captured \\$10\\.00 PART-${order} #2 the app`,
      ),
    )
    expect(await html(`/admin/holds/${id}`)).toContain(`&amp;type=PART&amp;id=PART-${order}"`)
    // It has ended, so there is nothing to void.
    expect(text).not.toContain('Void the hold')
  })

  test('of an expired hold that nothing has closed says so', async () => {
    await letHoldsAge(opened, 8 * 24 * 60 * 60)
    const text = await words(`/admin/holds/${id}`)
    expect(text).toMatch(/Remaining \$0\.00 State expired not closed/)
    expect(text).toContain('is not closed yet')
    await letHoldsAge(opened, -8 * 24 * 60 * 60)
  })

  test.each(['hold_', `hold_${'0'.repeat(32)}`, 'x', `hold_${'G'.repeat(32)}`, '%00', "'--"])(
    'with the id %p does not exist',
    async (unknown) => {
      expect((await finance.get(`/admin/holds/${encodeURIComponent(unknown)}`)).status).toBe(404)
      expect((await finance.post(`/admin/holds/${encodeURIComponent(unknown)}/void`, { reason: 'x' })).status).toBe(404)
    },
  )
})

const form = () => ({ reason: 'as agreed', form: crypto.randomUUID() })

describe('the form that voids a hold', () => {
  test('voids it with a reason, which its page then shows with the operator’s name', async () => {
    const response = await press(form())
    expect([response.status, response.headers.get('location')]).toEqual([303, `/admin/holds/${id}?done=hold-voided`])
    const text = await words(`/admin/holds/${id}?done=hold-voided`)
    expect(text).toContain('The hold is voided')
    expect(text).toMatch(new RegExp(`voided \\$60\\.00 ${finance.name} as agreed`))
    expect(await words(wallet())).toMatch(/Available \$100\.00/)
    expect(await words(wallet())).toContain('hold.void-ordered')
  })

  test.each([{}, { reason: '' }, { reason: '  ' }, { reason: 'x'.repeat(501) }, { reason: 'a\nb' }, { reason: '\0' }])(
    'refuses %p, and says what is wrong at the field',
    async (fields) => {
      const response = await press({ ...form(), reason: '', ...fields })
      expect(response.status).toBe(422)
      expect(await response.text()).toMatch(/id="field-reason-problem"/)
      expect(holdOf(await holds.read(id)).status).toBe('OPEN')
    },
  )

  test.each([{ form: '' }, { form: 'x' }])('refuses %p', async (fields) => {
    expect((await press({ ...form(), ...fields })).status).toBe(422)
    expect(holdOf(await holds.read(id)).status).toBe('OPEN')
  })

  test('does nothing to a hold that has ended, and says so', async () => {
    await holds.capture(id)
    const response = await press(form())
    expect([response.status, await response.text()]).toEqual([409, expect.stringContaining('already ended')])
  })

  test('takes the longest reason, and shows it as text', async () => {
    const reason = '<b>🙂</b>'.padEnd(500, 'x')
    expect((await press({ ...form(), reason })).status).toBe(303)
    expect(await html(`/admin/holds/${id}`)).toContain('&lt;b>🙂&lt;/b>xxx')
  })

  test('is answered with 503 while the wallet’s row is locked, and does its work when it is sent again', async () => {
    const other = await opened.service.db.pool.connect()
    const order = form()
    await beginPatiently(other)
    await other.query('select from wallets where id = $1 for update', [user.userId])
    try {
      const response = await press(order)
      expect([response.status, await response.text()]).toEqual([503, expect.stringContaining('Try again shortly')])
    } finally {
      await other.query('rollback')
      other.release()
    }
    expect((await press(order)).status).toBe(303)
    expect(holdOf(await holds.read(id)).status).toBe('VOIDED')
  })

  test('is not for a viewer', async () => {
    expect((await press(form(), viewer)).status).toBe(403)
    expect(await html(`/admin/holds/${id}`, viewer)).not.toContain('Void the hold')
    expect(holdOf(await holds.read(id)).status).toBe('OPEN')
  })
})

test('a wallet that a charge-back left with less than is held says why it is frozen', async () => {
  await opened.service.db.pool.query(`update wallets set frozen_for = 'debt' where id = $1`, [user.userId])
  expect(await words(wallet())).toContain('because the balance is less than what is held')
  await opened.service.db.pool.query(`update wallets set frozen_for = null where id = $1`, [user.userId])
})

const idsOn = async (path: string) => (await html(path)).match(/hold_[0-9a-f]{32}(?="(?! class="button))/g)
const newest = (changes: object = {}) => holds.place(user.serviceUserId, 0.5, changes)
const shown = (at: string) => at.slice(0, 19).replace('T', ' ')

describe('the list of holds', () => {
  test('shows the open holds of all wallets, the first to end first, and pages through them', async () => {
    const placed: string[] = []
    for (let i = 0; i < 55; i++) placed.push(holdOf(await newest({ expiresIn: 3_600 + i })).id)
    const first = await html('/admin/holds')
    const seen = [...first.matchAll(/href="\/admin\/holds\/(hold_[0-9a-f]{32})" title/g)].map(([, each]) => each!)
    expect(seen).toEqual(placed.slice(0, 50))
    const next = /href="(\/admin\/holds\?after=[^"]+)" rel="next"/.exec(first)![1]!.replaceAll('&amp;', '&')
    const second = await html(next)
    for (const each of placed.slice(50)) expect(second).toContain(each)
    expect(second).not.toContain(placed[49]!)
    for (const each of placed) await holds.void(each)
    expect(await idsOn('/admin/holds')).not.toContain(placed[0]!)
  })

  test('of an app without open holds, and of late ones, says that there is none', async () => {
    const other = await newApp(opened.service, { name: 'Another' })
    expect(await words(`/admin/holds?app=${other.clientId}`)).toContain('The app has reserved nothing')
    expect(await words('/admin/holds?state=late')).toContain('Every hold that expired was closed in time.')
  })

  test('of a user shows open and ended ones', async () => {
    const other = holdOf(await newest()).id
    await holds.void(other)
    const text = await html(`/admin/holds?user=${user.userId}`)
    expect(text.indexOf(id)).toBeGreaterThan(0)
    expect(text.indexOf(other)).toBeGreaterThan(text.indexOf(id))
  })

  test.each([
    'after=x',
    'after=2026_x',
    `after=x_${'0'.repeat(32)}`,
    'user=x',
    'state=x',
    'app=x',
    "app='--",
    'user=%00',
  ])('with ?%s is a page', async (query) => expect((await finance.get(`/admin/holds?${query}`)).status).toBe(200))

  test('names those that are late in red, and the overview leads to them', async () => {
    expect(await html('/admin/overview')).not.toContain('/admin/holds?state=late')
    await letHoldsAge(opened, 7 * 24 * 60 * 60 + 60)
    expect(await html('/admin/holds?state=late')).not.toContain(id)
    await letHoldsAge(opened, 600)
    expect(await html('/admin/holds?state=late')).toContain(id)
    expect(await html('/admin/overview')).toMatch(
      /state=late">Holds that expired and are not closed<\/a><span class="badge bad">/,
    )
    await letHoldsAge(opened, -7 * 24 * 60 * 60 - 660)
  })

  test('as CSV has every hold with its figures, and its texts are no formulas', async () => {
    await newest({ referenceId: '=1+1', description: 'a "b", c' })
    await holds.capture(id, { amount: 25 })
    const rows = parseCsv(await html(`/admin/holds.csv?user=${user.userId}`))
    expect(rows[0]!.slice(0, 8)).toEqual([
      'id',
      'status',
      'amount',
      'captured',
      'remaining',
      'currency',
      'referenceType',
      'referenceId',
    ])
    const byId = Object.fromEntries(rows.slice(1).map((row) => [row[0]!, row]))
    expect(byId[id]!.slice(1, 9)).toEqual(['CAPTURED', '60.00', '25.00', '0.00', 'USD', 'ORDER', order, 'Two chairs'])
    expect(
      rows
        .slice(1)
        .find((row) => row[7] === "'=1+1")!
        .slice(1, 5),
    ).toEqual(['OPEN', '0.50', '0.00', '0.50'])
    expect(rows).toHaveLength(3)
    const all = parseCsv(await html('/admin/holds.csv'))
    const { rows: counted } = await opened.service.db.pool.query<{ count: number }>(
      'select count(*)::int as count from holds',
    )
    expect(all).toHaveLength(counted[0]!.count + 1)
    const { rows: audited } = await opened.service.db.pool.query(`select from audit where action = 'holds.exported'`)
    expect(audited).toHaveLength(2)
  })
})

const idsOf = ({ holds: listed }: Awaited<ReturnType<typeof listHoldsByKey>>) =>
  listed.map(({ hold }) => `hold_${hold.id}`)

test('a hold that is closed between two pages of an export is exported once', async () => {
  const credentials = await newApp(opened.service)
  const shop = newClient(opened.app.fetch, credentials)
  const { serviceUserId, userId: walletId } = await newUser(opened.service, credentials)
  await shop.credit(serviceUserId, 100)
  const calls = holdClient(shop, credentials)
  const placed = await Promise.all(
    [1, 2, 3, 4, 5].map(async (amount) => holdOf(await calls.place(serviceUserId, amount))),
  )
  const exported: string[] = []
  const read = (after?: HoldCursor) =>
    listHoldsByKey(opened.service.db.pool, { clientId: undefined, walletId }, { after, limit: 2 })
  const first = await read()
  // One that was exported, and one that was not.
  await calls.void(idsOf(first)[0]!)
  await calls.void(placed.map(({ id: each }) => each).find((each) => !idsOf(first).includes(each))!)
  for (
    let page: Awaited<ReturnType<typeof read>> | undefined = first;
    page;
    page = page.next && (await read(page.next))
  )
    exported.push(...idsOf(page))
  expect(exported.toSorted()).toEqual(placed.map(({ id: each }) => each).toSorted())
})

test('the page of an app counts its open holds, sums them and names the oldest', async () => {
  const credentials = await newApp(opened.service, { name: 'The hotel' })
  const path = `/admin/client-apps/${credentials.clientId}`
  expect(await words(path)).toContain('The app has reserved nothing that is still open.')
  const guest = await newUser(opened.service, credentials)
  const hotel = newClient(opened.app.fetch, credentials)
  await hotel.credit(guest.serviceUserId, 100)
  const rooms = holdClient(hotel, credentials)
  const oldest = holdOf(await rooms.place(guest.serviceUserId, 30))
  await rooms.place(guest.serviceUserId, 12.5, { expiresIn: 60 })
  expect(await words(path)).toMatch(
    new RegExp(`Holds 2 Held \\$42\\.50 Oldest ${shown(oldest.createdAt)} UTC First to expire`),
  )
})

describe('the search', () => {
  test('finds a hold by its id', async () => {
    const response = await finance.get(`/admin/search?q=${id}`)
    expect(response.headers.get('location')).toBe(`/admin/holds/${id}`)
  })

  test('finds a hold by its reference, and its capture beside it', async () => {
    await opened.service.referenceTypes.close()
    expect((await finance.get(`/admin/search?q=${order}`)).headers.get('location')).toBe(`/admin/holds/${id}`)
    await holds.capture(id)
    const page = await html(`/admin/search?q=${order}`)
    expect(page).toContain(`/admin/holds/${id}`)
    expect(page).toContain(`/admin/references?app=`)
  })
})

const setWallet = (frozenFor: string | null, balanceMinor: number) =>
  opened.service.db.pool.query('update wallets set frozen_for = $2, balance = $3 where id = $1', [
    user.userId,
    frozenFor,
    balanceMinor,
  ])

describe('a wallet with less than is held', () => {
  beforeEach(() => setWallet('debt', 50_00))
  afterEach(() => setWallet(null, 100_00))

  test('is in debt on the overview, and in the list and file of wallets in debt, with what is available', async () => {
    expect(await words('/admin/overview')).toMatch(/Wallets in debt −?-?\$10\.00 1 /)
    expect(await html('/admin/wallets?state=debt')).toContain(wallet())
    expect(await words('/admin/wallets?state=debt')).toMatch(/1 wallet .*\$50\.00 −\$10\.00 available frozen for debt/)
    const [head, row] = parseCsv(await html('/admin/wallets.csv?state=debt'))
    expect([row![head!.indexOf('balance')], row![head!.indexOf('available')]]).toEqual(['50.00', '-10.00'])
  })

  test('is not unfrozen by an operator, who reads what is missing', async () => {
    const support = await newOperator(opened, 'support')
    expect(await words(wallet(), support)).toContain(
      'unfrozen automatically when its available balance is back to zero',
    )
    await setWallet('operator', 50_00)
    expect(await words(wallet(), support)).toContain('Unfreeze the wallet')
    const answer = await support.post(`${wallet()}/unfreeze`, { reason: 'x' })
    expect(await words(answer.headers.get('location')!)).toContain('but the available balance is below zero')
  })
})

test('a wallet in the list shows what is available only beside a hold', async () => {
  expect(await words(`/admin/wallets?q=${user.userId}@`)).toMatch(/\$100\.00 \$40\.00 available/)
  await holds.void(id)
  expect(await words(`/admin/wallets?q=${user.userId}@`)).not.toContain('available')
})

const after = async (response: Promise<Response>) => asWords(await (await response).text())
const askDebit = (amount: string) =>
  after(finance.post(`${wallet()}/correct`, { amount, direction: 'debit', account: 'adjustments', reason: 'x' }))

describe('before money moves', () => {
  test('a bonus and a correction show the balance and what is available, now and after', async () => {
    const sides =
      /Balance now \$100\.00 → Balance after \$(\d+)\.00 Available now \$40\.00 → Available after \$(\d+)\.00/
    const bonus = await after(finance.post(`${wallet()}/bonus`, { amount: '5', bonusReason: 'x' }))
    expect(sides.exec(bonus)?.slice(1)).toEqual(['105', '45'])
    const correction = { amount: '40', direction: 'debit', account: 'adjustments', reason: 'x' }
    const taken = await after(finance.post(`${wallet()}/correct`, correction))
    expect(sides.exec(taken)?.slice(1)).toEqual(['60', '0'])
    expect(await words(`${wallet()}/correct`)).toContain('The balance is $100.00 , and apps hold $60.00 of it.')
    await holds.void(id)
    expect(await after(finance.post(`${wallet()}/correct`, correction))).not.toContain('Available now')
  })

  test('a correction that takes held money is refused on its form, and says why', async () => {
    expect(await askDebit('40.01')).toMatch(/apps hold a part of that: less is available/i)
    expect(await askDebit('100.01')).toMatch(/the wallet does not have that much/i)
  })
})

test('the gauges count open holds, sum what is left of them, and say how late the first expired one is', async () => {
  const { pool } = opened.service.db
  const { rows } = await pool.query<{ open: number; held: bigint }>(
    `select count(*)::int as open, sum(amount - captured - released)::bigint as held from holds where closed_at is null`,
  )
  const before = await getHoldLevels(pool)
  expect([before.open, before.heldMinor, before.lateSeconds]).toEqual([rows[0]!.open, rows[0]!.held, 0])
  await holds.capture(id, { amount: 10, final: false, referenceType: 'PART', referenceId: `${id} gauge` })
  expect((await getHoldLevels(pool)).heldMinor).toBe(before.heldMinor - 10_00n)
  await letHoldsAge(opened, 7 * 24 * 60 * 60 + 600)
  const late = await getHoldLevels(pool)
  expect(late.open).toBe(0)
  expect(late.lateSeconds).toBeGreaterThan(590)
  await letHoldsAge(opened, -7 * 24 * 60 * 60 - 600)
})
