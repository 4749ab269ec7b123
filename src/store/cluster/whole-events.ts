/**
 * Which rows of the journal can be numbered on a cluster. The coordinator commits, and shows the journal, before the nodes do: a row
 * can be visible before its transfers, and while a node is away, for a while.
 */
import type { Transaction } from '../connection/database.ts'

type Unnumbered = {
  readonly writer: number
  readonly serial: string
  readonly walletIds: readonly string[]
  /** Empty for a fact, and for a row of a copy with holds, which a cluster never writes. */
  readonly sequences: readonly string[]
}

/**
 * The rows of the journal that `journalSql` selects whose transfers are all visible; undefined on plain PostgreSQL, where all are. A row
 * without its transfers waits, with the later rows of its writer, which the cursor must not pass, and of its wallets, which keep their
 * order.
 */
export async function findWhole(tx: Transaction, journalSql: string): Promise<readonly Unnumbered[] | undefined> {
  if (!tx.isCluster()) return undefined
  const { rows } = await tx.query<Unnumbered>(
    `select n.writer, n.serial::text, case when n.hold_ids is null then n.sequences::text[] else '{}' end as sequences, coalesce((select array_agg(l.user_id::text order by e.ordinal)
       from unnest(n.link_ids) with ordinality as e(link_id, ordinal)
       join links l on l.id = 'su_' || replace(e.link_id::text, '-', '')), '{}') as "walletIds"
     from (${journalSql}) as n order by n.serial`,
  )
  const visible = await findVisible(tx, rows)
  const [writers, wallets] = [new Set<number>(), new Set<string>()]
  return rows.filter(({ writer, walletIds, sequences }) => {
    const isMissing = sequences.some((sequence, i) => !visible.has(`${walletIds[i]} ${sequence}`))
    const isHeld = isMissing || writers.has(writer) || walletIds.some((id) => wallets.has(id))
    // Facts of other connections have no cursor.
    if (isHeld && writer !== 0) writers.add(writer)
    if (isHeld) for (const id of walletIds) wallets.add(id)
    return !isHeld
  })
}

async function findVisible(tx: Transaction, rows: readonly Unnumbered[]): Promise<ReadonlySet<string>> {
  const entries = rows.flatMap(({ walletIds, sequences }) => sequences.map((s, i) => [walletIds[i], s] as const))
  if (entries.length === 0) return new Set()
  const { rows: found } = await tx.query<{ key: string }>(
    `select t.wallet_id || ' ' || t.sequence as key from transfers t
     join unnest($1::uuid[], $2::bigint[]) as e(wallet_id, sequence) on e.wallet_id = t.wallet_id and e.sequence = t.sequence`,
    [entries.map(([walletId]) => walletId), entries.map(([, sequence]) => sequence)],
  )
  return new Set(found.map(({ key }) => key))
}
