/**
 * A greedy app beside the clients of a fault run: bulk requests without a pause, on wallets that only it uses. A request without an answer, and
 * an operation that was answered with 503, are undecided until a repeat succeeds. New references are limited, so that all of them can be counted
 * at the end; the other requests repeat earlier ones, whose answers must not change.
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

export type Greed = {
  /** Requests at the same time. */
  readonly connections: number
  /** New operations in a second, at most. */
  readonly newPerSecond: number
}

/** The references of bulk 7 are greedy-7-0 to greedy-7-999; its users and amounts follow from the numbers. */
type Bulk = { readonly number: number; readonly statuses: Uint16Array; readonly balances: Float64Array }

export type GreedyReport = {
  readonly bulks: readonly Bulk[]
  /** Requests that sent a decided bulk again. */
  readonly repeated: number
  readonly refused: number
  readonly unanswered: number
  readonly contradictions: readonly string[]
}

export type GreedyCount = {
  readonly operations: number
  readonly posted: number
  readonly refused: number
  /** Whole requests that sent decided operations again. */
  readonly repeated: number
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
  { connections, newPerSecond }: Greed,
): { readonly stop: () => Promise<GreedyReport> } {
  const bulks: Bulk[] = []
  const contradictions: string[] = []
  const count = { repeated: 0, refused: 0, unanswered: 0 }
  const state = { isOn: true }
  const startedAt = performance.now()
  /** Undecided bulks that no request carries. They are sent before others. */
  const open: Bulk[] = []

  const send = async (bulk: Bulk): Promise<void> => {
    const answer = await post(random.pick(nodes), target, bulk.number)
    if (answer === undefined) {
      count.unanswered++
      await sleep(20)
    } else if (answer === 'too many') {
      count.refused++
      await sleep(1_000)
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
    if (isOpen(bulk)) open.push(bulk)
  }
  const newBulk = (): Bulk => {
    const statuses = new Uint16Array(bulkSize)
    const bulk = { number: bulks.length, statuses, balances: new Float64Array(bulkSize) }
    bulks.push(bulk)
    return bulk
  }
  const nextBulk = (): Bulk => {
    if (open.length > 0) return open.shift()!
    const due = (newPerSecond * (performance.now() - startedAt)) / 1_000
    if (bulks.length * bulkSize <= due) return newBulk()
    count.repeated++
    return random.pick(bulks)
  }
  const connection = async (): Promise<void> => {
    while (state.isOn) await send(nextBulk())
  }
  const running = Array.from({ length: connections }, connection)
  return {
    stop: async () => {
      state.isOn = false
      await Promise.all(running)
      while (open.length > 0) await Promise.all(open.splice(0, 4).map(send))
      return { bulks, ...count, contradictions }
    },
  }
}

function isOpen({ statuses }: Bulk): boolean {
  return statuses.includes(undecided)
}

/**
 * One row for each bulk, with a bit for each of its operations: a long run has millions of them. An operation is in the ledger once if its bit is
 * set and there are as many entries as bits.
 */
const bulksSql = `with entry as (
  select split_part(reference_id, '-', 2)::int as bulk, split_part(reference_id, '-', 3)::int as i, amount, balance_after
  from all_transfers where reference_type = '${greedyType}'
)
select bulk, count(*) as times, bit_or(set_bit(repeat('0', ${bulkSize})::bit(${bulkSize}), i, 1)) as bits, sum(balance_after) as balances,
  count(*) filter (where amount <> case when i % 3 = 2 then 1 - 2 * i else i + 1 end) as different
from entry group by bulk`

export async function countGreedy(database: BenchDatabase, report: GreedyReport): Promise<GreedyCount> {
  const found = new Map((await database.query(bulksSql)).map((row) => [row['bulk'], row]))
  const tally = { posted: 0, refused: 0, lost: 0, doubled: 0, different: 0 }
  for (const { number, statuses, balances } of report.bulks) {
    const row = found.get(String(number))
    const bits = row?.['bits'] ?? '0'.repeat(bulkSize)
    let [entries, balance] = [0, 0]
    for (const [i, status] of statuses.entries()) {
      const [isPosted, isThere] = [status === 200, bits[i] === '1']
      if (isPosted) balance += Math.round(balances[i]! * 100)
      if (isThere) entries++
      tally[isPosted ? 'posted' : 'refused']++
      if (isPosted && !isThere) tally.lost++
      if (!isPosted && isThere) tally.doubled++
    }
    tally.doubled += Number(row?.['times'] ?? 0) - entries
    tally.different += Number(row?.['different'] ?? 0)
    if (Number(row?.['balances'] ?? 0) !== balance) tally.different++
  }
  const { repeated, refused: tooMany, unanswered, contradictions } = report
  return { operations: report.bulks.length * bulkSize, ...tally, repeated, tooMany, unanswered, contradictions }
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
