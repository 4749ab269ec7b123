/** Puts what someone did into the audit log, in the transaction in which it was done. */
import { insertAudit } from '../store/audit.ts'
import type { Queryable } from '../store/connection/database.ts'
import type { Role } from '../store/operators.ts'
import { newId } from './tokens.ts'

/** Who does it, and from where. */
export type Actor = {
  readonly name: string
  readonly address: string | null
  /** An operator's, as it was when they did it: it may be another one when the record is read. */
  readonly role?: Role
}

export async function recordAudit(
  db: Queryable,
  actor: Actor,
  action: string,
  subject: string,
  detail: Record<string, unknown> = {},
): Promise<void> {
  const { name, address, role } = actor
  const whole = role ? { ...detail, byRole: role } : detail
  await insertAudit(db, { id: newId(), actor: name, action, subject, address, detail: whole })
}
