/**
 * Columns whose texts are encrypted, because the service must read them again. `sealed:1:<key id>:<ciphertext>`; anything else
 * in such a column is plain, from before it was encrypted.
 */
import type { Queryable, Transaction } from './connection/database.ts'

/** Both the beginning of a sealed text and its version. */
export const sealedMark = 'sealed:1:'

/** The purpose and the row's key are part of the encryption: a ciphertext that is moved to another row does not open. */
export type SealedColumn = {
  readonly table: string
  readonly key: string
  readonly column: string
  readonly purpose: string
}

/** Every one there is: what is not listed here is neither encrypted at the start nor by `keys rotate`. */
export const sealedColumns: readonly SealedColumn[] = [
  { table: 'operators', key: 'id', column: 'totp_secret', purpose: 'operator-totp' },
  // The same purpose, for the pending secret becomes the one that counts as it is.
  { table: 'operators', key: 'id', column: 'totp_pending', purpose: 'operator-totp' },
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

/** Locked, in the order of their keys: all that do not begin with this. */
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
  text: string | null,
): Promise<void> {
  await tx.query(`update ${table} set ${column} = $2 where ${key}::text = $1`, [id, text])
}

/** For each key that was used in this column, its id and one text that it sealed. */
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

/** The ids of all keys in use, in order. */
export async function listKeyIds(db: Queryable): Promise<string[]> {
  const ids = new Set<string>()
  for (const column of sealedColumns) for (const { keyId } of await listKeysInUse(db, column)) ids.add(keyId)
  return [...ids].sort()
}
