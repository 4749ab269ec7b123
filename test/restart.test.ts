/** Processes that end, are replaced or die, under clients who do not stop asking. */
import { afterAll, beforeAll, describe, expect, setDefaultTimeout, test } from 'bun:test'
import { readdirSync, readFileSync, readlinkSync } from 'node:fs'
import { connect } from 'node:net'
import { eventually } from './eventually.ts'
import { answersOf, failuresOf, startClients, type KeepAliveClient, type Load } from './keep-alive.ts'
import { startProcess, waitForWorkers, workersOf, type ServiceProcess } from './process.ts'
import { newApp, newUsers, openTestService, type Credentials, type TestService } from './service.ts'

setDefaultTimeout(180_000)

/** The inodes of the sockets that listen on the port, of any process: state 0A in the kernel's table. */
function listenersOn(port: number): string[] {
  const local = `:${port.toString(16).toUpperCase().padStart(4, '0')}`
  const lines = ['/proc/net/tcp', '/proc/net/tcp6'].flatMap((path) => readFileSync(path, 'utf8').split('\n'))
  const rows = lines.map((line) => line.trim().split(/\s+/))
  return rows.filter((row) => row[1]?.endsWith(local) && row[3] === '0A').map((row) => row[9]!)
}

/** Whether the process itself listens on the port; its workers are not counted. */
function listensOn(pid: number, port: number): boolean {
  const links = readdirSync(`/proc/${pid}/fd`).map((file) => {
    try {
      return readlinkSync(`/proc/${pid}/fd/${file}`)
    } catch {
      // It was closed meanwhile.
      return ''
    }
  })
  return listenersOn(port).some((inode) => links.includes(`socket:[${inode}]`))
}

let opened: TestService
let app: Credentials
let serviceUserIds: string[]

beforeAll(async () => {
  opened = await openTestService()
  app = await newApp(opened.service)
  const users = await newUsers(opened.service, app, 64)
  serviceUserIds = users.map((user) => user.serviceUserId)
})
afterAll(() => opened.close())

let references = 0

/** A credit of 1 for a wallet of each client's own. */
const creditOf = (client: number) => ({
  path: '/api/server/wallet/credit',
  body: {
    ...app,
    serviceUserId: serviceUserIds[client],
    amount: 1,
    referenceType: 'ORDER',
    referenceId: `restart-${++references}`,
  },
})

const isRefused = ({ failures }: KeepAliveClient) => failures.some((failure) => failure.startsWith('not connected'))

async function countBooked(): Promise<number> {
  const { rows } = await opened.service.db.pool.query<{ count: bigint }>('select count(*) from transfers')
  return Number(rows[0]!.count)
}

/** Every client has had so many more answers. */
async function waitForAnswers(load: Load, more: number): Promise<void> {
  const goals = load.clients.map(({ answered }) => answered + more)
  while (load.clients.some(({ answered }, index) => answered < goals[index]!)) {
    if (failuresOf(load).length > 1_000) throw new Error(`only failures: ${failuresOf(load).slice(-3).join(', ')}`)
    await Bun.sleep(20)
  }
}

test('a process that is asked to end answers everything that was sent to it, and books nothing it did not answer', async () => {
  const before = await countBooked()
  const service = await startProcess({ DATABASE_URL: opened.databaseUrl })
  // No process listens once it has ended: a client that is refused has seen the whole restart.
  const load = startClients(service.url, 16, creditOf, { goesOn: (client) => !isRefused(client) })
  await waitForAnswers(load, 5)
  expect(await service.stop()).toBe(0)
  await load.stop()
  expect(failuresOf(load).filter((failure) => !failure.startsWith('not connected'))).toEqual([])
  expect(await countBooked()).toBe(before + answersOf(load))
})

test('two requests to replace the workers are done one after the other, and two workers are left', async () => {
  const service = await startProcess({ DATABASE_URL: opened.databaseUrl, WORKERS: '2', LOG_LEVEL: 'info' })
  const logged = (message: string) => service.output().split(`"message":"${message}"`).length - 1
  const old = workersOf(service)
  for (const count of [1, 2]) {
    process.kill(service.pid, 'SIGHUP')
    await eventually(() => logged('replacing the workers'), count)
  }
  await eventually(() => logged('the workers are replaced'), 2)
  expect(workersOf(service)).toHaveLength(2)
  expect(workersOf(service).filter((pid) => old.includes(pid))).toEqual([])
  expect(await service.stop()).toBe(0)
})

