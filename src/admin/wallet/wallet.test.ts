import { afterAll, beforeAll, expect, test } from 'bun:test'
import { transact } from '../../store/connection/database.ts'
import { addWork } from '../../store/work/work.ts'
import { lockUser, updateUserDeleted } from '../../store/people/users.ts'
import { newOperator, type TestOperator } from '../../../test/operator.ts'
import { mailsTo } from '../../../test/page.ts'
import { openBench, type Bench, type Payer } from '../../../test/topup/rig.ts'

let bench: Bench
let admin: TestOperator
let support: TestOperator
let payer: Payer
let payment: string
let page: string

beforeAll(async () => {
  bench = await openBench({}, 20_000)
  admin = await newOperator(bench.opened)
  support = await newOperator(bench.opened, 'support')
  payer = await bench.newPayer()
  payment = await payer.begin(25)
  bench.standIn.state.pay(payment)
  await payer.confirm(payment)
  page = `/admin/wallets/${payer.userId}`
})
afterAll(() => bench.close())

const text = async (response: Promise<Response>) => await (await response).text()
const write = (note: string, form: string = crypto.randomUUID(), id = payer.userId) =>
  support.post(`/admin/wallets/${id}/notes`, { note, form })
const records = async (action: string, id = payer.userId) =>
  (
    await bench.service.db.pool.query<{ actor: string; detail: Record<string, unknown> }>(
      'select actor, detail from audit where action = $1 and subject like $2 order by at',
      [action, `%:${id}`],
    )
  ).rows

test('the page shows user, balance, history and notes in this order, and the actions last', async () => {
  await support.post(`${page}/freeze`, { reason: 'Odd sign-ins' })
  await support.post(`${page}/unfreeze`, { reason: 'It was them' })
  const html = await text(admin.get(page))
  const order = [
    'User',
    'Ledger',
    'Card top-ups',
    'Linked apps',
    'Live widget sessions',
    'Emails',
    'Operator actions',
    'Notes',
  ]
  const places = [...order, 'Actions'].map((title) => html.indexOf(`<h2>${title}</h2>`))
  expect(places).toEqual(places.toSorted((a, b) => a - b))
  expect(places).not.toContain(-1)
  expect(html.slice(places[2], places[3])).toContain(payment)
  expect(html.slice(places[5], places[6])).toContain('topup')
  for (const shown of ['wallet.frozen', 'Odd sign-ins', 'It was them', support.name])
    expect(html.slice(places[6], places[7])).toContain(shown)
  // Closed until an operator opens it.
  expect(html.slice(places[8]).match(/<details class="action">/g)).toHaveLength(3)
})

test('operator actions do not include the user’s own', async () => {
  await bench.service.db.pool.query(
    `insert into audit (id, actor, action, subject) select gen_random_uuid(), $1, 'user.signed-in', $1 from generate_series(1, 20)`,
    [`user:${payer.userId}`],
  )
  const html = await text(admin.get(page))
  expect(html).not.toContain('user.signed-in')
  expect(html).toContain('wallet.unfrozen')
})

test('a note is saved once, however often its form is sent, with author and time, and its text is in no audit record', async () => {
  const form = crypto.randomUUID()
  for (let time = 0; time < 2; time++) expect((await write('Called twice,\n<b>angry</b>', form)).status).toBe(303)
  const html = await text(admin.get(page))
  expect(html.match(/Called twice,\n&lt;b>angry&lt;\/b>/g)).toHaveLength(2)
  expect(html.slice(html.indexOf('<h2>Notes</h2>'))).toContain(support.name)
  expect(await records('wallet.note-written')).toEqual([
    { actor: `operator:${support.id}`, detail: { note: form, byRole: 'support' } },
  ])
})

