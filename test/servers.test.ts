/** Several servers of one database, servers that take no writes, and how many connections they have room for. */
import { afterAll, afterEach, beforeAll, describe, expect, setDefaultTimeout, test } from 'bun:test'
import { mkdir, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { Client } from 'pg'
import { openClient } from '../src/store/connection/servers.ts'
import { openDatabase, transact, type Transaction } from '../src/store/connection/database.ts'
import { DatabaseUnavailable } from '../src/store/connection/database-unavailable.ts'
import { prepareDatabase } from '../src/store/prepare.ts'
import { probeWriting } from '../src/store/connection/write-probe.ts'
import { newClient } from './client.ts'
import { callCommand } from './command.ts'
import { complaintOf } from './embedded-process.ts'
import { eventually } from './eventually.ts'
import { freePort } from './free-port.ts'
import { giveToServer, majors, run, startOtherServer, type OtherServer } from './other-server.ts'
import { startProcess } from './process.ts'
import type { Credentials } from './service.ts'
import { canMount, mountDisk, unmountDisk } from './small-disk.ts'

setDefaultTimeout(180_000)

const [major] = majors
const made: OtherServer[] = []
const start: typeof startOtherServer = async (...args) => {
  const server = await startOtherServer(...args)
  made.push(server)
  return server
}
const removeAll = async () => {
  for (const server of made.splice(0).reverse()) await server.remove()
}

async function ask<T extends object>(url: string, sql: string): Promise<T[]> {
  const client = new Client({ connectionString: url })
  await client.connect()
  const { rows } = await client.query<T>(sql)
  await client.end()
  return rows
}

/** As a client does: after a 503 it sends the request again. */
async function insist(send: () => Promise<{ readonly status: number }>): Promise<number> {
  let { status } = await send()
  while (status === 503) ({ status } = await send())
  return status
}

async function setReadOnly({ url }: OtherServer, value: 'on' | 'off'): Promise<void> {
  await ask(url, `alter system set default_transaction_read_only = ${value}`)
  await ask(url, 'select pg_reload_conf()')
}

const makeTable = (tx: Transaction) => tx.query('create table if not exists t (i int)')

const disk = (folder: string) => join(folder, 'disk')

const readyz = async (url: string) => {
  const response = await fetch(`${url}/readyz`)
  return [response.status, ((await response.json()) as { database: string }).database]
}

describe.skipIf(!major)('a primary and its standby', () => {
  afterEach(removeAll)

  test('the one that takes writes is used, whichever comes first, and the other one after a failover', async () => {
    const primary = await start(major!)
    const standby = await start(major!, { standbyOf: primary })
    const unusedPort = await freePort()
    const hosts = [unusedPort, standby.port, primary.port].map((port) => `127.0.0.1:${port}`).join(',')
    const environment = {
      DATABASE_URL: `postgres://billfold@${hosts}/postgres?target_session_attrs=read-write`,
    }
    const service = await startProcess(environment)
    try {
      const created = await callCommand(['app', 'create', '--name', 'Shop', '--json'], environment)
      const credentials = JSON.parse(created.stdout) as Credentials
      const seeding = ['seed', '--users', '5', '--link', credentials.clientId, '--credit', '100', '--json']
      const seeded = await callCommand(seeding, environment)
      const { serviceUserIds } = JSON.parse(seeded.stdout) as { serviceUserIds: string[] }
      const client = newClient(service.send, credentials, service.url)
      const debits = async () =>
        (await Promise.all(serviceUserIds.map((user) => client.debit(user, 1)))).map(({ status }) => status)
      expect(await debits()).toEqual([200, 200, 200, 200, 200])
      await eventually(() => readyz(service.url), [200, 'ok'])
      await primary.stop('fast')
      await standby.promote()
      await eventually(() => readyz(service.url), [200, 'ok'])
      expect(await debits()).toEqual([200, 200, 200, 200, 200])
      expect(await Promise.all(serviceUserIds.map((user) => client.balance(user)))).toEqual([98, 98, 98, 98, 98])
      await eventually(() => readyz(service.url), [200, 'ok'])
    } finally {
      await service.stop()
    }
  })

  test('a standby alone is read from and never written to, and the service is not ready', async () => {
    const primary = await start(major!)
    await prepareDatabase({ databaseUrls: [primary.url], dataDir: '' }, () => {})
    const standby = await start(major!, { standbyOf: primary })
    const db = openDatabase({ connectionString: standby.url })
    expect(await probeWriting(db)).toBe('read-only')
    expect((await db.pool.query('select version from apps_version')).rowCount).toBe(1)
    const connection = { connectionString: standby.url, others: [{ connectionString: standby.url }] }
    const refused = await openClient(connection, { name: 'test' }).catch((error: unknown) => error)
    expect(refused).toBeInstanceOf(DatabaseUnavailable)
    expect(String(refused)).toContain('None of the 2 servers can be used: server 1: it takes no writes')
    await db.pool.end()
  })

  test('a server that becomes read-only under the service is left for the one that is not', async () => {
    const [one, two] = [await start(major!), await start(major!)]
    await setReadOnly(two, 'on')
    const db = openDatabase({ connectionString: one.url, others: [{ connectionString: two.url }] })
    await transact(db, makeTable)
    await setReadOnly(one, 'on')
    await setReadOnly(two, 'off')
    // Every server process reads the settings again when it comes to it; the pool has one so far.
    const isReadOnly = `select current_setting('default_transaction_read_only') as is`
    await eventually(async () => (await db.pool.query(isReadOnly)).rows, [{ is: 'on' }])
    // The first caller to notice gets 503; the next one is on the other server.
    const first = await transact(db, makeTable).catch((error: unknown) => error)
    expect(first).toBeInstanceOf(Error)
    await transact(db, makeTable)
    const { rows } = await db.pool.query<{ port: string }>(`select current_setting('port') as port`)
    expect(rows).toEqual([{ port: String(two.port) }])
    await db.pool.end()
  })
})

describe.skipIf(!major)('/readyz', () => {
  afterEach(removeAll)

  test('is 503 on a database that has become read-only, and 200 when it takes writes again', async () => {
    const server = await start(major!)
    const service = await startProcess({ DATABASE_URL: server.url })
    try {
      await eventually(() => readyz(service.url), [200, 'ok'])
      await setReadOnly(server, 'on')
      await eventually(() => readyz(service.url), [503, 'read-only'])
      await setReadOnly(server, 'off')
      await eventually(() => readyz(service.url), [200, 'ok'])
    } finally {
      await service.stop()
    }
  })

  test.if(canMount)('is 503 on a disk that is full, and 200 when there is room again', async () => {
    const server = await start(major!, {
      settings: ['autovacuum=off'],
      prepare: async (folder) => {
        await mkdir(disk(folder))
        mountDisk(disk(folder), 40)
        await giveToServer(disk(folder))
      },
      cleanUp: async (folder) => unmountDisk(disk(folder)),
    })
    await ask(server.url, `create tablespace small location '${disk(server.folder)}'`)
    await ask(server.url, `create database billfold tablespace small`)
    const url = server.url.replace(/postgres$/, 'billfold')
    const service = await startProcess({ DATABASE_URL: url })
    try {
      await eventually(() => readyz(service.url), [200, 'ok'])
      const filler = join(disk(server.folder), 'filler')
      await run(['dd', 'if=/dev/zero', `of=${filler}`, 'bs=4k'])
      await eventually(() => readyz(service.url), [503, 'full'])
      await writeFile(filler, '')
      await eventually(() => readyz(service.url), [200, 'ok'])
    } finally {
      await service.stop()
    }
  })
})

describe.skipIf(!major)('connections', () => {
  let server: OtherServer
  // Nothing of the server's own is counted among them.
  const settings = ['max_connections=30', 'superuser_reserved_connections=3', 'autovacuum=off']
  beforeAll(async () => {
    server = await start(major!, { settings })
  })
  afterAll(removeAll)

  /** As the server counts them, which it does shortly after one is opened or closed; the one that asks is left out. */
  const expectUsed = (connections: number) =>
    eventually(async () => {
      const sql = 'select sum(numbackends)::int - 1 as used from pg_stat_database'
      return (await ask<{ used: number }>(server.url, sql))[0]!.used
    }, connections)

  test('that the server can never give are refused at the start, with the numbers', async () => {
    const logged: string[] = []
    const prepare = (connections: number) =>
      prepareDatabase({ databaseUrls: [server.url], dataDir: '' }, (line) => logged.push(line), connections)
    expect(await complaintOf(prepare(28))).toContain('may open 28 connections')
    expect(await complaintOf(prepare(28))).toContain('the server takes 27')
    await expectUsed(0)
    await prepare(27)
    expect(logged.filter((line) => line.includes('connections'))).toEqual([])
  })

  test('that others have taken are reported, and the service starts', async () => {
    const held = await Promise.all(
      Array.from({ length: 10 }, () => openClient({ connectionString: server.url }, { name: 'test' })),
    )
    await expectUsed(held.length)
    const logged: string[] = []
    const config = { databaseUrls: [server.url], dataDir: '' }
    await prepareDatabase(config, (line) => logged.push(line), 20)
    expect(logged.join('\n')).toContain('may open 20 connections, and the server has 16 of 27 left')
    for (const one of held) await one.end()
  })

  test('of a process are never more than DATABASE_CONNECTIONS, under any load', async () => {
    const environment = { DATABASE_URL: server.url, DATABASE_CONNECTIONS: '7' }
    // A separate role: connections of the commands below may outlive them by a little.
    await ask(server.url, 'create role watched superuser login')
    const service = await startProcess({ ...environment, DATABASE_URL: server.url.replace('billfold@', 'watched@') })
    try {
      const created = await callCommand(['app', 'create', '--name', 'Shop', '--json'], environment)
      const credentials = JSON.parse(created.stdout) as Credentials
      const seeding = ['seed', '--users', '50', '--link', credentials.clientId, '--credit', '100', '--json']
      const seeded = await callCommand(seeding, environment)
      const { serviceUserIds } = JSON.parse(seeded.stdout) as { serviceUserIds: string[] }
      const client = newClient(service.send, credentials, service.url)
      const watch = await openClient({ connectionString: server.url }, { name: 'test' })
      const state = { isOn: true, most: 0 }
      const watching = (async () => {
        while (state.isOn) {
          const { rows } = await watch.query<{ n: number }>(
            `select count(*)::int as n from pg_stat_activity where usename = 'watched'`,
          )
          state.most = Math.max(state.most, rows[0]!.n)
        }
      })()
      // Two or three of the six are for all that reads: on a slow machine some of these wait too long, and come again.
      const statuses = await Promise.all(
        serviceUserIds.flatMap((user) => [
          insist(() => client.debit(user, 1, `order-${user}`)),
          insist(() => client.wallet(user)),
          insist(() => client.checkBalance(user, '1')),
          insist(() => service.send(new Request(`${service.url}/admin/sign-in`))),
        ]),
      )
      state.isOn = false
      await watching
      await watch.end()
      expect(new Set(statuses)).toEqual(new Set([200]))
      expect(state.most).toBeGreaterThan(2)
      expect(state.most).toBeLessThanOrEqual(6)
    } finally {
      await service.stop()
    }
  })
})
