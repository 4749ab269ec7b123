/**
 * Calls that got 401 INVALID_CLIENT, by app, cause, secret and address: counted in memory, and written every minute. Guesses cannot
 * fill the memory or the table: each app, cause and secret has a fixed number of addresses, and the rest is one sum. What a caller
 * guessed is never kept.
 */
import { plainArray, textArray } from '../connection/arrays.ts'
import { transact, type Database, type Queryable } from '../connection/database.ts'
import { lockRefusedCredentials } from '../locks.ts'

/** `expired`: the overlap after a rotation ended. `inactive`: the secret is valid, and the app is inactive. */
export const refusalCauses = ['missing', 'wrong', 'revoked', 'expired', 'inactive'] as const
export type RefusalCause = (typeof refusalCauses)[number]

type Refused = {
  readonly clientId: string
  readonly cause: RefusalCause
  /** Of a secret that the service issued to this app; otherwise empty. */
  readonly fingerprint: string
  /** Empty for all addresses beyond the bound. */
  readonly address: string
}

export type CountedRefusal = Refused & { calls: number; firstAt: number; lastAt: number }

export type RefusedCredentials = {
  /** `at` is the current performance.now(). The clientId must belong to a known app. */
  readonly record: (refused: Refused, at: number) => void
  /** Returns the counts since the last call, and resets them. */
  readonly take: () => CountedRefusal[]
  /** Adds counts back that could not be written. */
  readonly putBack: (counted: readonly CountedRefusal[]) => void
}

/** Addresses of one app, cause and secret. */
export const maxAddresses = 20
/** Addresses of all apps, in one process between two writes. */
const maxInMemory = 2_000

export function openRefusedCredentials(): RefusedCredentials {
  let groups = new Map<string, Map<string, CountedRefusal>>()
  let addresses = 0

  function find({ clientId, cause, fingerprint, address }: Refused, at: number): CountedRefusal {
    const key = `${clientId} ${cause} ${fingerprint}`
    let group = groups.get(key)
    if (!group) groups.set(key, (group = new Map<string, CountedRefusal>()))
    const isKept = group.has(address) || (group.size < maxAddresses && addresses < maxInMemory)
    const kept = isKept ? address : ''
    let counted = group.get(kept)
    if (!counted) {
      group.set(kept, (counted = { clientId, cause, fingerprint, address: kept, calls: 0, firstAt: at, lastAt: at }))
      addresses++
    }
    return counted
  }

  function add(refused: Refused, { calls, firstAt, lastAt }: Pick<CountedRefusal, 'calls' | 'firstAt' | 'lastAt'>) {
    const counted = find(refused, firstAt)
    counted.calls += calls
    counted.firstAt = Math.min(counted.firstAt, firstAt)
    counted.lastAt = Math.max(counted.lastAt, lastAt)
  }

  return {
    record: (refused, at) => add(refused, { calls: 1, firstAt: at, lastAt: at }),
    take: () => {
      const all = [...groups.values()].flatMap((group) => [...group.values()])
      groups = new Map()
      addresses = 0
      return all
    },
    putBack: (counted) => {
      for (const each of counted) add(each, each)
    },
  }
}

const addSql = `on conflict (client_id, cause, fingerprint, address) do update set calls = r.calls + excluded.calls,
  first_at = least(r.first_at, excluded.first_at), last_at = greatest(r.last_at, excluded.last_at)`

/** The newest addresses stay; the others are added to the row without an address. */
const foldSql = `
with ranked as (
  select client_id, cause, fingerprint, address,
    row_number() over (partition by client_id, cause, fingerprint order by last_at desc, address) as rank
  from refused_credentials where client_id = any($1::text[]) and address <> ''
), gone as (
  delete from refused_credentials r using ranked k
  where (r.client_id, r.cause, r.fingerprint, r.address) = (k.client_id, k.cause, k.fingerprint, k.address) and k.rank > $2
  returning r.*
)
insert into refused_credentials as r (client_id, cause, fingerprint, address, calls, first_at, last_at)
select client_id, cause, fingerprint, '', sum(calls), min(first_at), max(last_at) from gone group by 1, 2, 3
${addSql}`

/** Times are by the database's clock. `now` is the current performance.now(). Processes write one after the other. */
export async function addRefusedCredentials(
  db: Database,
  counted: readonly CountedRefusal[],
  now: number,
): Promise<void> {
  await transact(db, async (tx) => {
    await lockRefusedCredentials(tx)
    await tx.query(
      `insert into refused_credentials as r (client_id, cause, fingerprint, address, calls, first_at, last_at)
       select client_id, cause, fingerprint, address, calls, now() - first_age * interval '1 ms', now() - last_age * interval '1 ms'
       from unnest($1::text[], $2::text[], $3::text[], $4::text[], $5::bigint[], $6::float8[], $7::float8[])
         as n(client_id, cause, fingerprint, address, calls, first_age, last_age)
       order by 1, 2, 3, 4 ${addSql}`,
      [
        textArray(counted, (each) => each.clientId),
        textArray(counted, (each) => each.cause),
        textArray(counted, (each) => each.fingerprint),
        textArray(counted, (each) => each.address),
        plainArray(counted, (each) => each.calls),
        plainArray(counted, (each) => Math.max(0, now - each.firstAt)),
        plainArray(counted, (each) => Math.max(0, now - each.lastAt)),
      ],
    )
    await tx.query(foldSql, [[...new Set(counted.map(({ clientId }) => clientId))], maxAddresses])
  })
}

export type RefusalSum = Omit<Refused, 'clientId'> & {
  readonly calls: number
  readonly firstAt: Date
  readonly lastAt: Date
}

/** Newest first. */
export async function listRefusedCredentials(db: Queryable, clientId: string, limit: number): Promise<RefusalSum[]> {
  const { rows } = await db.query<RefusalSum>(
    `select cause, fingerprint, address, calls::float8 as calls, first_at as "firstAt", last_at as "lastAt"
     from refused_credentials where client_id = $1 order by last_at desc, cause, fingerprint, address limit $2`,
    [clientId, limit],
  )
  return rows
}
