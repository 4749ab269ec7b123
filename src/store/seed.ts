/** Many funded users at once, for load tests and demos: the rows the writer would have written, in bulk. */
import { plainArray, textArray } from './connection/arrays.ts'
import type { Queryable } from './connection/database.ts'

export type SeedUser = {
  readonly userId: string
  readonly email: string
  readonly firstName: string
  readonly serviceUserId: string
  readonly referenceKey: string
  readonly referenceId: string
}

export type SeedGift = {
  readonly clientId: string
  readonly creditMinor: bigint
  readonly counterAccount: string
  readonly referenceType: string
  readonly description: string
  /** Writers are numbered from 1. Seeds use zero and below, one number per concurrent connection. */
  readonly writer: number
}

/**
 * One statement, so that a slice of users exists together with its money and the counter entries, or not at all.
 * Without a credit the wallets are empty and there are no entries.
 */
const seedSql = `
with seed as (
  select *, statement_timestamp() as at
  from unnest($1::uuid[], $2::text[], $3::text[], $4::text[], $5::uuid[], $6::text[])
    as s(user_id, email, first_name, link_id, reference_key, reference_id)
), person as (
  insert into users (id, email, first_name, last_name) select user_id, email, first_name, 'Seed' from seed returning id
), wallet as (
  insert into wallets (id, balance, sequence) select id, $8::bigint, case when $8::bigint > 0 then 1 else 0 end from person
), link as (
  insert into links (id, client_id, user_id) select link_id, $7::text, user_id from seed
), transfer as (
  insert into transfers (wallet_id, sequence, amount, balance_after, reference_key, created_at, counter_account, reference_type, reference_id, description)
  select user_id, 1, $8::bigint, $8::bigint, reference_key, at, $9::text, $10::text, reference_id, $11::text from seed where $8::bigint > 0
), outcome as (
  insert into outcomes (reference_key, wallet_id, amount, balance, sequence, created_at)
  select reference_key, user_id, $8::bigint, $8::bigint, 1, at from seed where $8::bigint > 0
)
insert into positions as p (counter_account, day, writer, debited, credited, transfers)
select $9::text, (at at time zone 'UTC')::date, $12::integer, 0, (count(*) * $8::bigint)::bigint, count(*)
from seed where $8::bigint > 0 group by 1, 2
on conflict (counter_account, day, writer) do update set
  credited = p.credited + excluded.credited, transfers = p.transfers + excluded.transfers`

export async function insertSeed(db: Queryable, users: readonly SeedUser[], gift: SeedGift): Promise<void> {
  await db.query(seedSql, [
    plainArray(users, (user) => user.userId),
    textArray(users, (user) => user.email),
    textArray(users, (user) => user.firstName),
    textArray(users, (user) => user.serviceUserId),
    plainArray(users, (user) => user.referenceKey),
    textArray(users, (user) => user.referenceId),
    gift.clientId,
    gift.creditMinor,
    gift.counterAccount,
    gift.referenceType,
    gift.description,
    gift.writer,
  ])
}

/** Gives the planner statistics now, instead of a minute into the load when autovacuum does. */
export async function analyzeSeeded(db: Queryable): Promise<void> {
  await db.query('analyze users, wallets, links, transfers, outcomes, positions')
}
