/**
 * Clients that debit and credit, record every reference and its first answer, and repeat some of them. An unanswered request is
 * undecided until a repeat succeeds.
 */
import type { Node } from './node.ts'
import type { Random } from './random.ts'

export type Asked = {
  readonly reference: string
  readonly direction: 'debit' | 'credit'
  readonly serviceUserId: string
  readonly amount: number
  /** Status and balance of the first real answer; undefined while the outcome is undecided. */
  answer?: { readonly status: number; readonly balance: number }
  /** The time of that answer, by performance.now(). */
  answeredAt?: number
}

export type LoadReport = {
  readonly asked: readonly Asked[]
  /** Requests that ended without an answer, or in 503. */
  readonly unknown: number
  /** Answers to a repeat that differ from the first answer: there must be none. */
  readonly contradictions: readonly string[]
  /** Answers of 500 and other unexpected statuses. */
  readonly surprises: ReadonlyMap<string, number>
  /** The longest time without an answer to any client. */
  readonly longestGapMs: number
  /** Requests that began and ended in a calm, and failed: there must be none. */
  readonly failedInCalm: readonly string[]
  readonly askedInCalm: number
}

export type FaultLoad = {
  readonly stop: () => Promise<LoadReport>
  /** The time of the last answer of any service, by performance.now(). */
  readonly lastAnswerAt: () => number
  /** A calm begins after a fault, once every service is ready (`/readyz`) at the same time, and ends when the next fault begins. */
  readonly beginCalm: (fault: string) => Promise<void>
  readonly endCalm: () => void
  readonly count: () => number
  readonly newest: () => Asked | undefined
}

export type Target = {
  readonly clientId: string
  readonly clientSecret: string
  readonly serviceUserIds: readonly string[]
}

/** The time-out of the client sketched in the contract. */
export const clientTimeoutMs = 10_000

export function startFaultLoad(
  nodes: readonly Node[],
  target: Target,
  random: Random,
  { clients, pauseMs }: { readonly clients: number; readonly pauseMs: number },
): FaultLoad {
  const asked: Asked[] = []
  const contradictions: string[] = []
  const surprises = new Map<string, number>()
  let unknown = 0
  let lastAnswerAt = performance.now()
  let longestGapMs = 0
  const state = { isOn: true }
  const failedInCalm: string[] = []
  let askedInCalm = 0
  let calm: Calm | undefined

  const send = async (item: Asked, node: Node): Promise<void> => {
    const calmAtStart = calm
    const startedAt = performance.now()
    const reply = await call(node, target, item)
    if (calmAtStart !== undefined && calmAtStart === calm) {
      askedInCalm++
      if (!isReal(reply)) {
        failedInCalm.push(failureText(reply, nodes.indexOf(node) + 1, startedAt, calmAtStart))
        console.log(`  ${failedInCalm.at(-1)}`)
      }
    }
    if ('fault' in reply || reply.status === 503) {
      unknown++
      return
    }
    const now = performance.now()
    longestGapMs = Math.max(longestGapMs, now - lastAnswerAt)
    lastAnswerAt = now
    if (!isReal(reply)) {
      const key = `${reply.status} ${reply.code}`
      surprises.set(key, (surprises.get(key) ?? 0) + 1)
      return
    }
    const { status, balance } = reply
    if (item.answer === undefined) {
      item.answer = { status, balance }
      item.answeredAt = now
    } else if (item.answer.status !== status || item.answer.balance !== balance)
      contradictions.push(
        `${item.reference}: ${JSON.stringify(item.answer)}, then ${JSON.stringify({ status, balance })}`,
      )
  }

  const client = async (): Promise<void> => {
    while (state.isOn) {
      const isRepeat = asked.length > 0 && random.next() < 0.2
      const item = isRepeat ? random.pick(asked.slice(-2_000)) : newItem()
      await send(item, random.pick(nodes))
      if (pauseMs > 0) await Bun.sleep(pauseMs)
    }
  }
  const newItem = (): Asked => {
    const item: Asked = {
      reference: `fault-${asked.length}`,
      direction: random.next() < 0.7 ? 'debit' : 'credit',
      // A few wallets are used much more often than the others.
      serviceUserId: random.pick(random.next() < 0.3 ? target.serviceUserIds.slice(0, 3) : target.serviceUserIds),
      amount: random.between(1, 5_000) / 100,
    }
    asked.push(item)
    return item
  }
  const running = Array.from({ length: clients }, client)

  return {
    lastAnswerAt: () => lastAnswerAt,
    beginCalm: async (fault) => {
      await Bun.sleep(readyIsGoodForMs)
      while (!(await Promise.all(nodes.map(isReady))).every(Boolean)) await Bun.sleep(10)
      calm = { fault, since: performance.now() }
    },
    endCalm: () => (calm = undefined),
    count: () => asked.length,
    newest: () => asked.findLast(({ answer }) => answer !== undefined),
    stop: async () => {
      state.isOn = false
      calm = undefined
      await Promise.all(running)
      // Repeat every undecided request until its outcome is known.
      for (let open = asked.filter(isOpen); open.length > 0; open = asked.filter(isOpen))
        for (let i = 0; i < open.length; i += 64)
          await Promise.all(open.slice(i, i + 64).map((item) => send(item, random.pick(nodes))))
      // Repeat a sample once more: a repeat returns the first answer again, and moves nothing.
      const sample = asked.filter((_, i) => i % 10 === 0)
      for (let i = 0; i < sample.length; i += 64)
        await Promise.all(sample.slice(i, i + 64).map((item) => send(item, random.pick(nodes))))
      return {
        asked,
        unknown,
        contradictions,
        surprises,
        longestGapMs,
        failedInCalm,
        askedInCalm,
      }
    },
  }
}

