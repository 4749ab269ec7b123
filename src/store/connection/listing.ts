/**
 * Reads any table that people write to as a list: filtered, sorted by time or amount, page by page. A page continues after the key of
 * the last row. It reads at most `maxRead` rows along the index of its order, so that a rare match among a million rows costs no
 * scan of the table; the next page continues where this one stopped.
 */
import type { Queryable } from './database.ts'
import { one } from './rows.ts'

type KeyType = 'uuid' | 'timestamptz' | 'date' | 'bigint' | 'text'

/** A column that is never null, or an expression of such columns. */
export type Key = { readonly sql: string; readonly type: KeyType }

export type Listing = {
  readonly table: string
  /** The name that the expressions below have for the table. */
  readonly alias: string
  readonly columns: string
  /** Makes every order unique. */
  readonly key: readonly Key[]
  /** An index starts with it and ends with the key. A `date` is a day in UTC. */
  readonly time: Key
  /** Without its sign. An index starts with it and ends with the key. */
  readonly amount?: Key
  /** Columns with the name of an actor, as in the audit log. */
  readonly people: readonly string[]
  /** A condition for each choice of a filter. */
  readonly choices: Readonly<Record<string, Readonly<Record<string, string>>>>
  /** Columns with an index that ends with the time and the key. */
  readonly equals: Readonly<Record<string, Key>>
  /** The columns that an id is compared with, each with an index. */
  readonly ids: readonly Key[]
}

export type ListingFilter = {
  readonly id?: string | undefined
  /** `until` is exclusive. */
  readonly from?: Date | undefined
  readonly until?: Date | undefined
  readonly minMinor?: bigint | undefined
  readonly maxMinor?: bigint | undefined
  /** `cli` matches every user of the command line. */
  readonly person?: string | undefined
  /** By the names in `choices` and `equals`. */
  readonly chosen: Readonly<Record<string, string>>
}

export type ListingOrder = { readonly by: 'time' | 'amount'; readonly isAscending: boolean }

export type ListingPage<Row> = {
  readonly rows: readonly Row[]
  /** The cursor of the next page; undefined on the last one. */
  readonly next: readonly string[] | undefined
  /** True when the page is not full because it has read as many rows as it may. */
  readonly isCutShort: boolean
}

export const maxRead = 20_000

const nothing = 'false'

/** Whether PostgreSQL accepts the text as this type. */
function isOfType(text: string, type: KeyType): boolean {
  if (type === 'uuid') return /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/.test(text)
  if (type === 'bigint') return /^-?\d{1,18}$/.test(text)
  if (type === 'date') return isTime(`${text}T00:00:00.000000Z`)
  return type === 'text' ? text !== '' : isTime(text)
}

/** As `textOf` writes it, with the microseconds that a Date would lose. */
function isTime(text: string): boolean {
  const [, ms] = /^(\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3})\d{3}Z$/.exec(text) ?? []
  const at = new Date(`${ms}Z`)
  return !Number.isNaN(at.getTime()) && at.toISOString() === `${ms}Z`
}

const textOf = ({ sql, type }: Key) =>
  type === 'timestamptz' ? `to_char(${sql} at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"')` : `(${sql})::text`

/** A choice for each value of a column. The values are constants of the code. */
export function choicesOf(sql: string, values: readonly string[]): Record<string, string> {
  return Object.fromEntries(values.map((value) => [value, `${sql} = '${value}'`]))
}

type Conditions = {
  /** Those that an index bounds. */
  readonly bounds: string[]
  /** Those that each row is compared with. */
  readonly matches: string[]
}

function conditionsOf(listing: Listing, filter: ListingFilter, by: 'time' | 'amount', values: unknown[]): Conditions {
  const conditions: Conditions = { bounds: ['true'], matches: ['true'] }
  const placeholder = (value: unknown, type: KeyType) => `$${values.push(value)}::${type}`
  const isEqual = ({ sql, type }: Key, text: string) =>
    isOfType(text, type) ? `${sql} = ${placeholder(text, type)}` : nothing
  const compare = (key: Key | undefined, operator: string, value: bigint | Date | undefined) => {
    if (!key || value === undefined) return
    const given = value instanceof Date ? value.toISOString().slice(0, key.type === 'date' ? 10 : undefined) : value
    const target = key === listing[by] ? conditions.bounds : conditions.matches
    target.push(`${key.sql} ${operator} ${placeholder(given, key.type)}`)
  }
  compare(listing.time, '>=', filter.from)
  compare(listing.time, '<', filter.until)
  compare(listing.amount, '>=', filter.minMinor)
  compare(listing.amount, '<=', filter.maxMinor)
  const { id, person, chosen } = filter
  if (id !== undefined) {
    const known = listing.ids.find(({ type }) => isOfType(id, type))
    conditions.bounds.push(known ? isEqual(known, id) : nothing)
  }
  if (person !== undefined) conditions.matches.push(isByPerson(listing.people, placeholder(person, 'text'), person))
  for (const [name, value] of Object.entries(chosen)) {
    const column = listing.equals[name]
    if (column) conditions.bounds.push(isEqual(column, value))
    else conditions.matches.push(conditionOf(listing.choices[name] ?? {}, value))
  }
  return conditions
}

