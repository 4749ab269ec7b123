/** Who gave an operator access, and when. */
import type { Queryable } from '../connection/database.ts'
import { choicesOf, type Listing } from '../connection/listing.ts'

/** `renewed`: a reset link was used, so password and second factor are new. */
const grantKinds = ['created', 'invited', 'reset', 'renewed', 'role', 'restored'] as const
export type GrantKind = (typeof grantKinds)[number]

export type Grant = {
  readonly operatorId: string
  readonly kind: GrantKind
  readonly at: Date
  /** Actors, as in the audit log. `approvedBy` is the second admin of a change that needed two. */
  readonly madeBy: string
  readonly approvedBy: string | null
}

const columns = `g.operator_id as "operatorId", g.kind, g.at, g.made_by as "madeBy", g.approved_by as "approvedBy"`

export const grantListing: Listing = {
  table: 'operator_grants',
  alias: 'g',
  columns,
  key: [
    { sql: 'g.operator_id', type: 'uuid' },
    { sql: 'g.kind', type: 'text' },
  ],
  time: { sql: 'g.at', type: 'timestamptz' },
  people: ['g.made_by', 'g.approved_by', `'operator:' || g.operator_id`],
  choices: { kind: choicesOf('g.kind', grantKinds) },
  equals: {},
  ids: [{ sql: 'g.operator_id', type: 'uuid' }],
}

/** The trigger that serves older processes may have inserted the row of this transaction already. */
export async function insertGrant(db: Queryable, grant: Omit<Grant, 'at'>): Promise<void> {
  await db.query(
    `insert into operator_grants (operator_id, kind, made_by, approved_by) values ($1, $2, $3, $4)
     on conflict (operator_id, at, kind) do update set made_by = excluded.made_by, approved_by = excluded.approved_by`,
    [grant.operatorId, grant.kind, grant.madeBy, grant.approvedBy],
  )
}

/** The end of a grant's effect is a time of the database's clock. */
export type RecentGrant = Grant & { readonly endsAt: Date; readonly isFresh: boolean }

/**
 * The grants of an operator, and of the operators who made those, back to the first one that is older than `days`. The first
 * operator has to be created on the command line, which is not counted.
 */
export async function listRecentGrants(
  db: Queryable,
  operatorId: string,
  { days, freshHours }: { days: number; freshHours: number },
): Promise<RecentGrant[]> {
  const { rows } = await db.query<RecentGrant>(
    `with recursive recent as (
       select * from operator_grants where at > now() - $2 * interval '1 day'
         and not (kind = 'created' and operator_id = (select id from operators order by created_at, id limit 1))
     ), behind as (
       select * from recent where operator_id = $1
       union
       select r.* from recent r join behind b on 'operator:' || r.operator_id in (b.made_by, b.approved_by)
     )
     select ${columns}, g.at + $2 * interval '1 day' as "endsAt", g.at > now() - $3 * interval '1 hour' as "isFresh"
     from behind g order by g.at desc, g.kind`,
    [operatorId, days, freshHours],
  )
  return rows
}

/** The grants of these operators in the `days` before `until`, or before now, newest first. */
export async function listGrantsOf(
  db: Queryable,
  operatorIds: readonly string[],
  { until, days }: { until: Date | null; days: number },
): Promise<Grant[]> {
  const { rows } = await db.query<Grant>(
    `select ${columns} from operator_grants g where g.operator_id = any($1::uuid[])
       and g.at <= coalesce($2, now()) and g.at > coalesce($2, now()) - $3 * interval '1 day' order by g.at desc, g.kind limit 100`,
    [operatorIds, until, days],
  )
  return rows
}
