/** The processes of a run: services, the echo, the load. The caller that starts one also stops it. */
import { closeSync, existsSync, openSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import type { Job, Result } from './job.ts'

export type Server = {
  readonly port: number
  readonly pid: number
  /** The name of the service's database; empty where it has none. */
  readonly database: string
  /** From the start of the process until it accepted requests. */
  readonly readyAfterMs: number
  readonly stop: () => Promise<void>
}

export const projectDir = join(import.meta.dir, '..')

export type ServiceOptions = {
  readonly dir?: string
  readonly databaseUrl: string
  readonly env?: Record<string, string>
  /** A module to load before those of the service. */
  readonly preload?: string
}

/**
 * The service in its usual configuration, with its log at the default level going to /dev/null: it pays for every line, but no
 * terminal or disk does. `dir` may be another checkout, to compare two versions.
 */
export async function startService(
  { dir = projectDir, databaseUrl, env = {}, preload }: ServiceOptions,
  faultsFile: string,
): Promise<Server> {
  const settings = { ...runtimeSettings(dir), HOST: '127.0.0.1', DATABASE_URL: databaseUrl, DEMO: '0', ...env }
  const before = preload === undefined ? [] : ['--preload', preload]
  const server = await startServer([...before, 'src/main.ts'], dir, settings, '/readyz', faultsFile)
  return { ...server, database: new URL(databaseUrl).pathname.slice(1) }
}

/** The runtime's settings of that checkout. The runtime reads them before the service begins, so the service cannot set them. */
function runtimeSettings(dir: string): Record<string, string> {
  const script = join(dir, 'deploy/start.sh')
  const text = existsSync(script) ? readFileSync(script, 'utf8') : ''
  return Object.fromEntries([...text.matchAll(/\b(BUN_\w+)=(\S+)/g)].map(([, name, value]) => [name!, value!]))
}

export async function startEcho(faultsFile: string): Promise<Server> {
  return await startServer(['bench/echo.ts'], projectDir, {}, '/', faultsFile)
}

async function startServer(
  args: string[],
  cwd: string,
  env: Record<string, string>,
  readyPath: string,
  faultsFile: string,
): Promise<Server> {
  const port = freePort()
  const faults = openSync(faultsFile, 'a')
  const startedAt = performance.now()
  const child = Bun.spawn([process.execPath, ...args], {
    cwd,
    env: { ...process.env, ...env, PORT: String(port) },
    stdin: 'ignore',
    stdout: 'ignore',
    stderr: faults,
  })
  closeSync(faults)
  const stop = async () => {
    child.kill('SIGTERM')
    await child.exited
  }
  for (const until = Date.now() + 30_000; ; await sleep(20)) {
    if (child.exitCode !== null || Date.now() > until) {
      await stop()
      throw new Error(`${args.join(' ')} did not start:\n${readFileSync(faultsFile, 'utf8').slice(-2000)}`)
    }
    const response = await fetch(`http://127.0.0.1:${port}${readyPath}`).catch(() => undefined)
    if (response && response.status < 500)
      return { port, pid: child.pid, database: '', readyAfterMs: performance.now() - startedAt, stop }
  }
}

function freePort(): number {
  const listener = Bun.listen({ hostname: '127.0.0.1', port: 0, socket: { data() {} } })
  const { port } = listener
  listener.stop(true)
  return port
}

export type Load = { readonly run: (job: Job) => Promise<Result>; readonly stop: () => Promise<void> }

export function startLoad(): Load {
  let waiting: PromiseWithResolvers<Result> | undefined
  const child = Bun.spawn([process.execPath, join(import.meta.dir, 'load.ts')], {
    stdio: ['ignore', 'inherit', 'inherit'],
    ipc: (message: Result | { fault: string }) => {
      if ('fault' in message) waiting?.reject(new Error(`the load failed: ${message.fault}`))
      else waiting?.resolve(message)
    },
    onExit: () => waiting?.reject(new Error('the load process ended')),
  })
  return {
    run: async (job) => {
      waiting = Promise.withResolvers<Result>()
      child.send(job)
      return await waiting.promise
    },
    stop: async () => {
      child.kill()
      await child.exited
    },
  }
}
