/** The proof of an app's own entry, by its reference. */
import { counterAccountOfApp } from '../../ledger/reference.ts'
import type { App } from '../../store/apps.ts'
import { listFirstUses, referenceKeyOf } from '../../store/outcomes.ts'
import { findLog } from '../../store/proofs/proof-log.ts'
import { readPublicKey, type Sealing } from './checkpoint.ts'
import { proveEntry, type EntryProofResult } from './prove-entry.ts'

export type WantedReference = {
  readonly referenceType: string
  readonly referenceId: string
  readonly since: number | undefined
}

export type ReferenceProofResult =
  | { readonly kind: 'proof'; readonly file: string; readonly key: string }
  | Exclude<EntryProofResult, { readonly kind: 'proof' }>

/** The reference is the app's own: those of other apps have other keys. */
export async function proveReference(
  sealing: Sealing,
  { clientId }: App,
  { referenceType: type, referenceId: id, since }: WantedReference,
): Promise<ReferenceProofResult> {
  const key = referenceKeyOf({ namespace: counterAccountOfApp(clientId), type, id })
  const [first] = await listFirstUses(sealing.db.pool, [key])
  if (first && first.at === null && first.refusal === null) return { kind: 'archived' }
  if (!first || first.sequence === null) return { kind: 'not-found' }
  const result = await proveEntry(sealing, { walletId: first.walletId, sequence: first.sequence, since })
  if (result.kind !== 'proof') return result
  return { ...result, key: await readPublicKey(sealing, (await findLog(sealing.db.pool))!) }
}
