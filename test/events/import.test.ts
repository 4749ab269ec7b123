/** A copy carries an app's events, and their numbers go on in the database that it is imported into. */
import { afterAll, beforeAll, expect, setDefaultTimeout, test } from 'bun:test'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { toEvent } from '../../src/actions/events/event-body.ts'
import { journalPing } from '../../src/store/events/journal.ts'
import { getUnnumberedSeconds } from '../../src/store/events/number-events.ts'
import { callCommand } from '../command.ts'
import { newUsers, openTestService, secretsKey, type TestService } from '../service.ts'
import { creditOf, newAppWithEvents, numberAll, openLane, postBatch, readAll, sequencesOf } from './rig.ts'

setDefaultTimeout(180_000)

let folder: string
let source: TestService
let target: TestService
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'billfold-events-copy-'))
  source = await openTestService()
  target = await openTestService()
})
afterAll(async () => {
  await source.close()
  await target.close()
  await rm(folder, { recursive: true })
})

const cli = (args: string[], { databaseUrl }: TestService) =>
  callCommand(args, { DATABASE_URL: databaseUrl, SECRETS_KEY: secretsKey, DATA_DIR: join(folder, 'unused') })

async function bodies({ service }: TestService, clientId: string): Promise<string[]> {
  const events = await readAll(service, clientId)
  return events.map((event) => JSON.stringify(toEvent(event, clientId, service.config.currency)))
}

test('after an import the events are the same, those without a number get theirs, and new ones follow without a gap', async () => {
  const app = await newAppWithEvents(source.service)
  const users = await newUsers(source.service, app, 3)
  const lane = await openLane(source.service)
  for (let i = 0; i < 12; i++) await postBatch(lane, [creditOf(app, users[i % 3]!)])
  await numberAll(source.service)
  const before = await bodies(source, app.clientId)
  // A movement and a fact without a number, as a copy of a busy service has them.
  await postBatch(lane, [creditOf(app, users[0]!)])
  await journalPing(source.service.db.pool, app.clientId)
  await lane.client.end()

  const file = join(folder, 'events.billfold')
  expect(await cli(['export', file], source)).toMatchObject({ exitCode: 0, stderr: '' })
  expect(await cli(['import', file], target)).toMatchObject({ exitCode: 0, stderr: '' })
  expect(await bodies(target, app.clientId)).toEqual(before)
  await numberAll(target.service)
  await numberAll(source.service)
  expect(await bodies(target, app.clientId)).toEqual(await bodies(source, app.clientId))

  const other = await openLane(target.service)
  for (let i = 0; i < 12; i++) await postBatch(other, [creditOf(app, users[i % 3]!)])
  await journalPing(target.service.db.pool, app.clientId)
  await other.client.end()
  await numberAll(target.service)
  // `readAll` checks that the numbers are 1, 2, 3 …
  const all = await readAll(target.service, app.clientId)
  expect(all.length).toBe(before.length + 2 + 13)
  expect(await getUnnumberedSeconds(target.service.db.pool)).toBe(0)
  for (const sequences of Object.values(sequencesOf(all)))
    expect(sequences).toEqual(Array.from(sequences, (_, i) => i + 1))
})
