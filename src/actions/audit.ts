/** Writes an audit record, in the transaction of the action. */
import { insertAudit } from '../store/audit.ts'
import type { Queryable } from '../store/connection/database.ts'
import type { Role } from '../store/operators.ts'
import { newId } from './tokens.ts'

export type Actor = {
  readonly name: string
  readonly address: string | null
  /** An operator's role at the time of the action; it may have changed when the record is read. */
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
