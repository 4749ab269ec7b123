import { receiptCodeOf } from '../ledger/receipt-code.ts'
import { afterAll, beforeAll, expect, setDefaultTimeout, test } from 'bun:test'
import { postForApp } from '../actions/money/post.ts'
import { formatMinor } from '../ledger/money.ts'
import type { App } from '../store/apps.ts'
import { newOperator, type TestOperator } from '../../test/operator.ts'
import { parseCsv } from '../../test/parse-csv.ts'
import { newApp, newUser, openTestService, type TestService, type TestUser } from '../../test/service.ts'
import { beginDayThatStays } from '../../test/time.ts'

let rig: TestService
let admin: TestOperator
let app: App
let user: TestUser
let month: string

setDefaultTimeout(180_000)

beforeAll(async () => {
  await beginDayThatStays()
  month = new Date().toISOString().slice(0, 7)
  rig = await openTestService()
  admin = await newOperator(rig)
  const credentials = await newApp(rig.service, { name: 'Shop' })
  app = (await rig.service.apps.find(credentials.clientId))!
  user = await newUser(rig.service, credentials)
  await post('credit', 100_00n, 'first', 'Welcome, "friend"')
  for (let i = 0; i < 1_100; i++) void post('debit', BigInt(1 + (i % 3)), `many-${i}`, null)
  await post('debit', 12_34n, 'last', '=HYPERLINK("http://evil.example")')
})
afterAll(() => rig.close())

async function post(
  direction: 'debit' | 'credit',
  amountMinor: bigint,
  referenceId: string,
  description: string | null,
) {
  const posting = {
    direction,
    serviceUserId: user.serviceUserId,
    amountMinor,
    referenceType: '@TYPE',
    referenceId,
    description,
  }
  return await postForApp(rig.service, app, posting)
}

test('a statement is the ledger, with what the month opened and closed with', async () => {
  const response = await admin.get(`/admin/wallets/${user.userId}/statement?month=${month}`)
  expect(response.headers.get('content-type')).toStartWith('text/csv')
  expect(response.headers.get('content-disposition')).toBe(
    `attachment; filename="statement-${user.userId}-${month}.csv"`,
  )
  const [head, opening, ...rest] = parseCsv(await response.text())
  const closing = rest.pop()!
  const { rows } = await rig.service.db.pool.query<{
    sequence: bigint
    amount: bigint
    balance_after: bigint
    reference_id: string
  }>('select sequence, amount, balance_after, reference_id from transfers where wallet_id = $1 order by sequence', [
    user.userId,
  ])
  const { currency } = rig.service.config
  const column = (name: string) => head!.indexOf(name)
  expect(
    rest.map((row) => [
      row[column('sequence')],
      row[column('type')],
      row[column('amount')],
      row[column('balanceAfter')],
      row[column('referenceId')],
    ]),
  ).toEqual(
    rows.map(({ sequence, amount, balance_after, reference_id }) => [
      String(sequence),
      amount < 0n ? 'DEBIT' : 'CREDIT',
      formatMinor(amount < 0n ? -amount : amount, currency),
      formatMinor(balance_after, currency),
      reference_id,
    ]),
  )
  expect(rest).toHaveLength(1_102)
  expect([opening![column('type')], opening![column('balanceAfter')]]).toEqual(['OPENING', '0.00'])
  expect([closing[column('type')], closing[column('balanceAfter')]]).toEqual([
    'CLOSING',
    formatMinor(rows.at(-1)!.balance_after, currency),
  ])
  expect(opening![column('description')]).toBe('entries 1 to 1102')
  expect(rest.at(-1)![column('description')]).toBe(`'=HYPERLINK("http://evil.example")`)
  expect(rest[0]![column('referenceType')]).toBe("'@TYPE")
})

test('a month without entries opens and closes with the same balance', async () => {
  const earlier = parseCsv(await (await admin.get(`/admin/wallets/${user.userId}/statement?month=2025-01`)).text())
  expect(earlier.slice(1).map((row) => [row[2], row[4]])).toEqual([
    ['OPENING', '0.00'],
    ['CLOSING', '0.00'],
  ])
  const future = parseCsv(await (await admin.get(`/admin/wallets/${user.userId}/statement?month=2090-01`)).text())
  expect(future[1]![4]).toBe(future[2]![4])
  expect(future).toHaveLength(3)
})

test('the settlement’s positions add up to the other side of the wallets', async () => {
  const response = await admin.get(`/admin/books/settlement.csv?month=${month}&account=app:${app.clientId}`)
  const rows = parseCsv(await response.text())
  expect(rows[1]!.slice(0, 2)).toEqual([`app:${app.clientId}`, 'opening'])
  const { rows: wallet } = await rig.service.db.pool.query<{ balance: bigint }>(
    'select balance from wallets where id = $1',
    [user.userId],
  )
  expect(rows.at(-1)![6]).toBe(formatMinor(-wallet[0]!.balance, rig.service.config.currency))
})

