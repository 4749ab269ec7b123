/** The log: a tree whose leaves are states of wallets, audit records and the books of a day. It only grows. */
import { addLeaves, hashPart, type Peaks, type ProofPart, type Subtree } from '../../proof/merkle.ts'
import { bytesArray, plainArray, textArray } from '../connection/arrays.ts'
import type { Queryable, Transaction } from '../connection/database.ts'
import { maybe } from '../connection/rows.ts'
import { locks, tryLock } from '../locks.ts'
import { foldComplete, isStored, joinHashes, keyOf, readPeaks, sourceOf } from './subtrees.ts'

export type LogState = {
  /** The incarnation. */
  readonly id: string
  /** Null after its key was lost: the log gets another id with a new one. */
  readonly sealedKey: string | null
  /** Where the log is; null until it was first found out. */
  readonly home: string | null
  readonly peaks: Peaks
  readonly passFrom: string | null
  readonly passStartedAt: Date | null
  readonly nextPassAt: Date
  readonly sealedUpTo: Date | null
  readonly auditUpTo: Date | null
  /** The database's clock at the read. */
  readonly now: Date
}

export type LogLeaf = {
  readonly kind: 'wallet' | 'audit' | 'books' | 'incarnation'
  readonly subject: string | null
  readonly size: number | null
  readonly hash: Uint8Array
  /** Of the entries that this state of a wallet's tree added. */
  readonly marks?: Uint8Array
}

export async function findLog(db: Queryable): Promise<LogState | undefined> {
  const { rows } = await db.query<Omit<LogState, 'peaks'> & { size: bigint; peaks: Uint8Array }>(
    `select id, key as "sealedKey", home, size, peaks, pass_from as "passFrom", pass_started_at as "passStartedAt",
       next_pass_at as "nextPassAt", sealed_up_to as "sealedUpTo", audit_up_to as "auditUpTo", clock_timestamp() as now from log_state`,
  )
  const row = maybe(rows)
  return row && { ...row, peaks: readPeaks(row.size, row.peaks) }
}

/** The log, locked until the transaction ends. Undefined while another process has it, or before it was begun. */
export async function lockLog(tx: Transaction): Promise<LogState | undefined> {
  return (await tryLock(tx, locks.sealBooks)) ? await findLog(tx) : undefined
}

/** Does nothing where there is a log. */
export async function insertLog(db: Queryable, id: string, sealedKey: string): Promise<void> {
  await db.query('insert into log_state (id, key) values ($1, $2) on conflict (is_only) do nothing', [id, sealedKey])
}

/** Adds leaves at the end and returns the number of the first one with the new tree. The caller has locked the log. */
export async function appendLeaves(
  tx: Transaction,
  peaks: Peaks,
  leaves: readonly LogLeaf[],
): Promise<{ readonly first: number; readonly peaks: Peaks }> {
  const first = peaks.size
  if (leaves.length === 0) return { first, peaks }
  const subtrees: (Subtree & { readonly hash: Uint8Array })[] = []
  const grown = addLeaves(
    peaks,
    leaves.map(({ hash }) => hash),
    (subtree, hash) => {
      if (isStored(subtree.level)) subtrees.push({ ...subtree, hash })
    },
  )
  // Before the leaves: beside another process that has just sealed, this is a conflict and not a repeated number.
  await tx.query('update log_state set size = $1, peaks = $2', [grown.size, joinHashes(grown.hashes)])
  await tx.query(
    `insert into log_leaves (number, kind, subject, size, hash, marks)
     select $1::bigint + ordinal - 1, kind, subject, size, hash, marks
     from unnest($2::text[], $3::uuid[], $4::bigint[], $5::bytea[], $6::bytea[]) with ordinality as l(kind, subject, size, hash, marks, ordinal)`,
    [
      first,
      textArray(leaves, ({ kind }) => kind),
      plainArray(leaves, ({ subject }) => subject),
      plainArray(leaves, ({ size }) => size),
      bytesArray(leaves, ({ hash }) => hash),
      bytesArray(leaves, ({ marks }) => marks ?? null),
    ],
  )
  if (subtrees.length > 0)
    await tx.query(
      `insert into log_subtrees (level, number, hash)
       select * from unnest($1::smallint[], $2::bigint[], $3::bytea[])`,
      [
        plainArray(subtrees, ({ level }) => level),
        plainArray(subtrees, ({ index }) => index),
        bytesArray(subtrees, ({ hash }) => hash),
      ],
    )
  return { first, peaks: grown }
}

export async function updatePass(
  tx: Transaction,
  pass: Pick<LogState, 'passFrom' | 'passStartedAt' | 'nextPassAt' | 'sealedUpTo'>,
): Promise<void> {
  await tx.query('update log_state set pass_from = $1, pass_started_at = $2, next_pass_at = $3, sealed_up_to = $4', [
    pass.passFrom,
    pass.passStartedAt,
    pass.nextPassAt,
    pass.sealedUpTo,
  ])
}

