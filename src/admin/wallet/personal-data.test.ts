/** Requests of users by post: the export by an operator, and the deletion, which needs two operators. */
import { afterAll, beforeAll, beforeEach, describe, expect, setDefaultTimeout, test } from 'bun:test'
import { eventually } from '../../../test/eventually.ts'
import { mailsTo } from '../../../test/mailbox.ts'
import { newOperator, type TestOperator } from '../../../test/operator.ts'
import { letPass } from '../../../test/time.ts'
import { openBench, type Bench, type Payer } from '../../../test/topup/rig.ts'
import { freezeWallet, unfreezeWallet } from '../../actions/money/manage-wallets.ts'
import { exportData } from '../../actions/people/export-data.ts'
import { askDeletion, decideDeletion } from '../../actions/people/request-deletion.ts'
import { resolveTopup } from '../../actions/topups/resolve-topup.ts'
import { insertGrant } from '../../store/operator-access/operator-grants.ts'
import { transact } from '../../store/connection/database.ts'
import { findNewestDeletion } from '../../store/people/deletions.ts'
import { findUser, lockUser, updateUserDeleted } from '../../store/people/users.ts'
import { updateFreeze } from '../../store/wallets.ts'

setDefaultTimeout(180_000)

let bench: Bench
let ada: TestOperator
let bob: TestOperator
let user: Payer
let email: string

beforeAll(async () => {
  bench = await openBench({ SUPPORT_EMAIL: 'help@harbour.example', SERVICE_NAME: 'Harbour Pay' }, 20_000)
})
beforeEach(async () => {
  ada = await newOperator(bench.opened, 'support')
  bob = await newOperator(bench.opened, 'support')
  user = await bench.newPayer()
  email = `${user.userId}@example.com`
})
afterAll(() => bench.close())

const pool = () => bench.service.db.pool
const system = { name: 'test', address: null }
const wallet = () => `/admin/wallets/${user.userId}`
const page = async (by: TestOperator) =>
  (await (await by.get(wallet())).text()).replace(/<[^>]+>/g, ' ').replace(/\s+/g, ' ')
const seen = async (response: Promise<Response>) => (await (await response).text()).replace(/<[^>]+>/g, ' ')
const newest = async () => (await findNewestDeletion(pool(), user.userId))!
const isDeleted = async () => (await findUser(pool(), user.userId))!.email === null
const download = (by: TestOperator, dataReason = 'letter of 3 March') => by.post(`${wallet()}/data`, { dataReason })
const ask = (by: TestOperator, deletionReason = 'letter of 3 March') =>
  by.post(`${wallet()}/deletion`, { deletionReason })
const decide = async (by: TestOperator, what: string, fields: Record<string, string> = {}) =>
  await by.post(`${wallet()}/deletion/${what}`, { deletion: (await newest()).id, ...fields })
const approve = (by: TestOperator) => decide(by, 'approve')
const to = (response: Response) => response.headers.get('location') ?? ''

const audited = async (action: string) =>
  (
    await pool().query<{ actor: string; detail: Record<string, unknown> }>(
      'select actor, detail from audit where subject = $1 and action = $2 order by at',
      [`user:${user.userId}`, action],
    )
  ).rows

const subjects = async () => (await mailsTo(bench.service, email)).map((text) => /\nSubject: (.*)/.exec(text)![1]!)

const contentOf = (text: string) => {
  const { createdAt, history, ...rest } = JSON.parse(text) as Record<string, unknown>
  expect(typeof createdAt).toBe('string')
  return { rest, history: history as { action: string; by: string }[] }
}

const age = async (ms: number) => {
  await pool().query('alter table user_deletions disable trigger user')
  await letPass(pool(), ms, ['user_deletions'])
  await pool().query('alter table user_deletions enable trigger user')
}

const mayNot = async (text: string) => {
  expect(await seen(approve(bob))).toContain(text)
  expect(await isDeleted()).toBe(false)
  expect((await newest()).state).toBe('waiting')
  expect(await page(bob)).toContain(text)
  expect(await page(bob)).not.toContain('Approve: delete')
  expect(await page(ada)).toContain(text)
}

