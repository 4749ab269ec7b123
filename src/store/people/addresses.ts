/** Where users and operators signed in from: the rows of user_addresses and operator_addresses, one for each address. */
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
 * Remembers the address, hashed, for the user or operator of this id; rows beyond the twenty used last are deleted. True when it
 * is a new place: others are known, and this one was not. Of two at once from there, one is told so.
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

/** The networks a user signed in from, newest first: what is kept of them is a hash. */
export async function listUserAddresses(db: Queryable, userId: string): Promise<{ hash: string; lastAt: Date }[]> {
  const { rows } = await db.query<{ hash: string; lastAt: Date }>(
    `select encode(address_hash, 'hex') as hash, last_at as "lastAt" from user_addresses where user_id = $1
     order by last_at desc`,
    [userId],
  )
  return rows
}
