/** Two services on one database, on machines whose clocks are twelve minutes apart: what ends, ends for both at once. */
import { afterAll, beforeAll, describe, expect, setDefaultTimeout, test } from 'bun:test'
import { rotateSecret } from '../src/actions/apps/manage-apps.ts'
import { closeService, openService, type Service } from '../src/actions/service.ts'
import { buildApp } from '../src/app.ts'
import { openLog } from '../src/log.ts'
import { openMetrics } from '../src/metrics.ts'
import { openDatabase } from '../src/store/database.ts'
import { newClient } from './client.ts'
import { newApp, newUser, openTestService, operator, type Credentials, type TestService } from './service.ts'
import { letPass } from './time.ts'

setDefaultTimeout(60_000)

const minuteMs = 60_000
let opened: TestService
let services: { readonly name: string; readonly service: Service; readonly app: TestService['app'] }[]

beforeAll(async () => {
  opened = await openTestService()
  services = [-6, 6].map((minutes) => {
    const db = openDatabase(opened.service.db.connection)
    const now = () => new Date(Date.now() + minutes * minuteMs)
    const log = openLog('debug', (text) => opened.logged.push(text))
    const service = openService({ config: opened.service.config, db, log, metrics: openMetrics(), now })
    return { name: `${minutes} minutes`, service, app: buildApp(service) }
  })
})

afterAll(async () => {
  for (const { service } of services) {
    await closeService(service)
    await service.db.pool.end()
  }
  await opened.close()
})

const pass = async (ms: number) => {
  await letPass(opened.service.db.pool, ms)
  for (const { service } of services) await service.apps.refresh()
}

/** What each says, by whichever the thing was made. */
const makers = [0, 1]

describe.each(makers)('made by service %d of two whose clocks are apart', (maker) => {
  const made = () => services[maker]!.service

  test('a rotated secret ends for both after its overlap, and not before', async () => {
    const credentials = await newApp(made())
    const { serviceUserId } = await newUser(made(), credentials)
    const ask = async (who: Credentials) =>
      await Promise.all(services.map(async ({ app }) => (await newClient(app.fetch, who).wallet(serviceUserId)).status))
    const { previousEndsAt } = (await rotateSecret(made(), operator, credentials.clientId, '1h'))!
    expect(Math.abs(previousEndsAt.getTime() - Date.now() - 60 * minuteMs)).toBeLessThan(minuteMs)
    await pass(59 * minuteMs)
    expect(await ask(credentials)).toEqual([200, 200])
    await pass(minuteMs)
    expect(await ask(credentials)).toEqual([401, 401])
  })
})
