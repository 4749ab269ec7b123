/** The greedy app of `npm run bench -- tenants`, as a separate process: a job comes in, its result goes out. */
import { readFileSync } from 'node:fs'
import { setTimeout as sleep } from 'node:timers/promises'
import type { Target } from './job.ts'

/** `processor` asks for nothing: it only takes a processor, as any load on the same machine does. */
export type Greed = 'bulk' | 'reads' | 'replays' | 'wrong secrets' | 'streams' | 'processor'

export type GreedJob = {
  readonly target: Target
  readonly greed: Greed
  readonly connections: number
  readonly seconds: number
  /** Sessions of the streams. */
  readonly tokens: readonly string[]
}

/** Operations, reads or streams that were answered; requests refused with 429, and those that failed otherwise. */
export type GreedResult = { done: number; refused: number; failed: number }

const bulkSize = 1_000

const operation = (referenceId: string, serviceUserId: string) => ({
  serviceUserId,
  amount: 0.01,
  referenceType: 'GREEDY',
  referenceId,
})

process.on('message', (job: GreedJob) => void run(job).then((result) => process.send!(result)))
process.on('disconnect', () => process.exit())

async function run(job: GreedJob): Promise<GreedResult> {
  const result: GreedResult = { done: 0, refused: 0, failed: 0 }
  const users = readFileSync(job.target.usersFile, 'utf8').trim().split('\n')
  const endsAt = performance.now() + job.seconds * 1_000
  const again = () => performance.now() < endsAt
  if (job.greed === 'processor') while (again());
  else if (job.greed === 'streams') await reconnect(job, again, result)
  else
    await Promise.all(
      Array.from({ length: job.connections }, async (_, i) => {
        while (again()) await once(job, users, i, again, result)
      }),
    )
  return result
}

async function once(
  job: GreedJob,
  users: readonly string[],
  i: number,
  again: () => boolean,
  result: GreedResult,
): Promise<void> {
  const { port, clientId, clientSecret } = job.target
  const base = `http://127.0.0.1:${port}/api/server/wallet`
  const user = () => users[Math.floor(Math.random() * users.length)]!
  const secret = job.greed === 'wrong secrets' ? 'wrong' : clientSecret
  const post = (path: string, body: object) =>
    fetch(`${base}/${path}`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ clientId, clientSecret: secret, ...body }),
    })
  const repeated = operation(crypto.randomUUID(), user())
  const operations = () =>
    Array.from({ length: bulkSize }, () => ({
      direction: 'credit',
      ...(job.greed === 'replays' ? repeated : operation(crypto.randomUUID(), user())),
    }))
  const asks: Record<Exclude<Greed, 'streams' | 'processor'>, () => Promise<Response>> = {
    bulk: () => post('bulk', { operations: operations() }),
    replays: () => post('bulk', { operations: operations() }),
    reads: () => fetch(`${base}?${new URLSearchParams({ clientId, clientSecret, serviceUserId: user() }).toString()}`),
    // Every other connection sends large bodies.
    'wrong secrets': () =>
      i % 2 === 0 ? post('bulk', { operations: operations() }) : post('credit', operation('x', user())),
  }
  const { greed } = job
  const response = greed === 'streams' || greed === 'processor' ? undefined : await asks[greed]().catch(() => undefined)
  const text = (await response?.text()) ?? ''
  if (response?.status === 429) {
    result.refused++
    const untilMs = Number(response.headers.get('retry-after') ?? 1) * 1_000
    for (let waited = 0; waited < untilMs && again(); waited += 100) await sleep(100)
  } else if (job.greed === 'wrong secrets' ? response?.status === 401 : response?.status === 200)
    result.done += text.startsWith('{"results"') ? text.split('"status":200').length - 1 : 1
  else result.failed++
}

/** Opens all streams, waits for the first event of each, closes all of them, and opens them again. */
async function reconnect({ target, tokens }: GreedJob, again: () => boolean, result: GreedResult): Promise<void> {
  while (again()) {
    const gone = new AbortController()
    const opened = tokens.map(async (token) => {
      const url = `http://127.0.0.1:${target.port}/api/widget/events?session=${token}`
      const response = await fetch(url, { signal: gone.signal }).catch(() => undefined)
      if (response?.status === 200) result.done++
      else if (response?.status === 429) result.refused++
      else if (!gone.signal.aborted) result.failed++
    })
    await Promise.race([Promise.all(opened), sleep(3_000)])
    gone.abort()
    await sleep(200)
  }
}
