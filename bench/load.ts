/** The load, as a process of its own: a job comes in, its result goes out. Each connection has one request under way. */
import { readFileSync } from 'node:fs'
import { bulkSize, type Job, type Latency, type Result } from './job.ts'
import {
  buildTemplate,
  hugeAmount,
  smallAmount,
  writeReference,
  type Place,
  type RequestTemplate,
} from './request-template.ts'
import { answerLength, countDone, isReplay, statusOf } from './response.ts'

type Line = {
  readonly template: RequestTemplate
  held: Buffer | undefined
  isFinished: boolean
  sentAt: number
  asked: 'posted' | 'refused' | 'replayed' | 'read'
  user: number
  reference: number
}

type Users = { readonly bytes: Buffer; readonly length: number; readonly count: number }

process.on('message', (job: Job) => {
  void runJob(job).then(
    (result) => process.send!(result),
    (error: unknown) => process.send!({ fault: error instanceof Error ? error.message : String(error) }),
  )
})
process.on('disconnect', () => process.exit())

const usersByFile = new Map<string, Users>()

function readUsers(file: string): Users {
  let users = usersByFile.get(file)
  if (!users) {
    const bytes = readFileSync(file)
    const length = bytes.indexOf('\n')
    users = { bytes, length, count: bytes.length / (length + 1) }
    usersByFile.set(file, users)
  }
  return users
}

/** The last references that were posted, with their users: what a replay sends again. */
const recentSize = 4096

async function runJob(job: Job): Promise<Result> {
  const users = readUsers(job.target.usersFile)
  const userCount = Math.min(job.users, users.count)
  const size = job.call === 'bulk' ? bulkSize : 1
  const done = { posted: 0, refused: 0, replayed: 0, read: 0 }
  const wrong: Record<string, number> = {}
  const latencies: number[] = []
  const recentUsers = new Int32Array(recentSize)
  const recentReferences = new Int32Array(recentSize)
  let references = 0
  let open = job.connections
  const ended = Promise.withResolvers<void>()
  const cpuBefore = process.cpuUsage()
  const startedAt = performance.now()
  const stopAt = startedAt + job.seconds * 1000

  function choose(line: Line): void {
    for (const place of line.template.places) chooseOne(line, place)
  }

  function chooseOne(line: Line, place: Place): void {
    const { bytes } = line.template
    const dice = Math.random()
    line.user = (Math.random() * userCount) | 0
    if (job.call === 'check-balance') line.asked = 'read'
    else if (dice < job.replayed && done.posted > 0) {
      line.asked = 'replayed'
      const slot = (Math.random() * Math.min(done.posted, recentSize)) | 0
      line.user = recentUsers[slot]!
      line.reference = recentReferences[slot]!
    } else {
      line.asked = dice >= 1 - job.refused ? 'refused' : 'posted'
      line.reference = references++
    }
    const userFrom = line.user * (users.length + 1)
    users.bytes.copy(bytes, place.userAt, userFrom, userFrom + users.length)
    if (place.amountAt === -1) return
    ;(line.asked === 'refused' ? hugeAmount : smallAmount).copy(bytes, place.amountAt)
    writeReference(bytes, place, line.reference)
  }

  function check(line: Line, answer: Buffer): void {
    const status = statusOf(answer)
    const isExpected =
      status === (line.asked === 'refused' ? 400 : 200) &&
      (line.asked !== 'replayed' || isReplay(answer)) &&
      (size === 1 || countDone(answer) === size)
    if (!isExpected) {
      wrong[`${line.asked}: ${status}`] = (wrong[`${line.asked}: ${status}`] ?? 0) + 1
      return
    }
    if (line.asked === 'posted') {
      recentUsers[done.posted % recentSize] = line.user
      recentReferences[done.posted % recentSize] = line.reference
    }
    done[line.asked] += size
  }

  function send(socket: Bun.Socket<Line>): void {
    const line = socket.data
    choose(line)
    line.sentAt = performance.now()
    // A request is far smaller than a socket's buffer, which is empty: it held only the last request.
    if (socket.write(line.template.bytes) !== line.template.bytes.length) throw new Error('a request was cut short')
  }

  function receive(socket: Bun.Socket<Line>, chunk: Buffer): void {
    const line = socket.data
    const bytes = line.held ? Buffer.concat([line.held, chunk]) : chunk
    const length = answerLength(bytes)
    line.held = length === 0 ? Buffer.from(bytes) : undefined
    if (length === 0) return
    const now = performance.now()
    latencies.push(now - line.sentAt)
    check(line, bytes)
    if (now < stopAt) send(socket)
    else {
      line.isFinished = true
      socket.end()
    }
  }

  for (let i = 0; i < job.connections; i++) {
    const template = buildTemplate(job, users.length)
    const data: Line = { template, held: undefined, isFinished: false, sentAt: 0, asked: 'read', user: 0, reference: 0 }
    await Bun.connect<Line>({
      hostname: '127.0.0.1',
      port: job.target.port,
      data,
      socket: {
        open: send,
        data: receive,
        close: (socket) => {
          if (!socket.data.isFinished) ended.reject(new Error('the server closed a connection instead of answering'))
          else if (--open === 0) ended.resolve()
        },
        error: (_, error) => ended.reject(error),
        connectError: (_, error) => ended.reject(error),
      },
    })
  }
  await ended.promise
  const seconds = (performance.now() - startedAt) / 1000
  const cpu = process.cpuUsage(cpuBefore)
  return {
    ...done,
    wrong,
    seconds,
    perSecond: (latencies.length * size) / seconds,
    latencyMs: percentiles(latencies),
    loadCores: (cpu.user + cpu.system) / 1e6 / seconds,
  }
}

function percentiles(latencies: readonly number[]): Latency {
  const sorted = Float64Array.from(latencies).sort()
  const at = (share: number) => sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))] ?? 0
  return { p50: at(0.5), p90: at(0.9), p99: at(0.99), max: at(1) }
}
