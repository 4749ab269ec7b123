/** The audit log: who did what, when and from where. Append-only, also in the database. */
import type { Queryable } from './connection/database.ts'
import { one } from './connection/rows.ts'

export type AuditRecord = {
  readonly id: string
  readonly at: Date
  /** `cli:<user>@<host>`, `system`, `operator:<id>`, `app:<clientId>`, `user:<id>`. */
  readonly actor: string
  /** A verb in the past tense: `app.created`, `wallet.frozen`. */
  readonly action: string
  readonly subject: string
  readonly address: string | null
  /** The change. Never a secret. */
  readonly detail: Record<string, unknown>
}

export async function insertAudit(db: Queryable, record: Omit<AuditRecord, 'at'>): Promise<void> {
  await db.query('insert into audit (id, actor, action, subject, address, detail) values ($1, $2, $3, $4, $5, $6)', [
    record.id,
    record.actor,
    record.action,
    record.subject,
    record.address,
    JSON.stringify(record.detail),
  ])
}

/* Reading the audit log: newest first, by actor, action, subject and time. */

export type AuditFilter = {
  /** `cli` matches every user of the command line. */
  readonly actor?: string | undefined
  readonly action?: string | undefined
  readonly subject?: string | undefined
  readonly id?: string | undefined
  readonly from?: Date | undefined
  readonly until?: Date | undefined
}

function conditionsOf(filter: AuditFilter, values: unknown[]): string[] {
  const conditions = ['true']
  const add = (condition: string, value: unknown) => {
    if (value !== undefined) conditions.push(condition.replaceAll('?', `$${values.push(value)}`))
  }
  if (filter.actor === 'cli') conditions.push(`(actor = 'cli' or actor like 'cli:%')`)
  else add('actor = ?', filter.actor)
  add('action = ?', filter.action)
  add('subject = ?', filter.subject)
  add('id = ?', filter.id)
  add('at >= ?', filter.from)
  add('at < ?', filter.until)
  return conditions
}

export async function listAudit(
  db: Queryable,
  filter: AuditFilter,
  /** `after`: the last record of the page before. Newest first, unless `isOldestFirst`. */
  { after, limit, isOldestFirst = false }: { after: string | undefined; limit: number; isOldestFirst?: boolean },
): Promise<AuditRecord[]> {
  const values: unknown[] = [limit]
  const conditions = conditionsOf(filter, values)
  if (after !== undefined)
    conditions.push(
      `(at, id) ${isOldestFirst ? '>' : '<'} (select at, id from audit where id = $${values.push(after)})`,
    )
  const { rows } = await db.query<AuditRecord>(
    `select id, at, actor, action, subject, address, detail from audit where ${conditions.join(' and ')}
     order by ${isOldestFirst ? 'at, id' : 'at desc, id desc'} limit $1`,
    values,
  )
  return rows
}

/** At most `limit` are counted. */
export async function countAudit(db: Queryable, filter: AuditFilter, limit: number): Promise<number> {
  const values: unknown[] = [limit]
  const { rows } = await db.query<{ count: number }>(
    `select count(*)::int as count from (select 1 from audit where ${conditionsOf(filter, values).join(' and ')} limit $1) a`,
    values,
  )
  return one(rows).count
}

const walk = (placeholder: string) => `(select id, at, actor, action, subject, address, detail from audit
  where subject = ${placeholder} and action = any($3::text[])
    and ($4::uuid is null or (at, id) < (select at, id from audit where id = $4 and subject in ($1, $2)))
  order by at desc, id desc limit $5)`

/**
 * Records with one of these actions about one of two subjects, newest first. Each subject is one index scan that ends
 * with the page, so the length of the log does not matter. A `before` about another subject returns nothing.
 */
export async function listAuditOf(
  db: Queryable,
  [subject, otherSubject]: readonly [string, string],
  { actions, before, limit }: { actions: readonly string[]; before: string | undefined; limit: number },
): Promise<AuditRecord[]> {
  const { rows } = await db.query<AuditRecord>(
    `${walk('$1')} union all ${walk('$2')} order by at desc, id desc limit $5`,
    [subject, otherSubject, actions, before ?? null, limit],
  )
  return rows
}

/** How many of a subject's newest records are searched for records of other actors. */
const aboutSpan = 300

/** Records about these subjects by actors other than users, newest first: one index scan per subject. */
export async function listAuditAbout(
  db: Queryable,
  subjects: readonly string[],
  limit: number,
): Promise<AuditRecord[]> {
  const { rows } = await db.query<AuditRecord>(
    `select a.* from unnest($1::text[]) as about(subject) cross join lateral (
       select id, at, actor, action, subject, address, detail from audit where subject = about.subject
       order by at desc limit ${aboutSpan}) a
     where a.actor not like 'user:%' order by a.at desc, a.id desc limit $2`,
    [subjects, limit],
  )
  return rows
}

/** Every action in the log: one index look-up per action, however long the log is. */
export async function listAuditActions(db: Queryable): Promise<string[]> {
  const { rows } = await db.query<{ action: string }>(`
    with recursive step as (
      (select action from audit order by action limit 1)
      union all
      select (select a.action from audit a where a.action > s.action order by a.action limit 1) from step s
      where s.action is not null
    )
    select action from step where action is not null`)
  return rows.map((row) => row.action)
}
