/** Several processes on one port: started, started again, replaced one by one, asked for their metrics as one, and ended together. */
import { AggregatorRegistry, type MetricObject, type Registry } from 'prom-client'
import { stopSteering, steerToNewest } from './listener.ts'

export type Workers = {
  /**
   * Puts a new one into the place of each, one after the other; the new one serves before the old one is asked to leave.
   * False when a new one could not start: then the rest of the old ones stay.
   */
  readonly replace: () => Promise<boolean>
  /** The metrics of all of them as one, those that were replaced or have died included. */
  readonly render: () => Promise<string>
  /** Ends them all, and waits. */
  readonly stop: () => Promise<void>
}

type ToParent =
  | { readonly kind: 'ready' }
  | { readonly kind: 'steered' }
  | { readonly kind: 'ask'; readonly id: number }
  | { readonly kind: 'collected'; readonly id: number; readonly metrics: MetricObject[] }
  /** What a worker that leaves has counted. */
  | { readonly kind: 'last'; readonly metrics: MetricObject[] }
type ToWorker =
  | { readonly kind: 'collect'; readonly id: number }
  | { readonly kind: 'merged'; readonly id: number; readonly text: string }
  /** New connections are to come to this worker alone, or to all of them again. */
  | { readonly kind: 'steer'; readonly listeners: number }
  | { readonly kind: 'spread' }
  | { readonly kind: 'leave' }

type Worker = {
  readonly child: Bun.Subprocess
  /** False when it ended instead. */
  readonly isReady: Promise<boolean>
  readonly steered: PromiseWithResolvers<void>
  /** It was asked to end, so nobody starts it again. */
  isLeaving: boolean
  /** What it had counted when it was last heard of. */
  counted: MetricObject[]
}

type Plan = {
  readonly count: number
  readonly command: string[]
  readonly environment: Record<string, string>
  /** Longer than a worker's own limit; one that takes longer is stuck where no timer runs, and is killed. */
  readonly leaveMs: number
  readonly onRestart: (code: number) => void
}

