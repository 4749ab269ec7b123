import { afterAll, beforeAll, expect, setDefaultTimeout, test } from 'bun:test'
import { openIdentityRig, password, type IdentityRig } from '../../test/identity-rig.ts'
import { hashPassword } from '../actions/people/passwords.ts'

setDefaultTimeout(180_000)

let rig: IdentityRig
beforeAll(async () => {
  rig = await openIdentityRig()
  rig.move()
})
afterAll(() => rig.close())

test('while too many passwords wait to be checked, the answer says that the service is busy, and not that the user tried too often', async () => {
  const person = rig.newPerson()
  const { body } = await person.newAccount()
  const { body: made } = await rig.client.post('/api/widget/session', {
    ...rig.credentials,
    serviceUserId: body['serviceUserId'],
  })
  const prove = () => rig.page.post(`/api/widget/account/prove?session=${String(made['sessionToken'])}`, { password })
  // Two run at once and 500 wait: each that ends is followed by another, before any other work of the process.
  const over = new AbortController()
  const keepBusy = async () => {
    while (!over.signal.aborted) await hashPassword({ passwordCost: { memoryCost: 8, timeCost: 1 } }, 'x')
  }
  const others = Promise.all(Array.from({ length: 502 }, keepBusy))
  const refused = await prove()
  over.abort()
  await others
  expect([refused.status, refused.body['code'], refused.body['reason']]).toEqual([429, 'RATE_LIMITED', 'busy'])
  expect(refused.headers.get('retry-after')).toBe('5')
  expect((await prove()).status).toBe(200)
})
