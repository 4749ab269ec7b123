/** Searching people and their wallets, in pages. A page starts after the last row of the one before, never by an offset. */
import type { Database, Queryable } from '../connection/database.ts'
import { scanInSteps } from '../connection/scan.ts'
import type { FrozenFor } from '../wallets.ts'
import { maybe, one } from '../connection/rows.ts'

export type Person = {
  readonly id: string
  /** Null for a deleted user, whose names are empty. */
  readonly email: string | null
  readonly firstName: string
  readonly lastName: string
  readonly createdAt: Date
  readonly balanceMinor: bigint
  readonly heldMinor: bigint
  readonly frozenFor: FrozenFor
}

const columns = `u.id, u.email, u.first_name as "firstName", u.last_name as "lastName", u.created_at as "createdAt",
  w.balance as "balanceMinor", w.held as "heldMinor", w.frozen_for as "frozenFor"`

/** Frozen: for any reason other than deletion. */
export type WalletStates = 'frozen' | 'operator' | 'debt' | 'deleted'

/** The small index of frozen wallets contains all of them. */
const stateConditions: Readonly<Record<WalletStates, string>> = {
  frozen: `w.frozen_for in ('operator', 'debt')`,
  operator: `w.frozen_for = 'operator'`,
  debt: 'w.balance < w.held',
  deleted: `w.frozen_for = 'closed'`,
}

/** Sorting by balance needs a state, which few wallets have: an index by balance would cost every debit. */
export type PeopleOrder = 'newest' | 'oldest' | 'most' | 'least'

export type PeopleFilter = { readonly state?: WalletStates | undefined; readonly order?: PeopleOrder }

const isByBalance = ({ order }: PeopleFilter) => order === 'most' || order === 'least'

/** Starts after the id `$1`, and after the balance `$2` when sorted by balance. */
function orderSql({ state, order = 'newest' }: PeopleFilter): string {
  const [compare, direction] = order === 'oldest' || order === 'least' ? ['>', 'asc'] : ['<', 'desc']
  if (!state) return `from users u join wallets w on w.id = u.id where u.id ${compare} $1 order by u.id ${direction}`
  const from = `from wallets w join users u on u.id = w.id where w.frozen_for is not null and ${stateConditions[state]}`
  if (!isByBalance({ order })) return `${from} and w.id ${compare} $1 order by w.id ${direction}`
  return `${from} and ($2::bigint is null or (w.balance, w.id) ${compare} ($2, $1)) order by w.balance ${direction}, w.id ${direction}`
}

/** Ids begin with their creation time, so their order is the order of sign-up. */
export async function listNewestPeople(
  db: Queryable,
  filter: PeopleFilter & {
    after: { readonly id: string; readonly balanceMinor?: bigint | undefined } | undefined
    limit: number
  },
): Promise<Person[]> {
  const start =
    filter.order === 'oldest' ? '00000000-0000-0000-0000-000000000000' : 'ffffffff-ffff-ffff-ffff-ffffffffffff'
  const values: unknown[] = [filter.after?.id ?? start]
  if (filter.state && isByBalance(filter)) values.push(filter.after?.balanceMinor ?? null)
  const { rows } = await db.query<Person>(
    `select ${columns} ${orderSql(filter)} limit $${values.push(filter.limit)}`,
    values,
  )
  return rows
}

/**
 * Counts at most `limit`. Every user has one wallet, so one table is enough: joining both, 10,000 frozen ones read 38,000 pages
 * instead of 8,000.
 */
export async function countPeople(db: Queryable, { state }: PeopleFilter, limit: number): Promise<number> {
  const from = state
    ? `from wallets w where w.frozen_for is not null and ${stateConditions[state]} and w.id > $1 order by w.id`
    : 'from users u where u.id > $1 order by u.id'
  const { rows } = await db.query<{ count: number }>(
    `select count(*)::int as count from (select 1 ${from} limit $2) p`,
    ['00000000-0000-0000-0000-000000000000', limit],
  )
  return one(rows).count
}

/** A person and the text that matched, where the next page starts. */
export type Match = { readonly person: Person; readonly key: string }

const keys = [
  `u.email collate "C"`,
  `lower(u.first_name || ' ' || u.last_name) collate "C"`,
  `lower(u.last_name || ' ' || u.first_name) collate "C"`,
]

const end = `lower($1) || U&'\\+10FFFF'`
const isMatch = (key: string) => `(${key} >= lower($1) and ${key} < ${end})`

/**
 * Each person once: by email if that matches, else by the first form of the name that does. Each index gets one lower and one
 * upper bound: with two lower bounds PostgreSQL starts at the lesser and reads the whole index. A page without a match among
 * 100,000 people then took 274 ms on a busy machine, instead of 6.
 */