describe('the export by an operator', () => {
  test('holds what the user’s own holds and nothing more, is not stored, and is audited before the first byte', async () => {
    await user.client.credit(user.serviceUserId, 12.34)
    const id = await user.begin(25)
    bench.standIn.state.pay(id)
    await user.confirm(id)
    await freezeWallet(bench.service, system, user.userId, 'SECRET REASON')
    const chunks = (await exportData(bench.service, user.userId, { address: '10.0.0.1', userAgent: null }))!
    const own = contentOf((await Array.fromAsync(chunks)).join(''))
    const response = await download(ada, 'letter of 3 March, passport seen')
    expect(response.status).toBe(200)
    expect(response.headers.get('cache-control')).toBe('no-store')
    expect(response.headers.get('content-disposition')).toBe(`attachment; filename="user-data-${user.userId}.json"`)
    expect(await audited('user.data-exported')).toMatchObject([
      { actor: `user:${user.userId}` },
      { actor: `operator:${ada.id}`, detail: { reason: 'letter of 3 March, passport seen', byRole: 'support' } },
    ])
    const text = await response.text()
    const made = contentOf(text)
    expect(made.rest).toEqual(own.rest)
    expect(made.rest['transactions']).toHaveLength(2)
    // Newest first: its own record, without the operator and the reason; then what the user's own file had.
    expect(made.history[0]).toEqual({ at: expect.any(String), action: 'user.data-exported', by: 'service' } as never)
    expect(made.history.slice(1)).toEqual(own.history)
    for (const secret of ['SECRET REASON', 'passport seen', ada.id, ada.name]) expect(text).not.toContain(secret)
  })

  test('mails the user who made it, when, and how to object', async () => {
    await (await download(ada)).text()
    await eventually(subjects, ['We made a copy of your data'])
    const [mail] = await mailsTo(bench.service, email)
    expect(mail).toContain('Harbour Pay received a request for the data of your wallet')
    expect(mail).toContain('If you did not ask for this, contact support right away. help@harbour.example')
    expect(mail).toMatch(/When: \w+ \d+, \d{4}/)
    for (const secret of [ada.name, 'letter of']) expect(mail).not.toContain(secret)
  })

  test.each(['', ' ', 'x'.repeat(501), 'two\nlines'])('needs a reason: %p is none', async (reason) => {
    const response = await download(ada, reason)
    expect(response.status).toBe(422)
    expect(response.headers.get('content-type')).toContain('text/html')
    expect(await audited('user.data-exported')).toEqual([])
  })

  test('an operator makes twenty an hour, deletions included, and another operator is not held up', async () => {
    for (let i = 0; i < 19; i++) expect((await download(ada)).status).toBe(200)
    expect((await ask(ada)).status).toBe(303)
    const refused = await download(ada)
    expect([refused.status, Number(refused.headers.get('retry-after')) > 0]).toEqual([429, true])
    expect((await download(bob)).status).toBe(200)
    expect(await audited('user.data-exported')).toHaveLength(20)
  })
})

