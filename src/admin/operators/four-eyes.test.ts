/** One admin alone plays every way to become two people, and gets nowhere. */
import { afterAll, beforeAll, beforeEach, describe, expect, setDefaultTimeout, test } from 'bun:test'
import { adminForms, type AdminForms } from '../../../test/admin-forms.ts'
import { eventually } from '../../../test/eventually.ts'
import { mailedLink, mailsTo } from '../../../test/mailbox.ts'
import { newOperator, newVisitor, password, type TestOperator, type Visitor } from '../../../test/operator.ts'
import { letPass } from '../../../test/time.ts'
import { openBench, type Bench } from '../../../test/topup/rig.ts'
import { decideChange, requestChange } from '../../actions/operators/change-operators.ts'
import { acceptInvite } from '../../actions/operators/manage-operators.ts'
import { findCorrection } from '../../store/corrections.ts'
import { openDatabase } from '../../store/connection/database.ts'
import { listWaitingChanges } from '../../store/operator-access/operator-changes.ts'
import { findOperator } from '../../store/operators.ts'
import { adminRoutes } from '../pages.tsx'

setDefaultTimeout(180_000)

const dayMs = 86_400_000
let bench: Bench
let forms: AdminForms
let ada: TestOperator
let bob: TestOperator
let cleo: TestOperator
const cli = { name: 'cli:root@host', address: null }
const pool = () => bench.service.db.pool
const by = ({ id }: { id: string }) => ({ name: `operator:${id}`, address: null })
const find = async ({ id }: { id: string }) => (await findOperator(pool(), id))!

const askReset = (who: Visitor) => who.post(`/admin/operators/${bob.id}/reset`)

async function open(environment: Record<string, string>): Promise<void> {
  bench = await openBench(environment, 20_000)
  ada = await newOperator(bench.opened)
  bob = await newOperator(bench.opened, 'finance')
  forms = adminForms(bench, ada)
}

/** Opens a link, chooses a password, and signs in without a second factor, which only development allows. */
async function useLink(link: string): Promise<Visitor> {
  const visitor = newVisitor(bench.app)
  await visitor.get(link)
  const fields = { token: link.split('token=')[1]!, name: 'Puppet', email: 'other@example.com', password }
  expect((await visitor.post('/admin/welcome', fields)).status).toBe(303)
  expect((await visitor.post('/admin/second-factor/skip')).status).toBe(303)
  return visitor
}

/** The text of every page, the answers given, the log, and every row of the database. */
async function everythingSeen(answers: readonly Response[]): Promise<string> {
  const parts = [await Promise.all(answers.map((answer) => answer.text())), bench.opened.logged]
  for (const { method, path } of adminRoutes)
    if (method === 'GET' && !path.includes(':')) parts.push([await (await ada.get(path)).text()])
  const { rows } = await pool().query<{ all: string }>(
    `select query_to_xml(format('select * from %I', c.relname), true, false, '')::text as all from pg_class c
     where c.relnamespace = 'public'::regnamespace and c.relkind = 'r'`,
  )
  return [...parts.flat(), ...rows.map(({ all }) => all)].join('\n')
}

