/** Several processes on one port: started, started again, asked for their metrics as one, and ended together. */
import { AggregatorRegistry, type MetricObject, type Registry } from 'prom-client'

export type Workers = {
  /** Ends them all, and waits. */
  readonly stop: () => Promise<void>
}

type ToParent = { readonly kind: 'ready' } | { readonly kind: 'ask'; readonly id: number } | Collected
type Collected = { readonly kind: 'collected'; readonly id: number; readonly metrics: MetricObject[] }
type ToWorker =
  | { readonly kind: 'collect'; readonly id: number }
  | { readonly kind: 'merged'; readonly id: number; readonly text: string }

type Worker = { readonly child: Bun.Subprocess; readonly ready: Promise<void> }

/** Returns when all of them serve. One that ends before its time is started again. */
export async function startWorkers(
  count: number,
  command: string[],
  environment: Record<string, string>,
  onRestart: (code: number) => void,
): Promise<Workers> {
  const children = new Set<Bun.Subprocess>()
  const gathering = new Map<number, (metrics: MetricObject[]) => void>()
  let isStopping = false
  let questions = 0

  const start = (): Worker => {
    const ready = Promise.withResolvers<void>()
    const child = Bun.spawn(command, {
      env: { ...process.env, ...environment },
      stdio: ['ignore', 'inherit', 'inherit'],
      ipc: (message: ToParent, from) => {
        if (message.kind === 'ready') ready.resolve()
        else if (message.kind === 'collected') gathering.get(message.id)?.(message.metrics)
        else void gather().then((text) => from.send({ kind: 'merged', id: message.id, text } satisfies ToWorker))
      },
    })
    children.add(child)
    void child.exited.then(() => ready.reject(new Error('a worker could not start')))
    return { child, ready: ready.promise }
  }

  /** What every worker counted, added up. One that does not answer within a second is left out. */
  const gather = async (): Promise<string> => {
    const id = ++questions
    const parts: MetricObject[][] = []
    const all = Promise.withResolvers<void>()
    gathering.set(id, (metrics) => {
      if (parts.push(metrics) === children.size) all.resolve()
    })
    for (const child of children) child.send({ kind: 'collect', id } satisfies ToWorker)
    await Promise.race([all.promise, Bun.sleep(1_000)])
    gathering.delete(id)
    return await AggregatorRegistry.aggregate(parts).metrics()
  }

  const keep = async ({ child }: Worker): Promise<void> => {
    const code = await child.exited
    children.delete(child)
    if (isStopping) return
    onRestart(code)
    await Bun.sleep(500)
    const next = start()
    next.ready.catch(() => {})
    await keep(next)
  }

  // Whatever ends this process, no worker is left behind.
  process.on('exit', () => {
    for (const child of children) child.kill('SIGKILL')
  })
  const workers = Array.from({ length: count }, start)
  await Promise.all(workers.map((worker) => worker.ready))
  const kept = workers.map(keep)
  return {
    stop: async () => {
      isStopping = true
      for (const child of children) child.kill('SIGTERM')
      await Promise.all(kept)
    },
  }
}

const send = (message: ToParent) => process.send!(message)

/** In a worker: says that it serves, and lets /metrics answer for all of them. */
export function joinParent(registry: Registry): () => Promise<string> {
  const asked = new Map<number, (text: string) => void>()
  let questions = 0
  process.on('message', (message: ToWorker) => {
    if (message.kind === 'merged') asked.get(message.id)?.(message.text)
    else void registry.getMetricsAsJSON().then((metrics) => send({ kind: 'collected', id: message.id, metrics }))
  })
  send({ kind: 'ready' })
  return () =>
    new Promise((resolve) => {
      const id = ++questions
      asked.set(id, (text) => {
        asked.delete(id)
        resolve(text)
      })
      send({ kind: 'ask', id })
    })
}
