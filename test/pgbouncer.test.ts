/** PgBouncer between the service and PostgreSQL, where this machine has both; elsewhere there is nothing to try. */
import { afterAll, beforeAll, describe, expect, setDefaultTimeout, test } from 'bun:test'
import { chmod, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { Client } from 'pg'
import { prepareDatabase } from '../src/store/prepare.ts'
import { newClient, type Reply } from './client.ts'
import { callCommand } from './command.ts'
import { complaintOf } from './embedded-process.ts'
import { eventually } from './eventually.ts'
import { freePort } from './free-port.ts'
import { asServer, majors, startOtherServer, type OtherServer } from './other-server.ts'
import { startProcess } from './process.ts'
import type { Credentials } from './service.ts'

setDefaultTimeout(180_000)

const program = Bun.which('pgbouncer', { PATH: `${process.env['PATH']}:/usr/sbin` })
const [major] = majors

const prepare = (url: string) => prepareDatabase({ databaseUrls: [url], dataDir: '' }, () => {}).then(() => 'started')

describe.skipIf(!program || !major)('behind PgBouncer', () => {
  let server: OtherServer
  const children: Bun.Subprocess[] = []
  beforeAll(async () => {
    server = await startOtherServer(major!)
  })
  afterAll(async () => {
    for (const child of children) {
      child.kill('SIGKILL')
      await child.exited
    }
    await server.remove()
  })

  async function startPgBouncer(settings: Record<string, string | number>): Promise<string> {
    const port = await freePort()
    const file = join(server.folder, `pgbouncer-${port}.ini`)
    const all = { listen_addr: '127.0.0.1', listen_port: port, unix_socket_dir: '', auth_type: 'any', ...settings }
    const lines = Object.entries(all).map(([name, value]) => `${name} = ${value}`)
    const database = `* = host=127.0.0.1 port=${server.port} user=billfold`
    await writeFile(file, ['[databases]', database, '[pgbouncer]', ...lines, ''].join('\n'))
    await chmod(file, 0o644)
    children.push(Bun.spawn(asServer([program!, '-q', file]), { stdout: 'ignore', stderr: 'ignore' }))
    const url = `postgres://billfold@127.0.0.1:${port}/postgres`
    for (let triesLeft = 600; ; triesLeft--) {
      const client = new Client({ connectionString: url })
      client.on('error', () => {})
      const isUp = await client.connect().then(
        () => client.end().then(() => true),
        () => false,
      )
      if (isUp) return url
      if (triesLeft === 0) throw new Error('PgBouncer does not start')
      await Bun.sleep(50)
    }
  }

  test('in session mode, as it comes, everything works', async () => {
    const url = await startPgBouncer({ pool_mode: 'session' })
    const environment = { DATABASE_URL: url, DATABASE_CONNECTIONS: '8' }
    const service = await startProcess(environment)
    try {
      const made = await callCommand(['app', 'create', '--name', 'Shop', '--json'], environment)
      const credentials = JSON.parse(made.stdout) as Credentials
      const { clientId } = credentials
      const seeding = ['seed', '--users', '20', '--link', clientId, '--credit', '100', '--json']
      const seeded = await callCommand(seeding, environment)
      const { serviceUserIds } = JSON.parse(seeded.stdout) as { serviceUserIds: string[] }
      const client = newClient(service.send, credentials, service.url)
      const replies: Reply[] = []
      for (let wave = 0; wave < 20; wave++) {
        const asked = serviceUserIds.flatMap((user) => [
          client.credit(user, 2),
          client.debit(user, 1),
          client.wallet(user),
          client.checkBalance(user, '1'),
        ])
        replies.push(...(await Promise.all(asked)))
      }
      expect([replies.length, replies.filter(({ status }) => status !== 200)]).toEqual([1_600, []])
      await eventually(async () => (await fetch(`${service.url}/readyz`)).status, 200)
      expect((await callCommand(['verify', '--json'], environment)).exitCode).toBe(0)
    } finally {
      expect(await service.stop()).toBe(0)
    }
  })

  test.each([
    ['transaction', {}],
    ['transaction', { default_pool_size: 1 }],
    ['transaction', { server_round_robin: 1, min_pool_size: 4, default_pool_size: 4 }],
    ['statement', {}],
  ])('in %s mode (%j) it is refused at the start, in a sentence that says what to do', async (mode, settings) => {
    const url = await startPgBouncer({ pool_mode: mode, ...settings })
    const complaint = await complaintOf(prepare(url))
    expect(complaint).toContain('pool_mode = session')
    expect(complaint.split('\n')).toHaveLength(1)
  })

  test('a session mode with room for one connection is not taken for another mode', async () => {
    const url = await startPgBouncer({ pool_mode: 'session', default_pool_size: 1 })
    expect(await prepare(url)).toBe('started')
  })
})

describe.skipIf(!major)('without a pooler', () => {
  test('nothing is tried, and one connection is enough', async () => {
    const server = await startOtherServer(major!, {
      settings: ['max_connections=4', 'superuser_reserved_connections=3'],
    })
    try {
      const url = server.url
      const prepared = await prepareDatabase({ databaseUrls: [url], dataDir: '' }, () => {})
      expect(prepared.applied.length).toBeGreaterThan(0)
    } finally {
      await server.remove()
    }
  })
})
