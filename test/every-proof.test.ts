/**
 * Every route of the widget with less proof of the user than its table names: a session alone, a device without the password, the
 * device of another user, a device that ended. Each call is refused and changes nothing; the same call with the proof is not. A new
 * route fails here until its table names a proof, and an input that needs more proof fails until it has a case.
 */
import { afterAll, expect, setDefaultTimeout, test } from 'bun:test'
import { userProofs, type UserProof } from '../src/actions/people/proofs.ts'
import type { Route } from '../src/api/route.ts'
import { updateDevicesRevoked } from '../src/store/people/devices.ts'
import { goodValues, toRequest, type Device } from './routes/json-cases.ts'
import { openRig, send, tryCases, type Case } from './routes/rig.ts'
import { linkUser, newUser, openTestService, type TestUser } from './service.ts'
import { newClient } from './client.ts'

setDefaultTimeout(180_000)

const opened = await openTestService()
const rig = await openRig(opened)
afterAll(() => opened.close())

const routes = opened.app.routes.filter(({ path }) => path.startsWith('/api/widget/'))
const named = ({ method, path }: Route) => `${method} ${path}`
const isUserProof = (proof: unknown): proof is UserProof => userProofs.some((each) => each === proof)

/** Routes of the widget that work without a session: those of an app's backend, and those before a sign-in. */
const withoutSession = ['POST /api/widget/session', /^POST \/api\/widget\/auth\//]

test('every route of the widget names its proof, or is known to need none', () => {
  const open = routes.filter((route) => !isUserProof(route.proof)).map(named)
  const unknown = open.filter((name) => !withoutSession.some((known) => name.search(known) === 0))
  expect([routes.length > 30, unknown]).toEqual([true, []])
})

/** A user of the rig's app and of another one, whose entry is the first. */
async function newPerson() {
  const user = await rig.newUser()
  const other = await linkUser(opened.service, rig.apps.other, user.userId)
  await newClient(opened.app.fetch, rig.apps.other).credit(other, 5)
  return user
}

/** Inputs that need more proof than the route: by route and proof. A new one has to be added here. */
const moreInputs: Record<string, Partial<Record<UserProof, readonly Record<string, unknown>[]>>> = {
  'POST /api/widget/papers': {
    person: [
      { kind: 'receipt', sequence: 1 },
      { kind: 'statement', month: '2026-01' },
      { kind: 'selection', search: 'order' },
    ],
    presence: [{ kind: 'data' }],
  },
  'POST /api/widget/account/sign-out': { person: [{ clientId: rig.apps.other.clientId }] },
  'POST /api/widget/account/mails': {
    presence: [
      { choice: 'sign-ins', isWanted: false },
      { choice: 'payments', isWanted: false },
    ],
  },
  'POST /api/widget/links/disconnect': { presence: [{ clientId: rig.apps.other.clientId }] },
  // Their answers are redacted instead: test/app-alone.test.ts.
  'GET /api/widget/wallet': { person: [] },
  'GET /api/widget/holds': { person: [] },
}

test('every input that needs more proof than its route has a case', () => {
  const asked = Object.fromEntries(
    routes.flatMap((route) => (route.moreProof ? [[named(route), Object.keys(route.moreProof).toSorted()]] : [])),
  )
  const tried = Object.entries(moreInputs).map(([name, inputs]) => [name, Object.keys(inputs).toSorted()])
  expect(Object.fromEntries(tried)).toEqual(asked)
})

const refusals = { session: '', person: '403 PERSON_REQUIRED', presence: '403 PRESENCE_REQUIRED' }

const withoutPassword = 'a device without the password'

/** Browsers that prove less than needed: by name, with the cookie. */
async function lesserDevices(user: TestUser, needed: UserProof): Promise<[string, Device][]> {
  const stranger = await newUser(opened.service, rig.app)
  const ended = await rig.deviceOf(user)
  await updateDevicesRevoked(opened.service.db.pool, user.userId)
  const lesser: [string, Device][] = [
    ['a session alone', {}],
    ['the device of another user', await rig.deviceOf(stranger)],
    ['a device that ended', ended],
    ['a token that is none', { cookie: `__Host-billfold-device=wd_${'x'.repeat(43)}` }],
    ['two tokens', { cookie: `${(await rig.deviceOf(user))['cookie']}; __Host-billfold-device=x` }],
  ]
  if (needed === 'presence') lesser.push([withoutPassword, await rig.deviceOf(user, { hasPassword: false })])
  return lesser
}

type Input = readonly [what: string, needed: UserProof, changes: Record<string, unknown>]

/** The documented example with the proof of the table, and the inputs that need more. */
function inputsOf(route: Route): Input[] {
  // The action checks the password in the body, and a device is enough to send it.
  const own = route.hasPassword ? 'person' : (route.proof as UserProof)
  const more = Object.entries(moreInputs[named(route)] ?? {}) as [UserProof, readonly Record<string, unknown>[]][]
  return [
    ['the example', own, {}],
    ...more.flatMap(([needed, inputs]) => inputs.map((input): Input => [JSON.stringify(input), needed, input])),
  ]
}

const guarded = routes.filter((route) => isUserProof(route.proof))

test.each(guarded.map((route) => [named(route), route] as const))('%s refuses less', async (_, route) => {
  const [[, own] = []] = inputsOf(route)
  for (const [what, needed, changes] of inputsOf(route)) {
    if (needed === 'session') continue
    const user = await newPerson()
    const values = { ...(await goodValues(rig, route, user)), ...changes }
    const lesser = await lesserDevices(user, needed)
    const cases = lesser.map(([name, headers]): Case => ({
      name: `${what} with ${name}`,
      request: toRequest(route, { values, headers }),
      // Without a device the route refuses before it reads the input.
      answers: [refusals[own === 'person' && name !== withoutPassword ? 'person' : needed]],
    }))
    // The header counts like the cookie, and the own-origin rule comes before both.
    const { cookie } = await rig.deviceOf(user)
    const headers = { 'billfold-device': cookie!.split('=')[1]!, origin: 'https://evil.example' }
    cases.push({
      name: `${what} with the header from another origin`,
      request: toRequest(route, { values, headers }),
      answers: ['403 CROSS_SITE_REFUSED'],
    })
    // A cookie that is sent by itself is no authority by itself.
    cases.push({
      name: `${what} with a device and no session`,
      request: toRequest(route, { values: { ...values, session: undefined }, headers: { cookie: cookie! } }),
      answers: ['401 INVALID_SESSION'],
    })
    expect((await tryCases(opened, cases)).faults).toEqual([])
  }
})

test.each(guarded.map((route) => [named(route), route] as const))('%s takes its proof', async (_, route) => {
  const refused: string[] = []
  for (const [what, needed, changes] of inputsOf(route)) {
    const user = await newPerson()
    const values = { ...(await goodValues(rig, route, user)), ...changes }
    const hasPassword = needed === 'presence'
    const headers = needed === 'session' ? {} : await rig.deviceOf(user, { hasPassword })
    const { answer } = await send(opened, toRequest(route, { values, headers }))
    if (/REQUIRED|^5/.test(answer)) refused.push(`${what} at ${needed}: ${answer}`)
  }
  expect(refused).toEqual([])
})
