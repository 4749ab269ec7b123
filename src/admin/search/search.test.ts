import { afterAll, beforeAll, describe, expect, setDefaultTimeout, test } from 'bun:test'
import { parseAmountOnDay } from '../../actions/search/search-text.ts'
import { parseCurrency } from '../../ledger/money.ts'
import { receiptCodeOf } from '../../ledger/receipt-code.ts'
import { newClient } from '../../../test/client.ts'
import { newOperator, type TestOperator } from '../../../test/operator.ts'
import { newApp, newUser, type Credentials } from '../../../test/service.ts'
import { beginDayThatStays } from '../../../test/time.ts'
import { openBench, type Bench, type Payer } from '../../../test/topup/rig.ts'

let bench: Bench
let viewer: TestOperator
let payer: Payer
let payment: string
let topupId: string
let shop: Credentials
let other: Credentials
let debit: string
let today: string

setDefaultTimeout(180_000)

beforeAll(async () => {
  await beginDayThatStays()
  today = new Date().toISOString().slice(0, 10)
  bench = await openBench({}, 20_000)
  const { service, app } = bench
  viewer = await newOperator(bench.opened, 'viewer')
  payer = await bench.newPayer()
  payment = await payer.begin(25)
  bench.standIn.state.pay(payment)
  await payer.confirm(payment)
  topupId = (await bench.topup(payment)).id
  shop = await newApp(service, { name: 'Fernweh Books' })
  other = await newApp(service, { name: 'Another one' })
  const client = newClient(app.fetch, shop)
  const reader = await newUser(service, shop)
  await client.credit(reader.serviceUserId, 100)
  const { body } = await client.post('/api/server/wallet/debit', {
    ...shop,
    serviceUserId: reader.serviceUserId,
    amount: 19.99,
    referenceType: 'ORDER_PAYMENT',
    referenceId: 'order-1042',
  })
  debit = String(body['transactionId'])
  const stranger = newClient(app.fetch, other)
  const poor = await newUser(service, other)
  await stranger.post('/api/server/wallet/debit', {
    ...other,
    serviceUserId: poor.serviceUserId,
    amount: 7,
    referenceType: 'TRIP',
    referenceId: 'refused-1',
  })
  // Reference types are recorded in the background.
  await service.referenceTypes.close()
})
afterAll(async () => await bench.close())

const find = (q: string) => viewer.get(`/admin/search?q=${encodeURIComponent(q)}`)
const placeOf = async (q: string) => decodeURIComponent((await find(q)).headers.get('location') ?? '')
const pageOf = async (q: string) => await (await find(q)).text()

describe('a text that is exactly one thing leads to its page:', () => {
  test('an email, in any case, a user id and a serviceUserId to the wallet', async () => {
    const page = `/admin/wallets/${payer.userId}`
    for (const q of [
      `${payer.userId}@EXAMPLE.com`,
      payer.userId.toUpperCase(),
      payer.serviceUserId,
      ` ${payer.userId} `,
    ])
      expect(await placeOf(q)).toBe(page)
  })

  test('a transaction id, a receipt’s code and a reference id alone to the reference', async () => {
    const page = `/admin/references?app=${shop.clientId}&type=ORDER_PAYMENT&id=order-1042`
    const code = receiptCodeOf(debit.slice('txn_'.length))
    for (const q of [debit, code, code.toLowerCase().replaceAll('-', ' '), 'order-1042'])
      expect(await placeOf(q)).toBe(page)
    expect(await (await viewer.get(page)).text()).toContain(debit)
  })

  test('the reference of a debit that was refused, also', async () => {
    expect(await placeOf('refused-1')).toBe(`/admin/references?app=${other.clientId}&type=TRIP&id=refused-1`)
  })

  test('a payment and the id of a top-up to the top-up', async () => {
    for (const q of [payment, topupId]) expect(await placeOf(q)).toBe(`/admin/topups/${topupId}`)
  })

  test('a clientId to the app', async () => {
    expect(await placeOf(shop.clientId)).toBe(`/admin/client-apps/${shop.clientId}`)
  })
})

