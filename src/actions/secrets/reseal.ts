/** Encrypts all secrets in the database at the start, checks that the keys open them, and encrypts them again with a new key. */
import { transact, type Database, type Queryable, type Transaction } from '../../store/connection/database.ts'
import { lockEndpoint } from '../../store/events/endpoints.ts'
import {
  hasPlainTexts,
  listKeysInUse,
  lockTextsWithout,
  removeSealedText,
  updateSealedText,
} from '../../store/sealed.ts'
import { sealedColumns, sealedMark, type SealedColumn } from '../../store/sealed.ts'
import { recordAudit, type Actor } from '../audit.ts'
import type { Secrets } from './open-secrets.ts'
import { isSealed, KeyMissing, keyIdOf, missingKeySentence } from './seal.ts'

const neededColumns = sealedColumns.filter(({ isOptional }) => !isOptional)

const system: Actor = { name: 'system', address: null }

/** Runs before the service listens: a missing key is reported at the start, not when an operator signs in. */
export async function prepareSecrets(db: Database, secrets: Secrets): Promise<void> {
  await sealPlainSecrets(db, secrets)
  await refuseMissing(secrets, await findMissing(db.pool, secrets, neededColumns))
}

/** Why the keys cannot decrypt the secrets in the database; undefined when they can. Reads only. */
export async function findSecretsProblem(db: Queryable, secrets: Secrets): Promise<string | undefined> {
  const missing = await findMissing(db, secrets, neededColumns)
  return missing.length === 0 ? undefined : missingKeySentence(missing, await secrets.knownKeys())
}

/** Encrypts secrets that an older release stored in plain text. Several processes may run this at once. */
export async function sealPlainSecrets(db: Database, secrets: Secrets): Promise<void> {
  // Usually there is nothing to do, and a read-only server is enough.
  if (!(await hasPlainTexts(db.pool))) return
  await transact(db, async (tx) => {
    const { resealed } = await reseal(tx, secrets, sealedMark)
    if (resealed > 0) await recordAudit(tx, system, 'secrets.encrypted', 'secrets', { secrets: resealed })
  })
}

export type Rotated = { readonly keyId: string; readonly secrets: number; readonly dropped: number }

/** Encrypts all secrets with the first key, in one transaction. With `dropsLost`, removes secrets that no key decrypts. */
export async function rotateKeys(
  db: Database,
  secrets: Secrets,
  actor: Actor,
  { dropsLost }: { dropsLost: boolean },
): Promise<Rotated> {
  const keyId = (await secrets.keys())[0]!.id
  return await transact(db, async (tx) => {
    const missing = await findMissing(tx, secrets, sealedColumns)
    if (!dropsLost) await refuseMissing(secrets, missing)
    const remove = (column: SealedColumn, id: string) => removeLost(tx, actor, column, id)
    const { resealed, dropped } = await reseal(tx, secrets, `${sealedMark}${keyId}:`, { missing, remove })
    const rotated = { keyId, secrets: resealed, dropped }
    if (resealed + dropped > 0) await recordAudit(tx, actor, 'secrets.key-rotated', 'secrets', rotated)
    return rotated
  })
}

/** The ids of keys in use that are missing. Throws when a present key does not decrypt one of its texts. */
async function findMissing(db: Queryable, secrets: Secrets, columns: readonly SealedColumn[]): Promise<string[]> {
  const known = new Set((await secrets.knownKeys()).map(({ id }) => id))
  const missing = new Set<string>()
  for (const column of columns) {
    for (const { keyId, id, text } of await listKeysInUse(db, column)) {
      if (known.has(keyId)) await secrets.unseal(text, { purpose: column.purpose, id })
      else missing.add(keyId)
    }
  }
  return [...missing].sort()
}

async function refuseMissing(secrets: Secrets, missing: readonly string[]): Promise<void> {
  if (missing.length > 0) throw new KeyMissing(missingKeySentence(missing, await secrets.knownKeys()))
}

/** An operator without a secret sets up a new one. An endpoint without one is disabled until it gets a new one. */
async function removeLost(tx: Transaction, actor: Actor, column: SealedColumn, id: string): Promise<void> {
  await removeSealedText(tx, column, id)
  const endpoint = column.column === 'secret' ? await lockEndpoint(tx, id) : undefined
  if (endpoint) await recordAudit(tx, actor, 'endpoint.secret-lost', `app:${endpoint.clientId}`, { endpoint: id })
}

/**
 * Encrypts every text without this prefix, and removes texts of a lost key.
 * Of two concurrent runs the second waits for the row locks, and then finds the prefix in place.
 */
async function reseal(
  tx: Transaction,
  secrets: Secrets,
  prefix: string,
  lost?: {
    readonly missing: readonly string[]
    readonly remove: (column: SealedColumn, id: string) => Promise<void>
  },
): Promise<{ resealed: number; dropped: number }> {
  const counts = { resealed: 0, dropped: 0 }
  for (const column of sealedColumns) {
    for (const { id, text } of await lockTextsWithout(tx, column, prefix)) {
      const context = { purpose: column.purpose, id }
      if (isSealed(text) && lost?.missing.includes(keyIdOf(text))) {
        await lost.remove(column, id)
        counts.dropped++
        continue
      }
      const plain = isSealed(text) ? await secrets.unseal(text, context) : text
      await updateSealedText(tx, column, id, await secrets.seal(plain, context))
      counts.resealed++
    }
  }
  return counts
}