describe('with two workers', () => {
  let service: ServiceProcess
  beforeAll(async () => {
    service = await startProcess({ DATABASE_URL: opened.databaseUrl, WORKERS: '2' })
  })
  afterAll(() => service.stop())

  test('SIGHUP puts a new process into the place of each worker, and none of 64 clients sees a failure', async () => {
    const before = await countBooked()
    // Some connections are in use when a worker ends and some are not. Without pauses the clients would keep the new workers from starting.
    const load = startClients(service.url, 64, creditOf, { pauseMs: 20 })
    for (let round = 0; round < 2; round++) {
      await waitForAnswers(load, 2)
      const old = workersOf(service)
      expect(old).toHaveLength(2)
      process.kill(service.pid, 'SIGHUP')
      await waitForWorkers(service, old)
    }
    await waitForAnswers(load, 2)
    await load.stop()
    expect(failuresOf(load)).toEqual([])
    expect(await countBooked()).toBe(before + answersOf(load))
    // The counts of ended workers stay; a worker that does not answer in time is counted with its last answer.
    const counted = /request_seconds_count\{route="\/api\/server\/wallet\/credit",method="POST",status="200"\} (\d+)/
    const metrics = async () => await (await fetch(`${service.url}/metrics`)).text()
    await eventually(async () => Number(counted.exec(await metrics())?.[1]), answersOf(load))
  })

  test('kill -9 of one of two workers costs the clients of the other nothing, its own one request, and it is started again', async () => {
    const load = startClients(service.url, 32, creditOf)
    await waitForAnswers(load, 2)
    const [victim, other] = workersOf(service)
    process.kill(victim!, 'SIGKILL')
    await waitForWorkers(service, [victim!])
    await waitForAnswers(load, 2)
    await load.stop()
    expect(workersOf(service)).toContain(other!)
    const failed = load.clients.filter(({ failures }) => failures.length > 0)
    expect(failed.filter(({ failures }) => failures.length > 1)).toEqual([])
    expect(failed.length).toBeGreaterThan(0)
    expect(failed.length).toBeLessThan(32)
  })

  test.skipIf(process.platform !== 'linux')(
    'a second kill -9 while the first worker is restarted refuses no connection, and callers get 503 or 200',
    async () => {
      const { hostname, port } = new URL(service.url)
      const state = { isOn: true, connected: 0, refused: 0 }
      const statuses = new Set<number>()
      const connectAgain = async () => {
        while (state.isOn) {
          await new Promise<void>((resolve) => {
            const socket = connect(Number(port), hostname)
            socket.on('connect', () => (state.connected++, socket.destroy(), resolve()))
            socket.on('error', (error: Error & { code?: string }) => {
              if (error.code === 'ECONNREFUSED') state.refused++
              resolve()
            })
          })
          await Bun.sleep(2)
        }
      }
      const askAgain = async () => {
        while (state.isOn) {
          // A connection to a worker that is killed is cut off.
          const response = await fetch(`${service.url}/healthz`, { keepalive: false }).catch(() => undefined)
          if (response) statuses.add(response.status)
          await Bun.sleep(5)
        }
      }
      const asking = [connectAgain(), connectAgain(), askAgain()]
      const [first, second] = workersOf(service)
      process.kill(first!, 'SIGKILL')
      // The guard listens beside the second worker until a new worker does; without a guard, the parent never listens.
      await eventually(() => listensOn(service.pid, Number(port)), true)
      process.kill(second!, 'SIGKILL')
      await waitForWorkers(service, [first!, second!])
      await eventually(() => listenersOn(Number(port)).length, 2)
      await eventually(async () => (await fetch(`${service.url}/healthz`, { keepalive: false })).status, 200)
      state.isOn = false
      await Promise.all(asking)
      expect(state.refused).toBe(0)
      expect(state.connected).toBeGreaterThan(50)
      expect([...statuses].sort((a, b) => a - b)).toEqual([200, 503])
    },
  )
})
