/** One suite over every field of the widget's routes: a 4xx that names the field, and never a fault. */
import { afterAll, beforeAll, describe, expect, setDefaultTimeout, test } from 'bun:test'
import { openIdentityRig, password, type IdentityRig } from './identity-rig.ts'
import { deviceOf } from './devices.ts'
import { newPage, type Page } from './page.ts'
import { newUser } from './service.ts'

setDefaultTimeout(180_000)

let rig: IdentityRig
let serviceUserId: string
/** A page on a device of the user. */
let own: Page

beforeAll(async () => {
  rig = await openIdentityRig()
  const user = await newUser(rig.opened.service, rig.credentials)
  serviceUserId = user.serviceUserId
  const { cookie } = await deviceOf(rig.opened.service, { userId: user.userId, clientId: rig.credentials.clientId })
  own = newPage(rig.opened.app.fetch, undefined, { cookie })
})
afterAll(async () => {
  expect(rig.opened.logged.filter((line) => /"level":"(warn|error)"/.test(line))).toEqual([])
  await rig.close()
})

const nul = 'a\u0000b'
const loneSurrogate = 'a\ud800b'
const huge = 'x'.repeat(10_000)
const notText = [undefined, null, 5, true, [], {}, '']
const badLabels = [...notText, huge, nul, loneSurrogate, 'a\nb']

const handle = `ch_${'x'.repeat(32)}`

const badValues: Record<string, unknown[]> = {
  clientId: badLabels,
  email: [
    ...badLabels,
    'ada',
    'ada@',
    '@example.com',
    'ada@example',
    'ada@@example.com',
    'ada@example.com,eve@example.com',
    'ada <eve@example.com>',
    '"a b"@example.com',
    'ada@example.com\r\nBcc: eve@example.com',
    `${'a'.repeat(65)}@example.com`,
    `ada@${'x'.repeat(250)}.com`,
    'ada@-example.com',
    'ada@exa mple.com',
    'a\u200bda@example.com',
  ],
  password: [...notText, huge, loneSurrogate],
  firstName: [...badLabels, '   ', 'x'.repeat(101)],
  lastName: [...badLabels, '   ', 'x'.repeat(101)],
  handle: [
    ...badLabels,
    handle.slice(1),
    `${handle}x`,
    `${handle}\n`,
    handle.replace('x', '\0'),
    handle.replace('x', 'é'),
  ],
  code: [...notText, huge, nul, '12345', '1234567', 'abcdef', '１２３４５６', ' 12345', 123456, '12345\n'],
}

const email = 'nobody@example.com'
const names = { firstName: 'Ada', lastName: 'Lovelace' }
const steps: Record<string, Record<string, unknown>> = {
  'sign-up': { email, password, ...names },
  confirm: { email, code: '123456', handle },
  resend: { email },
  login: { email, password },
  forgot: { email },
  reset: { email, code: '123456', handle, password },
}

describe.each(Object.entries(steps))('%s', (step, rest) => {
  const good = () => ({ clientId: rig.credentials.clientId, ...rest })

  test.each(['clientId', ...Object.keys(rest)])(`the step ${step} refuses a bad %s and names it`, async (field) => {
    for (const value of badValues[field]!) {
      const reply = await rig.page.auth(step, { ...good(), [field]: value })
      expect([value, reply.status, reply.body['code']]).toEqual([value, 400, 'INVALID_REQUEST'])
      expect(Object.keys(reply.body['fields'] as object)).toEqual([field])
    }
  })

  test.each(['clientId', ...Object.keys(rest)])(`the step ${step} refuses %s given twice`, async (field) => {
    const text = JSON.stringify(good())
    const twice = `${text.slice(0, -1)},${JSON.stringify(field)}:"again"}`
    const reply = await rig.page.call('POST', `/api/widget/auth/${step}`, twice)
    expect([reply.status, reply.body['fields']]).toEqual([400, { [field]: 'is given twice' }])
  })

  test(`the step ${step} names every wrong field at once`, async () => {
    const reply = await rig.page.auth(step, {})
    expect(Object.keys(reply.body['fields'] as object).sort()).toEqual(['clientId', ...Object.keys(rest)].sort())
  })
})

const oldAndNew = { oldCode: '123456', newCode: '654321' }
const changes: Record<string, Record<string, unknown>> = {
  names,
  language: { language: 'de' },
  password: { password, newPassword: password },
  email: { email },
  'email/confirm': { email, ...oldAndNew },
  'sign-out': { clientId: 'app_none' },
  delete: { password },
  prove: { password },
  'sign-out-device': { deviceId: crypto.randomUUID() },
}

const badOf: Record<string, unknown[]> = {
  ...badValues,
  language: [...badLabels, 'xx', 'DE', 'de-DE', '__proto__'],
  newPassword: badValues['password']!,
  oldCode: badValues['code']!,
  deviceId: [...badLabels, 'x', crypto.randomUUID().toUpperCase()],
  newCode: badValues['code']!,
}

test.each(Object.entries(changes))('the account’s %s refuses every bad field and names it', async (change, good) => {
  const { body } = await rig.client.post('/api/widget/session', { ...rig.credentials, serviceUserId })
  const send = (values: object) =>
    own.post(`/api/widget/account/${change}?session=${String(body['sessionToken'])}`, values)
  for (const field of Object.keys(good))
    for (const value of badOf[field]!) {
      const reply = await send({ ...good, [field]: value })
      expect([field, value, reply.status, reply.body['code']]).toEqual([field, value, 400, 'INVALID_REQUEST'])
      expect(Object.keys(reply.body['fields'] as object)).toEqual([field])
    }
  const none = await send({})
  expect(Object.keys(none.body['fields'] as object).sort()).toEqual(Object.keys(good).sort())
})

test('the history refuses a page that begins at nothing, and names it', async () => {
  const { body } = await rig.client.post('/api/widget/session', { ...rig.credentials, serviceUserId })
  for (const before of ['', 'x', huge, nul, loneSurrogate, crypto.randomUUID().toUpperCase()]) {
    const query = new URLSearchParams({ session: String(body['sessionToken']), before })
    const reply = await own.get(`/api/widget/account/history?${query}`)
    expect([before, reply.status, Object.keys(reply.body['fields'] as object)]).toEqual([before, 400, ['before']])
  }
})

test.each(['serviceUserId', 'parentOrigin'])('a session is refused for a bad %s, which is named', async (field) => {
  const good = { ...rig.credentials, serviceUserId, parentOrigin: 'https://shop.example' }
  const bad = field === 'serviceUserId' ? badLabels : badLabels.filter((value) => value !== undefined && value !== null)
  for (const value of bad) {
    const reply = await rig.client.post('/api/widget/session', { ...good, [field]: value })
    expect([value, reply.status, Object.keys(reply.body['fields'] as object)]).toEqual([value, 400, [field]])
  }
})

test.each(['/api/widget/session', '/api/server/link/verify'])('%s knows no app without its secret', async (path) => {
  for (const value of badLabels) {
    for (const field of ['clientId', 'clientSecret']) {
      rig.move()
      const body = { ...rig.credentials, serviceUserId, linkCode: 'lc_x', [field]: value }
      const reply = await rig.client.post(path, body)
      expect([401, 429]).toContain(reply.status)
    }
  }
})
