/** An old primary comes back beside the new one: acknowledged money is only on the newer. Real servers and processes. */
import { afterEach, describe, expect, setDefaultTimeout, test } from 'bun:test'
import { rm } from 'node:fs/promises'
import { join } from 'node:path'
import { Client } from 'pg'
import { readServerState } from '../src/store/connection/servers.ts'
import { newClient, type Client as ApiClient } from './client.ts'
import { callCommand } from './command.ts'
import { eventually } from './eventually.ts'
import { majors, startOtherServer, type OtherServer } from './other-server.ts'
import { startProcess, type ServiceProcess } from './process.ts'
import type { Credentials } from './service.ts'
import { onServer, startPair } from './standby.ts'

setDefaultTimeout(240_000)

const [major] = majors
const servers: OtherServer[] = []
const processes: ServiceProcess[] = []

afterEach(async () => {
  await Promise.all(processes.splice(0).map((one) => one.stop()))
  for (const server of servers.splice(0).reverse()) await server.remove()
})

async function startPrimaryAndStandby() {
  const first = await startOtherServer(major!)
  servers.push(first)
  const second = await startOtherServer(major!, { standbyOf: first })
  servers.push(second)
  const hosts = [first, second].map(({ port }) => `127.0.0.1:${port}`).join(',')
  return { first, second, environment: { DATABASE_URL: `postgres://billfold@${hosts}/postgres` } }
}

async function start(environment: Record<string, string>): Promise<ServiceProcess> {
  const service = await startProcess(environment)
  processes.push(service)
  return service
}

async function newShop(environment: Record<string, string>) {
  const created = await callCommand(['app', 'create', '--name', 'Shop', '--json'], environment)
  const credentials = JSON.parse(created.stdout) as Credentials
  const seeding = ['seed', '--users', '4', '--link', credentials.clientId, '--credit', '1000', '--json']
  const seeded = await callCommand(seeding, environment)
  return { credentials, users: (JSON.parse(seeded.stdout) as { serviceUserIds: string[] }).serviceUserIds }
}

const readyz = async ({ url }: ServiceProcess) => {
  const response = await fetch(`${url}/readyz`)
  return [response.status, ((await response.json()) as { database: string }).database]
}

/** Debits until `isOver`; returns the references that were answered with 200, and has them in `acknowledged` meanwhile. */
async function debitUntil(
  clients: ApiClient[],
  users: string[],
  name: string,
  isOver: () => boolean,
  acknowledged: string[] = [],
) {
  const worker = async (_: unknown, number: number) => {
    for (let i = 0; !isOver(); i++) {
      const reference = `${name}-${number}-${i}`
      const client = clients[number % clients.length]!
      const reply = await client.debit(users[number % users.length]!, 0.01, reference).catch(() => undefined)
      if (reply?.status === 200) acknowledged.push(reference)
      // Without pauses eight debits at a time take the processors from what the test waits for.
      await Bun.sleep(reply?.status === 200 ? 20 : 50)
    }
  }
  await Promise.all(Array.from({ length: 8 }, worker))
  return acknowledged
}

async function referencesOn(server: OtherServer): Promise<Set<string>> {
  const client = new Client({ connectionString: server.url })
  await client.connect()
  const { rows } = await client.query<{ reference_id: string }>('select reference_id from transfers')
  await client.end()
  return new Set(rows.map((row) => row.reference_id))
}

/** By the metric. */
async function problemsIn({ url }: ServiceProcess): Promise<Record<string, number>> {
  const text = await (await fetch(`${url}/metrics`)).text()
  const series = text.matchAll(/^billfold_database_servers_problem\{problem="([^"]+)"\} (\d+)$/gm)
  return Object.fromEntries(Array.from(series, ([, problem, value]) => [problem!, Number(value)]))
}

