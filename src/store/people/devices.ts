/** Devices: browsers in which a user signed in inside the widget, found by the hash of their token. */
import type { Queryable } from '../connection/database.ts'
import { maybe } from '../connection/rows.ts'

export type NewDevice = {
  readonly id: string
  readonly tokenHash: Buffer
  readonly userId: string
  readonly clientId: string
  readonly browser: string | null
  readonly addressHash: Buffer
  /** The password was just given on it. */
  readonly hasPassword: boolean
}

/** How long the password counts as just given. */
const presenceLifetime = `interval '10 minutes'`
/** A token that is not used in this time ends: the browser did not keep it. */
const unusedLifetime = `interval '1 hour'`
const lifetime = `interval '30 days'`

/** Further devices end the oldest one. */
const maxDevices = 50

/**
 * Inserts a device whose first use extends it to thirty days. With `isOfPage` it lives as long as the presence of its user: it counts
 * as used, so nothing extends it. The user's row is locked: a concurrent change of the password either finds the device, or is
 * visible here and nothing is inserted.
 */
export async function insertDevice(
  db: Queryable,
  device: NewDevice,
  { passwordHash, isOfPage }: { passwordHash: string | null; isOfPage: boolean },
): Promise<{ readonly presenceUntil: Date | null } | undefined> {
  const { rows } = await db.query<{ presenceUntil: Date | null }>(
    `insert into devices as d (id, token_hash, user_id, client_id, browser, address_hash, password_at, last_used_at, expires_at)
     select $1, $2, id, $4, $5, $6, case when $7 then now() end, case when $8 then now() end,
       now() + case when $8 then ${presenceLifetime} else ${unusedLifetime} end
     from users where id = $3 and deleted_at is null and password_hash is not distinct from $9 for share
     returning ${presenceUntilSql('d')} as "presenceUntil"`,
    [
      device.id,
      device.tokenHash,
      device.userId,
      device.clientId,
      device.browser,
      device.addressHash,
      device.hasPassword,
      isOfPage,
      passwordHash,
    ],
  )
  return maybe(rows)
}

/**
 * After a sign-in: ends the device of the token that the browser presented, because the new token replaces it, and the oldest ones
 * above the limit.
 */
export async function updateDevicesReplaced(db: Queryable, userId: string, presented: Buffer | null): Promise<void> {
  await db.query(
    `update devices set revoked_at = now() where revoked_at is null and id in (
       select id from devices where token_hash = $2
       union all (select id from devices where user_id = $1 and expires_at > now() and revoked_at is null
         order by created_at desc, id desc offset ${maxDevices}))`,
    [userId, presented],
  )
}

/** The password was given on the device. Returns until when it counts; undefined when the device has ended. */
export async function updateDevicePassword(db: Queryable, id: string): Promise<Date | undefined> {
  const { rows } = await db.query<{ presenceUntil: Date }>(
    `update devices d set password_at = now() where id = $1 and revoked_at is null and expires_at > now()
     returning ${presenceUntilSql('d')} as "presenceUntil"`,
    [id],
  )
  return maybe(rows)?.presenceUntil
}

/** Of a live device; null when the password was not given lately. */
export function presenceUntilSql(alias: string): string {
  const until = `${alias}.password_at + ${presenceLifetime}`
  return `case when ${until} > now() then least(${until}, ${alias}.expires_at) end`
}

/** Whether the use of a device should be recorded. */
export function isUseDueSql(alias: string): string {
  return `${alias}.id is not null and coalesce(${alias}.last_used_at < now() - interval '1 hour', true)`
}

/** The first use shows that the browser keeps the token, which then lives thirty days from its sign-in. */
export async function updateDeviceUsed(db: Queryable, id: string): Promise<void> {
  await db.query(
    `update devices set expires_at = case when last_used_at is null then created_at + ${lifetime} else expires_at end,
       last_used_at = now()
     where id = $1 and revoked_at is null and expires_at > now()`,
    [id],
  )
}

/** Ends the user's devices: all, one, those of one app, or all except one. Returns how many. */
export async function updateDevicesRevoked(
  db: Queryable,
  userId: string,
  which: {
    readonly id?: string | undefined
    readonly clientId?: string | undefined
    readonly exceptId?: string | undefined
  } = {},
): Promise<number> {
  const { rowCount } = await db.query(
    `update devices set revoked_at = now() where user_id = $1 and expires_at > now() and revoked_at is null
       and ($2::uuid is null or id = $2) and ($3::text is null or client_id = $3) and ($4::uuid is null or id <> $4)`,
    [userId, which.id ?? null, which.clientId ?? null, which.exceptId ?? null],
  )
  return rowCount ?? 0
}

export type Device = Pick<NewDevice, 'id' | 'clientId' | 'browser' | 'addressHash'> & {
  readonly createdAt: Date
  readonly lastUsedAt: Date | null
  readonly expiresAt: Date
}

/** The live ones, the last used first. */
export async function listDevices(db: Queryable, userId: string): Promise<Device[]> {
  const { rows } = await db.query<Device>(
    `select id, client_id as "clientId", browser, address_hash as "addressHash", created_at as "createdAt",
       last_used_at as "lastUsedAt", expires_at as "expiresAt"
     from devices where user_id = $1 and expires_at > now() and revoked_at is null
     order by coalesce(last_used_at, created_at) desc, id limit ${maxDevices}`,
    [userId],
  )
  return rows
}
