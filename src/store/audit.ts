/** Who did what, when and from where. Append-only, also for the database. */
import type { Queryable } from './database.ts'

export type AuditEntry = {
  readonly id: string
  /** `cli`, `system`, `operator:<id>`, `app:<clientId>`, `user:<id>`. */
  readonly actor: string
  /** A verb in the past: `app.created`, `wallet.frozen`. */
  readonly action: string
  readonly subject: string
  readonly address: string | null
  /** What changed. Never a secret. */
  readonly detail: Record<string, unknown>
}

export async function insertAudit(db: Queryable, entry: AuditEntry): Promise<void> {
  await db.query('insert into audit (id, actor, action, subject, address, detail) values ($1, $2, $3, $4, $5, $6)', [
    entry.id,
    entry.actor,
    entry.action,
    entry.subject,
    entry.address,
    JSON.stringify(entry.detail),
  ])
}
