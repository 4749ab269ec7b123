/** Clients that keep their connection, ask again and again, and count what they do not get. */
import { connect, type Socket } from 'node:net'
import { setTimeout as sleep } from 'node:timers/promises'

export type KeepAliveClient = {
  /** Answers with status 200. */
  answered: number
  /** Everything else: another status, a connection refused, or one closed under a request that was sent. */
  readonly failures: string[]
}

export type Load = {
  readonly clients: readonly KeepAliveClient[]
  /** Each finishes the request it has. */
  readonly stop: () => Promise<void>
}

export type Asked = { readonly path: string; readonly body: object }

type Habits = {
  readonly goesOn?: (client: KeepAliveClient) => boolean
  /** Between an answer and the next request, on the same connection. */
  readonly pauseMs?: number
}

/** As HTTP clients do, they leave a connection after `Connection: close`, or when they find it closed before they ask. */
export function startClients(
  url: string,
  count: number,
  ask: (client: number) => Asked,
  { goesOn = () => true, pauseMs = 0 }: Habits = {},
): Load {
  const stopping = new AbortController()
  const clients = Array.from({ length: count }, (): KeepAliveClient => ({ answered: 0, failures: [] }))
  const run = async (client: KeepAliveClient, index: number) => {
    let connection: Connection | undefined
    while (!stopping.signal.aborted && goesOn(client)) {
      try {
        if (!connection?.isOpen()) {
          connection = undefined
          connection = await openConnection(url)
        }
        const { status, isLast } = await connection.exchange(postText(ask(index)))
        if (status === 200) client.answered++
        else client.failures.push(`status ${status}`)
        if (!isLast) {
          if (pauseMs > 0) await sleep(pauseMs)
          continue
        }
      } catch (error) {
        if (!connection?.isLate()) client.failures.push(error instanceof Error ? error.message : String(error))
        // When a process is killed, the system closes its connections first and its port last: a client that reconnects at once may
        // still be given to it, and is cut off again.
        await sleep(50)
      }
      connection?.close()
      connection = undefined
    }
    connection?.close()
  }
  const running = clients.map(run)
  return {
    clients,
    stop: async () => {
      stopping.abort()
      await Promise.all(running)
    },
  }
}

export function failuresOf({ clients }: Load): string[] {
  return clients.flatMap(({ failures }) => failures)
}

export function answersOf({ clients }: Load): number {
  return clients.reduce((sum, { answered }) => sum + answered, 0)
}

export function postText({ path, body }: Asked): string {
  const text = JSON.stringify(body)
  const head = [`POST ${path} HTTP/1.1`, 'host: billfold.test', 'content-type: application/json']
  return `${head.join('\r\n')}\r\ncontent-length: ${Buffer.byteLength(text)}\r\n\r\n${text}`
}

export function getText(path: string): string {
  return `GET ${path} HTTP/1.1\r\nhost: billfold.test\r\n\r\n`
}

export type Exchanged = { readonly status: number; readonly isLast: boolean; readonly body: string }
export type Connection = {
  readonly isOpen: () => boolean
  /** Its only request so far came later than a draining process waits for the first one of a new connection: this machine is slow. */
  readonly isLate: () => boolean
  readonly exchange: (request: string) => Promise<Exchanged>
  readonly socket: Socket
  readonly close: () => void
}

/** Less than the half second that a draining process waits. */
const firstRequestMs = 400

export async function openConnection(url: string): Promise<Connection> {
  const { hostname, port } = new URL(url)
  const openedAt = performance.now()
  let requests = 0
  let isLate = false
  const socket = connect(Number(port), hostname)
  const opened = Promise.withResolvers<void>()
  let answer = Promise.withResolvers<Exchanged>()
  let received = ''
  let isOpen = true
  let isConnected = false
  answer.promise.catch(() => {})
  const fail = (reason: string) => {
    isOpen = false
    opened.reject(new Error(`not connected: ${reason}`))
    answer.reject(new Error(`${received === '' ? 'closed unanswered' : 'cut off'}: ${reason}`))
  }
  socket.on('connect', () => {
    isConnected = true
    opened.resolve()
  })
  socket.on('error', (error: Error & { code?: string }) => fail(error.code ?? error.message))
  socket.on('close', () => fail(isConnected ? 'the other side closed' : 'refused'))
  socket.on('end', () => fail('the other side closed'))
  socket.on('data', (chunk) => {
    received += chunk.toString('latin1')
    const whole = parseAnswer(received)
    if (!whole) return
    received = ''
    answer.resolve(whole)
  })
  await opened.promise
  return {
    isOpen: () => isOpen,
    isLate: () => isLate,
    socket,
    exchange: (request) => {
      isLate = requests++ === 0 && performance.now() > openedAt + firstRequestMs
      answer = Promise.withResolvers<Exchanged>()
      answer.promise.catch(() => {})
      socket.write(request)
      return answer.promise
    },
    close: () => socket.destroy(),
  }
}

function parseAnswer(text: string): Exchanged | undefined {
  const headEnd = text.indexOf('\r\n\r\n')
  if (headEnd === -1) return undefined
  const head = text.slice(0, headEnd).toLowerCase()
  const length = Number(/^content-length: (\d+)$/m.exec(head)?.[1] ?? 0)
  const body = text.slice(headEnd + 4)
  if (body.length < length) return undefined
  return { status: Number(head.slice(9, 12)), isLast: /^connection: close\r?$/m.test(head), body }
}