test('a reference id that two apps use shows both, and the inspector shows them without a type', async () => {
  const user = await newUser(bench.service, other)
  await newClient(bench.app.fetch, other).post('/api/server/wallet/credit', {
    ...other,
    serviceUserId: user.serviceUserId,
    amount: 3,
    referenceType: 'GIFT',
    referenceId: 'order-1042',
  })
  await bench.service.referenceTypes.close()
  const html = await pageOf('order-1042')
  for (const text of ['ORDER_PAYMENT · order-1042', 'GIFT · order-1042', 'Fernweh Books', 'Another one'])
    expect(html).toContain(text)
  const inspected = await (await viewer.get('/admin/references?id=order-1042')).text()
  expect(inspected).toContain('Fernweh Books')
  expect(inspected).toContain('Another one')
  const one = await (await viewer.get(`/admin/references?id=order-1042&app=${other.clientId}`)).text()
  expect(one).not.toContain(debit)
})

test('a name shows everyone who has it, and part of an app’s name the app', async () => {
  expect(await pageOf('lovelace')).toContain(`/admin/wallets/${payer.userId}`)
  expect(await pageOf('ada love')).toContain(`/admin/wallets/${payer.userId}`)
  expect(await pageOf('weh b')).toContain(`/admin/client-apps/${shop.clientId}`)
})

describe('an amount on a day', () => {
  test('finds the debits and credits of that amount, of that day alone', async () => {
    for (const q of [`19.99 ${today}`, `${today} $19.99`, '-19.99 today', 'usd 19.99 today'])
      expect(await pageOf(q)).toContain('ORDER_PAYMENT · order-1042')
    for (const q of [`+19.99 ${today}`, `19.99 yesterday`, '19.98 today', '19.99 2020-02-29']) {
      const html = await pageOf(q)
      expect(html).not.toContain('order-1042')
      expect(html).toContain('there were none')
    }
  })

  test('finds card top-ups, but not among debits', async () => {
    expect(await pageOf('25 today')).toContain(payment)
    expect(await pageOf('-25 today')).not.toContain(payment)
  })

  test('says so when a day has more than it shows', async () => {
    const user = await newUser(bench.service, shop)
    const client = newClient(bench.app.fetch, shop)
    await Promise.all(Array.from({ length: 30 }, () => client.credit(user.serviceUserId, 0.07)))
    expect(await pageOf('0.07 today')).toContain('more than 25')
  })
})

const usd = parseCurrency('USD')!
const yen = parseCurrency('JPY')!
const noon = new Date('2026-11-14T12:00:00Z')

test.each([
  ['19.99 2026-11-14', usd, '1999 2026-11-14'],
  ['2026-11-14   19.99', usd, '1999 2026-11-14'],
  ['€1,234,567.5 today', usd, '123456750 2026-11-14'],
  ['−3 yesterday', usd, '-300 2026-11-13'],
  ['-3 USD yesterday', usd, '-300 2026-11-13'],
  ['+$3 Today', usd, '+300 2026-11-14'],
  ['500 today', yen, '500 2026-11-14'],
  ['5.5 today', yen, undefined],
  ['19.999 today', usd, undefined],
  ['1,23 today', usd, undefined],
  ['0 today', usd, undefined],
  ['19.99', usd, undefined],
  ['today', usd, undefined],
  ['19.99 2026-02-31', usd, undefined],
  ['19.99 20 today', usd, undefined],
  ['19.99 today yesterday', usd, undefined],
  ['ada today', usd, undefined],
])('%j is an amount on a day: %#', (text, currency, expected) => {
  const asked = parseAmountOnDay(text, currency, noon)
  expect(asked && `${asked.sign}${asked.amountMinor} ${asked.day}`).toBe(expected)
})

test('a search without results explains what can be found and how', async () => {
  for (const q of ['', 'nobody-at-all', 'txn_0', 'su_none', crypto.randomUUID(), 'pi_none', '%', "'", '\\'])
    expect(await pageOf(q)).toContain('19.99 2026-11-14')
})

test('every page has the search field, but only for signed-in operators', async () => {
  for (const path of ['/admin', '/admin/wallets', '/admin/books', '/admin/nothing'])
    expect(await (await viewer.get(path)).text()).toContain('action="/admin/search"')
  viewer.cookies.clear()
  expect(await (await viewer.get('/admin/sign-in')).text()).not.toContain('/admin/search')
})