function isOpen(item: Asked): boolean {
  return item.answer === undefined
}

/** The last fault, and since when all services have been ready again. */
type Calm = { readonly fault: string; readonly since: number }

/** So old may be the check of the database that `/readyz` answers from: an answer that comes later is of a check after the fault. */
const readyIsGoodForMs = 1_000

async function isReady(node: Node): Promise<boolean> {
  const url = node.process()?.url
  const response =
    url && (await fetch(`${url}/readyz`, { signal: AbortSignal.timeout(clientTimeoutMs) }).catch(() => undefined))
  return response ? response.ok : false
}

type Reply =
  | { readonly status: number; readonly balance: number; readonly code: string | undefined }
  | { readonly fault: string }

/** Whether it decides the request: posted, or refused for want of money. */
function isReal(reply: Reply): boolean {
  return !('fault' in reply) && (reply.status === 200 || reply.code === 'INSUFFICIENT_BALANCE')
}

function failureText(reply: Reply, service: number, startedAt: number, { fault, since }: Calm): string {
  const how = 'fault' in reply ? `no answer (${reply.fault})` : `${reply.status} ${reply.code}`
  const [tookMs, afterMs] = [performance.now() - startedAt, startedAt - since].map(Math.round)
  const at = new Date().toISOString()
  return `failed in calm: ${how} of service ${service} at ${at} after ${tookMs} ms, sent ${afterMs} ms after all services were ready after “${fault}”`
}

async function call(node: Node, { clientId, clientSecret }: Target, item: Asked): Promise<Reply> {
  const running = node.process()
  if (!running) {
    await Bun.sleep(20)
    return { fault: 'the service is down' }
  }
  const { direction, serviceUserId, amount, reference } = item
  const body = { clientId, clientSecret, serviceUserId, amount, referenceType: 'ORDER', referenceId: reference }
  try {
    const response = await fetch(`${running.url}/api/server/wallet/${direction}`, {
      method: 'POST',
      // The service may close an idle connection while a request is on its way there, which is no failure of the service.
      keepalive: false,
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify(body),
      signal: AbortSignal.timeout(clientTimeoutMs),
    })
    const answer = (await response.json()) as { balance?: number; code?: string }
    return { status: response.status, balance: answer.balance ?? 0, code: answer.code }
  } catch (error) {
    await Bun.sleep(20)
    return { fault: error instanceof Error ? `${error.name}: ${error.message}` : String(error) }
  }
}