describe('one admin alone', () => {
  beforeAll(() => open({}))
  afterAll(() => bench.close())

  test('who asks for a link sees it nowhere: no screen, no log, no row; the mailbox has it', async () => {
    const answers = [
      await ada.post('/admin/operators/invite', { email: 'new@example.com', role: 'finance' }),
      await ada.post(`/admin/operators/${bob.id}/reset`),
    ]
    const links = [await mailedLink(bench.service, 'new@example.com'), await mailedLink(bench.service, bob.email)]
    const answer = await ada.get('/admin/operators')
    const seen = await everythingSeen([...answers, answer])
    for (const link of links) {
      const token = link.split('token=')[1]!
      expect(seen).not.toContain(token)
      expect((await newVisitor(bench.app).get(link)).status).toBe(200)
    }
    await eventually(async () => (await (await ada.get('/admin/operators')).text()).split('>mailed</span>').length, 3)
  })

  test('a colleague who was reset and taken over approves nothing of the admin who reset them', async () => {
    const victim = await newOperator(bench.opened, 'finance')
    const id = await forms.waitingCorrection(`operator:${ada.id}`)
    await ada.post(`/admin/operators/${victim.id}/reset`)
    const taken = await useLink(await mailedLink(bench.service, victim.email))
    expect((await taken.post(`/admin/corrections/${id}/approve`)).status).toBe(409)
    expect(await (await taken.get(`/admin/corrections/${id}`)).text()).not.toContain('/approve"')
    expect((await findCorrection(pool(), id))!.state).toBe('waiting')
    // Nor what any other operator asked for, for a day.
    const other = await forms.waitingCorrection(`operator:${bob.id}`)
    expect((await taken.post(`/admin/corrections/${other}/approve`)).status).toBe(409)
  })

  test('an invited puppet approves nothing of the admin who invited it, and asks for nothing that admin approves', async () => {
    await ada.post('/admin/operators/invite', { email: 'puppet@example.com', role: 'finance' })
    const puppet = await useLink(await mailedLink(bench.service, 'puppet@example.com'))
    const { rows } = await pool().query<{ id: string }>(`select id from operators where email = 'puppet@example.com'`)
    const id = await forms.waitingCorrection(`operator:${ada.id}`)
    expect((await puppet.post(`/admin/corrections/${id}/approve`)).status).toBe(409)
    const back = await forms.waitingCorrection(`operator:${rows[0]!.id}`)
    expect((await ada.post(`/admin/corrections/${back}/approve`)).status).toBe(409)
    await ada.post('/admin/operators/invite', { email: 'puppet2@example.com', role: 'finance' })
    const second = await useLink(await mailedLink(bench.service, 'puppet2@example.com'))
    expect((await second.post(`/admin/corrections/${back}/approve`)).status).toBe(409)
  })

  test('an invitation creates an operator with the address it was mailed to, and ignores an address in the form', async () => {
    await ada.post('/admin/operators/invite', { email: 'Bound@Example.com', role: 'viewer' })
    const token = (await mailedLink(bench.service, 'bound@example.com')).split('token=')[1]!
    const input = { email: 'other@example.com', name: 'Other', password }
    await acceptInvite(bench.service, token, input, { address: '127.0.0.1', browser: 'Test' })
    const { rows } = await pool().query(
      `select email from operators where email in ('bound@example.com', 'other@example.com')`,
    )
    expect(rows).toEqual([{ email: 'bound@example.com' }])
  })

  test('an invitation without an address, or to the address of an operator, is refused', async () => {
    expect((await ada.post('/admin/operators/invite', { role: 'viewer' })).status).toBe(422)
    expect((await ada.post('/admin/operators/invite', { role: 'viewer', email: 'no address' })).status).toBe(422)
    expect((await ada.post('/admin/operators/invite', { role: 'viewer', email: bob.email })).status).toBe(409)
  })

  test('a link that an older process showed on a screen does not work', async () => {
    const insert = `insert into operator_invites (token_hash, role, created_by, created_at, expires_at)
      values (sha256(convert_to($1, 'UTF8')), 'admin', $2, now(), now() + interval '1 day')`
    for (const [token, maker, status] of [
      ['a'.repeat(43), `operator:${ada.id}`, 404],
      ['b'.repeat(43), 'cli:root@host', 200],
    ] as const) {
      await pool().query(insert, [token, maker])
      expect((await newVisitor(bench.app).get(`/admin/welcome?token=${token}`)).status).toBe(status)
    }
  })

  test('a link that is mailed again replaces the one before, and a printed one is never mailed', async () => {
    await ada.post('/admin/operators/invite', { email: 'again@example.com', role: 'viewer' })
    const first = await mailedLink(bench.service, 'again@example.com')
    const { rows } = await pool().query<{ id: string }>(
      `select id from operator_invites where email = 'again@example.com'`,
    )
    expect((await ada.post(`/admin/operators/invites/${rows[0]!.id}/resend`)).status).toBe(303)
    const second = await mailedLink(bench.service, 'again@example.com', 2)
    expect((await newVisitor(bench.app).get(first)).status).toBe(404)
    expect((await newVisitor(bench.app).get(second)).status).toBe(200)
    await requestChange(
      bench.service,
      cli,
      { kind: 'invite', email: 'printed@example.com', role: 'viewer' },
      'command line',
    )
    const printed = await pool().query<{ id: string }>(
      `select id from operator_invites where email = 'printed@example.com'`,
    )
    expect((await ada.post(`/admin/operators/invites/${printed.rows[0]!.id}/resend`)).status).toBe(404)
    expect(await mailsTo(bench.service, 'printed@example.com')).toEqual([])
  })

  test('an admin makes at most sixty changes an hour', async () => {
    const busy = await newOperator(bench.opened)
    const ask = (n: number) => busy.post('/admin/operators/invite', { email: `many${n}@example.com`, role: 'viewer' })
    for (let n = 0; n < 60; n++) expect((await ask(n)).status).toBe(303)
    const refused = await ask(60)
    expect([refused.status, refused.headers.has('retry-after')]).toEqual([429, true])
  })

  test('the person is mailed about a reset on the command line, its use, a role, and lost and restored access', async () => {
    const person = await newOperator(bench.opened, 'viewer')
    const change = async (kind: 'reset' | 'remove' | 'restore') =>
      await requestChange(bench.service, cli, { kind, operatorId: person.id }, 'command line')
    const reset = (await change('reset')) as { path: string }
    await useLink(reset.path)
    await requestChange(bench.service, by(ada), { kind: 'role', operatorId: person.id, role: 'support' })
    await change('remove')
    await change('restore')
    await ada.post(`/admin/operators/${person.id}/suspend`)
    const subjects = async () =>
      (await mailsTo(bench.service, person.email)).map((text) => /^Subject: (.*)$/m.exec(text)![1]!).toSorted()
    await eventually(subjects, [
      'A link for a new password of yours was made at Billfold',
      'You have access to the admin area of Billfold again',
      'Your access to the admin area of Billfold is removed',
      'Your access to the admin area of Billfold is suspended',
      'Your password and second factor at Billfold are new',
      'Your role at Billfold is changed',
    ])
    const all = (await mailsTo(bench.service, person.email)).join('\n')
    expect(all).not.toContain('token=')
    expect(all).toContain(`By: ${ada.name}`)
    expect(all).toContain('By: a person on the command line of the server')
  })
})

