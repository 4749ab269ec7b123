/**
 * Which rows of the journal can be numbered on a cluster. The coordinator commits, and shows the journal, before the nodes do: a row
 * can be visible before its transfers, and while a node is away, for a while.
 */
import type { Transaction } from '../connection/database.ts'
import { inEitherState } from '../writer/stored-holds.ts'

type Unnumbered = {
  readonly writer: number
  readonly serial: string
  readonly walletIds: readonly string[]
  /** Of the transfers, or of the steps of holds. Empty for a fact. */
  readonly sequences: readonly string[]
  /** Null for a transfer; empty where all are. */
  readonly holdIds: readonly (string | null)[]
  /** Otherwise it gets no numbers, and its events say nothing. */
  readonly isSound: boolean
}

/**
 * The rows of the journal that `journalSql` selects whose transfers and steps of holds are all visible; undefined on plain PostgreSQL, where all are. A row
 * without them waits, with the later rows of its writer, which the cursor must not pass, and of its wallets, which keep their
 * order.
 */
export async function findWhole(tx: Transaction, journalSql: string): Promise<readonly Unnumbered[] | undefined> {
  if (!tx.isCluster()) return undefined
  const { rows } = await tx.query<Unnumbered>(
    `select n.writer, n.serial::text, n.is_sound as "isSound", n.sequences::text[], coalesce(n.hold_ids, '{}')::text[] as "holdIds", coalesce((select array_agg(l.user_id::text order by e.ordinal)
       from unnest(n.link_ids) with ordinality as e(link_id, ordinal)
       join links l on l.id = 'su_' || replace(e.link_id::text, '-', '')), '{}') as "walletIds"
     from (${journalSql}) as n order by n.serial`,
  )
  const visible = await findVisible(
    tx,
    rows.filter(({ isSound }) => isSound),
  )
  const [writers, wallets] = [new Set<number>(), new Set<string>()]
  return rows.filter((row) => {
    const { writer, walletIds, isSound } = row
    const isMissing = isSound && eventsOf(row).some((event) => !visible.has(keyOf(event)))
    const isHeld = isMissing || writers.has(writer) || walletIds.some((id) => wallets.has(id))
    // Facts of other connections have no cursor.
    if (isHeld && writer !== 0) writers.add(writer)
    if (isHeld) for (const id of walletIds) wallets.add(id)
    return !isHeld
  })
}

type Event = { readonly walletId: string | undefined; readonly sequence: string; readonly holdId: string | null }

function eventsOf({ walletIds, sequences, holdIds }: Unnumbered): readonly Event[] {
  return sequences.map((sequence, i) => ({ walletId: walletIds[i], sequence, holdId: holdIds[i] ?? null }))
}

function keyOf({ walletId, sequence, holdId }: Event): string {
  return `${walletId} ${holdId ?? ''} ${sequence}`
}

/** A hold counts its steps, so it shows the steps up to that number, and itself as number 0. */
const visibleHoldsSql = `select e.wallet_id as "walletId", e.hold_id as "holdId", e.number::text as sequence from holds h
  join unnest($1::uuid[], $2::uuid[], $3::bigint[]) as e(wallet_id, hold_id, number)
    on e.wallet_id = h.wallet_id and h.${inEitherState} and e.hold_id = h.id and e.number <= h.steps`
const visibleTransfersSql = `select t.wallet_id as "walletId", null as "holdId", t.sequence::text as sequence from all_transfers t
  join unnest($1::uuid[], $2::bigint[]) as e(wallet_id, sequence) on e.wallet_id = t.wallet_id and e.sequence = t.sequence`

async function findVisible(tx: Transaction, rows: readonly Unnumbered[]): Promise<ReadonlySet<string>> {
  const events = rows.flatMap(eventsOf)
  const transfers = events.filter(({ holdId }) => holdId === null)
  const steps = events.filter(({ holdId }) => holdId !== null)
  const walletIdsOf = (some: readonly Event[]) => some.map(({ walletId }) => walletId)
  const sequencesOf = (some: readonly Event[]) => some.map(({ sequence }) => sequence)
  const found: Event[] = []
  if (transfers.length > 0) {
    const values = [walletIdsOf(transfers), sequencesOf(transfers)]
    found.push(...(await tx.query<Event>(visibleTransfersSql, values)).rows)
  }
  if (steps.length > 0) {
    const values = [walletIdsOf(steps), steps.map(({ holdId }) => holdId), sequencesOf(steps)]
    found.push(...(await tx.query<Event>(visibleHoldsSql, values)).rows)
  }
  return new Set(found.map(keyOf))
}