describe('a deletion', () => {
  test('waits for a second operator, is mailed to the user, and is done when that one approves', async () => {
    expect(to(await ask(ada))).toContain('done=deletion-waiting')
    await eventually(subjects, ['We received a request to delete your wallet'])
    const [mail] = await mailsTo(bench.service, email)
    expect(mail).toContain('Nothing is deleted yet')
    expect(mail).toContain('contact support right away. help@harbour.example')
    expect(mail).not.toContain(ada.name)
    expect(await page(ada)).toContain('You requested this.')
    expect(await page(bob)).toContain('Approve: delete the account now')
    expect(await isDeleted()).toBe(false)
    expect(to(await approve(bob))).toContain('done=deletion-approved')
    expect(await isDeleted()).toBe(true)
    expect(await audited('user.deleted')).toMatchObject([
      { actor: `operator:${bob.id}`, detail: { askedBy: `operator:${ada.id}`, reason: 'letter of 3 March' } },
    ])
    await eventually(subjects, ['We received a request to delete your wallet', 'Your wallet has been deleted'])
    const done = (await mailsTo(bench.service, email)).at(-1)!
    expect(done).toContain('Harbour Pay deleted your account because we received a request')
    expect(done).toContain('contact support right away. help@harbour.example')
    await eventually(
      async () => (await pool().query('select 1 from work where payload::text like $1', [`%${email}%`])).rows,
      [],
    )
    const shown = await page(ada)
    expect(shown).toContain(`Approved by ${bob.name}`)
    expect(shown).toContain('account deleted')
    expect(shown).not.toContain('Download the data')
    expect(shown).not.toContain(email)
    expect((await download(ada)).status).toBe(409)
    expect((await ask(ada)).status).toBe(409)
  })

  test('is approved neither by the operator who asked nor by one who got access from them', async () => {
    await ask(ada)
    expect(await seen(approve(ada))).toContain('Another operator must decide on it')
    await transact(bench.service.db, (tx) =>
      insertGrant(tx, { operatorId: bob.id, kind: 'role', madeBy: `operator:${ada.id}`, approvedBy: null }),
    )
    expect(await page(bob)).toContain('You cannot approve what')
    expect(await page(bob)).not.toContain('Approve: delete')
    expect(await seen(approve(bob))).toContain('do not count as two people yet')
    expect(await isDeleted()).toBe(false)
  })

  test('is not approved when the operator who asked lost the right, nor by one who lost it', async () => {
    await ask(ada)
    await pool().query(`update operators set role = 'viewer' where id = $1`, [bob.id])
    expect((await approve(bob)).status).toBe(403)
    // The role may change after the page has checked it.
    const late = { name: `operator:${bob.id}`, address: null }
    const which = { id: (await newest()).id, userId: user.userId }
    expect(await decideDeletion(bench.service, late, which, { state: 'approved', reason: null })).toMatchObject({
      problem: 'no-right',
    })
    await pool().query(`update operators set role = 'support' where id = $1`, [bob.id])
    await pool().query(`update operators set is_active = false where id = $1`, [ada.id])
    expect(await seen(approve(bob))).toContain('has no right to do so any more')
    expect(await isDeleted()).toBe(false)
    expect(to(await decide(bob, 'decline', { declineReason: 'she left' }))).toContain('deletion-declined')
  })

  test('is declined with a reason, and requested again', async () => {
    await ask(ada)
    expect((await decide(bob, 'decline', { declineReason: ' ' })).status).toBe(422)
    expect(await seen(decide(bob, 'withdraw'))).toContain('Only the operator who requested')
    expect(await seen(decide(ada, 'decline', { declineReason: 'x' }))).toContain('Another operator must decide')
    expect(to(await decide(bob, 'decline', { declineReason: 'another Ada' }))).toContain('done=deletion-declined')
    const shown = await page(ada)
    expect(shown).toContain(`Declined by ${bob.name}`)
    expect(shown).toContain('another Ada')
    expect(to(await approve(bob))).toContain('done=deletion-decided')
    expect(await audited('user.deletion-declined')).toMatchObject([{ detail: { reason: 'another Ada' } }])
    expect((await ask(ada)).status).toBe(303)
    expect((await newest()).state).toBe('waiting')
  })

  test('is withdrawn by the operator who asked', async () => {
    await ask(ada)
    expect(to(await decide(ada, 'withdraw'))).toContain('done=deletion-withdrawn')
    expect(to(await approve(bob))).toContain('done=deletion-decided')
    expect(await isDeleted()).toBe(false)
  })

  test('waits once for a user: the same request again is the same one, another one is refused', async () => {
    await ask(ada)
    const first = await newest()
    expect((await ask(ada)).status).toBe(303)
    expect((await newest()).id).toBe(first.id)
    expect(await seen(ask(ada, 'another letter'))).toContain('already waits')
    expect(await seen(ask(bob))).toContain('already waits')
    expect(await audited('user.deletion-asked')).toHaveLength(1)
    await eventually(subjects, ['We received a request to delete your wallet'])
  })

  test('expires after seven days, and can be requested again', async () => {
    await ask(ada)
    await age(7 * 86_400_000 - 60_000)
    expect((await newest()).state).toBe('waiting')
    await age(60_000)
    expect(await page(bob)).toContain('expired')
    expect(await page(bob)).not.toContain('Approve: delete')
    expect(await seen(approve(bob))).toContain('has expired')
    expect(await isDeleted()).toBe(false)
    expect((await ask(bob)).status).toBe(303)
    expect(to(await approve(ada))).toContain('done=deletion-approved')
  })

  test('of an account that an older process deleted is decided', async () => {
    await ask(ada)
    await transact(bench.service.db, async (tx) => {
      await updateFreeze(tx, user.userId, 'closed', null)
      await updateUserDeleted(tx, (await lockUser(tx, user.userId))!)
    })
    for (const what of ['approve', 'decline'])
      expect(to(await decide(bob, what, { declineReason: 'x' }))).toContain('done=deletion-decided')
    expect(await page(bob)).not.toContain('Approve: delete')
  })

  test('of the page of one wallet decides no request about another', async () => {
    await ask(ada)
    const other = await bench.newPayer()
    const deletion = (await newest()).id
    expect((await bob.post(`/admin/wallets/${other.userId}/deletion/approve`, { deletion })).status).toBe(404)
    for (const wrong of ['', 'x', '00000000-0000-0000-0000-00000000000', '\ud800', 'a'.repeat(5_000)])
      expect((await bob.post(`${wallet()}/deletion/approve`, { deletion: wrong })).status).toBe(422)
    const unknown = crypto.randomUUID()
    expect((await bob.post(`${wallet()}/deletion/approve`, { deletion: unknown })).status).toBe(404)
    expect(await isDeleted()).toBe(false)
  })

  test('the database refuses an approval by the operator who asked, other content, and a second decision', async () => {
    await ask(ada)
    const { id, askedBy } = await newest()
    const fails = (sql: string, values: unknown[] = []) =>
      pool()
        .query(`update user_deletions set ${sql} where id = $1`, [id, ...values])
        .then(
          () => 'done',
          (error: Error) => error.message,
        )
    expect(await fails(`state = 'approved', decided_by = $2`, [askedBy])).toContain('user_deletions_two_people')
    expect(await fails(`reason = 'x'`)).toContain('not changed')
    expect(await fails(`expires_at = now() + interval '1 year'`)).toContain('not changed')
    await decide(ada, 'withdraw')
    expect(await fails(`state = 'waiting'`)).toContain('final')
  })
})

