/** Lists the periods of the ledger, and closes the open one. */
import { closePeriod, indexPeriods, type ClosedPeriod } from '../../actions/money/close-period.ts'
import { listClosings, type Closing } from '../../store/closing/closings.ts'
import { actorOf, type Command, type Invocation } from '../command.ts'
import { openForCommand, withData, type Data } from '../data.ts'
import { openProgress } from '../progress.ts'
import { formatTime } from '../table.ts'

export const periodCommands: readonly Command[] = [
  {
    name: 'period close',
    database: 'writes',
    summary: 'close the open period of the ledger: debits no longer touch the indexes of its entries',
    details: `The tables transfers and outcomes are renamed and created again, empty: no row is moved or changed. Everything still reaches the
entries of closed periods: wallets, activity, statements, receipts, search, proofs and verify; and their references are answered as before.
The service goes on. Batches wait for some milliseconds, on a cluster for half a second, while the tables are exchanged. Then the command counts the closed entries and builds a
filter of their references, which takes about a minute for 30 million; until then a debit takes the database longer. Interrupted, it
leaves only that to do: period index does it. A closed period is never opened again; archive drop moves it into files. docs/operations/periods.md says when
it is worth it.`,
    examples: ['period close', 'period close --as "Ann Example" --json'],
    run: async (invocation) =>
      await withData(invocation, async (data) => {
        const done = await runIndexing(invocation, data, closePeriod)
        const closed = done.at(-1)!
        return { json: { closed: periodToJson(closed), indexed: done.map(({ id }) => id) }, text: describe(closed) }
      }),
  },
  {
    name: 'period index',
    database: 'writes',
    summary: 'build the filters of closed periods that have none, as after an interrupted period close',
    examples: ['period index'],
    run: async (invocation) =>
      await withData(invocation, async (data) => {
        const done = await runIndexing(invocation, data, indexPeriods)
        const text = done.map(describe).join('\n') || 'Nothing to do: every closed period has its filter.'
        return { json: { indexed: done.map(periodToJson) }, text }
      }),
  },
  {
    name: 'period list',
    database: 'reads',
    summary: 'list the closed periods of the ledger',
    examples: ['period list', 'period list --json'],
    run: async (invocation) =>
      await withData(invocation, async ({ connection }) => {
        const db = openForCommand(connection, 1)
        try {
          const closings = await listClosings(db.pool)
          const text = closings.map(lineOf).join('\n') || 'No period is closed: all entries are in the open one.'
          return { json: { periods: closings.map(closingToJson) }, text }
        } finally {
          await db.pool.end()
        }
      }),
  },
]

async function runIndexing(
  invocation: Invocation,
  { connection }: Data,
  run: typeof closePeriod,
): Promise<ClosedPeriod[]> {
  const progress = openProgress(invocation.io)
  try {
    return await run(connection, actorOf(invocation), {
      signal: invocation.io.signal,
      onClosed: ({ id }) => progress.show(`period ${id} is closed; counting its entries`),
      onProgress: (done, of) => progress.show(`${done} of ${of} references`, done / of),
    })
  } finally {
    progress.clear()
  }
}

function describe({ id, transfers, outcomes, filterBytes }: ClosedPeriod): string {
  return `Period ${id} is closed: ${transfers} entries, ${outcomes} references, ${(filterBytes / 2 ** 20).toFixed(1)} MiB of filter in the memory of each process.`
}

function lineOf({ id, closedAt, transfers, outcomes, archivedAt }: Closing): string {
  const content =
    transfers === null ? 'not indexed yet: run billfold period index' : `${transfers} entries, ${outcomes} references`
  const place = archivedAt ? `  archived, in files, since ${formatTime(archivedAt)}` : ''
  return `${id}  closed ${formatTime(closedAt)}  ${content}${place}`
}

function closingToJson({ id, closedAt, transfers, outcomes, isIndexed, archivedAt }: Closing) {
  const counts = { entries: transfers, references: outcomes, isIndexed }
  return { id, closedAt: closedAt.toISOString(), ...counts, archivedAt: archivedAt?.toISOString() ?? null }
}

function periodToJson({ id, closedAt, transfers, outcomes, filterBytes }: ClosedPeriod) {
  return { id, closedAt: closedAt.toISOString(), entries: transfers, references: outcomes, filterBytes }
}
