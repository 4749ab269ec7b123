/** After a fault run: compares the acknowledged operations with the ledger, reference by reference. */
import type { BenchDatabase } from '../cluster.ts'
import { checkExactness } from '../exactness.ts'
import { greedyType, type GreedyCount } from './greedy.ts'
import type { LoadReport } from './load.ts'

export type Count = {
  readonly operations: number
  readonly posted: number
  readonly refused: number
  /** Requests that ended without an answer or in 503, and were repeated. */
  readonly unknown: number
  /** Acknowledged as posted, and not in the ledger. */
  readonly lost: number
  /** In the ledger more than once, or although they were refused. */
  readonly doubled: number
  /** Answers to a repeat that differ from the first answer. */
  readonly contradictions: number
  /** Transfers whose amount differs from the request, or whose balance differs from the answer. */
  readonly different: number
  readonly surprises: Readonly<Record<string, number>>
  readonly longestGapMs: number
  readonly askedInCalm: number
  /** With kind, time and the fault before. */
  readonly failedInCalm: readonly string[]
  readonly greedy: Omit<GreedyCount, 'contradictions'>
  readonly books: readonly string[]
  readonly isExact: boolean
}

const entriesSql = `select reference_id, amount, balance_after from all_transfers where reference_type = 'ORDER'`

export async function countExactly(
  database: BenchDatabase,
  report: LoadReport,
  { contradictions: greedyContradictions, ...greedy }: GreedyCount,
): Promise<Count> {
  const entries = new Map<string, { times: number; amount: string; balance: string }>()
  for (const row of await database.query(entriesSql)) {
    const reference = row['reference_id'] ?? ''
    const seen = entries.get(reference)
    if (seen) seen.times++
    else entries.set(reference, { times: 1, amount: row['amount'] ?? '', balance: row['balance_after'] ?? '' })
  }
  const suspicious: string[] = []
  const tally = { posted: 0, refused: 0, lost: 0, doubled: 0, different: 0 }
  for (const { reference, direction, amount, answer, answeredAt } of report.asked) {
    const entry = entries.get(reference)
    if (answer?.status === 200) {
      tally.posted++
      if (!entry) {
        tally.lost++
        suspicious.push(`${reference} lost, answered at ${answeredAt}`)
      } else if (entry.times > 1) tally.doubled++
      else {
        const minor = Math.round(amount * 100) * (direction === 'debit' ? -1 : 1)
        if (entry.amount !== String(minor) || entry.balance !== String(Math.round(answer.balance * 100)))
          tally.different++
      }
    } else {
      tally.refused++
      if (entry) tally.doubled++
    }
  }
  const seeded = Number(
    (
      await database.query(
        `select count(*) as n from all_transfers where reference_type not in ('ORDER', '${greedyType}')`,
      )
    )[0]?.['n'],
  )
  const acknowledged = { posted: tally.posted + greedy.posted, refused: tally.refused + greedy.refused, replayed: 0 }
  const { faults: books } = await checkExactness(database, acknowledged, seeded)
  const { lost, doubled, different } = tally
  const { surprises, unknown, longestGapMs, askedInCalm, failedInCalm } = report
  const contradictions = [...report.contradictions, ...greedyContradictions]
  const wrong = lost + doubled + different + greedy.lost + greedy.doubled + greedy.different
  const isExact = wrong + contradictions.length + books.length + surprises.size === 0
  for (const line of [...suspicious, ...contradictions].slice(0, 200)) console.log(line)
  return {
    operations: report.asked.length,
    ...tally,
    unknown,
    contradictions: contradictions.length,
    surprises: Object.fromEntries(surprises),
    longestGapMs: Math.round(longestGapMs),
    askedInCalm,
    failedInCalm,
    greedy,
    books,
    isExact,
  }
}
