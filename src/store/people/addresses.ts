/** The addresses users and operators signed in from: rows of user_addresses and operator_addresses. */
import type { Queryable } from '../connection/database.ts'
import { one } from '../connection/rows.ts'

const ofUser = `with others as materialized (
    select address_hash from user_addresses where user_id = $1 and address_hash <> $2 order by last_at desc
  ), known as (
    insert into user_addresses as a (user_id, address_hash, last_at) values ($1, $2, now())
    on conflict (user_id, address_hash) do update set last_at = greatest(a.last_at, excluded.last_at)
    returning xmax = 0 as is_new
  ), gone as (
    delete from user_addresses where user_id = $1 and address_hash in (select address_hash from others offset 19)
  )
  select is_new and exists (select 1 from others) as "isNewAddress" from known`

const statements = { user: ofUser, operator: ofUser.replaceAll('user_', 'operator_') } as const

/**
 * Stores the hashed address of the user or operator, and keeps the twenty used last. True when the address is new and others are
 * known. Of two concurrent calls with one new address, one returns true.
 */
export async function upsertAddress(
  db: Queryable,
  owner: 'user' | 'operator',
  ownerId: string,
  addressHash: Buffer,
): Promise<boolean> {
  const { rows } = await db.query<{ isNewAddress: boolean }>(statements[owner], [ownerId, addressHash])
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