test('a form sends a mail again, once even if the form is sent twice; the audit log records its kind', async () => {
  const email = `${payer.userId}@example.com`
  const before = await mailsTo(email, bench.opened.logged, 1)
  const html = await text(support.get(page))
  const [, fact = ''] = /name="fact" value="(topup:[^"]+)"/.exec(html) ?? []
  const form = crypto.randomUUID()
  const again = (fields: Record<string, string>) => support.post(`${page}/mails`, { fact, form, ...fields })
  for (let time = 0; time < 2; time++) expect((await again({})).status).toBe(303)
  const after = await mailsTo(email, bench.opened.logged, before.length + 1)
  expect(after.map(({ subject }) => subject)).toEqual([...before, before[0]!].map(({ subject }) => subject))
  expect(await records('mail.sent-again')).toEqual([
    { actor: `operator:${support.id}`, detail: { kind: 'topup', byRole: 'support' } },
  ])
  expect((await again({ fact: 'topup:of-nobody', form: crypto.randomUUID() })).status).toBe(409)
  expect((await again({ form: 'once' })).status).toBe(422)
  // A mail that waits to be sent cannot be sent again.
  await addWork(bench.service.db.pool, { kind: 'send-mail', key: fact, afterMs: 3_600_000 })
  expect((await again({ form: crypto.randomUUID() })).status).toBe(409)
  expect(await text(support.get(page))).not.toContain('Send again')
})

test('a note cannot be changed', async () => {
  const change = bench.service.db.pool.query(`update notes set text = 'x'`).then(() => 'done', String)
  expect(await change).toContain('append-only')
})

test.each(['', '   ', 'x'.repeat(2_001)])('a note of %#: is refused where it is written', async (note) => {
  const response = await write(note)
  expect(response.status).toBe(422)
  expect(await response.text()).toContain('Enter at most 2,000 characters')
})

test('notes are deleted with the account, and the audit log records how many', async () => {
  const other = await bench.newPayer()
  await write('One', crypto.randomUUID(), other.userId)
  await write('Two', crypto.randomUUID(), other.userId)
  const gone = await transact(bench.service.db, async (tx) =>
    updateUserDeleted(tx, (await lockUser(tx, other.userId))!),
  )
  expect(gone).toBe(2)
  expect((await write('Three', crypto.randomUUID(), other.userId)).status).toBe(409)
  expect(await text(admin.get(`/admin/wallets/${other.userId}`))).toContain('Notes are deleted with the account')
})

test('a form with a mistake comes back open', async () => {
  const html = await text(admin.post(`${page}/bonus`, { amount: 'x', bonusReason: 'y' }))
  expect(html).toMatch(/<details class="action" open>\s*<summary>Grant a bonus/)
})

test.each([
  ['1,000', '$1,000.00'],
  ['USD 1,000.50', '$1,000.50'],
  ['20 €', 'Enter an amount in USD'],
  ['1.000', 'This has two meanings: enter 1000 for thousands'],
  ['1e3', 'Enter an amount above zero, at most 999999999.99'],
  ['0', 'Enter an amount above zero, at most 999999999.99'],
  ['9'.repeat(40), 'Enter an amount above zero, at most 999999999.99'],
])('a bonus typed as %p is answered with %p', async (amount, shown) => {
  expect(await text(admin.post(`${page}/bonus`, { amount, bonusReason: 'Sorry' }))).toContain(shown)
})

test('the forms say what the operator can still move alone, over all wallets, before they ask for approval', async () => {
  const finance = await newOperator(bench.opened, 'finance')
  const other = await bench.newPayer()
  const left = async (path: string) => /You can still move\s+<[^>]+>([^<]+)</.exec(await text(finance.get(path)))?.[1]
  const pages = [page, `${page}/correct`, `/admin/wallets/${other.userId}`]
  for (const path of pages) expect(await left(path)).toBe('$100.00')
  const grant = { amount: '60', bonusReason: 'Sorry', referenceId: crypto.randomUUID() }
  expect((await finance.post(`/admin/wallets/${other.userId}/bonus/grant`, grant)).status).toBe(303)
  for (const path of pages) expect(await left(path)).toBe('$40.00')
  const confirm = async (amount: string) => await text(finance.post(`${page}/bonus`, { amount, bonusReason: 'Sorry' }))
  expect(await confirm('40')).toContain('It is done at once.')
  expect(await confirm('40.01')).toContain('A second operator must approve it.')
})
