/** A process that is killed at each step of a delivery: every event still arrives, and a repeated one has the same id and bytes. */
import { afterAll, beforeAll, expect, setDefaultTimeout, test } from 'bun:test'
import { addEndpoint } from '../../src/actions/webhooks/manage-endpoints.ts'
import { findEndpoint } from '../../src/store/events/endpoints.ts'
import type { WriterClient } from '../../src/store/writer/connection.ts'
import { eventually } from '../eventually.ts'
import { lockWaitsSql } from '../lock-waits.ts'
import { startProcess, type ServiceProcess } from '../process.ts'
import { startReceiver, type WebhookReceiver } from '../receiver.ts'
import {
  newUsers,
  openTestService,
  operator,
  secretsKey,
  type Credentials,
  type TestService,
  type TestUser,
} from '../service.ts'
import { creditOf, newAppWithEvents, numberAll, openLane, postBatch, readAll } from './rig.ts'

setDefaultTimeout(300_000)

let opened: TestService
let app: Credentials
let users: TestUser[]
let lane: WriterClient
let receiver: WebhookReceiver
let endpointId: string
let service: ServiceProcess
/** Events that the receiver refuses. */
const refused = new Set<number>()

const start = () => startProcess({ DATABASE_URL: opened.databaseUrl, SECRETS_KEY: secretsKey })
const query = async (sql: string) => (await opened.service.db.pool.query(sql)).rows

beforeAll(async () => {
  opened = await openTestService()
  app = await newAppWithEvents(opened.service)
  users = await newUsers(opened.service, app, 3)
  lane = await openLane(opened.service)
  await numberAll(opened.service)
  receiver = startReceiver()
  const added = await addEndpoint(opened.service, operator, app.clientId, { url: receiver.url, types: null })
  if (added.kind !== 'added') throw new Error(added.kind)
  endpointId = added.id
  receiver.secrets = [added.secret]
  await query(`create function hold() returns trigger language plpgsql as
    'begin perform pg_advisory_xact_lock(77); return new; end'`)
  service = await start()
})
afterAll(async () => {
  await service.stop()
  await receiver.stop()
  await lane.client.end()
  await opened.close()
})

const isClaimed = 'when (old.lease is null and new.lease is not null)'
const isAdvanced = 'when (new.delivered_up_to > old.delivered_up_to)'
const held = 'execute function hold()'

/** Each makes the delivery wait at one of its steps, until the key is free. */
const steps: Record<string, string> = {
  'while it claims the endpoint': `create trigger held before update on endpoints for each row ${isClaimed} ${held}`,
  'before its progress is saved': `create trigger held before update on endpoints for each row ${isAdvanced} ${held}`,
  'while it sets an event aside': `create trigger held before insert on work for each row when (new.kind = 'deliver-event') ${held}`,
  'while it records attempts': `create trigger held before insert on endpoint_attempts for each row ${held}`,
  'after everything, before its commit': `create constraint trigger held after update on endpoints deferrable initially deferred
    for each row ${isAdvanced} ${held}`,
}

const eventsPerStep = 21

test.each([...Object.keys(steps), 'while the receiver has the request'])('killed %s', async (step) => {
  const before = (await readAll(opened.service, app.clientId)).length
  // The first event of the step fails, and steps aside when a later one of another user succeeds.
  refused.add(before + 1)
  const answering = Promise.withResolvers<void>()
  const asked = Promise.withResolvers<void>()
  receiver.answer = async ({ number }) => {
    asked.resolve()
    if (!steps[step]) await answering.promise
    return new Response(null, { status: refused.has(number) ? 500 : 204 })
  }
  const key = await opened.service.db.pool.connect()
  await key.query('select pg_advisory_lock(77)')
  if (steps[step]) await query(steps[step])
  const credits = Array.from({ length: eventsPerStep }, (_, i) => creditOf(app, users[i === 0 ? 0 : 1 + (i % 2)]!))
  await postBatch(lane, credits)
  if (steps[step]) await eventually(async () => (await query(lockWaitsSql.text)).length > 0, true)
  else await asked.promise
  await service.kill()
  answering.resolve()
  refused.clear()
  await key.query('select pg_advisory_unlock(77)')
  key.release()
  for (const table of ['endpoints', 'work', 'endpoint_attempts']) await query(`drop trigger if exists held on ${table}`)
  // As if the lease of the dead process and the wait until its next attempt had run out.
  await query(`update endpoints set leased_until = now(), next_attempt_at = now()`)
  service = await start()
  await numberAll(opened.service)
  const all = await readAll(opened.service, app.clientId)
  expect(all.length - before).toBe(eventsPerStep)
  const isDelivered = async () => {
    await query(`update work set due_at = now() where kind = 'deliver-event' and due_at > now()`)
    const { deliveredUpTo } = (await findEndpoint(opened.service.db.pool, endpointId))!
    return { deliveredUpTo, open: (await query(`select from work where kind = 'deliver-event'`)).length }
  }
  await eventually(isDelivered, { deliveredUpTo: all.length, open: 0 })
  const accepted = new Set(receiver.accepted)
  expect(all.slice(before).filter(({ number }) => !accepted.has(number))).toEqual([])
  const forms = new Set(receiver.received.map(({ event, id, body }) => `${event.number} ${id} ${body}`))
  expect(forms.size).toBe(new Set(receiver.received.map(({ event }) => event.number)).size)
})
