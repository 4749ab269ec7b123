/** A rush of logins must not hold up the money. */
import { afterAll, beforeAll, expect, test } from 'bun:test'
import { hashPassword, passwordCost } from '../src/actions/people/passwords.ts'
import { newId } from '../src/actions/tokens.ts'
import { transact } from '../src/store/connection/database.ts'
import { insertUser } from '../src/store/people/users.ts'
import { expectBalancedBooks } from './books.ts'
import { newClient } from './client.ts'
import { newPage } from './page.ts'
import { newApp, newUser, openTestService, type TestService } from './service.ts'

let opened: TestService
const password = 'seven tired llamas'
/** Each checks a password at its full cost. `npm test -- all` takes more of them. */
const count = process.env['TEST_ALL'] === '1' ? 200 : 80

beforeAll(async () => {
  opened = await openTestService()
})
afterAll(() => opened.close())

test(`${count} logins at once all succeed, and debits are answered all the while`, async () => {
  const { service, app } = opened
  const credentials = await newApp(service)
  const { serviceUserId } = await newUser(service, credentials)
  const client = newClient(app.fetch, credentials)
  const page = newPage(app.fetch)
  await client.credit(serviceUserId, 100_000)
  const passwordHash = await hashPassword({ passwordCost }, password)
  const emails = Array.from({ length: count }, (_, i) => `user${i}@example.com`)
  // As long as it takes: a request would have three seconds for all of them.
  await transact(service.db.longRunning, async (tx) => {
    for (const email of emails)
      await insertUser(tx, { id: newId(), email, passwordHash, firstName: 'A', lastName: 'B' })
  })

  const waiting = new Set(emails)
  const logins = emails.map(async (email) => {
    const { status } = await page.auth('login', { clientId: credentials.clientId, email, password })
    waiting.delete(email)
    return status
  })
  let debits = 0
  let duringLogins = 0
  while (waiting.size > 0) {
    expect((await client.debit(serviceUserId, 1)).status).toBe(200)
    debits++
    if (waiting.size > 0) duringLogins++
    await Bun.sleep(5)
  }
  expect(new Set(await Promise.all(logins))).toEqual(new Set([200]))
  // One at a time, each waits for its own commit; behind the logins there would have been a handful at most.
  expect(duringLogins).toBeGreaterThan(count / 4)
  expect(await client.balance(serviceUserId)).toBe(100_000 - debits)
  await expectBalancedBooks(service)
}, 300_000)
