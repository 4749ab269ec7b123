/** What waits in a process when it is asked to end. */
import { afterAll, beforeAll, expect, setDefaultTimeout, test } from 'bun:test'
import { newAppWithEvents, numberAll } from './events/rig.ts'
import { startMailServer } from './mail-server.ts'
import { newEmail, newPage } from './page.ts'
import { startProcess } from './process.ts'
import { newApp, openTestService, type TestService } from './service.ts'

setDefaultTimeout(120_000)

let opened: TestService
beforeAll(async () => void (opened = await openTestService()))
afterAll(() => opened.close())

test('a mail that its server takes slowly is sent before the process ends', async () => {
  const { clientId } = await newApp(opened.service)
  const mails = await startMailServer()
  mails.behaviour.greetsAfterMs = 1_500
  const service = await startProcess({ DATABASE_URL: opened.databaseUrl, SMTP_URL: mails.url })
  const email = newEmail()
  const signUp = { clientId, email, password: 'seven tired llamas', firstName: 'Ada', lastName: 'Lovelace' }
  expect((await newPage(service.send, service.url).auth('sign-up', signUp)).status).toBe(202)
  expect(await service.stop()).toBe(0)
  expect(mails.taken.map(({ to }) => to)).toEqual([email])
  await mails.goAway()
})

test('a call that waits for events is answered, and not cut off', async () => {
  const app = await newAppWithEvents(opened.service)
  await numberAll(opened.service)
  const service = await startProcess({ DATABASE_URL: opened.databaseUrl })
  const query = new URLSearchParams({ ...app, after: '1', wait: '20' })
  const waiting = fetch(`${service.url}/api/server/events?${query}`)
  await Bun.sleep(500)
  const ended = service.stop()
  const answer = await waiting
  expect([answer.status, await answer.json()]).toEqual([200, expect.objectContaining({ events: [] })])
  expect(await ended).toBe(0)
})
