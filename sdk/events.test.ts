/** billfold.events against the real service: in order, from a number on, through lost answers, and to its end. */
import { afterAll, beforeAll, expect, setDefaultTimeout, test } from 'bun:test'
import { Billfold } from './server.ts'
import type { BillfoldEvent, EventsRequest } from './contract.ts'
import { errorOf } from './test/scripted-service.ts'
import { newClient } from '../test/client.ts'
import { eventually } from '../test/eventually.ts'
import { newAppWithEvents, numberAll } from '../test/events/rig.ts'
import { newUser, openTestService, type Credentials, type TestService } from '../test/service.ts'

setDefaultTimeout(60_000)

let opened: TestService
let app: Credentials
beforeAll(async () => {
  opened = await openTestService()
  app = await newAppWithEvents(opened.service)
  const { serviceUserId } = await newUser(opened.service, app)
  for (let i = 0; i < 5; i++) await newClient(opened.app.fetch, app).credit(serviceUserId, i + 1)
  await numberAll(opened.service)
})
afterAll(() => opened.close())

type Send = (request: Request) => Promise<Response>

const billfoldOf = (send: Send = (request) => opened.app.fetch(request)) =>
  new Billfold({
    baseUrl: 'http://billfold.test',
    ...app,
    maxRetries: 0,
    fetch: ((url: string, init: RequestInit) => send(new Request(url, init))) as typeof fetch,
  })

async function numbersOf(events: AsyncIterable<BillfoldEvent>, count = Infinity): Promise<number[]> {
  const numbers: number[] = []
  for await (const { number } of events) if (numbers.push(number) === count) break
  return numbers
}

test.each<[EventsRequest, number[]]>([
  [{ wait: 0 }, [1, 2, 3, 4, 5, 6, 7]],
  [{ wait: 0, after: 3, limit: 2 }, [4, 5, 6, 7]],
  [{ wait: 0, limit: 1, types: ['link.created', 'user.deleted'] }, [2]],
  [{ wait: 0, after: 7 }, []],
])('%j ends at the last event', async (request, numbers) => {
  expect(await numbersOf(billfoldOf().events(request))).toEqual(numbers)
})

test('data is typed by the type of the event', async () => {
  const amounts: number[] = []
  for await (const event of billfoldOf().events({ wait: 0, after: 2 }))
    if (event.type === 'wallet.credited') amounts.push(event.data.amount)
  expect(amounts).toEqual([1, 2, 3, 4, 5])
})

test('an outage is waited for, and nothing is left out or repeated', async () => {
  let sent = 0
  const lossy: Send = async (request) => {
    const response = await opened.app.fetch(request)
    if (++sent % 2 === 1) throw Object.assign(new Error('lost'), { code: 'ECONNRESET' })
    return response
  }
  expect(await numbersOf(billfoldOf(lossy).events({ limit: 4 }), 7)).toEqual([1, 2, 3, 4, 5, 6, 7])
  expect(sent).toBe(4)
})

test('a call that waits at the end of the feed ends with the signal', async () => {
  const abort = new AbortController()
  const reading = numbersOf(billfoldOf().events({ after: 7 }, { signal: abort.signal }))
  await eventually(() => opened.service.eventWaits.count(), 1)
  abort.abort()
  expect((await errorOf(reading)).code).toBe('ABORTED')
})

test('what the service refuses is thrown, with its code', async () => {
  const refused = numbersOf(billfoldOf().events({ after: 8 }))
  expect((await errorOf(refused)).code).toBe('INVALID_REQUEST')
})