describe('the rules are those of the user’s own deletion, when it is asked for and when it is approved:', () => {
  test('money left, with the amount', async () => {
    await user.client.credit(user.serviceUserId, 12.34)
    expect(await page(ada)).toContain('The wallet still has 12.34 USD.')
    expect(await page(ada)).not.toContain('Request the deletion')
    expect(await seen(ask(ada))).toContain('The wallet still has 12.34 USD.')
    await user.client.debit(user.serviceUserId, 12.34)
    expect((await ask(ada)).status).toBe(303)
    await user.client.credit(user.serviceUserId, 0.5)
    await mayNot('The wallet still has 0.50 USD.')
    await user.client.debit(user.serviceUserId, 0.5)
    expect(to(await approve(bob))).toContain('deletion-approved')
  })

  test('a frozen wallet', async () => {
    await ask(ada)
    await freezeWallet(bench.service, system, user.userId, 'x')
    await mayNot('The wallet is frozen by an operator.')
    await decide(ada, 'withdraw')
    expect(await seen(ask(ada))).toContain('The wallet is frozen by an operator.')
    await unfreezeWallet(bench.service, system, user.userId, 'x')
    expect((await ask(ada)).status).toBe(303)
  })

  test('an open dispute, and a debt, with the amount', async () => {
    const id = await user.begin(25)
    bench.standIn.state.pay(id)
    await user.confirm(id)
    await user.client.debit(user.serviceUserId, 25)
    await ask(ada)
    bench.standIn.state.dispute(id)
    await resolveTopup(bench.service, (await bench.topup(id)).id)
    await mayNot('The user owes 25.00 USD.')
    await decide(ada, 'withdraw')
    expect(await seen(ask(ada))).toContain('The user owes 25.00 USD.')
    await user.client.credit(user.serviceUserId, 25)
    expect(await seen(ask(ada))).toContain('A card payment is disputed.')
  })

  test('an unpaid top-up is cancelled by the approval and by nothing before it; a paid one keeps the account', async () => {
    const id = await user.begin(25)
    await ask(ada)
    expect(await seen(approve(ada))).toContain('Another operator must decide on it')
    expect(await bench.topup(id)).toMatchObject({ state: 'created' })
    bench.standIn.state.pay(id)
    expect(await seen(approve(bob))).toContain('The wallet still has 25.00 USD.')
    await user.client.debit(user.serviceUserId, 25)
    const unpaid = await user.begin(30)
    expect(to(await approve(bob))).toContain('deletion-approved')
    expect(await bench.topup(unpaid)).toMatchObject({ state: 'cancelled' })
    await bench.expectReconciled()
  })
})

test('a waiting deletion is at the top of the page for every role, on the overview and in the list of deletions', async () => {
  const viewer = await newOperator(bench.opened, 'viewer')
  const counted = async () =>
    Number(/Deletions of users for a second operator\D+(\d+)/.exec(await seen(viewer.get('/admin')))![1])
  const listed = async () => await (await viewer.get('/admin/deletions?state=waiting')).text()
  expect(await listed()).not.toContain(user.userId)
  const before = await counted()
  await ask(ada)
  expect(await counted()).toBe(before + 1)
  expect(await listed()).toContain(user.userId)
  const html = await page(viewer)
  expect(html).toContain('A deletion of this account waits for a second operator.')
  expect(html).toContain('letter of 3 March')
  expect(html).not.toContain('Approve: delete')
  await decide(ada, 'withdraw')
  expect(await counted()).toBe(before)
  expect(await listed()).not.toContain(user.userId)
})

test('at most a hundred deletions wait', async () => {
  await pool().query(
    `insert into users (id, email, first_name, last_name) select gen_random_uuid(), 'many' || n || '@example.com', 'M', 'N' from generate_series(1, 100) n`,
  )
  await pool().query(
    `insert into user_deletions (id, user_id, reason, asked_by, expires_at)
     select gen_random_uuid(), id, 'x', 'operator:many', now() + interval '1 day' from users where email like 'many%'`,
  )
  expect(await seen(ask(ada))).toContain('Too many deletions wait')
  await pool().query(`delete from user_deletions where asked_by = 'operator:many'`)
  expect((await ask(ada)).status).toBe(303)
})

test('the first operator approves alone what was requested on the command line, as with corrections', async () => {
  const cli = { name: 'cli:root@host', address: null }
  expect((await askDeletion(bench.service, cli, { userId: user.userId, reason: 'by post' })).kind).toBe('waiting')
  expect(to(await approve(bob))).toContain('deletion-approved')
})
