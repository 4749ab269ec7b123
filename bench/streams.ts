/**
 * `npx bun bench/streams.ts [--streams 10000] [--seconds 15]`: the cost of open widgets. One process holds that many event streams,
 * each of another wallet; first nothing happens, then wallets change, through the same process and through another one.
 */
import { mkdir, mkdtemp, readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { parseArgs } from 'node:util'
import { withCost } from './cost.ts'
import { table } from './figures.ts'
import { insertSessions } from './sessions.ts'
import { openStage, type Site, type Stage } from './stage.ts'
import { usageOf } from './usage.ts'

const { values } = parseArgs({
  options: {
    streams: { type: 'string', default: '10000' },
    seconds: { type: 'string', default: '15' },
    rate: { type: 'string', default: '200' },
  },
})
const count = Number(values.streams)
const seconds = Number(values.seconds)
const rate = Number(values.rate)

type Stream = { walletAt: number; events: number; held: string }

const resultsDir = join(import.meta.dir, 'results')
await mkdir(resultsDir, { recursive: true })
const stage = await openStage(await mkdtemp(join(resultsDir, 'data-')))
try {
  await run(stage)
} finally {
  await stage.close()
}
process.exit()

async function run(stage: Stage): Promise<void> {
  console.log(`starting two services on ${count} wallets`)
  const site = await stage.openSite('streams', { users: count, transfersPerUser: 1 })
  const other = await stage.openBeside(site, {})
  const users = (await readFile(site.target.usersFile, 'utf8')).trim().split('\n')
  const rssMb = () => Math.round(usageOf(site.server.pid).rssBytes / 1e6)
  const rows: string[][] = []
  const phase = async (name: string, writer: Site | undefined, streams: readonly Stream[]) => {
    const reached: number[] = []
    const { cores } = await withCost(
      stage.cluster,
      undefined,
      () => usageOf(site.server.pid).cpuSeconds,
      async () => (writer ? await change(writer, users, streams, reached) : await sleep(seconds * 1000)),
      () => 0,
    )
    reached.sort((a, b) => a - b)
    const at = (share: number) =>
      reached.length === 0
        ? '–'
        : `${reached[Math.min(reached.length - 1, Math.floor(reached.length * share))]!.toFixed(0)} ms`
    rows.push([
      name,
      (cores.serverCores * 1000).toFixed(0),
      (cores.databaseCores * 1000).toFixed(0),
      `${rssMb()} MB`,
      at(0.5),
      at(0.99),
      at(1),
    ])
    console.log(rows.at(-1)!.join('  '))
  }
  await phase('no stream, nothing happens', undefined, [])
  await phase(`no stream, ${rate} debits a second here`, site, [])
  await phase(`no stream, ${rate} debits a second there`, other, [])
  console.log('opening the streams')
  const streams = await openStreams(site, users)
  await phase(`${count} streams, nothing happens`, undefined, streams)
  await phase(`${count} streams, ${rate} debits a second here`, site, streams)
  await phase(`${count} streams, ${rate} debits a second there`, other, streams)
  const head = ['for a second of time, in ms of a processor', 'service', 'database', 'memory', 'p50', 'p99', 'latest']
  console.log(`\n${table(head, rows)}\np50, p99 and latest: from the debit's answer until the widget was told`)
  await writeFile(join(resultsDir, 'streams.json'), `${JSON.stringify({ count, rate, seconds, rows }, null, 2)}\n`)
}

/** Opens a connection for each user, as a browser does. */
async function openStreams(site: Site, users: readonly string[]): Promise<Stream[]> {
  const tokens = await insertSessions(site, users)
  const streams: Stream[] = []
  for (const [i, token] of tokens.entries()) {
    const stream: Stream = { walletAt: 0, events: 0, held: '' }
    streams.push(stream)
    await Bun.connect({
      hostname: '127.0.0.1',
      port: site.target.port,
      socket: {
        open: (socket) =>
          void socket.write(
            `GET /api/widget/events?session=${token} HTTP/1.1\r\nHost: x\r\nAccept: text/event-stream\r\n\r\n`,
          ),
        data: (_, chunk) => {
          const text = stream.held + chunk.toString('latin1')
          const found = text.split('event: wallet').length - 1
          stream.held = text.slice(-12)
          if (found === 0) return
          stream.events += found
          stream.walletAt = performance.now()
        },
      },
    })
    // The listen queue for new connections is short.
    if (i % 100 === 99) while (streams.slice(-100).some(({ events }) => events === 0)) await sleep(20)
  }
  for (const until = performance.now() + 30_000; streams.some(({ events }) => events === 0); await sleep(50))
    if (performance.now() > until) throw new Error('some streams were not told their wallet')
  return streams
}

/** Debits at an even rate, each of another wallet; records how long after its answer each stream received the event. */
async function change(
  { target }: Site,
  users: readonly string[],
  streams: readonly Stream[],
  reached: number[],
): Promise<void> {
  const answers: Promise<void>[] = []
  const startedAt = performance.now()
  for (let i = 0; i < rate * seconds; i++) {
    const dueMs = (i * 1000) / rate - (performance.now() - startedAt)
    if (dueMs > 1) await sleep(dueMs)
    answers.push(debit(target, users, streams, (i * 7919) % users.length, reached))
  }
  await Promise.all(answers)
}

async function debit(
  { port, clientId, clientSecret }: Site['target'],
  users: readonly string[],
  streams: readonly Stream[],
  n: number,
  reached: number[],
): Promise<void> {
  const stream = streams[n]
  const before = stream?.events ?? 0
  const body = { clientId, clientSecret, serviceUserId: users[n], amount: 0.01, referenceType: 'T' }
  const response = await fetch(`http://127.0.0.1:${port}/api/server/wallet/debit`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ ...body, referenceId: crypto.randomUUID() }),
  })
  if (response.status !== 200) throw new Error(`a debit was answered with ${response.status}`)
  await response.text()
  const answeredAt = performance.now()
  if (!stream) return
  while (stream.events === before) {
    if (performance.now() - answeredAt > 10_000) throw new Error('a widget was not told within ten seconds')
    await sleep(5)
  }
  reached.push(Math.max(0, stream.walletAt - answeredAt))
}