function conditionOf(choices: Readonly<Record<string, string>>, value: string): string {
  // Not a look-up alone: every object has a `constructor`.
  const condition = Object.hasOwn(choices, value) ? choices[value] : undefined
  return condition ? `(${condition})` : nothing
}

function isByPerson(columns: readonly string[], placeholder: string, person: string): string {
  const each = columns.map((column) =>
    person === 'cli' ? `${column} = ${placeholder} or ${column} like 'cli:%'` : `${column} = ${placeholder}`,
  )
  return each.length === 0 ? nothing : `(${each.join(' or ')})`
}

/** The key of the last row of a page. Undefined when a person has changed it. */
export function parseListingCursor(
  listing: Listing,
  { by }: ListingOrder,
  texts: readonly string[],
): readonly string[] | undefined {
  const keys = [listing[by] ?? listing.time, ...listing.key]
  return texts.length === keys.length && keys.every(({ type }, i) => isOfType(texts[i]!, type)) ? texts : undefined
}

type Found<Row> = Row & { listingKey: string[]; isListed: boolean; listingRow: bigint }

/**
 * The row numbered `maxRead` is always part of the answer, because the next page starts after it. The filter applies outside the
 * limited subquery: the planner, without statistics too, can only walk the index of the order, and stops with the page.
 */
export async function readListing<Row extends object>(
  db: Queryable,
  listing: Listing,
  filter: ListingFilter,
  page: { readonly order: ListingOrder; readonly after?: readonly string[] | undefined; readonly limit: number },
): Promise<ListingPage<Row>> {
  const { order, after, limit } = page
  const { alias, columns, key } = listing
  const sort = listing[order.by] ?? listing.time
  const values: unknown[] = []
  const { bounds, matches } = conditionsOf(listing, filter, order.by, values)
  const keys = [sort, ...key]
  if (after) {
    const start = keys.map(({ type }, i) => `$${values.push(after[i])}::${type}`)
    bounds.push(`(${keys.map(({ sql }) => sql).join(', ')}) ${order.isAscending ? '>' : '<'} (${start.join(', ')})`)
  }
  const direction = order.isAscending ? 'asc' : 'desc'
  const orderOf = (first: string) =>
    [first, ...key.map(({ sql }) => sql)].map((sql) => `${sql} ${direction}`).join(', ')
  const isListed = matches.join(' and ')
  const { rows } = await db.query<Found<Row>>(
    `select ${columns}, array[${keys.map(textOf).join(', ')}] as "listingKey", ${isListed} as "isListed",
       listing_row as "listingRow"
     from (
       select ${alias}.*, ${sort.sql} as listing_sort, row_number() over (order by ${orderOf(sort.sql)}) as listing_row
       from ${listing.table} ${alias} where ${bounds.join(' and ')} order by ${orderOf(sort.sql)} limit ${maxRead}
     ) ${alias}
     where ${isListed} or listing_row = ${maxRead}
     order by ${orderOf('listing_sort')} limit $${values.push(limit + 1)}`,
    values,
  )
  const listed = rows.filter((row) => row.isListed)
  const last = rows.at(-1)
  const isCutShort = listed.length <= limit && last?.listingRow === BigInt(maxRead)
  const next = listed.length > limit ? listed[limit - 1] : isCutShort ? last : undefined
  return { rows: listed.slice(0, limit), next: next?.listingKey, isCutShort }
}

/** Counts the matches among the first rows: at most `limit`, or `maxRead` where the filter must read each row. */
export async function countListing(
  db: Queryable,
  listing: Listing,
  filter: ListingFilter,
  limit: number,
): Promise<{ readonly count: number; readonly isAll: boolean }> {
  const values: unknown[] = []
  const { alias, key, time } = listing
  const { bounds, matches } = conditionsOf(listing, filter, 'time', values)
  const read = matches.length === 1 ? limit : maxRead
  const { rows } = await db.query<{ count: number; read: number }>(
    `select count(*) filter (where ${matches.join(' and ')})::int as count, count(*)::int as read
     from (select * from ${listing.table} ${alias} where ${bounds.join(' and ')}
       order by ${[time, ...key].map(({ sql }) => `${sql} desc`).join(', ')} limit $${values.push(read)}) ${alias}`,
    values,
  )
  const found = one(rows)
  return { count: found.count, isAll: found.read < read || matches.length === 1 }
}
