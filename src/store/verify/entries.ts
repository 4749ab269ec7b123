/** Checks each entry against the one before it, its outcome and its reference: for a range of wallets, or for stretches. */
import { areRight, enteredSql, isSpread, type Checking, type Entered } from '../cluster/agreement.ts'
import { isAwaySql } from '../cluster/reachable.ts'
import { plainArray } from '../connection/arrays.ts'
import type { Queryable } from '../connection/database.ts'
import { isServiceOwnSql, referenceKeySql } from '../outcomes.ts'
import { entryFault, formatMinor, maxFaultsPerStatement, type Check, type Fault, type FormatMoney } from './fault.ts'
import { inRange, type WalletRange } from './slice.ts'
import { stretchValues, stretchesSql, type Stretch } from './stretch.ts'

type EntryCheck = Exclude<Extract<Check, `entry-${string}`>, 'entry-without-link'>

type Row = {
  wallet_id: string
  sequence: bigint
  previous_sequence: bigint | null
  amount: bigint
  balance_before: bigint
  balance_after: bigint
  counter_account: string
  reference_type: string
  reference_id: string
  reference_key: string
  right_key: string
  refusal: string | null
  /** The outcome of its reference; null without one. */
  outcome_wallet: string | null
  outcome_sequence: bigint | null
  outcome_amount: bigint | null
  outcome_balance: bigint | null
  outcome_at: Date | null
  faults: EntryCheck[]
}

const rightKey = referenceKeySql(
  'e',
  `case when e.counter_account like 'app:%' then e.counter_account else 'service' end`,
)

/**
 * What holds for every valid entry `e` and its outcome `o`. The only debits that end below zero are reversals of card payments,
 * and the only credits that do repay a part of a debt. An app's account also has corrections, in the service's namespace.
 */
const ownTruths = {
  'entry-sequence': `e.sequence = coalesce(e.previous_sequence, 0) + 1`,
  'entry-running-balance': `e.balance_after = e.balance_before + e.amount`,
  'entry-overdraft': `(e.balance_after >= 0 or e.amount > 0 or e.counter_account = 'cards')`,
  'entry-time': `(e.previous_at is null or e.created_at >= e.previous_at)`,
  'entry-reference-key': `(uuid_send(e.reference_key) = ${rightKey}
    or (e.counter_account like 'app:%' and ${isServiceOwnSql('e')}))`,
}

const outcomeTruths = {
  'entry-without-outcome': `o.reference_key is not null`,
  'entry-with-refusal': `o.refusal is null`,
  'entry-unlike-outcome': `(o.reference_key is null or o.refusal is not null or (o.wallet_id = e.wallet_id
    and o.sequence = e.sequence and o.amount = e.amount and o.balance = e.balance_after and o.created_at = e.created_at))`,
}

const truths: Record<EntryCheck, string> = { ...ownTruths, ...outcomeTruths }

const all = (list: Readonly<Record<string, string>>) => Object.values(list).join(' and ')

/** Of an entry `e` with what its predecessor had. */
export const followsSql = all(ownTruths)
/** Of an entry `e` and its outcome `o`. */
export const hasOutcomeSql = all(outcomeTruths)

/** What an entry is checked against, in the window of its wallet. */
export const predecessorSql = `lag(t.sequence) over wallet as previous_sequence,
    lag(t.balance_after, 1, 0::bigint) over wallet as balance_before,
    lag(t.created_at) over wallet as previous_at`

/**
 * The window follows the primary key, so PostgreSQL holds one entry and its predecessor at a time. The outcome is looked up for
 * each entry: the limit keeps the planner from reading the whole table of outcomes for every slice. Naming the faults costs more
 * than finding them, so only the rows that fail are named.
 */
const faultyEntriesSql = (entries: string) => `
with entry as (${followed(entries)})
${faultsOfEntries}
from entry e
left join lateral (select * from all_outcomes o where o.reference_key = e.reference_key limit 1) o on true
${whereFaulty}`

/**
 * On a cluster the outcomes of a slice are on any server: the entries are collected first, and their keys sent to all. That takes three
 * times as long as on one server, so it only names the faults of entries that are known to have some.
 */
const faultyEntriesOnCluster = (entries: string, keys = 'in (select reference_key from key)') => `
with entry as materialized (${followed(entries)}), key as materialized (
  select reference_key from entry
), outcome as materialized (
  select o.* from all_outcomes o where o.reference_key ${keys}
)
${faultsOfEntries}
from entry e left join outcome o on o.reference_key = e.reference_key
${whereFaulty}`

