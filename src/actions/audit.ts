/** Puts what someone did into the audit log, in the transaction in which it was done. */
import { insertAudit } from '../store/audit.ts'
import type { Queryable } from '../store/database.ts'
import { newId } from './tokens.ts'

/** Who does it, and from where. */
export type Actor = { readonly name: string; readonly address: string | null }

export async function record(
  db: Queryable,
  actor: Actor,
  action: string,
  subject: string,
  detail: Record<string, unknown> = {},
): Promise<void> {
  await insertAudit(db, { id: newId(), actor: actor.name, action, subject, address: actor.address, detail })
}
