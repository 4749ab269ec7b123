/**
 * Columns with encrypted text, for secrets that the service must read again: `sealed:1:<key id>:<ciphertext>`. Any
 * other text in such a column is plain, from before encryption was introduced.
 */
import type { Queryable, Transaction } from './connection/database.ts'

/** The prefix of a sealed text, with its version. */
export const sealedMark = 'sealed:1:'

/** Purpose and row key are authenticated: a ciphertext moved to another row cannot be decrypted. */
export type SealedColumn = {
  readonly table: string
  readonly key: string
  readonly column: string
  readonly purpose: string
  /** The service can start without it. */
  readonly isOptional?: true
  /** What changes when the text is removed, if it is more than the column. */
  readonly removeSql?: string
}

/** Complete: a column missing here would not be encrypted at the start, nor by `keys rotate`. */
export const sealedColumns: readonly SealedColumn[] = [
  { table: 'operators', key: 'id', column: 'totp_secret', purpose: 'operator-totp' },
  // The same purpose as totp_secret, because confirming copies the sealed text unchanged.
  { table: 'operators', key: 'id', column: 'totp_pending', purpose: 'operator-totp' },
  {
    table: 'endpoints',
    key: 'id',
    column: 'secret',
    purpose: 'endpoint-secret',
    // Its events wait for it. An endpoint that is disabled already keeps its reason: a new secret must not enable it.
    removeSql: `secret = null, disabled_at = coalesce(disabled_at, clock_timestamp()),
      disabled_for = coalesce(disabled_for, 'secret-lost'), lease = null, leased_until = null`,
  },
  {
    table: 'endpoints',
    key: 'id',
    column: 'old_secret',
    // The same purpose as secret, because a rotation copies the sealed text unchanged.
    purpose: 'endpoint-secret',
    removeSql: 'old_secret = null, old_secret_ends_at = null',
  },
  // Another process may have its key; if none has, the job that seals the books says so.
  { table: 'log_state', key: 'id', column: 'key', purpose: 'log-key', isOptional: true },
]

export type SealedText = { readonly id: string; readonly text: string }

export async function hasPlainTexts(db: Queryable): Promise<boolean> {
  for (const { table, column } of sealedColumns) {
    const { rows } = await db.query(
      `select from ${table} where ${column} is not null and not starts_with(${column}, $1) limit 1`,
      [sealedMark],
    )
    if (rows.length > 0) return true
  }
  return false
}

/** Locks the texts without this prefix, in the order of their keys. */
export async function lockTextsWithout(
  tx: Transaction,
  { table, key, column }: SealedColumn,
  beginning: string,
): Promise<SealedText[]> {
  const { rows } = await tx.query<SealedText>(
    `select ${key}::text as id, ${column} as text from ${table}
     where ${column} is not null and not starts_with(${column}, $1) order by ${key} for update`,
    [beginning],
  )
  return rows
}

export async function updateSealedText(
  tx: Transaction,
  { table, key, column }: SealedColumn,
  id: string,
  text: string,
): Promise<void> {
  await tx.query(`update ${table} set ${column} = $2 where ${key}::text = $1`, [id, text])
}

export async function removeSealedText(
  tx: Transaction,
  { table, key, column, removeSql = `${column} = null` }: SealedColumn,
  id: string,
): Promise<void> {
  await tx.query(`update ${table} set ${removeSql} where ${key}::text = $1`, [id])
}

/** The ids of the keys used in this column, each with one text it sealed. */
export async function listKeysInUse(
  db: Queryable,
  { table, key, column }: SealedColumn,
): Promise<(SealedText & { readonly keyId: string })[]> {
  const { rows } = await db.query<SealedText & { keyId: string }>(
    `select distinct on (split_part(${column}, ':', 3)) split_part(${column}, ':', 3) as "keyId", ${key}::text as id, ${column} as text
     from ${table} where starts_with(${column}, $1) order by split_part(${column}, ':', 3), ${key}`,
    [sealedMark],
  )
  return rows
}

/** Sorted. */
export async function listKeyIds(db: Queryable): Promise<string[]> {
  const ids = new Set<string>()
  for (const column of sealedColumns) for (const { keyId } of await listKeysInUse(db, column)) ids.add(keyId)
  return [...ids].sort()
}