export type StoredCheckpoint = { readonly origin: string; readonly size: number; readonly note: string }

/** A note of the same origin and size stays: two different ones would be two versions of the books. */
export async function insertCheckpoint(db: Queryable, { origin, size, note }: StoredCheckpoint): Promise<void> {
  await db.query('insert into log_checkpoints (origin, size, note) values ($1, $2, $3) on conflict do nothing', [
    origin,
    size,
    note,
  ])
}

export async function findNewestCheckpoint(db: Queryable, origin: string): Promise<StoredCheckpoint | undefined> {
  const { rows } = await db.query<StoredCheckpoint>(
    'select origin, size::float8 as size, note from log_checkpoints c where origin = $1 order by c.size desc limit 1',
    [origin],
  )
  return maybe(rows)
}

/** Of any name: the one that was signed last. */
export async function findLatestCheckpoint(db: Queryable): Promise<StoredCheckpoint | undefined> {
  const { rows } = await db.query<StoredCheckpoint>(
    'select origin, size::float8 as size, note from log_checkpoints c order by at desc, c.size desc limit 1',
  )
  return maybe(rows)
}

/** Other names under which this incarnation was signed in the last hour: processes with another host in PUBLIC_URL use this database. */
export async function listOtherOrigins(db: Queryable, origin: string, id: string): Promise<readonly string[]> {
  const { rows } = await db.query<{ origin: string }>(
    `select origin from log_checkpoints where origin <> $1 and right(origin, length($2)) = $2 and at > now() - interval '1 hour'
     group by origin order by max(at) desc limit 5`,
    [origin, `/books/${id}`],
  )
  return rows.map((row) => row.origin)
}

/** The hashes of a proof in the log. Reads at most 256 rows for each subtree. */
export async function readLogParts(db: Queryable, parts: readonly ProofPart[]): Promise<readonly Uint8Array[]> {
  const hashes = new Map<string, Uint8Array>()
  for (const subtree of parts.flat()) hashes.set(keyOf(subtree), foldComplete(await readHashes(db, sourceOf(subtree))))
  return parts.map((part) => hashPart(part, (subtree) => hashes.get(keyOf(subtree))!))
}

/** The hashes at a level that is a multiple of eight, as a tile has them. */
export async function readHashes(
  db: Queryable,
  { level, first, count }: ReturnType<typeof sourceOf>,
): Promise<readonly Uint8Array[]> {
  const isLeaf = level === 0
  const { rows } = await db.query<{ hash: Uint8Array }>(
    isLeaf
      ? 'select hash from log_leaves where number >= $1 and number < $1::bigint + $2 order by number'
      : 'select hash from log_subtrees where number >= $1 and number < $1::bigint + $2 and level = $3 order by number',
    [first, count, ...(isLeaf ? [] : [level])],
  )
  if (rows.length !== count)
    throw new Error(`hashes ${first} to ${first + count - 1} of level ${level} of the log are not all there`)
  return rows.map(({ hash }) => hash)
}

export async function updateAuditSealed(tx: Transaction, upTo: Date): Promise<void> {
  await tx.query('update log_state set audit_up_to = $1', [upTo])
}

export type SealedState = {
  readonly walletId: string
  readonly number: number
  readonly size: number
  readonly hash: Uint8Array
}

/**
 * The states of each wallet's tree that are in the log, oldest first, from leaf `from` up to, without, leaf `until`; at most `limit` of a
 * wallet. They are read by one walk of the index for each wallet, which keeps their order.
 */
export async function listSealedStates(
  db: Queryable,
  walletIds: readonly string[],
  from: number,
  until: number,
  limit: number,
): Promise<readonly SealedState[]> {
  const { rows } = await db.query<SealedState>(
    `select w.id as "walletId", l.number::float8 as number, l.size::float8 as size, l.hash from unnest($1::uuid[]) as w(id) cross join lateral (
       select * from log_leaves l where kind = 'wallet' and subject = w.id and number >= $2 and number < $3 order by l.number limit $4
     ) as l`,
    [plainArray(walletIds, (id) => id), from, until, limit],
  )
  return rows
}

/** The marks of the last entries of a state; empty if the state was sealed without marks. */
export async function findMarks(db: Queryable, number: number): Promise<Uint8Array> {
  const { rows } = await db.query<{ marks: Uint8Array | null }>('select marks from log_leaves where number = $1', [
    number,
  ])
  return maybe(rows)?.marks ?? new Uint8Array()
}

/** The hashes of leaves from this one, up to the first that is missing or lacks the subject by which its wallet or record is found. */
export async function listLeafHashes(db: Queryable, from: number, limit: number): Promise<readonly Uint8Array[]> {
  const { rows } = await db.query<{ number: number; hash: Uint8Array }>(
    `select number::float8 as number, hash from log_leaves l
     where number >= $1 and (kind in ('books', 'incarnation') or subject is not null) order by l.number limit $2`,
    [from, limit],
  )
  return rows.filter(({ number }, i) => number === from + i).map(({ hash }) => hash)
}
