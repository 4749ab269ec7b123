import { afterAll, beforeAll, expect, setDefaultTimeout, test } from 'bun:test'
import { createOperator, firstOperatorLink } from '../../actions/operators/manage-operators.ts'
import { host, newOperator, newVisitor, password, type TestOperator } from '../../../test/operator.ts'
import { mailedLink } from '../../../test/mailbox.ts'
import { openTestService, operator as testActor, type TestService } from '../../../test/service.ts'

// Passwords are slow to check on purpose, and slower on a busy machine.
setDefaultTimeout(180_000)

let rig: TestService
let boss: TestOperator

beforeAll(async () => {
  rig = await openTestService()
  boss = await newOperator(rig)
})
afterAll(() => rig.close())

let made = 0
async function makeInvite(by: TestOperator, email = `invited${++made}@example.com`): Promise<string> {
  expect((await by.post('/admin/operators/invite', { role: 'admin', email })).status).toBe(303)
  return await mailedLink(rig.service, email)
}
async function makeReset(by: TestOperator, { id, email }: TestOperator): Promise<string> {
  expect((await by.post(`/admin/operators/${id}/reset`)).status).toBe(303)
  return await mailedLink(rig.service, email)
}

async function open(link: string) {
  const visitor = newVisitor(rig.app)
  const shown = await visitor.get(link)
  const token = new URL(link, host).searchParams.get('token')!
  const fields = { token, name: 'Joined', password }
  return { shown: shown.status, sent: (await visitor.post('/admin/welcome', fields)).status }
}

const gone = { shown: 404, sent: 404 }
const access = { demoted: { role: 'viewer', active: 'yes' }, removed: { role: 'admin' } }

test.each(['demoted', 'removed'] as const)('links that an admin made end when the admin is %s', async (how) => {
  const [clerk, other] = [await newOperator(rig), await newOperator(rig, 'viewer')]
  const links = [await makeInvite(clerk), await makeReset(clerk, other)]
  const kept = await makeInvite(boss)
  expect((await boss.post(`/admin/operators/${clerk.id}/access`, access[how])).status).toBe(303)
  for (const link of links) expect(await open(link)).toEqual(gone)
  // Restored access does not revive links made before.
  await boss.post(`/admin/operators/${clerk.id}/access`, { role: 'admin', active: 'yes' })
  for (const link of links) expect(await open(link)).toEqual(gone)
  expect(await open(kept)).toEqual({ shown: 200, sent: 303 })
})

test('a link whose creator lost the right in another way does not work', async () => {
  const clerk = await newOperator(rig)
  const link = await makeInvite(clerk, 'lost.right@example.com')
  expect(await (await boss.get('/admin/operators')).text()).toContain('lost.right@example.com')
  await rig.service.db.pool.query(`update operators set role = 'viewer' where id = $1`, [clerk.id])
  expect(await open(link)).toEqual(gone)
  expect(await (await boss.get('/admin/operators')).text()).not.toContain('lost.right@example.com')
})

test('a reset link ends with the access of the operator it is for', async () => {
  const clerk = await newOperator(rig)
  const link = await makeReset(boss, clerk)
  await boss.post(`/admin/operators/${clerk.id}/access`, access.removed)
  await boss.post(`/admin/operators/${clerk.id}/access`, { role: 'admin', active: 'yes' })
  expect(await open(link)).toEqual(gone)
})

test('the link for the first operator ends when there is one, however that operator was created', async () => {
  const other = await openTestService()
  const link = (await firstOperatorLink(other.service))!.slice(host.length)
  expect((await newVisitor(other.app).get(link)).status).toBe(200)
  await createOperator(other.service, testActor, { email: 'by@example.com', name: 'By', password, role: 'admin' })
  expect((await newVisitor(other.app).get(link)).status).toBe(404)
  await other.close()
})

test('open links are listed with creator and recipient, and an admin can revoke one', async () => {
  const viewer = await newOperator(rig, 'viewer')
  const link = await makeInvite(boss, 'grace@example.com')
  const page = await (await boss.get('/admin/operators')).text()
  const row = page.split('<tr').find((each) => each.includes('grace@example.com'))!
  expect(row).toContain(`>${boss.name}</bdi>`)
  const action = /action="(\/admin\/operators\/invites\/[0-9a-f-]{36}\/revoke)"/.exec(row)![1]!
  const seen = await (await viewer.get('/admin/operators')).text()
  expect(seen).toContain('grace@example.com')
  expect(seen).not.toContain('/revoke')
  expect((await viewer.post(action)).status).toBe(403)
  expect((await boss.post(action)).status).toBe(303)
  expect((await boss.post(action)).status).toBe(404)
  expect(await open(link)).toEqual(gone)
  expect(await (await boss.get('/admin/operators')).text()).not.toContain('grace@example.com')
  const { rows } = await rig.service.db.pool.query(`select actor from audit where action = 'operator.invite-revoked'`)
  expect(rows).toEqual([{ actor: `operator:${boss.id}` }])
})
