/** Where users and operators signed in from: the rows of user_addresses and operator_addresses, one for each address. */
import type { Queryable } from './database.ts'

const ofUser = `with known as (
    insert into user_addresses as a (user_id, address_hash, last_at) values ($1, $2, now())
    on conflict (user_id, address_hash) do update set last_at = greatest(a.last_at, excluded.last_at))
  delete from user_addresses where user_id = $1 and address_hash in (
    select address_hash from user_addresses where user_id = $1 and address_hash <> $2
    order by last_at desc offset 19)`

const statements = { user: ofUser, operator: ofUser.replaceAll('user_', 'operator_') } as const

/** Remembers the address, hashed, for the user or operator of this id; rows beyond the twenty used last are deleted. */
export async function upsertAddress(
  db: Queryable,
  owner: 'user' | 'operator',
  ownerId: string,
  addressHash: Buffer,
): Promise<void> {
  await db.query(statements[owner], [ownerId, addressHash])
}
