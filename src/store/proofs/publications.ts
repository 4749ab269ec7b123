/** What each target of CHECKPOINTS got last. */
import type { Queryable } from '../connection/database.ts'
import { maybe } from '../connection/rows.ts'
import type { StoredCheckpoint } from './proof-log.ts'

export type Publication = {
  readonly target: string
  readonly origin: string | null
  readonly size: number | null
  readonly publishedAt: Date | null
  readonly failingSince: Date | null
  readonly error: string | null
  /** In a sentence: what the target has instead. */
  readonly contradiction: string | null
  /** By the database's clock; null before the first. */
  readonly ageMs: number | null
}

export async function listPublications(db: Queryable, targets: readonly string[]): Promise<readonly Publication[]> {
  const { rows } = await db.query<Publication>(
    `select target, origin, size::float8 as size, published_at as "publishedAt", failing_since as "failingSince", error, contradiction,
       extract(epoch from clock_timestamp() - published_at)::float8 * 1000 as "ageMs"
     from log_publications where target = any($1::text[])`,
    [targets],
  )
  return rows
}

export async function findPublication(db: Queryable, target: string): Promise<Publication | undefined> {
  return maybe(await listPublications(db, [target]))
}

export async function upsertPublished(
  db: Queryable,
  target: string,
  { origin, size }: Pick<StoredCheckpoint, 'origin' | 'size'>,
): Promise<void> {
  await db.query(
    `insert into log_publications (target, origin, size, published_at) values ($1, $2, $3, clock_timestamp())
     on conflict (target) do update set origin = excluded.origin, size = excluded.size, published_at = excluded.published_at,
       failing_since = null, error = null, contradiction = null`,
    [target, origin, size],
  )
}

export async function upsertUnpublished(
  db: Queryable,
  target: string,
  { error, contradiction }: Pick<Publication, 'error' | 'contradiction'>,
): Promise<void> {
  await db.query(
    `insert into log_publications as p (target, failing_since, error, contradiction) values ($1, clock_timestamp(), $2, $3)
     on conflict (target) do update set failing_since = coalesce(p.failing_since, excluded.failing_since), error = excluded.error,
       contradiction = excluded.contradiction`,
    [target, error, contradiction],
  )
}

export async function findNote(
  db: Queryable,
  { origin, size }: Pick<StoredCheckpoint, 'origin' | 'size'>,
): Promise<string | undefined> {
  const { rows } = await db.query<{ note: string }>(
    'select note from log_checkpoints where origin = $1 and size = $2',
    [origin, size],
  )
  return maybe(rows)?.note
}

export type LogLevels = {
  /** Every entry that was checked before this long ago is in the log; null before the first pass ended. */
  readonly sealAgeSeconds: number | null
  readonly size: number
  /** How long the oldest checkpoint that a target lacks has been waiting for it. */
  readonly publicationLateSeconds: number
  /** Targets with another checkpoint of the same name and size. */
  readonly contradictions: number
  readonly incarnations: number
}

/** `host` begins the log's origin. Undefined before the log was begun. */
export async function findLogLevels(
  db: Queryable,
  host: string,
  targets: readonly string[],
): Promise<LogLevels | undefined> {
  const { rows } = await db.query<LogLevels>(
    `select extract(epoch from clock_timestamp() - s.sealed_up_to)::float8 as "sealAgeSeconds", s.size::float8 as size,
       coalesce((select extract(epoch from clock_timestamp() - min(c.at))::float8 from unnest($1::text[]) t(target)
         left join log_publications p on p.target = t.target
         join log_checkpoints c on c.origin = $2 || '/books/' || s.id
           and c.size > case when p.origin = c.origin then p.size else 0 end), 0) as "publicationLateSeconds",
       (select count(*)::int from log_publications where target = any($1::text[]) and contradiction is not null) as contradictions,
       (select count(*)::int from log_incarnations) as incarnations
     from log_state s`,
    [targets, host],
  )
  return maybe(rows)
}
