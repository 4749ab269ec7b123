import { afterAll, expect, test } from 'bun:test'
import { newOperator } from '../../../test/operator.ts'
import { newApp, newUser, openTestService } from '../../../test/service.ts'
import { updateFreeze } from '../../store/wallets.ts'
import { transact } from '../../store/connection/database.ts'
import { lockUser, updateUserDeleted } from '../../store/people/users.ts'

const opened = await openTestService()
const admin = await newOperator(opened)
afterAll(() => opened.close())

const text = async (response: Promise<Response>) => await (await response).text()

test('operators see that an account was deleted, in the list and on its own page, and can do nothing with the wallet', async () => {
  const { userId, serviceUserId } = await newUser(opened.service, await newApp(opened.service))
  await transact(opened.service.db, async (tx) => {
    await updateFreeze(tx, userId, 'closed', null)
    await updateUserDeleted(tx, (await lockUser(tx, userId))!)
  })
  for (const path of ['/admin/wallets', `/admin/wallets/${userId}`]) {
    const html = await text(admin.get(path))
    expect(html).toContain('Deleted user')
    expect(html).toContain('deleted</span>')
    expect(html).not.toContain(`${userId}@example.com`)
    expect(html).not.toContain('>null<')
  }
  // Also by the id that an app still has.
  const found = await admin.get(`/admin/wallets?q=${serviceUserId}`)
  expect(found.headers.get('location')).toContain(userId)
  const html = await text(admin.get(`/admin/wallets/${userId}`))
  expect(html).toContain('The account was deleted')
  // What was deleted is not reported as if it had never been there.
  for (const text of ['No email to this user', 'No notes about this user', 'not chosen', 'appears here'])
    expect(html).not.toContain(text)
  expect(html).not.toContain('Grant a bonus')
  expect(html).not.toContain('Freeze the wallet')
})
