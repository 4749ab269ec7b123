/** Several processes on one port: starts, restarts, replaces and ends them, and adds up their metrics. */
import { AggregatorRegistry, type MetricObject, type Registry } from 'prom-client'
import { openGuard, type Listener } from './parent-listener.ts'
import { stopSteering, steerToFirst, steerToNewest } from './listener.ts'

export type Workers = {
  /**
   * Replaces the workers one by one; a new worker serves before the old one is asked to leave. False when a new worker could
   * not start: the remaining old ones stay.
   */
  readonly replace: () => Promise<boolean>
  /** The metrics of all workers added up, including those that were replaced or died. */
  readonly render: () => Promise<string>
  /** Ends all workers and waits for them. */
  readonly stop: () => Promise<void>
}

type ToParent =
  | { readonly kind: 'ready' }
  | { readonly kind: 'steered'; readonly isDone: boolean }
  | { readonly kind: 'ask'; readonly id: number }
  | { readonly kind: 'collected'; readonly id: number; readonly metrics: MetricObject[] }
  /** The final counts of a worker that leaves. */
  | { readonly kind: 'last'; readonly metrics: MetricObject[] }
type ToWorker =
  | { readonly kind: 'collect'; readonly id: number }
  | { readonly kind: 'merged'; readonly id: number; readonly text: string }
  /** `steer` directs all new connections to this worker, `keep` to the workers that listen now, `spread` to all again. */
  | { readonly kind: 'steer'; readonly listeners: number }
  | { readonly kind: 'keep'; readonly listeners: number }
  | { readonly kind: 'spread' }
  | { readonly kind: 'leave' }

type Worker = {
  readonly child: Bun.Subprocess
  /** False when the worker ended before it served. */
  readonly isReady: Promise<boolean>
  steered: PromiseWithResolvers<boolean>
  /** The worker was asked to end, so it is not restarted. */
  isLeaving: boolean
  /** Its last received counts. */
  counted: MetricObject[]
}

type Plan = {
  readonly count: number
  readonly command: string[]
  readonly environment: Record<string, string>
  /** Longer than a worker's own limit: a worker that exceeds it is blocked so that no timer runs, and is killed. */
  readonly leaveMs: number
  readonly onRestart: (code: number) => void
  readonly port: number
  /** Listens beside the workers and answers 503. */
  readonly listenInstead: () => Listener
}