const foundSql = `(
  ${keys
    .map(
      (key, i) => `(select u.id, ${key} as key from users u
    where (${key}, u.id) > (coalesce($2, lower($1)), $3) and ${key} < ${end}
      ${keys
        .slice(0, i)
        .map((earlier) => `and not ${isMatch(earlier)}`)
        .join(' ')}
    order by ${key}, u.id limit $4)`,
    )
    .join(' union all ')}
) f join users u on u.id = f.id`
const searchSql = {
  text: `select f.key, ${columns} from ${foundSql} join wallets w on w.id = f.id order by f.key, f.id limit $4`,
  onCluster: `with u as materialized (select f.key, u.* from ${foundSql} order by f.key, f.id limit $4)
    select u.key, ${columns} from u join wallets w on w.id = u.id order by u.key, u.id`,
}

/** People whose email, "first last" or "last first" begins with the text. */
export async function searchPeople(
  db: Queryable,
  prefix: string,
  { after, limit }: { after: { key: string; id: string } | undefined; limit: number },
): Promise<Match[]> {
  const { key, id } = after ?? { key: null, id: '00000000-0000-0000-0000-000000000000' }
  const { rows } = await db.query<Person & { key: string }>({ ...searchSql, values: [prefix, key, id, limit] })
  return rows.map(({ key: found, ...person }) => ({ key: found, person }))
}

export type PersonKey = { readonly id: string } | { readonly serviceUserId: string } | { readonly email: string }

const findSql = {
  id: `select ${columns} from users u join wallets w on w.id = u.id where u.id = $1`,
  serviceUserId: `with u as materialized (select u.* from links l join users u on u.id = l.user_id where l.id = $1)
    select ${columns} from u join wallets w on w.id = u.id`,
  email: `select ${columns} from users u join wallets w on w.id = u.id where u.email = lower($1)`,
}

/** By wallet, whose id is the user's, by email, or by a serviceUserId, including disconnected ones. */
export async function findPerson(db: Queryable, by: PersonKey): Promise<Person | undefined> {
  const [[kind, value]] = Object.entries(by) as [[keyof typeof findSql, string]]
  const { rows } = await db.query<Person>(findSql[kind], [value])
  return maybe(rows)
}

export async function listPeople(db: Queryable, ids: readonly string[]): Promise<Person[]> {
  const { rows } = await db.query<Person>(
    `select ${columns} from users u join wallets w on w.id = u.id where u.id = any($1::uuid[])`,
    [ids],
  )
  return rows
}

export type EmailScan = {
  /** Newest first. */
  readonly people: readonly Person[]
  /** How many of the newest users were searched. */
  readonly scanned: number
  /** Whether these are all users. */
  readonly isWhole: boolean
}

const slice = 10_000

/** Walks the key from the newest user on. `position` has no wildcards. */
const sliceSql = `
with part as materialized (select u.id, u.email from users u where u.id < $1 order by u.id desc limit ${slice})
select (select count(*)::int from part) as count, (select p.id from part p order by p.id limit 1) as last,
  array(select p.id from part p where position(lower($2) in p.email) > 0 order by p.id desc limit $3) as ids`

/** People whose email contains the text anywhere. No index finds them, so the newest users are searched until the time is up. */
export async function scanEmails(
  db: Database,
  text: string,
  { limit, budgetMs }: { limit: number; budgetMs: number },
): Promise<EmailScan> {
  const ids: string[] = []
  let [scanned, last, isWhole] = [0, 'ffffffff-ffff-ffff-ffff-ffffffffffff', false]
  await scanInSteps(db, budgetMs, async (tx) => {
    const { rows } = await tx.query<{ count: number; last: string | null; ids: string[] }>(sliceSql, [
      last,
      text,
      limit - ids.length,
    ])
    const part = one(rows)
    ids.push(...part.ids)
    scanned += part.count
    last = part.last ?? last
    isWhole = part.count < slice
    return isWhole || ids.length >= limit
  })
  const found = new Map((await listPeople(db.pool, ids)).map((person) => [person.id, person]))
  return { people: ids.flatMap((id) => found.get(id) ?? []), scanned, isWhole }
}

export type KeptLink = {
  readonly id: string
  readonly clientId: string
  readonly createdAt: Date
  readonly disconnectedAt: Date | null
  readonly signedInAt: Date | null
  readonly signedOutAt: Date | null
}

/** Live ones first, then newest first. */
export async function listAllLinks(db: Queryable, userId: string): Promise<KeptLink[]> {
  const { rows } = await db.query<KeptLink>(
    `select id, client_id as "clientId", created_at as "createdAt", disconnected_at as "disconnectedAt",
       signed_in_at as "signedInAt", signed_out_at as "signedOutAt" from links where user_id = $1
     order by disconnected_at is not null, created_at desc, id limit 100`,
    [userId],
  )
  return rows
}
