/** The outcome of the first use of a reference. It is kept forever, and every later use returns it. */
import { hash } from 'node:crypto'
import { correctionType, referenceText, serviceNamespace, type Reference } from '../ledger/reference.ts'
import { isSpread, type Checking } from './cluster/agreement.ts'
import { archivedOutcomesSql } from './closing/archived-entries.ts'
import type { Queryable } from './connection/database.ts'

export type OutcomeRefusal = 'INSUFFICIENT_BALANCE' | 'BALANCE_LIMIT'

export type Outcome = {
  readonly referenceKey: string
  readonly walletId: string
  /** The requested amount: positive for a credit, negative for a debit. */
  readonly amountMinor: bigint
  /** After the transfer or the hold, or at the time of the refusal. */
  readonly balanceMinor: bigint
  readonly heldMinor: bigint
  readonly refusal: OutcomeRefusal | null
  /** It reserved the amount and moved no money. */
  readonly isHold: boolean
}

/**
 * 128 bits of SHA-256, in hex. Finding another reference with the same key takes 2^64 attempts, and harms only the app
 * that does it. The database stores it as a uuid, which accepts hex and is printed with dashes.
 */
export function referenceKeyOf(reference: Reference): string {
  return hash('sha256', referenceText(reference), 'hex').slice(0, 32)
}

/**
 * The same in SQL, as 16 bytes, for the row with this alias. `namespace` is an SQL expression. The driver's encoding is UTF-8, in which
 * `textsend` takes a third of a microsecond less than `convert_to`, which looks its encoding up by name.
 */
export function referenceKeySql(alias: string, namespace: string): string {
  return `substring(sha256(textsend(${namespace}) || '\\x00'::bytea || textsend(${alias}.reference_type)
  || '\\x00'::bytea || textsend(${alias}.reference_id)) from 1 for 16)`
}

/**
 * Whether the service itself made the entry. A correction may be on an app's account, and the app may use the same
 * type: the key distinguishes them, because no app can create a key in the service's namespace.
 */
export function isServiceOwn(entry: {
  readonly counterAccount: string
  readonly referenceType: string
  readonly referenceId: string
  readonly referenceKey: string
}): boolean {
  const { counterAccount, referenceType: type, referenceId: id, referenceKey } = entry
  if (!counterAccount.startsWith('app:')) return true
  return type === correctionType && referenceKey === referenceKeyOf({ namespace: serviceNamespace, type, id })
}

/** The same in SQL, for the row with this alias. */
export function isServiceOwnSql(alias: string): string {
  return `(${alias}.counter_account not like 'app:%' or (${alias}.reference_type = '${correctionType}'
    and uuid_send(${alias}.reference_key) = ${referenceKeySql(alias, `'${serviceNamespace}'`)}))`
}

export function referenceKeyOfUuid(uuid: string): string {
  return uuid.replaceAll('-', '')
}

/** The key of the row with this alias, as `referenceKeyOf` returns it. */
export function referenceKeyTextSql(alias: string): string {
  return `replace(${alias}.reference_key::text, '-', '')`
}

export function uuidOfReferenceKey(key: string): string {
  return key.replace(/^(.{8})(.{4})(.{4})(.{4})(.{12})$/, '$1-$2-$3-$4-$5')
}

/** A transaction's id is the key of its reference: one id per reference, and it reveals nothing about the wallet. */
export function transactionIdOf(referenceKey: string): string {
  return `txn_${referenceKey}`
}

/** As a transaction's id, of the reference of the hold. */
export function holdIdOf(referenceKey: string): string {
  return `hold_${referenceKey}`
}

/** Undefined when the text is not a hold's id. */
export function parseHoldId(text: string): string | undefined {
  return /^hold_([0-9a-f]{32})$/.exec(text)?.[1]
}

/** Undefined when the text is not a transaction's id. */
export function parseTransactionId(text: string): string | undefined {
  return /^txn_([0-9a-f]{32})$/.exec(text)?.[1]
}

type Row = [string, string, bigint, bigint, OutcomeRefusal | null, bigint, boolean]

const findSql = (
  outcomes: string,
) => `select reference_key, wallet_id, amount, balance, refusal, coalesce(held, 0), is_hold is not null
  from ${outcomes}`
const inDatabase = findSql('all_outcomes where reference_key = any($1::uuid[])')
const archived = findSql('archived_outcomes($1::uuid[])')
/** On a cluster, one statement for both would read the outcomes of other servers through files. */
const finding = {
  usual: { name: 'find-outcomes', text: `${inDatabase} union all ${archived}`, onCluster: inDatabase },
  archived: { name: 'find-archived-outcomes', text: archived },
}

/** In a transaction of the writer: beside it, no period is archived or restored. */
export async function findOutcomes(db: Checking, referenceKeys: string): Promise<Map<string, Outcome>> {
  const find = (sql: { name: string; text: string }) =>
    db.query<Row>({ ...sql, values: [referenceKeys], rowMode: 'array' })
  const found = await Promise.all([find(finding.usual), isSpread(db) ? find(finding.archived) : { rows: [] }])
  const rows = found.flatMap((each) => each.rows)
  return new Map(
    rows.map(([uuid, walletId, amountMinor, balanceMinor, refusal, heldMinor, isHold]) => {
      const referenceKey = referenceKeyOfUuid(uuid)
      return [referenceKey, { referenceKey, walletId, amountMinor, balanceMinor, heldMinor, refusal, isHold }]
    }),
  )
}

/* The outcomes of references, and their later uses. */

export type FirstUse = {
  readonly referenceKey: string
  readonly walletId: string
  readonly amountMinor: bigint
  readonly balanceMinor: bigint
  /** Null where it is archived: its entry and its time are in files. */
  readonly at: Date | null
  readonly refusal: OutcomeRefusal | null
  /** The entry it made; null when refused, and where it is archived. */
  readonly sequence: number | null
  /** Of that entry; null when refused. */
  readonly referenceId: string | null
  readonly description: string | null
}

export async function listFirstUses(db: Queryable, referenceKeys: readonly string[]): Promise<FirstUse[]> {
  const { rows } = await db.query<FirstUse>(`${firstUsesSql} union all ${archivedUsesSql} order by at`, [referenceKeys])
  return rows
}

const archivedUsesSql = `select ${referenceKeyTextSql('o')}, o.wallet_id, o.amount, o.balance, null, o.refusal, null, null, null
  from ${archivedOutcomesSql('$1::uuid[]')} o`

const firstUsesSql = `with o as materialized (select * from all_outcomes where reference_key = any($1::uuid[])),
       t as materialized (select t.* from o join all_transfers t on t.wallet_id = o.wallet_id and t.sequence = o.sequence)
     select ${referenceKeyTextSql('o')} as "referenceKey", o.wallet_id as "walletId", o.amount as "amountMinor",
       o.balance as "balanceMinor", o.created_at as at, o.refusal, o.sequence::float8 as sequence,
       t.reference_id as "referenceId", t.description
     from o left join t on t.wallet_id = o.wallet_id and t.sequence = o.sequence`
