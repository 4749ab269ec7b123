/** The addresses users and operators signed in from: rows of user_addresses and operator_addresses. */
import type { Queryable, Transaction } from '../connection/database.ts'
import { one } from '../connection/rows.ts'

type Owner = 'user' | 'operator'

const forOwner = <T extends string>(text: T) => ({ user: text, operator: text.replaceAll('user', 'operator') }) as const

const upsert = forOwner(`with older as (
    delete from user_addresses where user_id = $1 and address_hash = any($3) returning address_hash
  ), others as materialized (
    select address_hash from user_addresses where user_id = $1 and address_hash <> $2 and address_hash <> all($3)
    order by last_at desc
  ), known as (
    insert into user_addresses as a (user_id, address_hash, last_at, is_keyed) values ($1, $2, now(), true)
    on conflict (user_id, address_hash) do update set last_at = greatest(a.last_at, excluded.last_at)
    returning xmax = 0 as is_new
  ), gone as (
    delete from user_addresses where user_id = $1 and address_hash in (select address_hash from others offset 19)
  )
  select is_new and not exists (select 1 from older) and exists (select 1 from others) as "isNewAddress" from known`)

/**
 * Stores the hashed address of the user or operator, and keeps the twenty used last. True when the address is new and others are
 * known. Of two concurrent calls with one new address, one returns true. The first hash replaces the others, which have older keys.
 */
export async function upsertAddress(
  db: Queryable,
  owner: Owner,
  ownerId: string,
  [addressHash, ...older]: readonly [Buffer, ...Buffer[]],
): Promise<boolean> {
  const { rows } = await db.query<{ isNewAddress: boolean }>(upsert[owner], [ownerId, addressHash, older])
  return one(rows).isNewAddress
}

/** The networks a user signed in from, newest first. Only hashes are stored. */
export async function listUserAddresses(db: Queryable, userId: string): Promise<{ hash: string; lastAt: Date }[]> {
  const { rows } = await db.query<{ hash: string; lastAt: Date }>(
    `select encode(address_hash, 'hex') as hash, last_at as "lastAt" from user_addresses where user_id = $1
     order by last_at desc`,
    [userId],
  )
  return rows
}

type PlainAddress = { readonly ownerId: string; readonly hash: Buffer; readonly lastAt: Date }

// Locks the user first, as a deletion does: otherwise a row inserted here could outlive it.
const lockPlain = forOwner(`select a.user_id as "ownerId", a.address_hash as hash, a.last_at as "lastAt"
  from user_addresses a join users u on u.id = a.user_id where not a.is_keyed
  limit $1 for key share of u skip locked for update of a skip locked`)

const replacePlain = forOwner(`with plain as (
    delete from user_addresses a using unnest($1::uuid[], $2::bytea[]) as p (user_id, address_hash)
    where a.user_id = p.user_id and a.address_hash = p.address_hash
  )
  insert into user_addresses as a (user_id, address_hash, last_at, is_keyed)
  select user_id, address_hash, last_at, true from unnest($1::uuid[], $3::bytea[], $4::timestamptz[]) as k (user_id, address_hash, last_at)
  on conflict (user_id, address_hash) do update set last_at = greatest(a.last_at, excluded.last_at)`)

/** Replaces some hashes that a process of an older release stored without a key. Returns their number. */
export async function replacePlainAddresses(
  tx: Transaction,
  owner: Owner,
  limit: number,
  toKeyed: (plain: Buffer) => Promise<Buffer>,
): Promise<number> {
  const { rows } = await tx.query<PlainAddress>(lockPlain[owner], [limit])
  if (rows.length === 0) return 0
  const keyed = await Promise.all(rows.map(({ hash }) => toKeyed(hash)))
  await tx.query(replacePlain[owner], [
    rows.map(({ ownerId }) => ownerId),
    rows.map(({ hash }) => hash),
    keyed,
    rows.map(({ lastAt }) => lastAt),
  ])
  return rows.length
}
