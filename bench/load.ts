/** The load, as a separate process: a job comes in, its result goes out. Each connection has one request in flight. */
import { readFileSync } from 'node:fs'
import { bulkSize, type Job, type Latency, type Result } from './job.ts'
import {
  buildTemplate,
  hugeAmount,
  smallAmount,
  writeReference,
  type Offsets,
  type RequestTemplate,
} from './request-template.ts'
import { answerLength, countDone, isBusy, isReplay, statusOf } from './response.ts'

type Line = {
  readonly template: RequestTemplate
  held: Buffer | undefined
  isFinished: boolean
  /** At a fixed rate, the time at which it was due: waiting for a free connection counts as latency. */
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

/** The last posted references with their users: a replay repeats one of them. */
const recentSize = 4096

async function runJob(job: Job): Promise<Result> {
  const users = readUsers(job.target.usersFile)
  const userCount = Math.min(job.users, users.count)
  const size = job.call === 'bulk' ? bulkSize : 1
  const done = { posted: 0, refused: 0, replayed: 0, read: 0 }
  const wrong: Record<string, number> = {}
  let busy = 0
  const latencies: number[] = []
  const recentUsers = new Int32Array(recentSize)
  const recentReferences = new Int32Array(recentSize)
  let references = 0
  let nextInOrder = 0
  const isUsedUp = () => job.isInOrder === true && nextInOrder >= userCount
  let open = job.connections
  /** At a fixed rate: connections without a request in flight, and the number of requests sent. */
  const idle: Bun.Socket<Line>[] = []
  let sent = 0
  const ended = Promise.withResolvers<void>()
  const cpuBefore = process.cpuUsage()
  let startedAt = performance.now()
  let stopAt = startedAt + job.seconds * 1000

  function choose(line: Line): void {
    for (const position of line.template.offsets) chooseOne(line, position)
  }

  function chooseOne(line: Line, position: Offsets): void {
    const { bytes } = line.template
    const dice = Math.random()
    line.user = job.isInOrder ? nextInOrder++ : (Math.random() * userCount) | 0
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
    users.bytes.copy(bytes, position.userAt, userFrom, userFrom + users.length)
    if (position.amountAt === -1) return
    ;(line.asked === 'refused' ? hugeAmount : smallAmount).copy(bytes, position.amountAt)
    writeReference(bytes, position, line.reference)
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

  function send(socket: Bun.Socket<Line>, at = performance.now()): void {
    if (isUsedUp()) return finish(socket)
    const line = socket.data
    choose(line)
    line.sentAt = at
    write(socket)
  }

  function write(socket: Bun.Socket<Line>): void {
    const line = socket.data
    // A request is far smaller than the socket's buffer, which is empty: it held only the last request.
    if (socket.write(line.template.bytes) !== line.template.bytes.length) throw new Error('a request was cut short')
  }

  function receive(socket: Bun.Socket<Line>, chunk: Buffer): void {
    const line = socket.data
    const bytes = line.held ? Buffer.concat([line.held, chunk]) : chunk
    const length = answerLength(bytes)
    line.held = length === 0 ? Buffer.from(bytes) : undefined
    if (length === 0) return
    if (job.isPatient && isBusy(bytes)) {
      busy++
      setTimeout(() => write(socket), 1_000)
      return
    }
    const now = performance.now()
    latencies.push(now - line.sentAt)
    check(line, bytes)
    if (now >= stopAt) finish(socket)
    else if (job.perSecond === undefined) send(socket)
    else idle.push(socket)
  }

  function finish(socket: Bun.Socket<Line>): void {
    socket.data.isFinished = true
    socket.end()
  }

  function sendWhatIsDue(perSecond: number): void {
    const now = performance.now()
    const due = ((Math.min(now, stopAt) - startedAt) / 1000) * perSecond
    for (let socket; sent < due && (socket = idle.pop());) send(socket, startedAt + (sent++ / perSecond) * 1000)
    if (now >= stopAt) for (let socket; (socket = idle.pop());) finish(socket)
  }

  for (let i = 0; i < job.connections; i++) {
    const template = buildTemplate(job, users.length)
    const data: Line = { template, held: undefined, isFinished: false, sentAt: 0, asked: 'read', user: 0, reference: 0 }
    await Bun.connect<Line>({
      hostname: '127.0.0.1',
      port: job.target.port,
      data,
      socket: {
        open: (socket) => (job.perSecond === undefined ? send(socket) : void idle.push(socket)),
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
  const { perSecond } = job
  if (perSecond !== undefined) {
    // Only after all connections are open: otherwise the first requests would be late.
    startedAt = performance.now()
    stopAt = startedAt + job.seconds * 1000
    const pace = setInterval(() => sendWhatIsDue(perSecond), 1)
    void ended.promise.finally(() => clearInterval(pace)).catch(() => {})
  }
  await ended.promise
  const seconds = (performance.now() - startedAt) / 1000
  const cpu = process.cpuUsage(cpuBefore)
  return {
    ...done,
    busy,
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
  return { p50: at(0.5), p99: at(0.99), p999: at(0.999), max: at(1) }
}