const followed = (entries: string) => `
  select t.*, ${predecessorSql}
  from (${entries}) t
  window wallet as (partition by t.wallet_id order by t.sequence)`

/** Each server of a cluster checks its own wallets, and returns a row only for a fault. */
const isFaultySql = (entries: string) => `
select 1 from (${followed(entries)}) e where e.is_checked and (${followsSql}) is not true limit 1`

const faultsOfEntries = `select e.*, o.refusal, encode(${rightKey}, 'hex')::uuid as right_key,
  o.wallet_id as outcome_wallet, o.sequence as outcome_sequence, o.amount as outcome_amount, o.balance as outcome_balance,
  o.created_at as outcome_at,
  array_remove(array[${Object.entries(truths)
    .map(([check, truth]) => `case when (${truth}) is not true then '${check}' end`)
    .join(', ')}], null) as faults`

const whereFaulty = `where e.is_checked and (${all(truths)}) is not true
order by e.wallet_id, e.sequence limit ${maxFaultsPerStatement}`

/** The last archived entry of a wallet is the predecessor of its first one in the database; the entries before it are in files. */
export const entriesOfRange = `select *, not is_archived as is_checked from all_transfers where ${inRange('wallet_id')}`
/** The entry at the checkpoint is included as the predecessor; `is_checked` excludes it from the check. */
const entriesOfStretches = `select t.*, t.sequence > s.sequence and not t.is_archived as is_checked from ${stretchesSql}  cross join lateral (
  select * from all_transfers t
  where t.wallet_id = s.wallet_id and t.sequence >= s.sequence and t.sequence <= s.until order by t.sequence offset 0
) t`
const stretchesOnCluster = `select t.*, t.sequence > s.sequence and not t.is_archived as is_checked from ${stretchesSql}
  join all_transfers t on t.wallet_id = s.wallet_id and t.sequence >= s.sequence and t.sequence <= s.until
  where t.wallet_id = any($1::uuid[])`

const rangeSql = { text: faultyEntriesSql(entriesOfRange), onCluster: faultyEntriesOnCluster(entriesOfRange) }
const stretchEntriesSql = faultyEntriesSql(entriesOfStretches)
/** Asks only the servers that have one of the outcomes. */
const stretchesByKeySql = faultyEntriesOnCluster(stretchesOnCluster, '= any($5::uuid[])')

const enteredInRange = enteredSql(followed(entriesOfRange), followsSql)
const enteredInStretches = enteredSql(followed(stretchesOnCluster), followsSql)

export async function verifyEntries(
  db: Queryable,
  { from, until }: WalletRange,
  words = formatMinor,
): Promise<Fault[]> {
  const { rows } = await db.query<Row>({ ...rangeSql, values: [from, until] })
  return rows.flatMap((row) => toFaults(row, words))
}

const isFaultyRangeSql = isFaultySql(entriesOfRange)

/** The same on a cluster, for so few entries that the process can hold their keys. */
export async function verifyEntriesOnNodes(db: Queryable, range: WalletRange, words = formatMinor): Promise<Fault[]> {
  const { rows } = await db.query<Entered>(enteredInRange, [range.from, range.until])
  return (await areRight(db, rows)) ? [] : await verifyEntries(db, range, words)
}

/** The same on a cluster, where the entries are known to agree with their outcomes. */
export async function verifyAgreedEntries(db: Queryable, range: WalletRange, words = formatMinor): Promise<Fault[]> {
  const { rows } = await db.query(isFaultyRangeSql, [range.from, range.until])
  return rows.length > 0 ? await verifyEntries(db, range, words) : []
}

export async function verifyStretchEntries(
  db: Checking,
  stretches: readonly Stretch[],
  words: FormatMoney,
): Promise<Fault[]> {
  const values = stretchValues(stretches)
  const { rows } = isSpread(db) ? await findFaultyOnNodes(db, values) : await db.query<Row>(stretchEntriesSql, values)
  return rows.flatMap((row) => toFaults(row, words))
}

/** Each server checks its own entries. If one is wrong, or unlike its outcome, another statement finds out which. */
async function findFaultyOnNodes(db: Queryable, values: string[]): Promise<{ readonly rows: readonly Row[] }> {
  const { rows: entered } = await db.query<Entered>(enteredInStretches, values)
  if (await areRight(db, entered)) return { rows: [] }
  const keys = `{${entered.map((part) => part.keys.slice(1, -1)).join()}}`
  return await db.query<Row>(stretchesByKeySql, [...values, keys])
}

