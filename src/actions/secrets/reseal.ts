/** The secrets in the database as a whole: encrypted at the start, checked against the keys, encrypted again with a new one. */
import { transact, type Database, type Queryable, type Transaction } from '../../store/connection/database.ts'
import { hasPlainTexts, listKeysInUse, lockTextsWithout, updateSealedText } from '../../store/sealed.ts'
import { sealedColumns, sealedMark } from '../../store/sealed.ts'
import { recordAudit, type Actor } from '../audit.ts'
import type { Secrets } from './open-secrets.ts'
import { isSealed, KeyMissing, keyIdOf, missingKeySentence } from './seal.ts'

const system: Actor = { name: 'system', address: null }

/** Before anything is served: a key that is missing is said now, instead of when an operator signs in. */
export async function prepareSecrets(db: Database, secrets: Secrets): Promise<void> {
  await sealPlainSecrets(db, secrets)
  await refuseMissing(secrets, await findMissing(db.pool, secrets))
}

/** Why the secrets in the database cannot be read with the keys that are here; undefined when they can. Changes nothing. */
export async function findSecretsProblem(db: Queryable, secrets: Secrets): Promise<string | undefined> {
  const missing = await findMissing(db, secrets)
  return missing.length === 0 ? undefined : missingKeySentence(missing, await secrets.knownKeys())
}

/** Encrypts what is in the database from before it was encrypted. Any number of processes may do this at once. */
export async function sealPlainSecrets(db: Database, secrets: Secrets): Promise<void> {
  // The usual case changes nothing, and works on a server that takes no writes.
  if (!(await hasPlainTexts(db.pool))) return
  await transact(db, async (tx) => {
    const { resealed } = await reseal(tx, secrets, sealedMark)
    if (resealed > 0) await recordAudit(tx, system, 'secrets.encrypted', 'secrets', { secrets: resealed })
  })
}

export type Rotated = { readonly keyId: string; readonly secrets: number; readonly dropped: number }

/** Encrypts everything with the first key; all or nothing. What no key opens is removed, if that is asked for. */
export async function rotateKeys(
  db: Database,
  secrets: Secrets,
  actor: Actor,
  { dropsLost }: { dropsLost: boolean },
): Promise<Rotated> {
  const keyId = (await secrets.keys())[0]!.id
  return await transact(db, async (tx) => {
    const missing = await findMissing(tx, secrets)
    if (!dropsLost) await refuseMissing(secrets, missing)
    const { resealed, dropped } = await reseal(tx, secrets, `${sealedMark}${keyId}:`, missing)
    const rotated = { keyId, secrets: resealed, dropped }
    if (resealed + dropped > 0) await recordAudit(tx, actor, 'secrets.key-rotated', 'secrets', rotated)
    return rotated
  })
}

/** The ids of keys in use that are not here. A key that is here opens one of its texts, or this throws. */
async function findMissing(db: Queryable, secrets: Secrets): Promise<string[]> {
  const known = new Set((await secrets.knownKeys()).map(({ id }) => id))
  const missing = new Set<string>()
  for (const column of sealedColumns) {
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

/**
 * Encrypts what does not begin like this, and removes what was encrypted with a lost key: an operator without a secret sets
 * up another one. Two at once do it once: the second waits for the rows, and finds that they begin as they should.
 */
async function reseal(
  tx: Transaction,
  secrets: Secrets,
  beginning: string,
  lost: readonly string[] = [],
): Promise<{ resealed: number; dropped: number }> {
  const counts = { resealed: 0, dropped: 0 }
  for (const column of sealedColumns) {
    for (const { id, text } of await lockTextsWithout(tx, column, beginning)) {
      const context = { purpose: column.purpose, id }
      const isLost = isSealed(text) && lost.includes(keyIdOf(text))
      const plain = isSealed(text) && !isLost ? await secrets.unseal(text, context) : text
      await updateSealedText(tx, column, id, isLost ? null : await secrets.seal(plain, context))
      counts[isLost ? 'dropped' : 'resealed']++
    }
  }
  return counts
}
