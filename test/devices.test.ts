/** The device of a browser: it proves the person, and only together with a session of the same user. */
import { afterAll, beforeAll, beforeEach, describe, expect, setDefaultTimeout, test } from 'bun:test'
import { cookieOf } from './devices.ts'
import { openIdentityRig, password, type IdentityRig } from './identity-rig.ts'

setDefaultTimeout(180_000)

let rig: IdentityRig

beforeAll(async () => {
  rig = await openIdentityRig()
})
beforeEach(async () => {
  await rig.setLate(0)
  rig.move()
})
afterAll(() => rig.close())

const sessionOf = async (serviceUserId: unknown) =>
  String((await rig.client.post('/api/widget/session', { ...rig.credentials, serviceUserId })).body['sessionToken'])

async function newMember() {
  const person = rig.newPerson()
  await person.newAccount()
  const signedIn = await person.logIn()
  const { serviceUserId } = signedIn.body
  const session = await sessionOf(serviceUserId)
  const device = cookieOf(signedIn.headers)
  return { ...person, serviceUserId, session, device, setCookie: signedIn.headers.get('set-cookie')! }
}

const walletOf = async (session: string, headers: Record<string, string> = {}) =>
  (await rig.page.call('GET', `/api/widget/wallet?session=${session}`, undefined, headers)).body

describe('the cookie', () => {
  test('a sign-in sets it for this host alone, partitioned by the embedding site, and out of reach of scripts', async () => {
    const { setCookie } = await newMember()
    expect(setCookie).toMatch(
      /^__Host-billfold-device=wd_[\w-]{43}; Path=\/; HttpOnly; Secure; SameSite=None; Partitioned; Max-Age=2592000$/,
    )
  })

  test('with it a session proves the person, and just after the password the presence', async () => {
    const { session, device } = await newMember()
    expect(await walletOf(session)).toMatchObject({ proof: 'session' })
    expect(await walletOf(session, device)).toMatchObject({ proof: 'presence', presenceUntil: expect.any(String) })
  })

  test('a mailed code proves the person, and no presence', async () => {
    const person = rig.newPerson()
    const { body, headers } = await person.newAccount()
    const session = await sessionOf(body['serviceUserId'])
    expect(await walletOf(session, cookieOf(headers))).toMatchObject({ proof: 'person' })
  })
})

describe('prove', () => {
  const prove = (session: string, body: object, headers: Record<string, string> = {}) =>
    rig.page.call('POST', `/api/widget/account/prove?session=${session}`, JSON.stringify(body), headers)

  test('the password makes this browser a device', async () => {
    const { session } = await newMember()
    const proved = await prove(session, { password })
    expect(proved.body).toEqual({ proof: 'presence', presenceUntil: expect.any(String) })
    expect(await walletOf(session, cookieOf(proved.headers))).toMatchObject({ proof: 'presence' })
  })
})