/** Returns when all workers serve. A worker that ends unexpectedly is restarted. */
export async function startWorkers(plan: Plan): Promise<Workers> {
  const running = new Set<Worker>()
  const serving = new Set<Worker>()
  const gathering = new Map<number, (worker: Worker, metrics: MetricObject[]) => void>()
  /** Counts of ended workers: Prometheus reads a falling counter as a restart and would report a burst. */
  let left: MetricObject[] = []
  let gone = Promise.resolve()
  let isStopping = false
  let requests = 0

  const start = (): Worker => {
    const ready = Promise.withResolvers<boolean>()
    const channelClosed = Promise.withResolvers<void>()
    const child = Bun.spawn(plan.command, {
      env: { ...process.env, ...plan.environment },
      stdio: ['ignore', 'inherit', 'inherit'],
      onDisconnect: () => channelClosed.resolve(),
      ipc: (message: ToParent) => {
        if (message.kind === 'ready') {
          serving.add(worker)
          ready.resolve(true)
          guard.changed('joined')
        } else if (message.kind === 'steered') worker.steered.resolve(message.isDone)
        else if (message.kind === 'collected') {
          worker.counted = message.metrics.filter(isCount)
          gathering.get(message.id)?.(worker, message.metrics)
        } else if (message.kind === 'last') worker.counted = message.metrics.filter(isCount)
        else void gather().then((text) => sendTo(worker, { kind: 'merged', id: message.id, text }))
      },
    })
    const { promise: isReady } = ready
    const worker: Worker = { child, isReady, steered: Promise.withResolvers<boolean>(), isLeaving: false, counted: [] }
    running.add(worker)
    void child.exited.then((code) => {
      const hasServed = serving.delete(worker)
      running.delete(worker)
      // The channel closes after the last message; a busy parent may receive it late.
      gone = Promise.all([gone, within(channelClosed.promise, 5_000)]).then(async () => {
        left = await addUp([left, worker.counted])
      })
      ready.resolve(false)
      worker.steered.resolve(false)
      if (hasServed) guard.changed('left')
      if (hasServed && !worker.isLeaving) void restart(code)
    })
    return worker
  }

  /** Retries until a new worker serves. */
  const restart = async (code: number): Promise<void> => {
    if (isStopping) return
    plan.onRestart(code)
    await Bun.sleep(500)
    if (isStopping) return
    const next = start()
    if (!(await next.isReady)) await restart(await next.child.exited)
  }

  const sendTo = ({ child }: Worker, message: ToWorker) => {
    if (child.exitCode === null && child.signalCode === null) child.send(message)
  }

  const steerWith = async (worker: Worker, message: ToWorker): Promise<boolean> => {
    worker.steered = Promise.withResolvers()
    sendTo(worker, message)
    return await Promise.race([worker.steered.promise, Bun.sleep(1_000).then(() => false)])
  }

  const guard = openGuard({
    port: plan.port,
    listen: plan.listenInstead,
    missing: () => (isStopping ? 0 : plan.count - serving.size),
    serving: () => serving.size,
    keepToWorkers: async () => {
      const [worker] = serving
      return worker ? await steerWith(worker, { kind: 'keep', listeners: serving.size }) : false
    },
    spread: () => {
      const [worker] = serving
      if (worker) sendTo(worker, { kind: 'spread' })
    },
  })

  /** Adds up the counts of all workers; uses the last received counts of a worker that does not answer within a second. */
  const gather = async (): Promise<string> => {
    const id = ++requests
    const asked = [...serving]
    const answers = new Map<Worker, MetricObject[]>()
    const all = Promise.withResolvers<void>()
    gathering.set(id, (worker, metrics) => {
      if (answers.set(worker, metrics).size === asked.length) all.resolve()
    })
    for (const worker of asked) sendTo(worker, { kind: 'collect', id })
    await within(all.promise)
    gathering.delete(id)
    // Wait until the counts of workers that ended meanwhile are in `left`.
    for (let seen; seen !== gone;) await (seen = gone)
    const parts = [...running].map((worker) => answers.get(worker) ?? worker.counted)
    return await AggregatorRegistry.aggregate([left, ...parts]).metrics()
  }

  /** False when the new worker did not serve; the old one stays. */
  const replaceOne = async (old: Worker): Promise<boolean> => {
    const next = start()
    const isReady = await next.isReady
    if (isStopping || !isReady) return isStopping
    await steerWith(next, { kind: 'steer', listeners: serving.size })
    old.isLeaving = true
    sendTo(old, { kind: 'leave' })
    await ended(old, plan.leaveMs)
    sendTo(next, { kind: 'spread' })
    return true
  }

  const replaceAll = async (): Promise<boolean> => {
    // The guard has a place among the listeners, which steering counts.
    if (!(await guard.pause())) return false
    // Take the list first: workers that start meanwhile must not be replaced again.
    const before = [...serving]
    try {
      for (const old of before) if (!isStopping && serving.has(old) && !(await replaceOne(old))) return false
      return true
    } finally {
      guard.resume()
    }
  }

  // Two requests replace the workers twice: the second picks up changes made since the first began.
  let replacing = Promise.resolve(true)
  // Leave no worker behind when this process exits.
  process.on('exit', () => {
    for (const { child } of running) child.kill('SIGKILL')
  })
  const workers = Array.from({ length: plan.count }, start)
  const started = await Promise.all(workers.map((worker) => worker.isReady))
  if (started.includes(false)) {
    isStopping = true
    throw new Error('a worker could not start')
  }
  guard.resume()
  return {
    replace: () => (replacing = replacing.then(replaceAll)),
    render: gather,
    stop: async () => {
      isStopping = true
      guard.close()
      for (const { child } of running) child.kill('SIGTERM')
      await Promise.all([...running].map((worker) => ended(worker, plan.leaveMs)))
    },
  }
}

async function within(promise: Promise<void>, limitMs = 1_000): Promise<void> {
  await Promise.race([promise, Bun.sleep(limitMs)])
}

async function addUp(parts: MetricObject[][]): Promise<MetricObject[]> {
  return await AggregatorRegistry.aggregate(parts).getMetricsAsJSON()
}

/** Counts stay valid after their worker has ended; gauges, such as a queue's depth, do not. */
function isCount({ type }: MetricObject): boolean {
  return String(type) === 'counter' || String(type) === 'histogram'
}

async function ended({ child }: Worker, leaveMs: number): Promise<void> {
  const timer = setTimeout(() => child.kill('SIGKILL'), leaveMs)
  await child.exited
  clearTimeout(timer)
}

const send = (message: ToParent) => process.send!(message)

export type Parent = {
  /** The metrics of all workers added up. */
  readonly render: () => Promise<string>
  /** Sends this worker's final counts to the parent. */
  readonly leaveCounts: () => Promise<void>
}

/** Runs in a worker: reports that it serves, and handles the parent's messages. */
export function joinParent(registry: Registry, port: number, leave: () => void): Parent {
  const asked = new Map<number, (text: string) => void>()
  let requests = 0
  const reportSteered = (isDone: boolean) => send({ kind: 'steered', isDone })
  process.on('message', (message: ToWorker) => {
    if (message.kind === 'merged') asked.get(message.id)?.(message.text)
    else if (message.kind === 'steer') void steerToNewest(port, message.listeners).then(reportSteered)
    else if (message.kind === 'keep') void steerToFirst(port, message.listeners).then(reportSteered)
    else if (message.kind === 'spread') void stopSteering(port)
    else if (message.kind === 'leave') leave()
    else void registry.getMetricsAsJSON().then((metrics) => send({ kind: 'collected', id: message.id, metrics }))
  })
  send({ kind: 'ready' })
  return {
    render: () =>
      new Promise((resolve) => {
        const id = ++requests
        asked.set(id, (text) => {
          asked.delete(id)
          resolve(text)
        })
        send({ kind: 'ask', id })
      }),
    leaveCounts: async () => void send({ kind: 'last', metrics: await registry.getMetricsAsJSON() }),
  }
}