const lackingSql = `with key as materialized (select wallet_id, reference_key from (${stretchesOnCluster}) e where is_checked)
select distinct wallet_id as "walletId" from key k where ${isAwaySql('outcomes', 'k.reference_key', '$5')}`

/** The wallets with an entry whose outcome is on one of these groups of servers, which are away. */
export async function findLacking(
  db: Queryable,
  stretches: readonly Stretch[],
  away: readonly number[],
): Promise<ReadonlySet<string>> {
  const { rows } = await db.query<{ walletId: string }>(lackingSql, [
    ...stretchValues(stretches),
    plainArray(away, String),
  ])
  return new Set(rows.map(({ walletId }) => walletId))
}

function toFaults(row: Row, words: FormatMoney): Fault[] {
  return row.faults.map((check) => entryFault(check, row.wallet_id, row.sequence, problems[check](row, words)))
}

const problems: Record<EntryCheck, (row: Row, words: FormatMoney) => string> = {
  'entry-sequence': (row) =>
    `it should be number ${(row.previous_sequence ?? 0n) + 1n}; ${row.previous_sequence === null ? 'the wallet begins with it' : `it follows ${row.previous_sequence}`}`,
  'entry-running-balance': (row, words) =>
    `its balance is ${words(row.balance_after)}, but ${words(row.balance_before)} and ${words(row.amount)} make ${words(row.balance_before + row.amount)}`,
  'entry-overdraft': (row, words) =>
    `a debit of ${row.counter_account} left the balance at ${words(row.balance_after)}`,
  'entry-time': () => 'its time is before the time of the entry before it',
  'entry-reference-key': (row) =>
    `its key is ${row.reference_key}, but ${row.reference_type} ${row.reference_id} of ${row.counter_account} has the key ${row.right_key}`,
  'entry-without-outcome': (row) => `no outcome has its key ${row.reference_key}`,
  'entry-with-refusal': (row) => `the outcome of its reference is the refusal ${row.refusal}`,
  'entry-unlike-outcome': (row, words) =>
    `its outcome says something else: entry ${row.outcome_sequence} of wallet ${row.outcome_wallet}, ${words(row.outcome_amount!)} to ${words(row.outcome_balance!)}, at ${row.outcome_at!.toISOString()}`,
}

type UnlinkedEntry = { wallet_id: string; sequence: bigint; counter_account: string }

/** An app reaches a wallet only through a link, and disconnected links are kept, so every such entry has one. */
const unlinkedSql = (entries: string, links?: string) => `
with t as materialized (
  select wallet_id, counter_account, min(sequence) as sequence from (${entries}) e
  where is_checked and counter_account like 'app:%'
  group by wallet_id, counter_account
)${links === undefined ? '' : `, own_links as materialized (${links})`}
select t.* from t
where not exists (select 1 from ${links === undefined ? 'links' : 'own_links'} l
  where l.user_id = t.wallet_id and l.client_id = substr(t.counter_account, 5))
order by 1, 2 limit ${maxFaultsPerStatement}`

/**
 * A cluster may run the join over a separate connection, which does not see links this transaction has just written: so the
 * links are read first.
 */
const linksSql = (ofWhom: string) => `select l.user_id, l.client_id from links l where ${ofWhom}`

const rangeUnlinkedSql = {
  text: unlinkedSql(entriesOfRange),
  onCluster: unlinkedSql(entriesOfRange, linksSql(inRange('l.user_id'))),
}
const stretchUnlinkedSql = {
  text: unlinkedSql(entriesOfStretches),
  onCluster: unlinkedSql(stretchesOnCluster, linksSql('l.user_id = any($1::uuid[])')),
}

export async function verifyEntryLinks(db: Queryable, { from, until }: WalletRange): Promise<Fault[]> {
  const { rows } = await db.query<UnlinkedEntry>({ ...rangeUnlinkedSql, values: [from, until] })
  return rows.map(toLinkFault)
}

export async function verifyStretchEntryLinks(db: Queryable, stretches: readonly Stretch[]): Promise<Fault[]> {
  const { rows } = await db.query<UnlinkedEntry>({ ...stretchUnlinkedSql, values: stretchValues(stretches) })
  return rows.map(toLinkFault)
}

function toLinkFault({ wallet_id, sequence, counter_account }: UnlinkedEntry): Fault {
  return entryFault('entry-without-link', wallet_id, sequence, `${counter_account} was never linked to this wallet`)
}
