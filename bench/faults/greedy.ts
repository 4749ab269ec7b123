/**
 * A greedy app beside the clients of a fault run: bulk requests without a pause, on wallets that only it uses. A request without an answer, and
 * an operation that was answered with 503, are undecided until a repeat succeeds.
 */
import { setTimeout as sleep } from 'node:timers/promises'
import type { BenchDatabase } from '../cluster.ts'
import { clientTimeoutMs, type Target } from './load.ts'
import type { Node } from './node.ts'
import type { Random } from './random.ts'

export const greedyType = 'GREEDY'

const bulkSize = 1_000
/** Of an operation whose outcome is not known. */
const undecided = 0

/** The references of bulk 7 are greedy-7-0 to greedy-7-999; its users and amounts follow from the numbers. */
type Bulk = { readonly number: number; readonly statuses: Uint16Array; readonly balances: Float64Array }

export type GreedyReport = {
  readonly bulks: readonly Bulk[]
  readonly refused: number
  readonly unanswered: number
  readonly contradictions: readonly string[]
}

export type GreedyCount = {
  readonly operations: number
  readonly posted: number
  readonly refused: number
  /** Whole requests answered with 429. */
  readonly tooMany: number
  readonly unanswered: number
  readonly lost: number
  readonly doubled: number
  readonly different: number
  readonly contradictions: readonly string[]
}

export function startGreedyApp(
  nodes: readonly Node[],
  target: Target,
  random: Random,
  connections: number,
): { readonly stop: () => Promise<GreedyReport> } {
  const bulks: Bulk[] = []
  const contradictions: string[] = []
  const count = { refused: 0, unanswered: 0 }
  const state = { isOn: true }

  const send = async (bulk: Bulk): Promise<'too many' | undefined> => {
    const answer = await post(random.pick(nodes), target, bulk.number)
    if (answer === undefined) {
      count.unanswered++
      await sleep(20)
    } else if (answer === 'too many') {
      count.refused++
      await sleep(1_000)
      return 'too many'
    } else
      for (const [i, { status, balance = 0 }] of answer.entries()) {
        if (status !== 200 && status !== 400) continue
        const known = bulk.statuses[i]
        if (known === undecided) {
          bulk.statuses[i] = status
          bulk.balances[i] = balance
        } else if (known !== status || bulk.balances[i] !== balance)
          contradictions.push(`greedy-${bulk.number}-${i}: ${known} ${bulk.balances[i]}, then ${status} ${balance}`)
      }
    return undefined
  }
  const connection = async (): Promise<void> => {
    while (state.isOn) {
      const statuses = new Uint16Array(bulkSize)
      const bulk = { number: bulks.length, statuses, balances: new Float64Array(bulkSize) }
      bulks.push(bulk)
      // A refused request has done nothing, and is sent again.
      while ((await send(bulk)) === 'too many' && state.isOn);
    }
  }
  const running = Array.from({ length: connections }, connection)
  return {
    stop: async () => {
      state.isOn = false
      await Promise.all(running)
      for (let open = bulks.filter(isOpen); open.length > 0; open = bulks.filter(isOpen))
        for (let i = 0; i < open.length; i += 4) await Promise.all(open.slice(i, i + 4).map(send))
      return { bulks, ...count, contradictions }
    },
  }
}

function isOpen({ statuses }: Bulk): boolean {
  return statuses.includes(undecided)
}

/** Per bulk and not per operation: a long run has millions of them. */
const bulksSql = `select split_part(reference_id, '-', 2) as bulk, count(*) as times, count(distinct reference_id) as entries,
  sum(amount) as amount, sum(balance_after) as balances
  from all_transfers where reference_type = '${greedyType}' group by 1`

export async function countGreedy(database: BenchDatabase, report: GreedyReport): Promise<GreedyCount> {
  const found = new Map((await database.query(bulksSql)).map((row) => [row['bulk'], row]))
  const tally = { posted: 0, refused: 0, lost: 0, doubled: 0, different: 0 }
  for (const { number, statuses, balances } of report.bulks) {
    const row = found.get(String(number))
    const [times, entries] = [Number(row?.['times'] ?? 0), Number(row?.['entries'] ?? 0)]
    const posted = [...statuses.keys()].filter((i) => statuses[i] === 200)
    tally.posted += posted.length
    tally.refused += bulkSize - posted.length
    tally.lost += Math.max(0, posted.length - entries)
    tally.doubled += Math.max(0, times - posted.length)
    const amount = posted.reduce((sum, i) => sum + amountMinorOf(i), 0)
    const balance = posted.reduce((sum, i) => sum + Math.round(balances[i]! * 100), 0)
    if (Number(row?.['amount'] ?? 0) !== amount || Number(row?.['balances'] ?? 0) !== balance) tally.different++
  }
  const { refused: tooMany, unanswered, contradictions } = report
  return { operations: report.bulks.length * bulkSize, ...tally, tooMany, unanswered, contradictions }
}

/** Every third one is a debit of what the two before it credit, so that no wallet grows without limit. */
function amountMinorOf(i: number): number {
  return i % 3 === 2 ? -(2 * i - 1) : i + 1
}

type Result = { readonly status: number; readonly balance?: number }

async function post(
  node: Node,
  { clientId, clientSecret, serviceUserIds }: Target,
  number: number,
): Promise<readonly Result[] | 'too many' | undefined> {
  const running = node.process()
  if (!running) return undefined
  const operations = Array.from({ length: bulkSize }, (_, i) => ({
    direction: amountMinorOf(i) < 0 ? 'debit' : 'credit',
    serviceUserId: serviceUserIds[(number + i) % serviceUserIds.length],
    amount: Math.abs(amountMinorOf(i)) / 100,
    referenceType: greedyType,
    referenceId: `greedy-${number}-${i}`,
  }))
  try {
    const response = await fetch(`${running.url}/api/server/wallet/bulk`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ clientId, clientSecret, operations }),
      signal: AbortSignal.timeout(clientTimeoutMs),
    })
    if (response.status === 429) return 'too many'
    if (response.status !== 200) return undefined
    return ((await response.json()) as { results: Result[] }).results
  } catch {
    return undefined
  }
}
