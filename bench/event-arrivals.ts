/** Credits at an even rate, and when each one's event arrives: in the feed, or at a receiver of webhooks. */
import { createServer, type AddressInfo, type Socket } from 'node:net'
import { setTimeout as sleep } from 'node:timers/promises'
import type { Target } from './job.ts'

type Event = { readonly data: { readonly referenceId?: string } }

/** When each reference arrived first. */
export type Arrivals = Map<string, number>

export type Receiver = {
  readonly url: string
  readonly arrivals: Arrivals
  readonly count: () => number
  readonly stop: () => void
}

/** A good endpoint: it answers at once. */
export function startReceiver(): Receiver {
  const arrivals: Arrivals = new Map()
  let count = 0
  const server = Bun.serve({
    port: 0,
    hostname: '127.0.0.1',
    fetch: async (request) => {
      const { data } = (await request.json()) as Event
      count++
      if (data.referenceId !== undefined && !arrivals.has(data.referenceId))
        arrivals.set(data.referenceId, performance.now())
      return new Response(null, { status: 204 })
    },
  })
  return {
    url: `http://127.0.0.1:${server.port}/`,
    arrivals,
    count: () => count,
    stop: () => void server.stop(true),
  }
}

/** A dead endpoint: it takes requests and never answers. */
export async function startSilent(): Promise<{ readonly url: string; readonly stop: () => void }> {
  const sockets = new Set<Socket>()
  const server = createServer((socket) => {
    sockets.add(socket.on('error', () => {}).on('close', () => sockets.delete(socket)))
    socket.resume()
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const stop = () => {
    for (const socket of sockets) socket.destroy()
    server.close()
  }
  return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/`, stop }
}

export type FeedPage = { readonly events: readonly Event[]; readonly last: number }

const feedUrl = ({ port, clientId, clientSecret }: Target, asked: Record<string, string>) =>
  `http://127.0.0.1:${port}/api/server/events?${new URLSearchParams({ clientId, clientSecret, ...asked })}`

export async function readFeed(target: Target, asked: Record<string, string>): Promise<FeedPage> {
  const response = await fetch(feedUrl(target, asked))
  if (response.status !== 200) throw new Error(`the feed answered ${response.status}: ${await response.text()}`)
  return (await response.json()) as FeedPage
}

/** Events from the feed a second, from the oldest on. Parses nothing but the last number, which the next page begins after. */
export async function readWholeFeed(target: Target): Promise<number> {
  const startedAt = performance.now()
  let after = 0
  for (;;) {
    const response = await fetch(feedUrl(target, { after: String(after), limit: '1000' }))
    const text = await response.text()
    const last = Number(/"last":(\d+),"oldest":\d+\}$/.exec(text)?.[1])
    if (response.status !== 200 || Number.isNaN(last)) throw new Error(`the feed answered ${response.status}`)
    if (last === after) return (after / (performance.now() - startedAt)) * 1000
    after = last
  }
}

/** Follows the feed from its end, by waiting calls, until it is stopped. */
export async function followFeed(target: Target): Promise<{ arrivals: Arrivals; stop: () => Promise<void> }> {
  const arrivals: Arrivals = new Map()
  const ending = new AbortController()
  let after = await lastNumber(target)
  const follow = async () => {
    while (!ending.signal.aborted) {
      const { events, last } = await readFeed(target, { after: String(after), limit: '1000', wait: '1' })
      for (const { data } of events) if (data.referenceId) arrivals.set(data.referenceId, performance.now())
      after = last
    }
  }
  const following = follow()
  return {
    arrivals,
    stop: async () => {
      ending.abort()
      await following
    },
  }
}

export async function lastNumber(target: Target): Promise<number> {
  for (let after = 0; ;) {
    // Of a type that is rare: `last` passes over the others.
    const { last } = await readFeed(target, { after: String(after), limit: '1000', types: 'user.deleted' })
    if (last === after) return last
    after = last
  }
}

/** Milliseconds from the answer of each credit to its event, ascending. An event that precedes the answer counts as 0. */
export async function creditEvenly(
  { port, clientId, clientSecret }: Target,
  users: readonly string[],
  { perSecond, seconds }: { readonly perSecond: number; readonly seconds: number },
  arrivals: Arrivals,
): Promise<number[]> {
  const answeredAt: Arrivals = new Map()
  const credit = async (i: number) => {
    const referenceId = crypto.randomUUID()
    const body = { clientId, clientSecret, serviceUserId: users[i % users.length], amount: 0.01, referenceId }
    const response = await fetch(`http://127.0.0.1:${port}/api/server/wallet/credit`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ ...body, referenceType: 'EVENTS' }),
    })
    if (response.status !== 200) throw new Error(`a credit got ${response.status}: ${await response.text()}`)
    await response.arrayBuffer()
    answeredAt.set(referenceId, performance.now())
  }
  const startedAt = performance.now()
  const credits: Promise<void>[] = []
  for (let i = 0; i < seconds * perSecond; i++) {
    credits.push(credit(i))
    await sleep(Math.max(0, startedAt + ((i + 1) * 1_000) / perSecond - performance.now()))
  }
  await Promise.all(credits)
  const ids = [...answeredAt.keys()]
  await until(() => ids.every((id) => arrivals.has(id)))
  return ids.map((id) => Math.max(0, arrivals.get(id)! - answeredAt.get(id)!)).toSorted((a, b) => a - b)
}

export const percentile = (ascending: readonly number[], share: number) =>
  ascending[Math.min(ascending.length - 1, Math.floor(ascending.length * share))]!

const withinMs = 120_000

export async function until(isTrue: () => boolean | Promise<boolean>): Promise<void> {
  for (const endsAt = performance.now() + withinMs; !(await isTrue()); await sleep(5))
    if (performance.now() > endsAt) throw new Error('events did not arrive within two minutes')
}