/** The database refuses to change what a request says. */
async function letChangesWait(days: number): Promise<void> {
  await pool().query('alter table operator_changes disable trigger user')
  await letPass(pool(), days * dayMs, ['operator_changes'])
  await pool().query('alter table operator_changes enable trigger user')
}
const waiting = async () => await listWaitingChanges(pool(), 100)
const onlyWaiting = async () => {
  const all = await waiting()
  expect(all).toHaveLength(1)
  return all[0]!
}
const state = async (id: string) =>
  (await pool().query<{ state: string }>('select state from operator_changes where id = $1', [id])).rows[0]!.state
const linkCount = async () => (await pool().query('select from operator_invites')).rows.length

describe('two admins', () => {
  beforeAll(async () => {
    await open({ OPERATOR_CHANGES_NEED_TWO: '1' })
    cleo = await newOperator(bench.opened)
  })
  afterAll(() => bench.close())
  beforeEach(async () => {
    await letPass(pool(), 8 * dayMs, ['operator_grants'])
    await letChangesWait(8)
    await pool().query('update operators set is_active = id = any($1), suspended_at = null', [
      [ada.id, bob.id, cleo.id],
    ])
  })

  test.each([
    ['an invitation', 'invite', () => ({ email: 'friend@example.com', role: 'finance' })],
    ['a reset', () => `${bob.id}/reset`, () => ({})],
    ['a role', () => `${bob.id}/access`, () => ({ role: 'admin', active: 'yes' })],
    ['a removal', () => `${bob.id}/access`, () => ({ role: 'finance' })],
  ] as const)('%s waits for a second admin, and the first cannot approve it', async (_, path, fields) => {
    const links = await linkCount()
    const target = `/admin/operators/${typeof path === 'string' ? path : path()}`
    const asked = await ada.post(target, fields())
    expect(asked.headers.get('location')).toBe('/admin/operators?done=change-waiting')
    const { id } = await onlyWaiting()
    expect((await ada.post(`/admin/operators/changes/${id}/approve`)).status).toBe(409)
    expect((await ada.post(`/admin/operators/changes/${id}/decline`)).status).toBe(409)
    expect(await linkCount()).toBe(links)
    expect(await find(bob)).toMatchObject({ role: 'finance', isActive: true })
    expect((await cleo.post(`/admin/operators/changes/${id}/withdraw`)).status).toBe(409)
    expect((await ada.post(`/admin/operators/changes/${id}/withdraw`)).status).toBe(303)
    expect((await cleo.post(`/admin/operators/changes/${id}/approve`)).status).toBe(409)
    expect(await linkCount()).toBe(links)
  })

  test('an approved change is made, once, and both admins are recorded', async () => {
    await ada.post('/admin/operators/invite', { email: 'approved@example.com', role: 'finance' })
    const { id } = await onlyWaiting()
    await eventually(
      async () => (await mailsTo(bench.service, cleo.email)).filter((text) => text.includes('approved')).length,
      1,
    )
    const page = await (await cleo.get('/admin/operators')).text()
    expect(page).toContain('invite approved@example.com as finance')
    expect((await cleo.post(`/admin/operators/changes/${id}/approve`)).status).toBe(303)
    expect((await cleo.post(`/admin/operators/changes/${id}/approve`)).status).toBe(409)
    await useLink(await mailedLink(bench.service, 'approved@example.com'))
    const { rows } = await pool().query(
      `select g.kind, g.made_by, g.approved_by from operator_grants g join operators o on o.id = g.operator_id
       where o.email = 'approved@example.com'`,
    )
    expect(rows).toEqual([{ kind: 'invited', made_by: `operator:${ada.id}`, approved_by: `operator:${cleo.id}` }])
    const audit = await pool().query(
      `select action, actor, detail->>'askedBy' as asked from audit where detail->>'for' = 'approved@example.com' order by at, action`,
    )
    expect(audit.rows).toEqual([
      { action: 'operator.change-asked', actor: `operator:${ada.id}`, asked: null },
      { action: 'operator.change-approved', actor: `operator:${cleo.id}`, asked: `operator:${ada.id}` },
      { action: 'operator.invited', actor: `operator:${cleo.id}`, asked: `operator:${ada.id}` },
    ])
  })

  test('of two processes that approve at once one makes the change', async () => {
    const third = await newOperator(bench.opened)
    await ada.post('/admin/operators/invite', { email: 'race@example.com', role: 'viewer' })
    const { id } = await onlyWaiting()
    const db = openDatabase(bench.service.db.connection)
    const results = await Promise.all([
      decideChange(bench.service, by(cleo), id, 'approved'),
      decideChange({ ...bench.service, db }, by(third), id, 'approved'),
    ])
    await db.pool.end()
    expect(results.map((result) => result.kind).toSorted()).toEqual(['done', 'problem'])
    const { rows } = await pool().query(`select from operator_invites where email = 'race@example.com'`)
    expect(rows).toHaveLength(1)
  })

  test('the same request again is the same change, and one with other content is refused', async () => {
    const ask = (role: string) => ada.post(`/admin/operators/${bob.id}/access`, { role, active: 'yes' })
    expect((await ask('support')).status).toBe(303)
    const { id } = await onlyWaiting()
    expect((await ask('support')).status).toBe(303)
    expect((await ask('admin')).status).toBe(409)
    expect(await onlyWaiting()).toMatchObject({ id, change: { role: 'support' } })
    expect((await cleo.post(`/admin/operators/${bob.id}/access`, { role: 'support', active: 'yes' })).status).toBe(409)
    const other = `update operator_changes set role = 'admin' where id = $1`
    expect(
      await pool()
        .query(other, [id])
        .catch((error: Error) => error.message),
    ).toContain('is not changed')
    const alone = `update operator_changes set state = 'approved', decided_by = asked_by where id = $1`
    expect(
      await pool()
        .query(alone, [id])
        .catch((error: Error) => error.message),
    ).toContain('two_people')
    expect((await cleo.post(`/admin/operators/changes/${id}/decline`)).status).toBe(303)
    expect(await state(id)).toBe('declined')
  })

  test('a change that waited for seven days is not made any more, and can be requested again', async () => {
    await ada.post(`/admin/operators/${bob.id}/reset`)
    const { id } = await onlyWaiting()
    await letChangesWait(7)
    expect(await waiting()).toEqual([])
    const late = await cleo.post(`/admin/operators/changes/${id}/approve`)
    expect([late.status, await late.text()]).toEqual([409, expect.stringContaining('more than 7 days')])
    await ada.post(`/admin/operators/${bob.id}/reset`)
    expect((await onlyWaiting()).id).not.toBe(id)
    expect(await state(id)).toBe('expired')
  })

  test('a hundred changes wait at most, the overview counts them, and suspending is still possible', async () => {
    await pool().query(
      `insert into operator_changes (id, kind, email, role, asked_by, expires_at)
       select gen_random_uuid(), 'invite', n || '@example.com', 'viewer', 'operator:x', now() + interval '1 day' from generate_series(1, 100) n`,
    )
    const full = await ada.post('/admin/operators/invite', { email: 'more@example.com', role: 'viewer' })
    expect([full.status, await full.text()]).toEqual([409, expect.stringContaining('Too many changes wait')])
    const overview = (await (await ada.get('/admin')).text()).replace(/<[^>]+>/g, ' ')
    expect(overview).toMatch(/Changes of operators for a second admin\s+100/)
    expect((await ada.post(`/admin/operators/${bob.id}/suspend`)).status).toBe(303)
    await pool().query(`delete from operator_changes where asked_by = 'operator:x'`)
  })

  test('an admin does not approve a change that the admin who gave them access asked for', async () => {
    await pool().query(`insert into operator_grants (operator_id, kind, made_by) values ($1, 'reset', $2)`, [
      cleo.id,
      `operator:${ada.id}`,
    ])
    await ada.post(`/admin/operators/${bob.id}/reset`)
    const { id } = await onlyWaiting()
    const page = await (await cleo.get('/admin/operators')).text()
    expect(page).not.toContain('/approve"')
    expect(page).toContain('This ends <time')
    expect((await cleo.post(`/admin/operators/changes/${id}/approve`)).status).toBe(409)
    await letPass(pool(), 7 * dayMs, ['operator_grants'])
    expect(await (await cleo.get('/admin/operators')).text()).toContain('/approve"')
    expect((await cleo.post(`/admin/operators/changes/${id}/approve`)).status).toBe(303)
  })

  test('one admin suspends another one at once, and still decides nothing alone', async () => {
    await ada.post('/admin/operators/invite', { email: 'left@example.com', role: 'viewer' })
    await cleo.post('/admin/operators/invite', { email: 'of.cleo@example.com', role: 'viewer' })
    expect((await ada.post(`/admin/operators/${cleo.id}/suspend`)).status).toBe(303)
    expect((await cleo.get('/admin/account')).status).toBe(303)
    expect(await find(cleo)).toMatchObject({ isActive: false, suspendedAt: expect.any(Date) })
    // Requests of the suspended admin end; the other one's stay.
    expect((await waiting()).map(({ change }) => change)).toMatchObject([{ email: 'left@example.com' }])
    for (const answer of [
      await ada.post(`/admin/operators/${cleo.id}/access`, { role: 'admin', active: 'yes' }),
      await ada.post(`/admin/operators/${cleo.id}/access`, { role: 'admin' }),
      await ada.post('/admin/operators/invite', { email: 'puppet@example.com', role: 'admin' }),
      await ada.post(`/admin/operators/${bob.id}/reset`),
    ])
      expect(answer.headers.get('location')).toBe('/admin/operators?done=change-waiting')
    expect((await ada.post(`/admin/operators/${ada.id}/suspend`)).status).toBe(409)
    // The command line is the way out.
    await requestChange(bench.service, cli, { kind: 'restore', operatorId: cleo.id })
    expect(await find(cleo)).toMatchObject({ isActive: true, suspendedAt: null })
    expect((await waiting()).some(({ change }) => change.kind === 'restore')).toBe(false)
    // The sessions of before do not come back.
    expect((await cleo.get('/admin/account')).status).toBe(303)
  })

  test('an admin who is suspended while a request is under way neither asks nor approves', async () => {
    await ada.post(`/admin/operators/${bob.id}/reset`)
    const { id } = await onlyWaiting()
    await requestChange(bench.service, cli, { kind: 'remove', operatorId: cleo.id })
    expect(await decideChange(bench.service, by(cleo), id, 'approved')).toMatchObject({ problem: 'no-right' })
    expect(await requestChange(bench.service, by(cleo), { kind: 'reset', operatorId: bob.id })).toMatchObject({
      problem: 'no-right',
    })
  })

  test('what an admin asked for who is no admin any more is not approved', async () => {
    await ada.post(`/admin/operators/${bob.id}/reset`)
    const { id } = await onlyWaiting()
    await pool().query(`update operators set role = 'viewer' where id = $1`, [ada.id])
    expect(await decideChange(bench.service, by(cleo), id, 'approved')).toMatchObject({ problem: 'asker-left' })
    await pool().query(`update operators set role = 'admin' where id = $1`, [ada.id])
  })

  test('an admin gives up their own access alone, and an admin who is the only one decides alone', async () => {
    const leaving = await newOperator(bench.opened)
    expect((await leaving.post(`/admin/operators/${leaving.id}/access`, { role: 'admin' })).status).toBe(303)
    expect(await find(leaving)).toMatchObject({ isActive: false, suspendedAt: null })
    await requestChange(bench.service, cli, { kind: 'remove', operatorId: cleo.id })
    const asked = await ada.post(`/admin/operators/${bob.id}/access`, { role: 'support', active: 'yes' })
    expect(asked.headers.get('location')).toBe('/admin/operators?done=access-changed')
    await requestChange(bench.service, cli, { kind: 'role', operatorId: bob.id, role: 'finance' })
    await requestChange(bench.service, cli, { kind: 'restore', operatorId: cleo.id })
  })

  test('an admin that the only admin made lately becomes the second one after seven days', async () => {
    await requestChange(bench.service, cli, { kind: 'remove', operatorId: cleo.id })
    await ada.post('/admin/operators/invite', { email: 'second@example.com', role: 'admin' })
    const second = await useLink(await mailedLink(bench.service, 'second@example.com'))
    // The new admin decides nothing alone.
    expect((await askReset(second)).headers.get('location')).toContain('change-waiting')
    expect((await askReset(ada)).headers.get('location')).toContain('link-mailed')
    await letPass(pool(), 7 * dayMs, ['operator_grants'])
    expect((await askReset(ada)).headers.get('location')).toContain('change-waiting')
  })
})
