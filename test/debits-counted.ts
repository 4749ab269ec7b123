/** `debit-path.test.ts` runs this under coverage: a number of debits of one app, one after the other, through the real app. */
import { expect, test } from 'bun:test'
import { newClient } from './client.ts'
import { newApp, newUser, openTestService } from './service.ts'

test('debits are posted', async () => {
  const opened = await openTestService()
  const credentials = await newApp(opened.service)
  const { serviceUserId } = await newUser(opened.service, credentials)
  const client = newClient(opened.app.fetch, credentials)
  await client.credit(serviceUserId, 1_000)
  for (let i = 0; i < Number(process.env['DEBITS']); i++)
    expect((await client.debit(serviceUserId, 1)).status).toBe(200)
  await opened.close()
})
