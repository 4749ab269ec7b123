import { afterAll, beforeAll, beforeEach, expect, setDefaultTimeout, test } from 'bun:test'
import { eventually } from '../../test/eventually.ts'
import { newAppWithEvents } from '../../test/events/rig.ts'
import { startMailServer, type MailServer } from '../../test/mail-server.ts'
import { newOperator, newVisitor, type TestOperator } from '../../test/operator.ts'
import { openTestService, operator, type TestService } from '../../test/service.ts'
import { addOperatorMail } from '../actions/mails/operator-letters.ts'
import { addEndpoint } from '../actions/webhooks/manage-endpoints.ts'
import { listInvites } from '../store/operator-access/operator-invites.ts'
import { runDue } from './runner.ts'
import { sendOperatorMail } from './send-operator-mail.ts'

setDefaultTimeout(180_000)

let server: MailServer
let rig: TestService
let admin: TestOperator
let made = 0
let email: string

beforeAll(async () => {
  server = await startMailServer()
  rig = await openTestService({ SMTP_URL: server.url })
  admin = await newOperator(rig)
})
afterAll(async () => {
  await server.goAway()
  await rig.close()
})
beforeEach(() => {
  email = `invited${++made}@example.com`
})

const invite = () => admin.post('/admin/operators/invite', { email, role: 'viewer' })
const find = async () => (await listInvites(rig.service.db.pool)).find((each) => each.email === email)
const mail = async () => (await find())?.mail
/** Quoted-printable, as the mail was sent. */
const links = () =>
  server.taken
    .filter(({ to }) => to === email)
    .map(
      ({ message }) =>
        /\/admin\/welcome\?token=[\w-]+/.exec(message.replace(/=\n/g, '').replaceAll('=3D', '='))?.[0] ?? '',
    )
const page = async () => (await (await admin.get('/admin/operators')).text()).replace(/<[^>]+>/g, ' ')

test('a link that the mail server took is shown as mailed, to a masked address, and works', async () => {
  await invite()
  await eventually(mail, 'sent')
  expect(await page()).toMatch(/mailed\s+to i•••@\u200cexample/)
  expect((await newVisitor(rig.app).get(links()[0]!)).status).toBe(200)
  expect(await page()).not.toContain('SMTP_URL')
})

test('while the mail server is away the link waits, with the reason, and is mailed when it is back', async () => {
  await server.goAway()
  await invite()
  await eventually(async () => (await find())?.mailError?.includes('did not take it'), true)
  expect(await mail()).toBe('waiting')
  expect(await page()).toContain('It is tried again.')
  await server.comeBack()
  await rig.service.db.pool.query(`update work set due_at = now() where kind = 'send-operator-mail'`)
  await runDue(rig.service, sendOperatorMail)
  expect(await mail()).toBe('sent')
  expect(links()).toHaveLength(1)
})

test('after eight attempts a link is shown as not mailed, and is mailed again by hand', async () => {
  await server.goAway()
  await invite()
  // The invitation starts the first attempt itself, and a round that meets it finds nothing to claim.
  await eventually(async () => {
    await rig.service.db.pool.query(
      `update work set due_at = now() where kind = 'send-operator-mail' and given_up_at is null`,
    )
    await runDue(rig.service, sendOperatorMail)
    return await mail()
  }, 'failed')
  const { rows } = await rig.service.db.pool.query<{ attempts: number }>(
    `select attempts from work where kind = 'send-operator-mail' and given_up_at is not null`,
  )
  expect(rows).toEqual([{ attempts: 8 }])
  expect(await page()).toContain('not mailed')
  await server.comeBack()
  expect((await admin.post(`/admin/operators/invites/${(await find())!.id}/resend`)).status).toBe(303)
  await eventually(mail, 'sent')
})

test('a mailbox that the server refuses is shown as not mailed, and is not tried again', async () => {
  server.behaviour.isRefusing = true
  await invite()
  await eventually(mail, 'failed')
  server.behaviour.isRefusing = false
  await runDue(rig.service, sendOperatorMail)
  expect((await find())!.mailError).toContain('refused')
  expect(links()).toEqual([])
})

test('a mail whose fate is unknown is not sent twice', async () => {
  server.behaviour.isHangingUp = true
  await invite()
  await eventually(mail, 'failed')
  server.behaviour.isHangingUp = false
  await runDue(rig.service, sendOperatorMail)
  expect((await find())!.mailError).toContain('may have arrived')
  expect(links()).toHaveLength(1)
})

test('of two processes one sends a link', async () => {
  await server.goAway()
  await invite()
  await eventually(async () => (await find())?.mailError !== null, true)
  await server.comeBack()
  await rig.service.db.pool.query(`update work set due_at = now() where kind = 'send-operator-mail'`)
  await Promise.all([runDue(rig.service, sendOperatorMail), runDue(rig.service, sendOperatorMail)])
  await eventually(mail, 'sent')
  expect(links()).toHaveLength(1)
})

test('a link that is revoked before its mail is sent is not mailed', async () => {
  await server.goAway()
  await invite()
  const { id } = (await find())!
  await eventually(async () => (await find())?.mailError !== null, true)
  expect((await admin.post(`/admin/operators/invites/${id}/revoke`)).status).toBe(303)
  await server.comeBack()
  await rig.service.db.pool.query(`update work set due_at = now() where kind = 'send-operator-mail'`)
  await runDue(rig.service, sendOperatorMail)
  expect(links()).toEqual([])
})

test('a mail about a failing endpoint leads to its page, and has neither its address nor the receiver’s answer', async () => {
  const { clientId } = await newAppWithEvents(rig.service)
  const url = 'https://shop.example/hooks/t0ken'
  const added = await addEndpoint(rig.service, operator, clientId, { url, types: null })
  if (added.kind !== 'added') throw new Error(added.kind)
  const { db } = rig.service
  const error = 'The answer was 404: Cannot POST /hooks/t0ken'
  await db.pool.query(`update endpoints set failing_since = now(), last_error = $2 where id = $1`, [added.id, error])
  await addOperatorMail(db.pool, { kind: 'endpoint-failing', operatorId: admin.id, endpointId: added.id, stage: 1 })
  const found = () => server.taken.find(({ to, message }) => to === admin.email && message.includes('Webhooks to'))
  await eventually(async () => {
    await runDue(rig.service, sendOperatorMail)
    return found() !== undefined
  }, true)
  const text = found()!
    .message.replace(/=\r?\n/g, '')
    .replaceAll('=3D', '=')
  const [path = ''] = /\/admin\/client-apps\/\w+\/endpoints\/\w+/.exec(text) ?? []
  expect(path).toBe(`/admin/client-apps/${clientId}/endpoints/${added.id}`)
  expect((await admin.get(path)).status).toBe(200)
  expect([text.includes('The answer was 404.'), text.includes('t0ken')]).toEqual([true, false])
})
