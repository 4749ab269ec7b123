/** One of the services of a fault run: a real process, with its own wire to the database. */
import { appendFile } from 'node:fs/promises'
import { setTimeout as sleep } from 'node:timers/promises'
import type { ClientConfig } from 'pg'
import { openForwarder } from '../../test/forwarder.ts'
import { freePort } from '../../test/free-port.ts'
import { startProcess, type ServiceProcess } from '../../test/process.ts'

export type Node = {
  readonly wire: Awaited<ReturnType<typeof openForwarder>>
  /** Undefined while it is down. */
  readonly process: () => ServiceProcess | undefined
  readonly killAndRestart: () => Promise<void>
  readonly stopAndRestart: () => Promise<void>
  readonly close: () => Promise<void>
}

/**
 * The errors that its processes log are appended to the file when they end. On a cluster the address also names the workers, which
 * it reaches without a wire, and each has a lane.
 */
export async function startNode(
  database: ClientConfig,
  workers: readonly ClientConfig[],
  logFile: string,
  settings: Readonly<Record<string, string>>,
): Promise<Node> {
  const wire = await openForwarder(database)
  const { host, port, user, database: name } = wire.connection
  const hosts = [`${host}:${port}`, ...workers.map(({ connectionString }) => new URL(connectionString!).host)]
  const environment = {
    ...settings,
    DATABASE_URL: `postgres://${user}@${hosts.join()}/${name}`,
    WRITER_LANES: String(hosts.length),
    LOG_LEVEL: 'error',
  }
  const begin = async (): Promise<ServiceProcess> => {
    const PORT = String(await freePort())
    // Both services have one public address, which is in the name of the log. Clients use their own.
    return { ...(await startProcess({ ...environment, PORT })), url: `http://127.0.0.1:${PORT}` }
  }
  let current: ServiceProcess | undefined = await begin()
  const restart = async () => {
    // The database may be down or its wire cut: try again, as a supervisor would.
    while (current === undefined) {
      current = await begin().catch(() => undefined)
      if (current === undefined) await sleep(500)
    }
  }
  const end = async (how: (running: ServiceProcess) => Promise<unknown>) => {
    const running = current
    current = undefined
    if (!running) return
    await how(running)
    await appendFile(logFile, running.output())
  }
  return {
    wire,
    process: () => current,
    killAndRestart: async () => {
      await end((running) => running.kill())
      await restart()
    },
    stopAndRestart: async () => {
      await end((running) => running.stop())
      await restart()
    },
    close: async () => {
      await end((running) => running.stop())
      wire.close()
    },
  }
}