describe.skipIf(!major)('an old primary that comes back', () => {
  test('gets no money, from a process that saw the failover and from one that was started later', async () => {
    const { first, second, environment } = await startPrimaryAndStandby()
    const before = await start(environment)
    const { credentials, users } = await newShop(environment)
    const clientOf = (service: ServiceProcess) => newClient(service.send, credentials, service.url)
    await first.stop('fast')
    await second.promote()
    await eventually(() => readyz(before), [200, 'ok'])
    await eventually(() => problemsIn(before), { 'two primaries': 0, 'old primary': 0 })
    await first.start()
    await eventually(() => readyz(before), [200, 'two primaries'])
    await eventually(() => problemsIn(before), { 'two primaries': 1, 'old primary': 0 })
    const after = await start(environment)
    await eventually(() => readyz(after), [200, 'two primaries'])
    const state = { isOver: false }
    const acknowledged: string[] = []
    const isOver = () => state.isOver
    const debits = debitUntil([clientOf(before), clientOf(after)], users, 'load', isOver, acknowledged)
    await eventually(() => acknowledged.length > 20, true)
    // While the newer one restarts, only the old one takes writes.
    await second.stop('fast')
    await eventually(() => readyz(before), [503, 'old primary'])
    await eventually(() => readyz(after), [503, 'old primary'])
    await second.start()
    await eventually(() => readyz(before), [200, 'two primaries'])
    await eventually(() => readyz(after), [200, 'two primaries'])
    const { length } = acknowledged
    await eventually(() => acknowledged.length > length + 20, true)
    state.isOver = true
    await debits
    const [old, newer] = [await referencesOn(first), await referencesOn(second)]
    expect(acknowledged.filter((reference) => !newer.has(reference))).toEqual([])
    expect([...old].filter((reference) => reference.startsWith('load'))).toEqual([])
    for (const { output } of [before, after])
      expect(output()).toMatch(
        /"level":"error".*contradict each other.*two primaries.*old primary, on timeline 1; 2 is/,
      )
    const doctor = await callCommand(['doctor'], environment)
    expect(doctor.stdout).toContain('More than one server takes writes')
    await first.stop('fast')
    await eventually(() => readyz(before), [200, 'ok'])
  })

  test('is left by a process that still reaches it, as soon as a newer one is seen', async () => {
    const { first, second, environment } = await startPrimaryAndStandby()
    const service = await start(environment)
    const { credentials, users } = await newShop(environment)
    const client = newClient(service.send, credentials, service.url)
    expect((await client.debit(users[0]!, 1, 'on-both')).status).toBe(200)
    // Nothing stops the first one.
    await second.promote()
    await eventually(() => readyz(service), [200, 'two primaries'])
    const count = { left: 100 }
    const acknowledged = await debitUntil([client], users, 'after', () => count.left-- <= 0)
    const [old, newer] = [await referencesOn(first), await referencesOn(second)]
    expect(acknowledged.length).toBeGreaterThan(0)
    expect(acknowledged.filter((reference) => !newer.has(reference))).toEqual([])
    expect([...old].filter((reference) => reference.startsWith('after'))).toEqual([])
  })

  test('on the same timeline stops all money, because neither is known to be the older one', async () => {
    const { first, second, environment } = await startPrimaryAndStandby()
    const service = await start(environment)
    const { credentials, users } = await newShop(environment)
    const client = newClient(service.send, credentials, service.url)
    await second.stop('fast')
    // A standby that loses its signal file takes writes without a promotion.
    await rm(join(second.folder, 'data', 'standby.signal'))
    await second.start()
    await eventually(() => readyz(service), [503, 'two primaries'])
    const before = [await referencesOn(first), await referencesOn(second)]
    expect((await client.debit(users[0]!, 1, 'on-neither')).status).toBe(503)
    expect([await referencesOn(first), await referencesOn(second)]).toEqual(before)
    const doctor = await callCommand(['doctor'], environment)
    expect(doctor.stdout).toContain('More than one server takes writes')
    await second.stop('fast')
    await eventually(() => readyz(service), [200, 'ok'])
    expect((await client.debit(users[0]!, 1, 'on-neither')).status).toBe(200)
  })
})

describe('an ordinary role', () => {
  test('reads the timeline of a primary, of a standby and of a promoted one', async () => {
    const pair = await startPair()
    try {
      const role = await onServer(pair.primary, async (client) => {
        const { rows } = await client.query<{ super: boolean }>(
          'select rolsuper as super from pg_roles where rolname = current_user',
        )
        return rows
      })
      expect(role).toEqual([{ super: false }])
      expect(await onServer(pair.primary, readServerState)).toMatchObject({ kind: 'primary', timeline: 1 })
      expect(await onServer(pair.standby, readServerState)).toMatchObject({ kind: 'standby', timeline: 1 })
      await pair.failOver()
      expect(await onServer(pair.standby, readServerState)).toMatchObject({ kind: 'primary', timeline: 2 })
    } finally {
      await pair.close()
    }
  })

  test.skipIf(!major)('may do so on the oldest supported PostgreSQL', async () => {
    const server = await startOtherServer(major!)
    servers.push(server)
    const admin = new Client({ connectionString: server.url })
    await admin.connect()
    await admin.query('create role plain login')
    await admin.end()
    const plain = new Client({ connectionString: server.url.replace('billfold@', 'plain@') })
    await plain.connect()
    expect(await readServerState(plain)).toMatchObject({ kind: 'primary', timeline: 1 })
    await plain.end()
  })
})