/** Returns when all of them serve. One that ends before its time is started again. */
export async function startWorkers(plan: Plan): Promise<Workers> {
  const running = new Set<Worker>()
  const serving = new Set<Worker>()
  const gathering = new Map<number, (worker: Worker, metrics: MetricObject[]) => void>()
  /** Counted by those that are gone: a count that fell would look like a burst to whoever reads it. */
  let left: MetricObject[] = []
  let gone = Promise.resolve()
  let isStopping = false
  let questions = 0

  const start = (): Worker => {
    const ready = Promise.withResolvers<boolean>()
    const heardAll = Promise.withResolvers<void>()
    const child = Bun.spawn(plan.command, {
      env: { ...process.env, ...plan.environment },
      stdio: ['ignore', 'inherit', 'inherit'],
      onDisconnect: () => heardAll.resolve(),
      ipc: (message: ToParent) => {
        if (message.kind === 'ready') {
          serving.add(worker)
          ready.resolve(true)
        } else if (message.kind === 'steered') worker.steered.resolve()
        else if (message.kind === 'collected') {
          worker.counted = message.metrics.filter(isCount)
          gathering.get(message.id)?.(worker, message.metrics)
        } else if (message.kind === 'last') worker.counted = message.metrics.filter(isCount)
        else void gather().then((text) => tell(worker, { kind: 'merged', id: message.id, text }))
      },
    })
    const { promise: isReady } = ready
    const worker: Worker = { child, isReady, steered: Promise.withResolvers(), isLeaving: false, counted: [] }
    running.add(worker)
    void child.exited.then((code) => {
      const hasServed = serving.delete(worker)
      running.delete(worker)
      // Its channel closes behind its last words; a parent that stood still meanwhile hears them late.
      gone = Promise.all([gone, soon(heardAll.promise, 5_000)]).then(async () => {
        left = await addUp([left, worker.counted])
      })
      ready.resolve(false)
      worker.steered.resolve()
      if (hasServed && !worker.isLeaving) void restart(code)
    })
    return worker
  }

  /** Until one serves in its place. */
  const restart = async (code: number): Promise<void> => {
    if (isStopping) return
    plan.onRestart(code)
    await Bun.sleep(500)
    if (isStopping) return
    const next = start()
    if (!(await next.isReady)) await restart(await next.child.exited)
  }

  const tell = ({ child }: Worker, message: ToWorker) => {
    if (child.exitCode === null && child.signalCode === null) child.send(message)
  }

  /** What every worker counted, added up; of one that does not answer within a second, what it last said. */
  const gather = async (): Promise<string> => {
    const id = ++questions
    const asked = [...serving]
    const answers = new Map<Worker, MetricObject[]>()
    const all = Promise.withResolvers<void>()
    gathering.set(id, (worker, metrics) => {
      if (answers.set(worker, metrics).size === asked.length) all.resolve()
    })
    for (const worker of asked) tell(worker, { kind: 'collect', id })
    await soon(all.promise)
    gathering.delete(id)
    // Whoever has ended meanwhile is among those that are gone, and their counts are added up.
    for (let seen; seen !== gone;) await (seen = gone)
    const parts = [...running].map((worker) => answers.get(worker) ?? worker.counted)
    return await AggregatorRegistry.aggregate([left, ...parts]).metrics()
  }

  /** False when the new one did not come to serve; then the old one stays. */
  const replaceOne = async (old: Worker): Promise<boolean> => {
    const next = start()
    const isReady = await next.isReady
    if (isStopping || !isReady) return isStopping
    tell(next, { kind: 'steer', listeners: serving.size })
    await next.steered.promise
    old.isLeaving = true
    tell(old, { kind: 'leave' })
    await ended(old, plan.leaveMs)
    tell(next, { kind: 'spread' })
    return true
  }

  const replaceAll = async (): Promise<boolean> => {
    // The new ones come to serve while this goes on, and are not to be replaced again.
    const before = [...serving]
    for (const old of before) if (!isStopping && serving.has(old) && !(await replaceOne(old))) return false
    return true
  }

  // Asked twice, they are replaced twice: the second time brings what has changed since the first began.
  let replacing = Promise.resolve(true)
  // Whatever ends this process, no worker is left behind.
  process.on('exit', () => {
    for (const { child } of running) child.kill('SIGKILL')
  })
  const workers = Array.from({ length: plan.count }, start)
  const started = await Promise.all(workers.map((worker) => worker.isReady))
  if (started.includes(false)) {
    isStopping = true
    throw new Error('a worker could not start')
  }
  return {
    replace: () => (replacing = replacing.then(replaceAll)),
    render: gather,
    stop: async () => {
      isStopping = true
      for (const { child } of running) child.kill('SIGTERM')
      await Promise.all([...running].map((worker) => ended(worker, plan.leaveMs)))
    },
  }
}

async function soon(promise: Promise<void>, limitMs = 1_000): Promise<void> {
  await Promise.race([promise, Bun.sleep(limitMs)])
}

async function addUp(parts: MetricObject[][]): Promise<MetricObject[]> {
  return await AggregatorRegistry.aggregate(parts).getMetricsAsJSON()
}

/** What was counted stays true when its worker is gone; what was measured, as the depth of a queue, does not. */
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
  /** The metrics of all workers as one. */
  readonly render: () => Promise<string>
  /** Leaves what this worker has counted. */
  readonly leaveCounts: () => Promise<void>
}

/** In a worker: says that it serves, and does what the parent asks. */
export function joinParent(registry: Registry, port: number, leave: () => void): Parent {
  const asked = new Map<number, (text: string) => void>()
  let questions = 0
  process.on('message', (message: ToWorker) => {
    if (message.kind === 'merged') asked.get(message.id)?.(message.text)
    else if (message.kind === 'steer') void steerToNewest(port, message.listeners).then(() => send({ kind: 'steered' }))
    else if (message.kind === 'spread') void stopSteering(port)
    else if (message.kind === 'leave') leave()
    else void registry.getMetricsAsJSON().then((metrics) => send({ kind: 'collected', id: message.id, metrics }))
  })
  send({ kind: 'ready' })
  return {
    render: () =>
      new Promise((resolve) => {
        const id = ++questions
        asked.set(id, (text) => {
          asked.delete(id)
          resolve(text)
        })
        send({ kind: 'ask', id })
      }),
    leaveCounts: async () => void send({ kind: 'last', metrics: await registry.getMetricsAsJSON() }),
  }
}
