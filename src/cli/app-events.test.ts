/** events list, show and replay, against what the feed answers and an endpoint gets. */
import { afterAll, beforeAll, describe, expect, setDefaultTimeout, test } from 'bun:test'
import { newClient, type Client } from '../../test/client.ts'
import { callCommand } from '../../test/command.ts'
import { newAppWithEvents, numberAll } from '../../test/events/rig.ts'
import { readGuides, snippetsOf } from '../../test/example/snippets.ts'
import { newApp, newUser, openTestService, operator, secretsKey } from '../../test/service.ts'
import type { Credentials, TestService } from '../../test/service.ts'
import { addEndpoint } from '../actions/webhooks/manage-endpoints.ts'

setDefaultTimeout(120_000)

let opened: TestService
let app: Credentials
let client: Client
let serviceUserId: string
beforeAll(async () => {
  opened = await openTestService()
  app = await newAppWithEvents(opened.service)
  client = newClient(opened.app.fetch, app)
  serviceUserId = (await newUser(opened.service, app)).serviceUserId
  for (let i = 1; i <= 3; i++) await client.credit(serviceUserId, i)
  expect((await client.debit(serviceUserId, 2, 'order \u202e1')).status).toBe(200)
  await numberAll(opened.service)
})
afterAll(() => opened.close())

const run = async (...args: string[]) =>
  await callCommand(['events', ...args], { DATABASE_URL: opened.databaseUrl, SECRETS_KEY: secretsKey })
const runJson = async (...args: string[]) =>
  JSON.parse((await run(...args, '--json')).stdout) as Record<string, unknown>
const numbersOf = ({ events }: Record<string, unknown>) => (events as { number: number }[]).map(({ number }) => number)
const feed = async (query: Record<string, string> = {}) => (await client.get('/api/server/events', query)).body
const timeOfEvent = async (number: number) =>
  ((await feed())['events'] as { timestamp: string }[])[number - 1]!.timestamp

describe('events list', () => {
  test('has the events of the feed, one in a line', async () => {
    const { events, last, oldest } = await feed()
    expect(await runJson('list', app.clientId)).toEqual({ events, readUpTo: 6, last, oldest })
    const { stdout, exitCode } = await run('list', app.clientId)
    const lines = stdout.trimEnd().split('\n')
    expect([exitCode, lines.length, lines.at(-1)]).toEqual([0, 7, 'The app has the events 1 to 6; read up to 6.'])
    expect(lines[0]).toMatch(/^ {7}1 {2}\S+Z {2}test\.ping$/)
    expect(lines[5]).toMatch(new RegExp(`6 {2}\\S+Z {2}wallet.debited {5}${serviceUserId} {2}-2 USD {2}\\S+ order ·1$`))
  })

  test('chooses by number, type, time and count', async () => {
    expect(numbersOf(await runJson('list', app.clientId, '--after', '4'))).toEqual([5, 6])
    expect(numbersOf(await runJson('list', app.clientId, '--after', '0', '--limit', '2'))).toEqual([1, 2])
    expect(numbersOf(await runJson('list', app.clientId, '--after', '60'))).toEqual([])
    const types = ['--type', 'wallet.debited', '--type', 'link.created']
    expect(numbersOf(await runJson('list', app.clientId, ...types))).toEqual([2, 6])
    expect(await runJson('list', app.clientId, ...types, '--limit', '1')).toMatchObject({ readUpTo: 2, last: 6 })
    const [from, to] = [await timeOfEvent(4), await timeOfEvent(6)]
    const all = (await feed())['events'] as { number: number; timestamp: string }[]
    const within = (isIn: (at: string) => boolean) =>
      all.filter(({ timestamp }) => isIn(timestamp)).map(({ number }) => number)
    expect(numbersOf(await runJson('list', app.clientId, '--from', from, '--to', to))).toEqual(
      within((at) => at >= from && at < to),
    )
    expect(numbersOf(await runJson('list', app.clientId, '--to', from))).toEqual(within((at) => at < from))
    expect(numbersOf(await runJson('list', app.clientId, '--from', to))).toContain(6)
    const later = new Date(Date.parse(to) + 1).toISOString()
    expect((await run('list', app.clientId, '--from', later)).stdout).toStartWith('No event matches.\n')
    expect((await run('list', app.clientId, '--from', '2001-01-01', '--to', '2001-01-02')).stdout).toStartWith(
      'No event',
    )
  })

  test('an app without events has none, and an unknown one is named', async () => {
    const { clientId } = await newApp(opened.service)
    expect((await run('list', clientId)).stdout).toBe('No event matches.\nThe app has had no events.\n')
    const unknown = await run('list', 'app_x')
    expect([unknown.exitCode, unknown.stderr]).toEqual([1, 'There is no app app_x. "app list" shows all.\n'])
  })

  test.each([
    [['--after', '-1'], '--after: write the number of an event.'],
    [['--after', '1e3'], '--after: write the number of an event.'],
    [['--limit', '0'], '--limit: write a number from 1 to 1000.'],
    [['--limit', '1001'], '--limit: write a number from 1 to 1000.'],
    [['--type', 'wallet.debted'], '--type: choose from wallet.debited,'],
    [['--from', 'yesterday'], '--from: write a time such as 2026-01-31T12:00:00Z.'],
    [['--to', '2026-13-01'], '--to: write a time such as 2026-01-31T12:00:00Z.'],
  ])('%p is a mistake', async (flags, message) => {
    const { exitCode, stderr } = await run('list', app.clientId, ...flags)
    expect([exitCode, stderr]).toEqual([2, expect.stringContaining(message)])
  })
})

