/** The service as a real process, the way it is started in earnest. */
import { freePort } from './free-port.ts'
import { documented } from './openapi.ts'
import { nameNodes } from './postgres.ts'

export type ServiceProcess = {
  readonly url: string
  readonly pid: number
  readonly send: (request: Request) => Promise<Response>
  /** Asks it to end, and waits; the exit code. */
  readonly stop: (signal?: NodeJS.Signals) => Promise<number>
  /** As a power cut would. */
  readonly kill: () => Promise<void>
  readonly output: () => string
}

export async function startProcess(environment: Record<string, string>): Promise<ServiceProcess> {
  // With a demo there is a shop on the next one.
  const port = environment['PORT'] ?? String(await freePort(environment['DEMO'] === '1' ? 2 : 1))
  const { DATABASE_URL } = environment
  const child = Bun.spawn([process.execPath, 'src/main.ts'], {
    cwd: new URL('..', import.meta.url).pathname,
    env: {
      ...baseEnvironment(),
      DEMO: '0',
      LOG_LEVEL: 'warn',
      ...environment,
      ...(DATABASE_URL && { DATABASE_URL: await nameNodes(DATABASE_URL) }),
      PORT: port,
    },
    stdout: 'pipe',
    stderr: 'pipe',
  })
  let output = ''
  const ready = Promise.withResolvers<string>()
  const collect = async (stream: ReadableStream<Uint8Array>) => {
    const decoder = new TextDecoder()
    for await (const chunk of stream) {
      output += decoder.decode(chunk, { stream: true })
      const url = /^billfold ready on (\S+)$/m.exec(output)?.[1]
      if (url) ready.resolve(url)
    }
  }
  const collected = Promise.all([collect(child.stdout), collect(child.stderr)])
  // Its last words may come after its end is known; what it leaves behind may hold its output open.
  const ended = child.exited.then(async (code) => {
    await Promise.race([collected, Bun.sleep(5_000)])
    return code
  })
  let isAsked = false
  void ended.then((code) => {
    const said = `the service ended with ${code}: ${output}`
    ready.reject(new Error(said))
    // The reader of a failed test needs it.
    if (!isAsked) process.stderr.write(`${said}\n`)
  })
  const url = await ready.promise
  return {
    url,
    pid: child.pid,
    send: documented((request) => fetch(request, { keepalive: true })),
    stop: async (signal = 'SIGTERM') => {
      isAsked = true
      child.kill(signal)
      return await ended
    },
    kill: async () => {
      isAsked = true
      child.kill('SIGKILL')
      await child.exited
    },
    output: () => output,
  }
}

/** Nothing of the machine's own settings but what finding programs takes, and what a run of the tests has set for all it starts. */
function baseEnvironment(): Record<string, string> {
  const { PATH = '', HOME = '', TMPDIR, BUN_JSC_useFTLJIT } = process.env
  return { PATH, HOME, ...(TMPDIR ? { TMPDIR } : {}), ...(BUN_JSC_useFTLJIT ? { BUN_JSC_useFTLJIT } : {}) }
}

/** The process ids of its workers. */
export function workersOf({ pid }: ServiceProcess): number[] {
  const { stdout } = Bun.spawnSync(['pgrep', '-P', String(pid), '-f', 'main.ts --worker'])
  return stdout.toString().split('\n').filter(Boolean).map(Number)
}

/** Until it has two, none of them one of the old. */
export async function waitForWorkers(service: ServiceProcess, without: readonly number[]): Promise<void> {
  const isSo = (pids: number[]) => pids.length === 2 && !pids.some((pid) => without.includes(pid))
  for (let waited = 0; !isSo(workersOf(service)); waited += 50) {
    if (waited > 60_000) throw new Error(`workers are ${workersOf(service).join(', ')}`)
    await Bun.sleep(50)
  }
}
