/** The pages of an app's endpoints. */
import { afterAll, beforeAll, expect, setDefaultTimeout, test } from 'bun:test'
import { newAppWithEvents } from '../../../test/events/rig.ts'
import { newOperator, type TestOperator } from '../../../test/operator.ts'
import { openTestService, type TestService } from '../../../test/service.ts'
import { listEndpoints } from '../../store/events/endpoints.ts'

setDefaultTimeout(120_000)

let opened: TestService
let admin: TestOperator

beforeAll(async () => {
  opened = await openTestService()
  admin = await newOperator(opened)
})
afterAll(() => opened.close())

test('an endpoint is added with the types that the form chose', async () => {
  const { clientId } = await newAppWithEvents(opened.service)
  const type = ['wallet.topped_up', 'test.ping']
  const fields = { url: 'https://shop.example/hooks', type, form: crypto.randomUUID() }
  const added = await admin.post(`/admin/client-apps/${clientId}/endpoints`, fields)
  expect(added.status).toBe(200)
  const [endpoint] = await listEndpoints(opened.service.db.pool, clientId)
  expect(endpoint).toMatchObject({ url: 'https://shop.example/hooks', types: type })
})