describe('events show', () => {
  test('prints exactly the bytes of the feed', async () => {
    const query = new URLSearchParams({ ...app, after: '5', limit: '1' })
    const response = await opened.app.fetch(new Request(`http://billfold.test/api/server/events?${query}`))
    const bytes = /^\{"events":\[(.*)\],"last":6,"oldest":1\}$/.exec(await response.text())![1]
    expect((await run('show', app.clientId, '6')).stdout).toBe(`${bytes}\n`)
    expect(JSON.stringify(await runJson('show', app.clientId, '6'))).toBe(bytes!)
  })

  test('names what is not there yet, what is gone, and what is no number', async () => {
    const ahead = await run('show', app.clientId, '7')
    const said = `There is no event 7 yet: the last one of ${app.clientId} is 6.\n`
    expect([ahead.exitCode, ahead.stderr]).toEqual([1, said])
    expect((await run('show', app.clientId, '0')).exitCode).toBe(2)
    const old = await newAppWithEvents(opened.service)
    await newUser(opened.service, old)
    await numberAll(opened.service)
    await opened.service.db.pool.query('delete from event_pages where client_id = $1 and first = 1', [old.clientId])
    const gone = await run('show', old.clientId, '1')
    expect([gone.exitCode, gone.stderr]).toEqual([1, 'Event 1 is no longer kept: the oldest is 2.\n'])
    expect(numbersOf(await runJson('list', old.clientId, '--after', '0'))).toEqual([2])
  })
})

/** The events that wait to be sent to the endpoint by themselves. */
const waiting = async (id: string) => {
  const { rows } = await opened.service.db.pool.query<{ number: number }>(
    `select split_part(key, '/', 2)::int as number from work where kind = 'deliver-event' and key like $1 || '/%' order by 1`,
    [id],
  )
  return rows.map(({ number }) => number)
}

describe('events replay', () => {
  const url = 'https://shop.example/hooks'
  const newEndpoint = async (types: string[] | null = null) => {
    const added = await addEndpoint(opened.service, operator, app.clientId, { url, types })
    if (added.kind !== 'added') throw new Error(added.kind)
    return added.id
  }

  test('says how many events for which address, then sends them again and records it', async () => {
    const id = await newEndpoint()
    const { exitCode, stdout, stderr } = await run('replay', id, '--first', '3', '--last', '40', '--as', 'Ann')
    const planned = `4 events (numbers 3 to 6) for ${url}\n`
    const done = 'The events are sent again: "endpoint list" shows how it goes.\n'
    expect([exitCode, stdout, stderr]).toEqual([0, planned + done, ''])
    expect(await waiting(id)).toEqual([3, 4, 5, 6])
    const { rows } = await opened.service.db.pool.query(
      `select actor, subject, detail from audit where action = 'endpoint.replayed' and detail->>'endpoint' = $1`,
      [id],
    )
    expect(rows).toEqual([
      { actor: 'cli:Ann', subject: `app:${app.clientId}`, detail: { endpoint: id, first: 3, last: 6 } },
    ])
  })

  test('counts only the types that the endpoint gets; one of another type alone is none', async () => {
    const id = await newEndpoint(['wallet.credited'])
    expect(await runJson('replay', id, '--first', '1', '--last', '6')).toEqual({ id, first: 1, last: 6, count: 3 })
    const none = await run('replay', id, '--first', '6')
    expect([none.exitCode, none.stderr]).toEqual([1, 'The endpoint has had no event of that range.\n'])
  })

  test('takes a time', async () => {
    const id = await newEndpoint()
    const from = new Date(Date.parse(await timeOfEvent(1)) - 1_000).toISOString()
    expect(await runJson('replay', id, '--from', from)).toEqual({ id, first: 1, last: 6, count: 6 })
    expect((await run('replay', id, '--from', '2001-01-01', '--to', '2001-01-02')).exitCode).toBe(1)
  })

  test('asks on a terminal, and without a yes sends nothing', async () => {
    const id = await newEndpoint()
    const environment = { DATABASE_URL: opened.databaseUrl, SECRETS_KEY: secretsKey }
    const ask = async (typed: string) =>
      await callCommand(['events', 'replay', id, '--first', '6'], environment, typed, { isTTY: true })
    expect(await ask('\n')).toEqual({
      exitCode: 1,
      stdout: `One event (number 6) for ${url}\n`,
      stderr: 'Continue? [y/N] Nothing was sent.\n',
    })
    expect(await waiting(id)).toEqual([])
    expect((await ask('y\n')).exitCode).toBe(0)
    expect(await waiting(id)).toEqual([6])
  })

  test('the lines of docs/events.md work', async () => {
    const id = await newEndpoint()
    const snippets = snippetsOf((await readGuides()).filter(({ name }) => name === 'events.md'))
    for (const line of snippets.get('events-commands')!.trim().split('\n')) {
      const known = line.replace(/app_\S+/, app.clientId).replace(/we_\S+/, id)
      const words = known.replace(' 17', ' 1').split(' ')
      expect(words.slice(0, 3)).toEqual(['npx', 'billfold', 'events'])
      expect([line, (await run(...words.slice(3))).exitCode]).toEqual([line, 0])
    }
    expect(await waiting(id)).toEqual([1, 2, 3, 4, 5, 6])
  })

  test('refuses an unknown endpoint and an unclear range', async () => {
    expect((await run('replay', 'we_x', '--first', '1')).stderr).toStartWith('There is no endpoint we_x.')
    const unclear = [
      [],
      ['--first', '1', '--from', '2026-01-31'],
      ['--from', '2026-01-31', '--last', '3'],
      ['--last', '3'],
    ]
    for (const flags of [...unclear, ['--first', '1', '--to', '2026-01-31']])
      expect([flags, (await run('replay', 'we_x', ...flags)).exitCode]).toEqual([flags, 2])
  })
})