test('the audit log as a file holds every record, and what an attacker put in stays text', async () => {
  await admin.post(`/admin/wallets/${user.userId}/freeze`, { reason: '=cmd|calc' })
  await admin.post(`/admin/wallets/${user.userId}/unfreeze`, { reason: 'it was nothing' })
  const rows = parseCsv(await (await admin.get('/admin/audit.csv?action=wallet.frozen')).text())
  expect(rows).toHaveLength(2)
  expect(JSON.parse(rows[1]![5]!)).toEqual({ reason: '=cmd|calc', byRole: 'admin' })
  const all = parseCsv(await (await admin.get('/admin/audit.csv')).text())
  expect(all.some((row) => row[2] === 'audit.exported')).toBe(true)
})

test('the inspector shows the first use, and what each repeat asked differently', async () => {
  const other = await newUser(rig.service, app)
  await post('debit', 12_34n, 'last', null)
  await post('debit', 99n, 'last', null)
  await post('credit', 12_34n, 'last', null)
  await postForApp(rig.service, app, {
    direction: 'debit',
    serviceUserId: other.serviceUserId,
    amountMinor: 12_34n,
    referenceType: '@TYPE',
    referenceId: 'last',
    description: null,
  })
  await rig.service.repeats.close()
  const html = await (await admin.get(`/admin/references?app=${app.clientId}&type=%40TYPE&id=last`)).text()
  const text = html.replace(/<[^>]+>/g, ' ').replace(/\s+/g, ' ')
  expect(text).toContain('posted')
  expect(text).toContain('entry 1102')
  for (const found of ['nothing: an exact repeat', 'amount', 'direction', 'user']) expect(text).toContain(found)
  const never = await (await admin.get('/admin/references?type=%40TYPE&id=never')).text()
  expect(never).toContain('Never used')
})

test('the inspector finds a transaction by the code on its receipt, however it is written', async () => {
  const { rows } = await rig.service.db.pool.query<{ reference_key: string }>(
    'select reference_key from transfers where wallet_id = $1 and sequence = 1',
    [user.userId],
  )
  const code = receiptCodeOf(rows[0]!.reference_key.replaceAll('-', ''))
  for (const written of [code, ` ${code.toLowerCase().replaceAll('-', ' ')}`]) {
    const html = await (await admin.get(`/admin/references?code=${encodeURIComponent(written)}`)).text()
    for (const found of ['entry 1,', code, `/admin/wallets/${user.userId}`]) expect(html).toContain(found)
  }
  const wrong = code.slice(0, -1) + (code.endsWith('0') ? '1' : '0')
  const none = receiptCodeOf('0'.repeat(32))
  expect(await (await admin.get(`/admin/references?code=${wrong}`)).text()).toContain('Not a receipt code')
  expect(await (await admin.get(`/admin/references?code=${none}`)).text()).toContain('No such receipt')
})

test('a bonus shows the balance before and after, is granted once however often its form is sent, and is audited', async () => {
  const path = `/admin/wallets/${user.userId}/bonus`
  const { rows } = await rig.service.db.pool.query<{ balance: bigint }>('select balance from wallets where id = $1', [
    user.userId,
  ])
  const { currency } = rig.service.config
  const html = await (await admin.post(path, { amount: '7.50', bonusReason: 'Sorry' })).text()
  for (const minor of [rows[0]!.balance, rows[0]!.balance + 750n]) expect(html).toContain(formatMinor(minor, currency))
  const referenceId = /name="referenceId" value="([^"]+)"/.exec(html)![1]!
  const fields = { amount: '7.50', bonusReason: 'Sorry', referenceId }
  for (let i = 0; i < 3; i++) expect((await admin.post(`${path}/grant`, fields)).status).toBe(303)
  const after = await rig.service.db.pool.query<{ balance: bigint }>('select balance from wallets where id = $1', [
    user.userId,
  ])
  expect(after.rows[0]!.balance).toBe(rows[0]!.balance + 750n)
  const audited = await rig.service.db.pool.query(`select detail from audit where action = 'wallet.bonus-granted'`)
  expect(audited.rows).toEqual([{ detail: { amountMinor: '750', referenceId, reason: 'Sorry', byRole: 'admin' } }])
  const page = await (await admin.get('/admin/audit?action=wallet.bonus-granted')).text()
  expect(page).toContain('>amount</span> $7.50')
  expect(page).not.toContain('amountMinor')
  expect(page).toContain('No operator can change a record in Billfold; a superuser of the database can.')
  for (const amount of ['0', '-1', '1e3', '0.001', 'abc', '9999999999'])
    expect((await admin.post(path, { amount, bonusReason: 'x' })).status).toBe(422)
})

test('a form that shows a secret works once: sent again it makes no second app and no second secret', async () => {
  const form = crypto.randomUUID()
  const fields = { name: 'Once', allowedOrigins: '', allowedIframeParents: '', scopes: ['wallet:read'], form }
  expect((await admin.post('/admin/client-apps', fields)).status).toBe(200)
  expect((await admin.post('/admin/client-apps', fields)).status).toBe(409)
  const { rows } = await rig.service.db.pool.query(`select 1 from apps where name = 'Once'`)
  expect(rows).toHaveLength(1)
})

test('a ledger filter finds an old entry behind many that do not match', async () => {
  const html = await (await admin.get(`/admin/wallets/${user.userId}?direction=credit&ref=first`)).text()
  expect(html).toContain('title="@TYPE"')
  expect(html).toContain('data-copy="first"')
  expect(html).not.toContain('many-5')
})
